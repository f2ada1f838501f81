"""What reading signals costs: hostile text against plain prose, in nanoseconds per byte (C9).

Run it with ``python benchmarks/bench_signal_parser.py``. Every text is about 1 MB and is fed in chunks
of each size, and whole. The texts take turns in every repeat, so that a busy machine slows all of them;
the best of the repeats is shown. The number in brackets is the ratio to plain prose in the same column.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence
from time import perf_counter_ns

from endstop.signals import SignalStream, parse_reply

SIZE = 1_000_000
REPEATS = 7
WHOLE = SIZE * 2
CHUNK_SIZES = (1, 8, 64, 1024, WHOLE)
PROSE = "The quick brown fox jumps over the lazy dog, and then goes home to write about it. "
SIGNAL = '<signal type="need_turn"><reason>one more look</reason><confidence>0.85</confidence></signal>'

TEXTS: Mapping[str, str] = {
    "plain prose": PROSE,
    "<signal <signal <sig…": "<signal ",
    "prose with code and tags": "if a < b and c > d: <b>bold</b>, List<int>, x -> y; " + PROSE,
    "<<<<": "<",
    ">>>>": ">",
    "</signal></signal>": "</signal>",
    '<signal type="x"> repeated': '<signal type="x">',
    '<signal type="x" unfinished': '<signal type="x" ',
    "<signal > repeated": "<signal >",
    "<signal + 257 characters >": "<signal " + "a" * 257 + ">",
    '<signal type="stuck"/>': '<signal type="stuck"/>',
    "well-formed signals": SIGNAL,
    "deep lists in a field": '<signal type="stuck"><a>' + "[" * 2000 + "]" * 2000 + "</a></signal>",
    "signal full of >": '<signal type="stuck">x' + ">" * 4000 + "</signal>",
    "signal full of <>": '<signal type="stuck">x' + "<>" * 2000 + "</signal>",
    "signal too long, again and again": '<signal type="need_turn"><reason>' + PROSE * 60,
}
ONCE: Mapping[str, tuple[str, str]] = {
    "<reason> never closed": ('<signal type="need_turn"><reason>', PROSE),
    "nested signal, then prose": ('<signal type="x"><signal type="stuck"/>', PROSE),
}


def texts() -> dict[str, str]:
    """All texts by name, plain prose first."""
    repeated = {name: unit * (SIZE // len(unit)) for name, unit in TEXTS.items()}
    begun = {name: start + unit * (SIZE // len(unit)) for name, (start, unit) in ONCE.items()}
    return repeated | begun


def stream_ns(chunks: Sequence[str]) -> int:
    """How long it takes to stream ``chunks``."""
    stream = SignalStream()
    feed = stream.feed
    began = perf_counter_ns()
    for chunk in chunks:
        feed(chunk)
    stream.finish()
    return perf_counter_ns() - began


def parse_ns(text: str) -> int:
    """How long it takes to parse ``text`` at once."""
    began = perf_counter_ns()
    parse_reply(text)
    return perf_counter_ns() - began


def best_per_byte(size: int, by_name: Mapping[str, str]) -> dict[str, float]:
    """Nanoseconds per byte of every text, fed in chunks of ``size``."""
    chunked = {
        name: [text[at : at + size] for at in range(0, len(text), size)] for name, text in by_name.items()
    }
    best = dict.fromkeys(by_name, sys.maxsize)
    for _ in range(REPEATS * (5 if size > 100 else 1)):
        for name, chunks in chunked.items():
            best[name] = min(best[name], stream_ns(chunks))
    return {name: best[name] / len(by_name[name]) for name in by_name}


def main() -> None:
    by_name = texts()
    columns = [best_per_byte(size, by_name) for size in CHUNK_SIZES]
    heads = ["whole" if size == WHOLE else f"{size} a chunk" for size in CHUNK_SIZES]
    print(f"{'ns per byte (times plain prose)':34}" + "".join(f"{head:>20}" for head in heads))
    for name in by_name:
        cells = [f"{column[name]:.3f} ({column[name] / column['plain prose']:.2f})" for column in columns]
        print(f"{name:34}" + "".join(f"{cell:>20}" for cell in cells))
    reply = (PROSE * 2000)[: 100_000 - len(SIGNAL)] + SIGNAL
    chunks = [reply[at : at + 64] for at in range(0, len(reply), 64)]
    print(
        f"\n100 kB with a signal at its end: {min(parse_ns(reply) for _ in range(50)) / 1e6:.3f} ms at once,"
    )
    print(f"{min(stream_ns(chunks) for _ in range(50)) / 1e6:.3f} ms in chunks of 64")


if __name__ == "__main__":
    gc.disable()
    main()
