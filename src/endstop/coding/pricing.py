"""What a build may cost, what the policy says to that, and what else could be done (G2) [SPK]. Pure.

A price is judged by what it is estimated to be; what is approved becomes the budget, and that is never more
than the session has left. So a build that cannot be paid for does not look cheap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_UP, Decimal

from endstop.coding.policy import Policy
from endstop.coding.shapes import Estimate, Way
from endstop.events.coding import Alternative, AlternativeKind, PriceChoice, PriceGiven, PriceVerdict
from endstop.kernel.limits import money
from endstop.kernel.texts import shortened
from endstop.ports import Model, ModelUsage

_CENT = Decimal("0.01")
_PHASES = "Do it in phases, each a session of its own with a price of its own, the most useful part first."

_MOST_WHY_CHARS = 2_000
_MOST_ANSWER_CHARS = 100

_YES = frozenset(
    {"yes", "y", "ok", "okay", "approve", "approved", "approve it", "go", "go ahead", "do it", "proceed"}
)
_NO = frozenset(
    {"no", "n", "reject", "rejected", "reject all", "reject it", "none", "none of them", "none of these"}
    | {"cancel", "stop", "abandon", "give up", "0"}
)
_KINDS = {
    AlternativeKind.SMALLER_SCOPE: frozenset({"smaller scope", "smaller", "scope", "small scope"}),
    AlternativeKind.PHASES: frozenset({"phases", "phase", "in phases"}),
    AlternativeKind.SIMPLER_APPROACH: frozenset(
        {"simpler approach", "simpler", "approach", "simple approach"}
    ),
}
_NUMBER_WORDS = {"one": 1, "first": 1, "two": 2, "second": 2, "three": 3, "third": 3}
_LEADING = re.compile(
    r"^(?:please|i choose|i take|i want|choose|take|use|go with|let's do|lets do|the|option|alternative"
    r"|number)\s+"
)
_TRAILING = re.compile(r"\s+(?:please|thanks|thank you|one|option)$")
_NOT_WORDS = re.compile(r"(?:[^\w\s']|_)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a build may cost."""

    usd: Decimal | None
    """At most so much; None when nobody knows what the model costs."""
    estimated_usd: Decimal | None
    """The same, whatever the session has left."""
    why: str
    """In words: the estimate's own, and what was made of it."""

    @property
    def is_capped(self) -> bool:
        """It would take more than the session has left."""
        return self.usd != self.estimated_usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What the user chose."""

    choice: PriceChoice
    alternative: Alternative | None = None


def price_of(estimate: Estimate, model: Model, policy: Policy, *, left_usd: Decimal | None = None) -> Price:
    """The price of an estimate. ``left_usd`` is what the session has left; None: all it began with."""
    left = policy.session.cost_usd if left_usd is None else max(left_usd, Decimal(0))
    estimated = _dollars(estimate.input_tokens, estimate.output_tokens, model, policy)
    notes = [estimate.why] if estimate.why else []
    if estimated is None:
        notes.append(f"Nobody knows what {model.name} costs.")
        return Price(usd=None, estimated_usd=None, why=" ".join(notes))
    notes.append(f"The estimate times {policy.price.contingency:g}, for what goes wrong.")
    usd = estimated
    if estimated > left:
        usd = left.quantize(_CENT, rounding=ROUND_DOWN)
        notes.append(
            f"It would be ${money(estimated)}, but the session has only ${money(usd)} left "
            "(session.cost_usd): it may not be enough."
        )
    return Price(usd=usd, estimated_usd=estimated, why=" ".join(notes))


def price_given(
    estimate: Estimate,
    model: Model,
    policy: Policy,
    *,
    cycle: int,
    left_usd: Decimal | None = None,
    yes_under_usd: Decimal | None = None,
) -> PriceGiven:
    """All of it in one: the price, the verdict and the alternatives, as the record keeps them."""
    price = price_of(estimate, model, policy, left_usd=left_usd)
    said = verdict(price, policy, yes_under_usd)
    return PriceGiven(
        cycle=cycle,
        price_usd=price.estimated_usd if said is PriceVerdict.REJECTED else price.usd,
        tokens=estimate.tokens,
        model_calls=estimate.model_calls,
        minutes=estimate.minutes,
        why=price.why,
        verdict=said,
        alternatives=alternatives(estimate, said, model, policy),
    )


def verdict(price: Price, policy: Policy, yes_under_usd: Decimal | None = None) -> PriceVerdict:
    """What the policy says. ``yes_under_usd``: up to this the user has said yes already."""
    usd = price.estimated_usd
    if usd is None:
        return PriceVerdict.ASK
    if usd < policy.price.auto_proceed_under_usd or (yes_under_usd is not None and usd <= yes_under_usd):
        return PriceVerdict.APPROVED
    return PriceVerdict.REJECTED if usd > policy.price.reject_over_usd else PriceVerdict.ASK


def alternatives(
    estimate: Estimate, said: PriceVerdict, model: Model, policy: Policy
) -> tuple[Alternative, ...]:
    """What can be done in place of a rejected price: at most three, phases always among them."""
    if said is not PriceVerdict.REJECTED:
        return ()
    offered = (
        _cheaper(AlternativeKind.SMALLER_SCOPE, estimate.smaller_scope, model, policy),
        Alternative(kind=AlternativeKind.PHASES, what=estimate.phases or _PHASES),
        _cheaper(AlternativeKind.SIMPLER_APPROACH, estimate.simpler_approach, model, policy),
    )
    return tuple(one for one in offered if one is not None)


def read_choice(text: str, alternatives: Sequence[Alternative] = ()) -> Chosen | None:
    """What an answer to the question means; None if it is not understood, and must be asked again.

    Only plain answers are understood: "yes, but …" is no yes. Where there are alternatives the price itself
    was rejected, and yes to it is no answer.
    """
    said = _plain(text)
    if said in _NO:
        return Chosen(choice=PriceChoice.REJECTED)
    if not alternatives:
        return Chosen(choice=PriceChoice.APPROVED) if said in _YES else None
    for number, one in enumerate(alternatives, start=1):
        if said == str(number) or _NUMBER_WORDS.get(said) == number or said in _KINDS[one.kind]:
            return Chosen(choice=PriceChoice.ALTERNATIVE, alternative=one)
    return None


def price_words(given: PriceGiven, *, title: str, policy: Policy) -> str:
    """The question a person reads: the price, what it is for, why, and how to answer."""
    lines = [
        f"{_price(given)} for: {title or 'this change'}.",
        f"That is about {given.tokens:,} tokens in {given.model_calls:,} model calls "
        f"and {given.minutes:,.4g} minutes.",
    ]
    if given.why:
        lines.append(shortened(given.why, _MOST_WHY_CHARS))
    return "\n".join([*lines, "", *_how_to_answer(given, policy)])


def _cheaper(kind: AlternativeKind, way: Way | None, model: Model, policy: Policy) -> Alternative | None:
    """This way, if it is known to cost less than what would be rejected again."""
    if way is None:
        return None
    usd = _dollars(way.input_tokens, way.output_tokens, model, policy)
    if usd is None or usd >= policy.price.reject_over_usd:
        return None
    return Alternative(kind=kind, what=way.what, price_usd=usd)


def _dollars(input_tokens: int, output_tokens: int, model: Model, policy: Policy) -> Decimal | None:
    """With contingency, rounded up to a cent. A model's word is not trusted: nonsense is unknown."""
    cost = model.cost_usd(ModelUsage(input_tokens=input_tokens, output_tokens=output_tokens))
    if cost is None or not cost.is_finite() or cost < 0:
        return None
    return (cost * Decimal(str(policy.price.contingency))).quantize(_CENT, rounding=ROUND_UP)


def _price(given: PriceGiven) -> str:
    return "An unknown price" if given.price_usd is None else f"At most ${money(given.price_usd)}"


def _how_to_answer(given: PriceGiven, policy: Policy) -> list[str]:
    auto, most = policy.price.auto_proceed_under_usd, policy.price.reject_over_usd
    if given.verdict is PriceVerdict.REJECTED:
        return [
            f"The policy rejects what costs more than ${money(most)} (price.reject_over_usd). Instead:",
            *(f"  {number}. {_offer(one)}" for number, one in enumerate(given.alternatives, start=1)),
            'Answer with a number, or "no" to give it up.',
        ]
    return [
        f"Under ${money(auto)} nobody is asked (price.auto_proceed_under_usd); "
        f"over ${money(most)} it is rejected (price.reject_over_usd).",
        'Answer "yes" to approve it: the price becomes the budget of the build. Answer "no" to reject it.',
    ]


def _offer(one: Alternative) -> str:
    price = "" if one.price_usd is None else f" (at most ${money(one.price_usd)})"
    return f"{one.kind.value.replace('_', ' ').capitalize()}{price}: {one.what}"


def _plain(text: str) -> str:
    """An answer without what does not change its meaning."""
    said = " ".join(text[:_MOST_ANSWER_CHARS].casefold().split())
    said = " ".join(_NOT_WORDS.sub(" ", said).split()) if len(text) <= _MOST_ANSWER_CHARS else ""
    while (shorter := _TRAILING.sub("", _LEADING.sub("", said))) != said:
        said = shorter
    return said
