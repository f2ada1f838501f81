"""Changing a policy file: by an editor or by one value. It is replaced whole, and only by what is well."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from endstop.cli.output import Output
from endstop.coding.policy import DEFAULT_POLICY, Policy, values_of
from endstop.coding.policy_edit import with_value
from endstop.coding.policy_file import policy_from_yaml, read_policy_text
from endstop.coding.policy_problems import PolicyRefusedError
from endstop.coding.policy_template import policy_template
from endstop.errors import EndstopError, InvalidValueError

_EDITORS = ("nano", "vim", "vi")
"""What is looked for where nobody has said which editor they like."""


class EditorError(EndstopError):
    """The editor could not be used. Nothing was changed."""

    code = "editor_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A value that is another than before."""

    key: str
    before: object
    after: object


def write_new(path: Path, text: str, *, overwrites: bool) -> None:
    """Write a file that is not there yet; one that is, only if that is wanted."""
    if os.path.lexists(path) and not overwrites:
        raise InvalidValueError(
            "policy file",
            str(path),
            allowed="a file that is not there yet",
            to_do="Change it with endstop policy edit, or overwrite it with --force",
        )
    _replace(path, text)


def set_value(path: Path, key: str, words: str) -> Sequence[Change]:
    """Change one value in a file, and nothing else in it. A file that is not there is begun."""
    text = _text_of(path)
    changed, written = with_value(text, key, words, of=f"{path}, so changed,")
    if changed != text or not os.path.lexists(path):
        _replace(path, changed)
    return _changes(text, written.policy)


def edited(path: Path, output: Output) -> Sequence[Change]:
    """Have a file changed in an editor. What has problems is not saved, and not lost either."""
    command = _editor()
    before = _text_of(path)
    copy = Path(tempfile.mkdtemp(prefix="endstop-policy-")) / path.name
    copy.write_bytes(before.encode())
    while True:
        _run_editor(command, copy)
        text = read_policy_text(copy)
        try:
            written = policy_from_yaml(text, of=f"What you wrote, kept in {copy},")
        except PolicyRefusedError as error:
            _again(error, output)
            continue
        break
    if _text_of(path) != before:
        raise EditorError(
            f"{path} was changed by somebody else meanwhile, and is left as it is",
            to_do=f"What you wrote is kept in {copy}",
        )
    if text != before or not os.path.lexists(path):
        _replace(path, text)
    shutil.rmtree(copy.parent, ignore_errors=True)
    return _changes(before, written.policy)


def _text_of(path: Path) -> str:
    return read_policy_text(path) if os.path.lexists(path) else policy_template()


def _changes(before: str, policy: Policy) -> Sequence[Change]:
    try:
        old = values_of(policy_from_yaml(before).policy)
    except PolicyRefusedError:  # what could not be used held nothing
        old = values_of(DEFAULT_POLICY)
    new = values_of(policy)
    return [Change(key=key, before=old[key], after=new[key]) for key in new if new[key] != old[key]]


def _again(error: PolicyRefusedError, output: Output) -> None:
    """Show what is wrong, and ask whether to go on. Where nobody can be asked, it is an error."""
    if output.is_json or not (sys.stdin.isatty() and output.is_terminal):
        raise error
    for problem in error.problems:
        output.say(f"  {problem}")
    if not typer.confirm("Edit it again", default=True):
        raise error


def _editor() -> list[str]:
    given = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(given)
    except ValueError:
        words = []
    found = words or [name for name in _EDITORS if shutil.which(name)][:1]
    if not found or shutil.which(found[0]) is None:
        raise EditorError(
            f"There is no editor {found[0]!r}" if found else "There is no editor",
            to_do="Set EDITOR to the name of one, or change one value: endstop policy edit KEY VALUE",
        )
    return found


def _run_editor(command: Sequence[str], copy: Path) -> None:
    done = subprocess.run([*command, str(copy)], check=False)
    if done.returncode != 0:
        raise EditorError(
            f"The editor {command[0]} ended with exit code {done.returncode}, so nothing was changed",
            to_do=f"What you wrote is kept in {copy}",
        )


def _replace(path: Path, text: str) -> None:
    """Write a file at once or not at all. Where it is a link, what it leads to is written."""
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            os.chmod(name, mode)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InvalidValueError(
            "policy file",
            str(path),
            allowed=f"a file in a folder that can be written to ({error.strerror})",
            to_do="Make it writable, or name another with --file",
        ) from None
