"""Policies as text: read with line numbers, refused with all their problems, found where they belong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.coding.policy import DEFAULT_POLICY, Policy, values_of
from endstop.coding.policy_file import (
    find_policy_file,
    policy_for,
    policy_from_yaml,
    policy_of,
    policy_text,
    read_policy,
    repository_of,
)
from endstop.coding.policy_keys import POLICY_KEYS, POLICY_SECTIONS
from endstop.coding.policy_problems import PolicyProblem, PolicyRefusedError
from endstop.coding.policy_schema import policy_schema
from endstop.coding.policy_template import policy_template, yaml_value
from endstop.coding.yaml_text import plain, read_yaml
from endstop.errors import InvalidValueError


def problems_of(text: str) -> list[str]:
    with pytest.raises(PolicyRefusedError) as refused:
        policy_from_yaml(text)
    return [str(problem) for problem in refused.value.problems]


def changed(text: str) -> dict[str, object]:
    """The values of a text that are not the defaults."""
    before = values_of(DEFAULT_POLICY)
    return {
        key: value for key, value in values_of(policy_from_yaml(text).policy).items() if value != before[key]
    }


@pytest.mark.guarantee("G6")
def test_the_file_to_begin_with_has_every_key_and_reads_back_as_the_defaults() -> None:
    written = policy_from_yaml(policy_template())
    assert written.policy == DEFAULT_POLICY
    assert list(written.lines) == list(POLICY_KEYS)


def test_the_file_to_begin_with_explains_every_key_and_section() -> None:
    text = " ".join(policy_template().replace("\n  #", "").split())
    for key in POLICY_KEYS.values():
        assert key.meaning in text
        assert key.kind.allowed in text
    assert all(words in text for words in POLICY_SECTIONS.values())
    assert max(len(line) for line in policy_template().splitlines()) <= 110


@pytest.mark.guarantee("G6")
def test_a_file_says_only_what_differs() -> None:
    text = "session:\n  minutes: 45\n  cost_usd: 2.50\nbuild: {rounds: 5}\n"
    written = policy_from_yaml(text)
    assert (written.policy.session.minutes, written.policy.build.rounds) == (45.0, 5)
    assert str(written.policy.session.cost_usd) == "2.5"
    assert written.lines == {"session.minutes": 2, "session.cost_usd": 3, "build.rounds": 4}
    assert set(changed(text)) == {"session.minutes", "session.cost_usd", "build.rounds"}


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "null", "{}", "session:\n", "session: {}\nbuild: null"]
)
def test_a_file_that_says_nothing_means_the_defaults(text: str) -> None:
    assert policy_from_yaml(text).policy == DEFAULT_POLICY


@pytest.mark.parametrize(
    ("written", "value"),
    [("500_000", 500_000), ("0x1000", 4_096), ("0o20000", 8_192), ("+5000", 5_000), ("05000", 5_000)],
)
def test_whole_numbers_as_yaml_writes_them(written: str, value: int) -> None:
    assert policy_from_yaml(f"session: {{tokens: {written}}}").policy.session.tokens == value


@pytest.mark.parametrize(
    "written",
    ["1:30", "2020-01-01", "1" * 5_000, ".inf", ".nan", "-.inf", "ten", "[5000]", "{a: 1}", "<<", "="],
)
def test_what_is_no_number_is_refused_with_its_line(written: str) -> None:
    (problem,) = problems_of(f"session:\n  tokens: {written}\n")
    assert problem.startswith("line 2: session.tokens is ")
    assert "Allowed: a whole number from 1,000 to 20,000,000" in problem


def test_words_of_older_yaml_mean_what_they_meant_there() -> None:
    older = "%YAML 1.1\n---\n"
    assert policy_from_yaml(older + "interview: {is_on: no}").policy.interview.is_on is False
    assert "session.tokens is '1:30'" in problems_of(older + "session: {tokens: 1:30}")[0]


def test_json_is_yaml_too() -> None:
    assert policy_from_yaml(policy_text(DEFAULT_POLICY)).policy == DEFAULT_POLICY


@pytest.mark.guarantee("G6")
def test_all_problems_are_told_at_once_each_with_its_line() -> None:
    text = (
        "sesion:\n  minutes: 3\n"
        "price:\n  auto_proceed_under_usd: 6\n  turns: 0\n"
        "interview: often\n"
        "build:\n  rouds: 3\n"
        "critic:\n  turns: 4\n  turns: 5\n"
        "price:\n  cycles: 1\n"
    )
    assert problems_of(text) == [
        "line 1: There is no key sesion. Did you mean session?",
        "line 6: interview is 'often'. Allowed: these below it: is_on, soft, hard.",
        "line 8: There is no key build.rouds. Did you mean build.rounds?",
        "line 11: critic.turns stands here again, after line 10. Leave one of them.",
        "line 12: price stands here again, after line 3. Leave one of them.",
    ]


def test_a_contradiction_is_told_where_it_stands_and_what_is_a_default() -> None:
    assert problems_of("session:\n  cost_usd: 0.50\n") == [
        "line 2: price.auto_proceed_under_usd is $1.00 by default, which is more than session.cost_usd: "
        "$0.50. Lower the first or raise the second."
    ]
    assert problems_of("price:\n  auto_proceed_under_usd: 6") == [
        "line 2: price.auto_proceed_under_usd is $6.00, which is more than price.reject_over_usd: "
        "$5.00 by default. Lower the first or raise the second."
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("session: [", "line 1: This is not YAML"),
        ("session:\n minutes: 3\n\ttokens: 4\n", "line 3: This is not YAML"),
        ("a: 'x", "This is not YAML"),
        ("session: \0", "This is not YAML (there is something that may not be in it)"),
        ("forbidden:\n  paths: [*.pem]\n", "line 2: An alias stands here: *.pem. Put text that begins with"),
        ("forbidden:\n  paths: [ * ]\n", "line 2: This is not YAML"),
        ("a: &x 1\nb: *x\n", "line 2: An alias stands here"),
        ("session: !!python/object/apply:os.system [id]\n", "line 1: A tag stands here that means nothing"),
        ("session:\n  minutes: !secret 3\n", "line 2: A tag stands here that means nothing"),
        ("%YAML " + "1" * 5_000 + ".1\n---\nsession: {}\n", "This is not YAML"),
        (f"{'x' * 100}: 1\n", f"There is no key '{'x' * 76}. Allowed"),
        ('"a\\nb": 1\n', r"There is no key 'a\nb'"),
        ("session: {}\n---\nbuild: {}\n", "line 2: A second document begins"),
        ("[" * 50, "It is nested too deep"),
        ("- 1\n- 2\n", "It is [1, 2]. Allowed: sections: session, interview,"),
        ("7", "It is 7. Allowed: sections:"),
        ("? [a, b]\n: 3\n", "There is no key ['a', 'b']"),
        ("7: 3\n", "There is no key 7"),
        ("a: [" + "1," * 6_000 + "]", "There is too much in it for a policy"),
        ("#" * 1_000_001, "There are 1,000,001 characters"),
    ],
)
def test_what_is_no_policy_at_all_is_refused_in_words(text: str, words: str) -> None:
    (problem,) = problems_of(text)
    assert words in problem


def test_a_few_aliases_that_stand_for_millions_are_refused_at_once() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
        f"{new}: &{new} [{','.join([f'*{old}'] * 8)}]\n"
        for old, new in zip("abcdefg", "bcdefgh", strict=True)
    )
    assert "An alias stands here" in problems_of(bomb)[0]


PIECES = st.sampled_from(
    (
        *POLICY_SECTIONS,
        *("minutes", "turns", "paths", "tools", "3", "0.5", "null", "true", "x"),
        *":-?*&!|>%@`#,[]{}'\"\n \t\\\r\ufeff~=<",
        *(": ", "\n  ", "- ", "---", "...", "%YAML 1.1\n---\n", "!!", "? ", "<<: "),
    )
)


@given(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40))
def test_whatever_stands_in_a_file_ends_in_a_policy_or_in_words(text: str) -> None:
    try:
        came = policy_from_yaml(text).policy
    except PolicyRefusedError as refused:
        came = refused.problems
    assert isinstance(came, Policy) or (came and all(isinstance(each, PolicyProblem) for each in came))


def test_a_policy_as_json_is_whole() -> None:
    nested = json.loads(policy_text(DEFAULT_POLICY))
    assert list(nested) == list(POLICY_SECTIONS)
    assert nested["session"] == {
        "minutes": 30.0,
        "model_calls": 50,
        "cost_usd": "10",
        "tokens": 500_000,
        "unknown_price": "refuse",
    }
    assert nested["models"]["builder"] is None
    assert nested["forbidden"]["paths"][0] == ".git/**"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"session": {"minutes": 0}}', "[]"])
def test_json_that_is_no_policy_is_refused_in_words(text: str) -> None:
    with pytest.raises(PolicyRefusedError):
        policy_of(text)


@pytest.mark.guarantee("G6")
def test_a_file_is_read_and_named_with_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes(b"\xef\xbb\xbfsession:\r\n  minutes: 45\r\n")
    assert read_policy(path).session.minutes == 45.0
    path.write_text("session:\n  minutes: 0\n")
    with pytest.raises(PolicyRefusedError) as refused:
        read_policy(path)
    assert str(refused.value).startswith(f"{path} has 1 problem:\n  line 2: session.minutes is 0.")
    path.write_text("session: [")
    with pytest.raises(PolicyRefusedError, match="has 1 problem"):
        read_policy(path)


def unreadable(folder: Path, kind: str) -> Path:
    path = folder / "policy.yaml"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "latin":
            path.write_bytes(b"session: \xe4\n")
        case "large":
            path.write_bytes(b"#" * 1_000_001)
        case "link":
            path.symlink_to(folder / "nowhere")
        case "loop":
            path.symlink_to(path)
        case "name":
            return folder / ("x" * 5_000)
        case _:
            return folder / "policy.yaml" / "below"
    return path


@pytest.mark.parametrize("kind", ["folder", "pipe", "latin", "large", "link", "loop", "name", "nothing"])
def test_what_cannot_be_read_is_said_to_be_so(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        read_policy(unreadable(tmp_path, kind))
    assert "a file that can be read (" in refused.value.allowed


def test_the_repositorys_file_comes_before_that_of_the_home_folder(tmp_path: Path) -> None:
    home, inner = tmp_path / "home", tmp_path / "repository" / "src" / "deep"
    home.mkdir()
    inner.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    assert find_policy_file(inner, home) is None
    assert policy_for(inner, home) == DEFAULT_POLICY
    (home / "policy.yaml").write_text("build: {rounds: 2}")
    assert policy_for(inner, home).build.rounds == 2
    (tmp_path / "repository" / "policy.yaml").write_text("build: {rounds: 4}")
    assert policy_for(inner, home).build.rounds == 4
    assert repository_of(inner) == tmp_path / "repository"
    assert policy_for(tmp_path, home).build.rounds == 2


def test_a_file_that_leads_nowhere_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidValueError, match="there is no such file"):
        policy_for(tmp_path, tmp_path / "home")


@pytest.mark.parametrize(
    "value",
    [
        "true",
        "No",
        "null",
        "~",
        "3",
        "",
        "a: b",
        "#x",
        "- a",
        "*.pem",
        "it's",
        'say "x"',
        "a\\b",
        "ü",
        "=",
        "<<",
    ],
)
def test_text_is_written_so_that_it_reads_back_as_text(value: str) -> None:
    assert plain(read_yaml(f"key: {yaml_value([value, 'x'])}\n")) == {"key": [value, "x"]}


GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "policy.md"


def test_the_guide_lists_every_key_with_its_default() -> None:
    rows = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{key.name}` | `{yaml_value(key.default)}` | {key.meaning} |" for key in POLICY_KEYS.values()
    ]


def test_the_example_in_the_guide_is_a_policy() -> None:
    example = GUIDE.read_text(encoding="utf-8").partition("```\nsession:")[2].partition("```")[0]
    assert changed(f"session:{example}")["models.builder"] == "anthropic:claude-sonnet-5"


def fits(schema: dict[str, Any], value: Any) -> bool:
    validator: Any = jsonschema.Draft202012Validator(schema)
    return validator.is_valid(value)


def test_the_schema_takes_the_defaults_and_knows_every_key_with_its_bounds() -> None:
    schema = policy_schema()
    assert fits(schema, json.loads(policy_text(DEFAULT_POLICY)))
    named = {
        f"{section}.{name}" for section, below in schema["properties"].items() for name in below["properties"]
    }
    assert named == set(POLICY_KEYS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sesion": {}},
        {"session": {"minutes": 0}},
        {"session": {"cost_usd": "much"}},
        {"build": {"rounds": 2.5}},
        {"tools": {"run_command": "maybe"}},
        {"forbidden": {"paths": None}},
        {"interview": {"is_on": "yes"}},
    ],
)
def test_the_schema_refuses_what_is_out_of_bounds(wrong: dict[str, Any]) -> None:
    assert not fits(policy_schema(), wrong)


def test_the_schema_in_the_repository_is_up_to_date() -> None:
    root = Path(__file__).resolve().parents[2]
    script = [sys.executable, str(root / "scripts" / "policy_schema.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_reading_yaml_is_loaded_only_when_it_is_used() -> None:
    code = "import sys, endstop.coding.policy_edit, endstop.cli.policy\n"
    code += "print('ruamel' in str([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
