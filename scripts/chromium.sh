#!/bin/sh
# A browser for the browser tests: the machine's Chromium, or Debian's, installed if that can be done here.
# Prints where it is. Where there is none and none can be had, it prints nothing, and says why on stderr.
set -u
find_it() {
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        command -v "$name" && return 0
    done
    return 1
}
find_it && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium for the browser tests (once) …" >&2
    { apt-get install -y --no-install-recommends chromium || { apt-get update && apt-get install -y --no-install-recommends chromium; }; } \
        >/dev/null 2>&1
    find_it && exit 0
fi
echo "There is no Chromium here, and it could not be installed: the browser tests will NOT be run." >&2
echo "Install it (Debian: apt-get install chromium), and run them again." >&2
