"""What a model's reply adds to the record: its signal, what was wrong with others, and its text."""

from __future__ import annotations

from endstop.events.facts import Note, SignalRejected
from endstop.kernel.evolve import maker
from endstop.kernel.observation import AssistantSaid, Observation, SignalGiven
from endstop.signals import ParsedReply

_assistant_said = maker(AssistantSaid)


def reply_payloads(
    reply: ParsedReply, *, at_s: float, scope: str, turn: int, is_cut_off: bool = False
) -> list[Observation | Note]:
    """The payloads to record for a reply, in their order."""
    said = _assistant_said(at_s=at_s, scope=scope, turn=turn, text=reply.text, is_cut_off=is_cut_off)
    if reply.signal is None and not reply.extra and not reply.malformed:
        return [said]
    payloads: list[Observation | Note] = []
    if reply.signal is not None:
        payloads.append(
            SignalGiven(
                at_s=at_s,
                scope=scope,
                turn=turn,
                type=reply.signal.type.value,
                confidence=reply.signal.confidence,
                reason=reply.signal.reason,
                fields=reply.signal.fields,
            )
        )
    payloads += [
        SignalRejected(scope=scope, turn=turn, text=extra.type.value, problem=_ONE_TOO_MANY)
        for extra in reply.extra
    ]
    payloads += [
        SignalRejected(scope=scope, turn=turn, text=malformed.text, problem=malformed.problem)
        for malformed in reply.malformed
    ]
    payloads.append(said)
    return payloads


_ONE_TOO_MANY = "one signal too many: the first counts"
