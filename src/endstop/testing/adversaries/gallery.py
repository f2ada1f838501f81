"""All adversaries in one list, each with what it does and how its run may end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from endstop.ports import Model, Tool
from endstop.testing.adversaries import calls, errors, signals, streams, tools, usage
from endstop.testing.adversaries.adversary import (
    COMPLETED,
    ERRORS,
    FAILED,
    LIMITS,
    NO_PROGRESS,
    TIME,
    Adversary,
    Expected,
)
from endstop.testing.adversaries.calls import IgnoresLastTurn, RepeatsCall, Runaway
from endstop.testing.echo import echo_tool


def _echo() -> tuple[Tool, ...]:
    return (echo_tool(is_strict=True),)


def _runaway_with(tool: str) -> Model:
    return Runaway(tool=tool)


def _repeats_call_of(tool: str) -> Model:
    return RepeatsCall(tool=tool)


def _model(
    name: str,
    does: str,
    make_model: Callable[[], Model],
    expected: frozenset[Expected],
    *,
    must_use_tools: bool = False,
    needs_time_limit: bool = False,
) -> Adversary:
    return Adversary(
        name=name,
        does=does,
        make_model=make_model,
        make_tools=_echo,
        expected=expected,
        must_use_tools=must_use_tools,
        needs_time_limit=needs_time_limit,
    )


def _tool(
    name: str,
    does: str,
    make_tool: Callable[[], Tool],
    expected: frozenset[Expected],
    *,
    make_model: Callable[[str], Model] = _runaway_with,
    needs_time_limit: bool = False,
) -> Adversary:
    """A tool, with a model that keeps calling it with something new."""
    called = make_tool().spec.name
    return Adversary(
        name=name,
        does=does,
        make_model=lambda: make_model(called),
        make_tools=lambda: (make_tool(),),
        expected=expected,
        needs_time_limit=needs_time_limit,
    )


_STREAMS = (
    _model(
        "never_stops",
        "Streams ever new text in one reply and ignores its output cap.",
        streams.NeverStops,
        LIMITS | COMPLETED | NO_PROGRESS,
    ),
    _model(
        "never_stops_nor_waits",
        "Streams ever new text and never lets the event loop go on.",
        lambda: streams.NeverStops(gives_way=False),
        LIMITS | COMPLETED | NO_PROGRESS,
    ),
    _model(
        "thinks_for_ever",
        "Thinks without end and never comes to say a word.",
        lambda: streams.NeverStops(thinks=True),
        LIMITS | COMPLETED | NO_PROGRESS,
    ),
    _model(
        "streams_nothing",
        "Streams empty pieces for ever.",
        streams.StreamsNothing,
        LIMITS | FAILED,
        needs_time_limit=True,
    ),
    _model(
        "repeats_paragraph",
        "Says the same paragraph over and over in one stream.",
        streams.RepeatsParagraph,
        NO_PROGRESS,
    ),
    _model(
        "drips_tokens",
        "Says one token a second, for ever.",
        streams.DripsTokens,
        TIME,
        needs_time_limit=True,
    ),
    _model(
        "hangs_before_first_token",
        "Takes the request and never says a word.",
        streams.Hangs,
        TIME | FAILED,
        needs_time_limit=True,
    ),
    _model(
        "hangs_mid_stream",
        "Says a few sentences, and then nothing more.",
        lambda: streams.Hangs(pieces=3),
        TIME | FAILED,
        needs_time_limit=True,
    ),
    _model("breaks_off", "Breaks off in the middle of every reply.", streams.BreaksOff, FAILED | LIMITS),
    _model(
        "breaks_off_silently",
        "Stops in the middle of every reply without saying that it is over.",
        lambda: streams.BreaksOff(silently=True),
        FAILED | LIMITS | COMPLETED,
    ),
    _model(
        "stubborn",
        "Hangs, and will not be cancelled for a while.",
        streams.Stubborn,
        TIME | FAILED | COMPLETED,
        needs_time_limit=True,
    ),
    _model(
        "closes_slowly",
        "Streams for ever, and takes its time to be closed.",
        streams.ClosesSlowly,
        LIMITS | COMPLETED | NO_PROGRESS,
    ),
    _model(
        "huge_piece",
        "Says 50 MB in one piece.",
        streams.HugePiece,
        LIMITS | COMPLETED | NO_PROGRESS,
    ),
    _model(
        "ignores_output_cap",
        "Says three times as much as it may in every reply.",
        streams.IgnoresOutputCap,
        LIMITS,
    ),
    _model(
        "talks_after_the_end",
        "Ends its reply and goes on talking for ever.",
        streams.TalksAfterTheEnd,
        COMPLETED | FAILED,
    ),
    _model("no_stream", "Answers with a list where a stream was asked for.", streams.NoStream, FAILED),
    _model(
        "streams_garbage",
        "Streams numbers, None and pieces without text.",
        streams.StreamsGarbage,
        FAILED | COMPLETED | NO_PROGRESS,
    ),
)

_CALLS = (
    _model("runaway", "Makes a new tool call each turn, for ever.", Runaway, LIMITS),
    _model("repeats_call", "Makes the same tool call every turn.", RepeatsCall, NO_PROGRESS),
    _model("cycle_of_two", "Makes two calls in turn.", lambda: calls.Cycles(length=2), NO_PROGRESS),
    _model("cycle_of_three", "Makes three calls in turn.", lambda: calls.Cycles(length=3), NO_PROGRESS),
    _model(
        "rewords_its_prose",
        "Makes the same call every turn and finds new words for it.",
        calls.RewordsItsProse,
        NO_PROGRESS,
    ),
    _model(
        "replies_emptily",
        "Says nothing and calls nothing.",
        calls.RepliesEmptily,
        NO_PROGRESS | COMPLETED | FAILED,
        must_use_tools=True,
    ),
    _model(
        "only_prose",
        "Talks and talks, and never uses a tool though it must.",
        calls.OnlyProse,
        NO_PROGRESS,
        must_use_tools=True,
    ),
    _model("many_calls", "Asks for ten thousand tool calls in one reply.", calls.ManyCalls, LIMITS),
    _model("unknown_tools", "Calls tools that are not there.", calls.UnknownTools, ERRORS),
    _model("broken_arguments", "Writes arguments that are no JSON.", calls.BrokenArguments, ERRORS),
    _model(
        "huge_arguments", "Writes megabytes of arguments.", calls.HugeArguments, ERRORS | LIMITS | NO_PROGRESS
    ),
    _model(
        "ignores_last_turn", "Calls tools on its last turn, too, and says nothing.", IgnoresLastTurn, LIMITS
    ),
    _model("says_odd_text", "Says lone surrogates, NULs and escapes.", calls.SaysOddText, LIMITS),
    _model("reuses_call_ids", "Gives all its calls the same id.", calls.ReusesCallIds, LIMITS | FAILED),
)

_USAGE = (
    _model("tells_too_little_usage", "Tells one token of every call.", usage.tells_too_little, LIMITS),
    _model(
        "tells_too_much_usage", "Tells a billion billion tokens of every call.", usage.tells_too_much, LIMITS
    ),
    _model("tells_no_usage", "Never tells what it used.", usage.tells_none, LIMITS),
    _model("tells_negative_usage", "Tells less than nothing.", usage.tells_negative, LIMITS),
    _model("tells_nonsense_usage", "Tells usage that is no number.", usage.tells_nonsense, LIMITS),
)

_SIGNALS = (
    _model(
        "same_reason",
        "Gives the same reason for another turn, with other white space.",
        signals.same_reason,
        NO_PROGRESS,
    ),
    _model("malformed_signals", "Writes signals that cannot be read.", signals.malformed_signals, LIMITS),
    _model("nested_signals", "Writes signals inside signals.", signals.nested_signals, LIMITS),
    _model("split_signals", "Streams its signals in tiny pieces.", signals.split_signals, LIMITS),
)

_ERRORS = (
    *(
        _model(
            f"fails_{kind}",
            f"Fails at every call: {make_error().what}.",
            lambda make_error=make_error: errors.FailsForEver(make_error),
            FAILED | TIME,
        )
        for kind, make_error in errors.PROVIDER_ERRORS.items()
    ),
    _model("recovers", "Is too busy twice, then answers.", errors.Recovers, COMPLETED),
    _model(
        "asks_to_wait_an_hour",
        "Is too busy and asks to come back in an hour.",
        errors.asks_to_wait_an_hour,
        FAILED | TIME,
    ),
    _model("raises_exception", "Raises a bug of its own.", errors.raises_exception, FAILED),
    _model("raises_base_exception", "Raises what is no Exception.", errors.raises_base_exception, FAILED),
    _model("raises_system_exit", "Calls for the end of the process.", errors.raises_system_exit, FAILED),
    _model("raises_cancelled", "Says it was cancelled; nobody did.", errors.raises_cancelled, FAILED),
)

_TOOLS = (
    _tool(
        "tool_hangs",
        "The tool waits for what never comes.",
        tools.HangingTool,
        TIME | ERRORS,
        needs_time_limit=True,
    ),
    _tool(
        "tool_blocks_thread",
        "The tool blocks its thread.",
        tools.blocking_tool,
        TIME | ERRORS,
        needs_time_limit=True,
    ),
    _tool(
        "tool_spins", "The tool keeps a thread busy.", tools.busy_tool, TIME | ERRORS, needs_time_limit=True
    ),
    _tool(
        "tool_forks",
        "The tool leaves processes behind that hold its output open.",
        tools.ForkingTool,
        TIME | ERRORS,
        needs_time_limit=True,
    ),
    _tool(
        "tool_is_stubborn",
        "The tool will not be cancelled for a while.",
        tools.StubbornTool,
        TIME | ERRORS,
        needs_time_limit=True,
    ),
    _tool("tool_fails_at", "The tool fails with a new time stamp.", tools.TimeStampTool, ERRORS),
    _tool(
        "tool_fails_at_same_call",
        "The tool fails with a new time stamp, and is called the same way.",
        tools.TimeStampTool,
        ERRORS | NO_PROGRESS,
        make_model=_repeats_call_of,
    ),
    _tool("tool_floods", "The tool returns 50 MB.", tools.FloodingTool, LIMITS),
    _tool("tool_returns_odd_text", "The tool returns lone surrogates and NULs.", tools.OddTextTool, LIMITS),
    _tool("tool_returns_nonsense", "The tool returns what is no result.", tools.NonsenseTool, ERRORS),
    _tool(
        "tool_raises_base_exception",
        "The tool raises what is no Exception.",
        lambda: tools.RaisingTool(lambda: errors.Catastrophe("the worst")),
        ERRORS,
    ),
    _tool(
        "tool_raises_system_exit",
        "The tool calls for the end of the process.",
        lambda: tools.RaisingTool(lambda: SystemExit(3)),
        ERRORS,
    ),
    _tool(
        "tool_raises_keyboard_interrupt",
        "The tool pretends that somebody pressed Ctrl-C.",
        lambda: tools.RaisingTool(KeyboardInterrupt),
        ERRORS,
    ),
    _tool(
        "tool_waits_for_ever",
        "The tool says for ever that it still waits.",
        tools.WaitingTool,
        LIMITS,
        make_model=_repeats_call_of,
    ),
)

ADVERSARIES: Mapping[str, Adversary] = MappingProxyType(
    {each.name: each for each in (*_STREAMS, *_CALLS, *_USAGE, *_SIGNALS, *_ERRORS, *_TOOLS)}
)
"""Every adversary, by name."""
