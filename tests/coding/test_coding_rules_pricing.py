"""The price of a build: the figures of G2, exactly, and what a person reads and answers."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.coding.policy import DEFAULT_POLICY, Policy, PriceRules
from endstop.coding.pricing import (
    Chosen,
    Price,
    alternatives,
    price_given,
    price_of,
    price_words,
    read_choice,
    verdict,
)
from endstop.coding.shapes import Estimate, Way
from endstop.events.coding import Alternative, AlternativeKind, PriceChoice, PriceGiven, PriceVerdict
from endstop.ports import Model, ModelUsage
from endstop.testing import ScriptedModel, ScriptedPrice

MODEL = ScriptedModel(
    price=ScriptedPrice(input_usd_per_million=Decimal(10), output_usd_per_million=Decimal(50))
)
FREE_OF_PRICE = ScriptedModel(price=None, name="test:unknown")
ESTIMATE = Estimate(input_tokens=100_000, output_tokens=10_000, model_calls=12, minutes=4.5, why="Two files.")
"""$1.50, and with contingency $2.25."""


def way(usd: int) -> Way:
    """Another way that comes to so many dollars with contingency."""
    return Way(what=f"for {usd}", input_tokens=usd * 100_000 * 2 // 3, output_tokens=0)


def price(usd: str | None, *, estimated: str | None = None) -> Price:
    paid = None if usd is None else Decimal(usd)
    return Price(usd=paid, estimated_usd=Decimal(estimated) if estimated else paid, why="")


@pytest.mark.guarantee("G2")
def test_input_and_output_are_priced_apart_with_contingency() -> None:
    found = price_of(ESTIMATE, MODEL, DEFAULT_POLICY)
    assert found.usd == found.estimated_usd == Decimal("2.25")
    assert not found.is_capped
    assert found.why == "Two files. The estimate times 1.5, for what goes wrong."


def test_a_price_is_rounded_up_to_a_cent() -> None:
    tiny = replace(ESTIMATE, input_tokens=1, output_tokens=0, why="")
    assert price_of(tiny, MODEL, DEFAULT_POLICY).usd == Decimal("0.01")
    nothing = replace(tiny, input_tokens=0)
    assert price_of(nothing, MODEL, DEFAULT_POLICY).usd == 0


@pytest.mark.guarantee("G2")
def test_a_price_is_never_above_what_the_session_has_left_and_says_so() -> None:
    found = price_of(ESTIMATE, MODEL, DEFAULT_POLICY, left_usd=Decimal("1.239"))
    assert (found.usd, found.estimated_usd, found.is_capped) == (Decimal("1.23"), Decimal("2.25"), True)
    assert "It would be $2.25, but the session has only $1.23 left" in found.why
    huge = replace(ESTIMATE, input_tokens=10**9)
    assert price_of(huge, MODEL, DEFAULT_POLICY).usd == DEFAULT_POLICY.session.cost_usd
    assert price_of(ESTIMATE, MODEL, DEFAULT_POLICY, left_usd=Decimal(-1)).usd == 0


@pytest.mark.guarantee("A10")
def test_an_unknown_price_is_unknown_and_not_zero() -> None:
    found = price_of(ESTIMATE, FREE_OF_PRICE, DEFAULT_POLICY)
    assert (found.usd, found.estimated_usd, found.is_capped) == (None, None, False)
    assert "Nobody knows what test:unknown costs" in found.why


@pytest.mark.parametrize("nonsense", [Decimal("NaN"), Decimal("Infinity"), Decimal(-1)])
def test_a_price_that_makes_no_sense_is_unknown(nonsense: Decimal) -> None:
    class Liar(ScriptedModel):
        def cost_usd(self, usage: ModelUsage) -> Decimal | None:
            return nonsense

    liar: Model = Liar()
    assert price_of(replace(ESTIMATE, why=""), liar, DEFAULT_POLICY).usd is None


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.decimals(0, 1_000, places=4))
def test_no_price_passes_what_is_left(input_tokens: int, output_tokens: int, left: Decimal) -> None:
    estimate = replace(ESTIMATE, input_tokens=input_tokens, output_tokens=output_tokens)
    found = price_of(estimate, MODEL, DEFAULT_POLICY, left_usd=left)
    assert found.usd is not None
    assert 0 <= found.usd <= left


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    ("usd", "yes_under", "said"),
    [
        ("0.00", None, PriceVerdict.APPROVED),
        ("0.99", None, PriceVerdict.APPROVED),
        ("1.00", None, PriceVerdict.ASK),
        ("5.00", None, PriceVerdict.ASK),
        ("5.01", None, PriceVerdict.REJECTED),
        (None, None, PriceVerdict.ASK),
        ("2.00", "2.00", PriceVerdict.APPROVED),
        ("2.01", "2.00", PriceVerdict.ASK),
        ("7.00", "8.00", PriceVerdict.APPROVED),
        ("0.99", "0.10", PriceVerdict.APPROVED),
        (None, "8.00", PriceVerdict.ASK),
    ],
)
def test_the_policy_approves_asks_or_rejects(
    usd: str | None, yes_under: str | None, said: PriceVerdict
) -> None:
    assert verdict(price(usd), DEFAULT_POLICY, None if yes_under is None else Decimal(yes_under)) is said


def test_a_build_that_cannot_be_paid_for_does_not_look_cheap() -> None:
    assert verdict(price("0.50", estimated="9.00"), DEFAULT_POLICY) is PriceVerdict.REJECTED
    assert verdict(price("0.50", estimated="3.00"), DEFAULT_POLICY, Decimal(2)) is PriceVerdict.ASK


@pytest.mark.guarantee("G2")
@pytest.mark.parametrize(
    ("smaller", "simpler", "kinds"),
    [
        (None, None, "phases"),
        (2, None, "smaller_scope phases"),
        (None, 3, "phases simpler_approach"),
        (2, 3, "smaller_scope phases simpler_approach"),
        (6, 9, "phases"),
        (6, 3, "phases simpler_approach"),
    ],
)
def test_phases_are_always_offered_and_the_others_only_under_the_threshold(
    smaller: int | None, simpler: int | None, kinds: str
) -> None:
    estimate = replace(
        ESTIMATE,
        smaller_scope=None if smaller is None else way(smaller),
        simpler_approach=None if simpler is None else way(simpler),
    )
    offered = alternatives(estimate, PriceVerdict.REJECTED, MODEL, DEFAULT_POLICY)
    assert " ".join(one.kind for one in offered) == kinds
    assert all(one.price_usd is not None or one.kind is AlternativeKind.PHASES for one in offered)


def test_an_alternative_at_the_threshold_or_of_unknown_price_is_not_offered() -> None:
    policy = Policy(price=PriceRules(reject_over_usd=Decimal(2)))
    estimate = replace(ESTIMATE, smaller_scope=Way(what="x", input_tokens=0, output_tokens=26_666))
    (_, phases) = alternatives(estimate, PriceVerdict.REJECTED, MODEL, DEFAULT_POLICY)
    assert phases.kind is AlternativeKind.PHASES
    assert len(alternatives(estimate, PriceVerdict.REJECTED, MODEL, policy)) == 1
    assert len(alternatives(estimate, PriceVerdict.REJECTED, FREE_OF_PRICE, DEFAULT_POLICY)) == 1


@pytest.mark.parametrize("said", [PriceVerdict.APPROVED, PriceVerdict.ASK])
def test_a_price_that_was_not_rejected_has_no_alternatives(said: PriceVerdict) -> None:
    assert alternatives(replace(ESTIMATE, smaller_scope=way(1)), said, MODEL, DEFAULT_POLICY) == ()


def test_the_phases_are_the_pricers_where_it_named_some() -> None:
    (ours,) = alternatives(ESTIMATE, PriceVerdict.REJECTED, MODEL, DEFAULT_POLICY)
    (theirs,) = alternatives(
        replace(ESTIMATE, phases="Parser first."), PriceVerdict.REJECTED, MODEL, DEFAULT_POLICY
    )
    assert "in phases" in ours.what
    assert theirs.what == "Parser first."


def test_the_fact_of_a_price_has_all_of_it() -> None:
    asked = price_given(ESTIMATE, MODEL, DEFAULT_POLICY, cycle=1, left_usd=Decimal(2))
    assert (asked.price_usd, asked.verdict, asked.alternatives) == (Decimal(2), PriceVerdict.ASK, ())
    assert (asked.cycle, asked.tokens, asked.model_calls, asked.minutes) == (1, 110_000, 12, 4.5)
    approved = price_given(ESTIMATE, MODEL, DEFAULT_POLICY, cycle=2, yes_under_usd=Decimal(3))
    assert (approved.cycle, approved.verdict) == (2, PriceVerdict.APPROVED)
    huge = replace(ESTIMATE, input_tokens=10**6)
    rejected = price_given(huge, MODEL, DEFAULT_POLICY, cycle=1, left_usd=Decimal(2))
    assert (rejected.price_usd, rejected.verdict) == (Decimal("15.75"), PriceVerdict.REJECTED)
    assert [one.kind for one in rejected.alternatives] == [AlternativeKind.PHASES]


OFFERED = (
    Alternative(kind=AlternativeKind.SMALLER_SCOPE, what="a", price_usd=Decimal("1.50")),
    Alternative(kind=AlternativeKind.PHASES, what="b"),
    Alternative(kind=AlternativeKind.SIMPLER_APPROACH, what="c", price_usd=Decimal(2)),
)


@pytest.mark.parametrize(
    "text", ["yes", "Y", " Yes. ", "ok", "approve", "Approved!", "go ahead", "yes please", "do it"]
)
def test_yes_approves_a_price_that_is_asked_about(text: str) -> None:
    assert read_choice(text) == Chosen(choice=PriceChoice.APPROVED)
    assert read_choice(text, OFFERED) is None


@pytest.mark.parametrize(
    "text", ["no", "N", "reject", "Rejected.", "none of them", "no, thanks", "cancel", "0"]
)
def test_no_rejects_whatever_is_offered(text: str) -> None:
    assert read_choice(text) == read_choice(text, OFFERED) == Chosen(choice=PriceChoice.REJECTED)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("2.", 2),
        ("#3", 3),
        ("option 2", 2),
        ("I take number 3", 3),
        ("the first one", 1),
        ("two", 2),
        ("smaller scope", 1),
        ("phases, please", 2),
        ("go with the simpler approach", 3),
        ("Simpler", 3),
        ("smaller_scope", 1),
    ],
)
def test_an_alternative_is_chosen_by_number_or_by_name(text: str, number: int) -> None:
    chosen = read_choice(text, OFFERED)
    assert chosen == Chosen(choice=PriceChoice.ALTERNATIVE, alternative=OFFERED[number - 1])


@pytest.mark.parametrize(
    "text",
    ["", "?", "yes but cheaper", "no 2", "not phases", "4", "1 and 2", "maybe", "yes " * 100, "why so much"],
)
def test_what_is_not_plain_is_asked_again(text: str) -> None:
    assert read_choice(text) is None
    assert read_choice(text, OFFERED) is None


def test_what_was_not_offered_cannot_be_chosen() -> None:
    assert read_choice("simpler approach", OFFERED[:2]) is None
    assert read_choice("2") is None


@given(st.text())
def test_any_answer_is_read_or_not_understood(text: str) -> None:
    chosen = read_choice(text, OFFERED)
    assert chosen is None or chosen.choice is not PriceChoice.APPROVED


def given_price(**changed: object) -> PriceGiven:
    made = PriceGiven(
        cycle=1,
        price_usd=Decimal("2.25"),
        tokens=110_000,
        model_calls=12,
        minutes=4.5,
        why="Two files.",
        verdict=PriceVerdict.ASK,
    )
    return replace(made, **changed)  # pyright: ignore[reportArgumentType] - a table's words


def test_a_person_reads_the_price_the_reason_the_thresholds_and_how_to_answer() -> None:
    assert price_words(given_price(), title="Parse dates", policy=DEFAULT_POLICY) == (
        "At most $2.25 for: Parse dates.\n"
        "That is about 110,000 tokens in 12 model calls and 4.5 minutes.\n"
        "Two files.\n"
        "\n"
        "Under $1.00 nobody is asked (price.auto_proceed_under_usd); over $5.00 it is rejected "
        "(price.reject_over_usd).\n"
        'Answer "yes" to approve it: the price becomes the budget of the build. Answer "no" to reject it.'
    )


def test_an_unknown_price_is_called_unknown() -> None:
    words = price_words(given_price(price_usd=None, why=""), title="", policy=DEFAULT_POLICY)
    assert words.startswith("An unknown price for: this change.\nThat is about")


def test_a_rejected_price_lists_its_alternatives_by_number() -> None:
    rejected = given_price(
        price_usd=Decimal("7.20"), verdict=PriceVerdict.REJECTED, alternatives=OFFERED, why="x" * 9_000
    )
    words = price_words(rejected, title="Parse dates", policy=DEFAULT_POLICY)
    assert words.endswith(
        "The policy rejects what costs more than $5.00 (price.reject_over_usd). Instead:\n"
        "  1. Smaller scope (at most $1.50): a\n"
        "  2. Phases: b\n"
        "  3. Simpler approach (at most $2.00): c\n"
        'Answer with a number, or "no" to give it up.'
    )
    assert len(words) < 4_000
