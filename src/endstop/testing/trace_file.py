"""Files of traces: one JSON object per line, in a ``.jsonl`` or ``.jsonl.gz`` file.

A trace has ``id``, ``source``, ``label`` (stuck, healthy), ``pattern``, ``first_stuck_step``, ``meta``,
``must_use_tools`` and ``steps``; a step has ``turn``, ``text``, ``signal``, ``user_before``,
``conversation`` and ``calls``; a call has ``tool``, ``args``, ``ok``, ``result``, ``waiting``, ``cursor`` and
``changes``. Only ``id`` and ``steps``, and a call's ``tool``, must be there.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import cast

from endstop.errors import EndstopError
from endstop.testing.trace import Trace, TraceCall, TraceSignal, TraceStep


class MalformedTraceError(EndstopError):
    """A line of a trace file cannot be read. ``path`` and ``line`` say which one."""

    code = "malformed_trace"

    def __init__(self, path: Path, line: int, problem: str) -> None:
        self.path = path
        self.line = line
        super().__init__(
            f"{path}, line {line}: {problem}", to_do="Mend the line or take it out, then read the file again"
        )


def read_traces(path: Path) -> Iterator[Trace]:
    """The traces of a ``.jsonl`` or ``.jsonl.gz`` file, one at a time; blank lines are passed over."""
    number = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _trace(path, number, line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise MalformedTraceError(path, number + 1, f"the compressed file is damaged ({error})") from error


def _trace(path: Path, number: int, line: bytes) -> Trace:
    try:
        return _read_trace(_Fields.of(json.loads(line), "the line"))
    except (_UnreadableError, ValueError, RecursionError) as error:
        raise MalformedTraceError(path, number, str(error)) from error


class _UnreadableError(Exception):
    """A field is missing or of the wrong kind."""


@dataclass(frozen=True, slots=True)
class _Fields:
    """A JSON object whose fields are read with their kind checked."""

    where: str
    values: Mapping[str, object]

    @classmethod
    def of(cls, value: object, where: str) -> _Fields:
        if not isinstance(value, dict):
            raise _UnreadableError(f"{where} is not an object")
        return cls(where, cast("dict[str, object]", value))

    def text(self, name: str, default: str | None = None) -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def optional_text(self, name: str) -> str | None:
        return None if self.values.get(name) is None else self.text(name)

    def flag(self, name: str, *, default: bool = False) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def count(self, name: str, default: int | None = None) -> int:
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self._wrong(name, "a whole number, zero or more")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.values.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(name, "a number")
        return float(value)

    def objects(self, name: str) -> list[_Fields]:
        value = self.values.get(name)
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        items = cast("list[object]", value)
        return [_Fields.of(item, f"{name}[{place}] of {self.where}") for place, item in enumerate(items)]

    def _wrong(self, name: str, wanted: str) -> _UnreadableError:
        said = "is missing" if name not in self.values else f"is not {wanted}"
        return _UnreadableError(f"{name} of {self.where} {said}")


def _read_trace(fields: _Fields) -> Trace:
    first = fields.values.get("first_stuck_step")
    meta = fields.values.get("meta")
    return Trace(
        id=fields.text("id"),
        source=fields.text("source", ""),
        label=fields.optional_text("label"),
        pattern=fields.optional_text("pattern"),
        first_stuck_step=None if first is None else fields.count("first_stuck_step"),
        must_use_tools=fields.flag("must_use_tools"),
        steps=tuple(_read_step(place, step) for place, step in enumerate(fields.objects("steps"))),
        meta=MappingProxyType(dict(_Fields.of(meta, "meta").values) if meta is not None else {}),
    )


def _read_step(place: int, fields: _Fields) -> TraceStep:
    conversation = fields.values.get("conversation")
    return TraceStep(
        turn=fields.count("turn", place),
        text=fields.text("text", ""),
        signal=_read_signal(fields.values.get("signal")),
        user_before=fields.flag("user_before"),
        conversation=None if conversation is None else json.dumps(conversation, sort_keys=True),
        calls=tuple(map(_read_call, fields.objects("calls"))) if "calls" in fields.values else (),
    )


def _read_signal(value: object) -> TraceSignal | None:
    """An object with type, reason and confidence, or the reason of a ``need_turn`` alone."""
    if value is None or isinstance(value, str):
        return None if value is None else TraceSignal(reason=value)
    fields = _Fields.of(value, "signal")
    return TraceSignal(
        type=fields.text("type", "need_turn"),
        reason=fields.optional_text("reason"),
        confidence=fields.number("confidence", 0.5),
    )


def _read_call(fields: _Fields) -> TraceCall:
    return TraceCall(
        tool=fields.text("tool"),
        args=fields.values.get("args"),
        ok=fields.flag("ok", default=True),
        result=fields.text("result", ""),
        waiting=fields.flag("waiting"),
        cursor=fields.flag("cursor"),
        changes=fields.flag("changes"),
    )
