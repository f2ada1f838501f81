"""Facts to JSON and back. One line of text per fact; money as text, so that no digit is lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import cast

from endstop.errors import FactOrderError, MalformedFactError, NewerFactError, RecordError, UnknownFactError
from endstop.events.facts import PAYLOAD_OF_TYPE, Fact, Payload, severity_of, type_of
from endstop.events.plain import Unreadable, read
from endstop.events.writing import json_text, quoted

VERSION = 1
"""The version of the facts this code writes. It reads this one and every earlier one."""


def encode(fact: Fact) -> str:
    """A fact as one line of JSON. Plain ASCII: no reader can take a letter in it for the end of a line."""
    payload = fact.payload
    return (
        f'{{"run_id":{quoted(fact.run_id)},"seq":{fact.seq},"type":"{type_of(payload)}",'
        f'"version":{VERSION},"time":{json_text(fact.time)},"source":{quoted(fact.source)},'
        f'"severity":"{severity_of(payload)}","payload":{json_text(payload)}}}'
    )


def to_json(fact: Fact) -> dict[str, object]:
    """A fact as plain JSON values."""
    return cast("dict[str, object]", json.loads(encode(fact)))


def decode(line: str | bytes) -> Fact:
    """A fact from one line of JSON, or a ``RecordError`` that says what is wrong with it."""
    try:
        value: object = json.loads(line, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise MalformedFactError(
            f"Not a line of JSON: {_cut(line)} ({error})",
            allowed="one whole JSON object per line",
            to_do="The line may be cut off: everything before it is still good",
        ) from None
    if not isinstance(value, dict):
        raise MalformedFactError(f"Not a JSON object: {_cut(line)}", allowed="one JSON object per line")
    return from_json(cast("dict[str, object]", value))


def from_json(value: dict[str, object]) -> Fact:
    """A fact from plain JSON values."""
    try:
        version = read(int, value["version"], "version")
        name = read(str, value["type"], "type")
        if version > VERSION:
            raise NewerFactError(
                f"A fact {name!r} is of version {version}",
                allowed=f"versions up to {VERSION}",
                to_do="It was written by a newer Endstop: update this one",
            )
        if name not in PAYLOAD_OF_TYPE:
            raise UnknownFactError(
                f"There is no type of fact {name!r}",
                allowed=f"one of {len(PAYLOAD_OF_TYPE)} types such as 'run.started'",
                to_do="It may come from a newer Endstop, or from something else altogether",
            )
        payload = cast("Payload", read(PAYLOAD_OF_TYPE[name], value["payload"], "payload"))
        actual = type_of(payload)
        fact = Fact(
            run_id=read(str, value["run_id"], "run_id"),
            seq=read(int, value["seq"], "seq"),
            time=read(float, value["time"], "time"),
            source=read(str, value["source"], "source"),
            payload=payload,
        )
    except KeyError as error:
        raise MalformedFactError(f"A fact has no {error}", allowed="all fields of a fact") from None
    except (Unreadable, RecursionError) as error:
        raise MalformedFactError(f"A fact cannot be read: {error}") from None
    if actual != name:
        raise MalformedFactError(f"A fact says {name!r} but holds {actual!r}")
    return fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRecord:
    """What could be read of a record: all facts up to the first problem, and the problem."""

    facts: tuple[Fact, ...]
    problem: RecordError | None = None

    def require(self) -> tuple[Fact, ...]:
        """The facts, if all could be read."""
        if self.problem is not None:
            raise self.problem
        return self.facts


def read_record(lines: Iterable[str | bytes]) -> ReadRecord:
    """Read a record line by line. Stops at the first problem and keeps everything before it."""
    facts: list[Fact] = []
    for line in lines:
        if not line.strip():
            continue
        try:
            fact = decode(line)
            require_next(facts[-1] if facts else None, fact)
        except RecordError as error:
            return ReadRecord(facts=tuple(facts), problem=error)
        facts.append(fact)
    return ReadRecord(facts=tuple(facts))


def require_next(previous: Fact | None, fact: Fact) -> None:
    """Raise unless ``fact`` is the one that comes after ``previous`` in its record."""
    expected = 0 if previous is None else previous.seq + 1
    if previous is not None and fact.run_id != previous.run_id:
        raise FactOrderError(
            f"A fact of run {fact.run_id!r} stands in the record of {previous.run_id!r}",
            to_do="Keep each run's record apart",
        )
    if fact.seq != expected:
        what = "is missing" if fact.seq > expected else "is doubled or out of order"
        raise FactOrderError(
            f"Fact {expected if fact.seq > expected else fact.seq} {what}: {fact.seq} came after "
            f"{'nothing' if previous is None else previous.seq}",
            allowed=f"fact {expected} next",
            to_do="Order the facts by seq and leave none out",
        )


def _finite(text: str) -> float:
    """The number a text stands for. NaN and the infinities are no JSON."""
    if not isfinite(number := float(text)):
        raise ValueError(f"{text[:40]} is no finite number")
    return number


def _cut(line: str | bytes) -> str:
    return f"{line!r:.80}"
