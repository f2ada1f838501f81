"""One value of a policy changed in its text: all else stays as it was written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.coding.policy import DEFAULT_POLICY, values_of
from endstop.coding.policy_edit import with_value
from endstop.coding.policy_file import WrittenPolicy, policy_from_yaml
from endstop.coding.policy_keys import POLICY_KEYS
from endstop.coding.policy_problems import PolicyRefusedError
from endstop.coding.policy_template import policy_template, yaml_value
from endstop.coding.policy_values import Money, Number, Whole
from endstop.errors import InvalidValueError

WRITTEN = """\
# Mine.
session:   # tight
  minutes: 10     # of an hour
  cost_usd: "2"

forbidden:
  paths:
    - .git        # of course
    - "*.pem"

# Who works.
models:
build: {rounds: 2}
tests:
  command: |-
    make test
  seconds: 60
"""


@pytest.mark.parametrize(
    ("key", "words", "before", "after"),
    [
        ("session.minutes", "20", "minutes: 10     # of an hour", "minutes: 20     # of an hour"),
        ("session.cost_usd", "1.5", 'cost_usd: "2"', "cost_usd: 1.50"),
        ("session.tokens", "5000", '  cost_usd: "2"\n', '  cost_usd: "2"\n  tokens: 5000\n'),
        (
            "forbidden.paths",
            '[.env, "*.key"]',
            'paths:\n    - .git        # of course\n    - "*.pem"\n\n# Who',
            'paths: [".env", "*.key"]\n\n# Who',
        ),
        ("forbidden.contents", "x+", '    - "*.pem"\n', '    - "*.pem"\n  contents: ["x+"]\n'),
        ("models.builder", "a:b", "models:\n", 'models:\n  builder: "a:b"\n'),
        ("build.rounds", "4", "build: {rounds: 2}", "build: {rounds: 4}"),
        ("build.turns", "4", "build: {rounds: 2}", "build: {rounds: 2, turns: 4}"),
        ("tests.command", "tox -e py", "command: |-\n    make test\n", 'command: "tox -e py"\n'),
        ("tests.command", "none", "command: |-\n    make test\n", "command: null\n"),
        ("critic.turns", "4", "  seconds: 60\n", "  seconds: 60\ncritic:\n  turns: 4\n"),
        ("commands.allow", "pytest", "  seconds: 60\n", "  seconds: 60\ncommands:\n  allow: [pytest]\n"),
        ("interview.is_on", "false", "  seconds: 60\n", "  seconds: 60\ninterview:\n  is_on: false\n"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_one_value_changes_and_comments_stay(
    key: str, words: str, before: str, after: str, newline: str
) -> None:
    assert WRITTEN.count(before) == 1
    changed, _ = with_value(WRITTEN.replace("\n", newline), key, words)
    assert changed == WRITTEN.replace(before, after).replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("", "build:\n  rounds: 5\n"),
        ("# mine", "# mine\nbuild:\n  rounds: 5\n"),
        ("{}", "{build: {rounds: 5}}"),
        ('{"session": {}}', '{"session": {}, build: {rounds: 5}}'),
        ("build: {}", "build: {rounds: 5}"),
        ("build: null # none", "build:\n  rounds: 5 # none"),
        ("build:", "build:\n  rounds: 5"),
        ("build: # mine\n  turns: 3", "build: # mine\n  turns: 3\n  rounds: 5\n"),
        ("build:\n    turns: 3 # few\n# end", "build:\n    turns: 3 # few\n    rounds: 5\n# end"),
        ("build:\n  rounds:\n", "build:\n  rounds: 5\n"),
        ("build:\n  rounds:\n  turns: 3\n", "build:\n  rounds: 5\n  turns: 3\n"),
        ("build: # mine\ncritic: {}\n", "build:\n  rounds: 5 # mine\ncritic: {}\n"),
        ('"build": {"rounds": 2}', '"build": {"rounds": 5}'),
        ("build:\n  rounds:\n    2 # few\n", "build:\n  rounds: 5 # few\n"),
    ],
)
def test_values_are_changed_however_a_file_is_laid_out(text: str, changed: str) -> None:
    assert with_value(text, "build.rounds", "5")[0] == changed


def test_what_would_contradict_is_refused_and_nothing_is_changed() -> None:
    with pytest.raises(PolicyRefusedError) as refused:
        with_value(WRITTEN, "session.cost_usd", "0.5", of="policy.yaml, so changed,")
    assert "policy.yaml, so changed, has 1 problem" in refused.value.what
    assert "Nothing was changed" in refused.value.to_do


def test_a_change_may_mend_what_was_wrong() -> None:
    changed, written = with_value("critic:\n  turns: 0 # few\n", "critic.turns", "2")
    assert changed == "critic:\n  turns: 2 # few\n"
    assert written.policy.critic.turns == 2


@pytest.mark.parametrize(
    ("key", "words", "said"),
    [
        ("session.minuts", "3", "Did you mean session.minutes?"),
        ("session", "3", "KEY is 'session'"),
        ("zzzzzz", "3", "See endstop policy show"),
        ("session.minutes", "lots", "a number from 1 to 480"),
        ("session.minutes", "", "a number from 1 to 480"),
        ("session.minutes", "[", "'[' cannot be read"),
        ("commands.allow", "[*x]", "in quotes"),
        ("models.builder", "claude", "provider:model"),
    ],
)
def test_what_cannot_be_set_is_told_what_can(key: str, words: str, said: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        with_value(WRITTEN, key, words)
    assert said in str(refused.value)


def test_a_value_is_added_after_text_in_block_style() -> None:
    changed, _ = with_value("tests:\n  command: |-\n    a b\n# end\n", "tests.seconds", "9")
    assert changed == "tests:\n  command: |-\n    a b\n  seconds: 9\n# end\n"


def test_a_change_that_would_hit_another_key_is_not_made() -> None:
    with pytest.raises(InvalidValueError, match="cannot be changed safely"):
        with_value("models: {builder , critic: }", "models.builder", "a:b")


@pytest.mark.parametrize(
    "text", ["? build\n: rounds: 2\n", "build: {rounds}\n", "build:\n  ? rounds # how: many\n  : 2\n"]
)
def test_a_file_laid_out_as_nobody_does_is_changed_rightly_or_not_at_all(text: str) -> None:
    came = came_of(text, "build.rounds", "5")
    if isinstance(came, str):
        assert "Change" in came or "change" in came
    else:
        assert values_of(policy_from_yaml(came[0]).policy) == {**values_of(DEFAULT_POLICY), "build.rounds": 5}


NUMBERS = [key for key in POLICY_KEYS.values() if isinstance(key.kind, Whole | Number | Money)]


def comments(text: str) -> list[str]:
    return [comment for line in text.splitlines() if (comment := line.partition("#")[2])]


def came_of(text: str, key: str, words: str) -> tuple[str, WrittenPolicy] | str:
    try:
        return with_value(text, key, words)
    except InvalidValueError as refused:
        return str(refused)


@given(st.sampled_from(NUMBERS), st.booleans(), st.sampled_from([policy_template(), "", "{}", WRITTEN]))
def test_a_value_that_was_set_is_read_back_and_no_other_is_touched(key: Any, is_low: bool, text: str) -> None:
    wanted = key.kind.smallest if is_low else key.kind.largest
    came = came_of(text, key.name, yaml_value(wanted))
    if isinstance(came, str):
        assert "which is more than" in came
    else:
        changed, written = came
        assert values_of(written.policy) == {**values_of(policy_from_yaml(text).policy), key.name: wanted}
        assert comments(changed) == comments(text)
