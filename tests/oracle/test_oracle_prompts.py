"""Prompts composed from files (E9): the same bytes every time, within their limit, true to the signals."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from endstop.errors import InvalidValueError
from endstop.oracle.prompting import MOST_TOKENS, PROMPT_FILES, RECOVERY, PromptFiles, compose
from endstop.oracle.query import QueryType
from endstop.ports import ToolSpec
from endstop.signals import FIELDS_OF, SignalType, parse_reply

OURS = PromptFiles()
SEARCH = ToolSpec(
    name="search_code", description="Search the code.\n\nBy name.", parameters={"type": "object"}
)


def in_folder(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.guarantee("E9")
@pytest.mark.parametrize("type_", QueryType)
def test_base_signals_tools_and_the_file_of_the_type_are_always_there(type_: QueryType) -> None:
    prompt = compose(type_)
    for heading in ("# Who you are", "# Say how you stand", "# Your tools", OURS.text(f"{type_}.md")):
        assert heading in prompt
    others = [OURS.text(f"{other}.md") for other in QueryType if other is not type_]
    assert not any(other in prompt for other in others)


@pytest.mark.guarantee("E9")
def test_same_inputs_give_the_same_bytes_also_from_other_line_ends(tmp_path: Path) -> None:
    spoilt = {
        name: b"\xef\xbb\xbf" + OURS.text(name).replace("\n", " \t\r\n").encode() + b"\r\n\r\n  \r\n"
        for name in PROMPT_FILES
    }
    theirs = PromptFiles(in_folder(tmp_path, dict(spoilt)))
    for type_ in QueryType:
        ours = compose(type_, tools=[SEARCH], recovery=RECOVERY, project="Endstop")
        again = compose(type_, tools=[SEARCH], recovery=RECOVERY, project="Endstop", files=theirs)
        assert again.encode() == ours.encode()


def test_old_line_ends_are_line_ends(tmp_path: Path) -> None:
    files = PromptFiles(in_folder(tmp_path, {"base.md": "one\rtwo"}))
    assert files.text("base.md") == "one\ntwo"


@pytest.mark.guarantee("E9")
def test_hints_come_once_each_in_one_order_however_they_are_named() -> None:
    prompts = {
        compose(QueryType.CODE, recovery=names)
        for names in permutations(("empty", "tool_failed", "tool_failed", "no_results"))
    }
    (prompt,) = prompts
    assert prompt.count(OURS.text("recovery/tool_failed.md")) == 1
    assert prompt.endswith(OURS.text("recovery/empty.md") + "\n")


@pytest.mark.parametrize("name", RECOVERY)
def test_every_situation_has_a_hint_of_its_own(name: str) -> None:
    assert compose(QueryType.CODE, recovery=[name]).removeprefix(compose(QueryType.CODE).rstrip()).strip()


def test_a_situation_without_a_hint_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(InvalidValueError, match=r"recovery is 'sunburn'\. Allowed: tool_failed, "):
        compose(QueryType.CODE, recovery=["sunburn"])


def test_tools_are_listed_on_a_line_each() -> None:
    assert "\n- search_code: Search the code. By name.\n" in compose(QueryType.CODE, tools=[SEARCH])


def test_without_tools_the_prompt_says_so() -> None:
    assert "You have none for this" in compose(QueryType.CONVERSATIONAL)


def test_the_project_is_named_or_called_this_project() -> None:
    assert "questions about Endstop." in compose(QueryType.CODE, project=" Endstop\n")
    assert "questions about this project." in compose(QueryType.CODE)


@pytest.mark.guarantee("E9")
def test_no_name_can_smuggle_in_a_placeholder() -> None:
    sly = ToolSpec(name="{{project}}", description="{{tools}}", parameters={})
    prompt = compose(QueryType.CODE, tools=[sly], project="{{tools}}")
    assert "questions about {{tools}}." in prompt
    assert "\n- {{project}}: {{tools}}\n" in prompt


@given(st.text(max_size=2_000), st.text(max_size=2_000))
def test_names_from_elsewhere_stay_on_their_line_and_short(project: str, description: str) -> None:
    tool = ToolSpec(name="x", description=description, parameters={})
    prompt = compose(QueryType.CODE, tools=[tool], project=project)
    assert len(prompt) < MOST_TOKENS
    assert prompt.count("\n") == compose(QueryType.CODE, tools=[SEARCH]).count("\n")


@pytest.mark.guarantee("E9")
@pytest.mark.parametrize("type_", QueryType)
def test_the_longest_prompt_before_tools_has_at_most_8000_tokens(type_: QueryType) -> None:
    longest = compose(type_, recovery=RECOVERY, project="\U0001f600" * 1000)
    assert len(longest.encode()) <= MOST_TOKENS == 8_000


def test_files_in_a_folder_replace_ours_one_by_one(tmp_path: Path) -> None:
    folder = in_folder(tmp_path, {"base.md": "You are Ada.", "recovery/empty.md": "Speak up.", ".git/x": "?"})
    prompt = compose(QueryType.CODE, recovery=["empty"], files=PromptFiles(folder))
    assert prompt.startswith("You are Ada.\n\n# Say how you stand")
    assert prompt.endswith("\n\nSpeak up.\n")


def test_an_empty_file_leaves_its_part_out(tmp_path: Path) -> None:
    prompt = compose(QueryType.CODE, files=PromptFiles(in_folder(tmp_path, {"base.md": "\n \n"})))
    assert prompt.startswith("# Say how you stand")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"bases.md": "x"},
            r"(?s)a prompt file in .* is 'bases\.md'\. Allowed: one of base\.md, .*Did you mean base\.md\?",
        ),
        ({"zzz": "x"}, r"(?s)'zzz'.* Rename it, or take it out of the folder"),
        ({"base.md": "x" * 8_001}, r"(?s)base\.md is 8001\. Allowed: at most 8,000 bytes .*Make it shorter"),
        ({"code.md": "x" * 7_000}, r"(?s)code\.md is 7000\. .* makes a prompt of up to 1\d,\d\d\d"),
        ({"base.md": b"\xff\xfe"}, r"(?s)base\.md.* Allowed: a file with UTF-8 text"),
        ({"base.md": "about {{ user }}"}, r"(?s)base\.md is '{{user}}'\. Allowed: {{project}}, {{tools}}"),
    ],
    ids=["unknown", "unlike any", "too large", "too large together", "not text", "unknown placeholder"],
)
def test_a_file_that_cannot_be_used_is_named_at_load(
    tmp_path: Path, files: dict[str, str | bytes], message: str
) -> None:
    with pytest.raises(InvalidValueError, match=message):
        PromptFiles(in_folder(tmp_path, files))


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match=r"prompts is .* Allowed: a folder that exists"):
        PromptFiles(tmp_path / "nowhere")


def test_the_folder_of_prompts_holds_the_known_files_and_no_others() -> None:
    folder = Path(compose.__code__.co_filename).parent / "prompts"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == set(PROMPT_FILES)


# ── the contract of signals, as the model is told of it ──


EXAMPLES = re.findall(r"<signal .*?</signal>", OURS.text("signals.md"))


@pytest.mark.guarantee("C1")
@pytest.mark.parametrize("type_", SignalType)
def test_every_signal_is_shown_with_all_its_fields(type_: SignalType) -> None:
    (example,) = [one for one in EXAMPLES if f'type="{type_}"' in one]
    signal = parse_reply(example).signal
    assert signal is not None
    assert signal.type is type_
    assert tuple(signal.fields) == FIELDS_OF[type_]
    assert f"\n`{type_}`: " in OURS.text("signals.md")


def test_every_example_is_read_and_stripped_whole() -> None:
    assert len(EXAMPLES) == len(SignalType)
    for example in EXAMPLES:
        parsed = parse_reply("An answer. " + example)
        assert parsed.text.strip() == "An answer."
        assert parsed.malformed == ()


def test_no_other_prompt_shows_a_signal() -> None:
    assert not [name for name in PROMPT_FILES if name != "signals.md" and "<signal" in OURS.text(name)]
