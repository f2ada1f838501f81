"""The built-in model with the real tools over a real folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from talking import calls_of, pieces_of, text_of

from endstop.models import make_model
from endstop.ports import (
    AssistantMessage,
    Message,
    ModelRequest,
    ToolContext,
    ToolMessage,
    UserMessage,
)
from endstop.signals import Signal, parse_reply
from endstop.tools import project_tools

LOGIN = '''"""How users come in."""

import secrets


def login(user: str) -> str:
    """Start a session for a user."""
    return secrets.token_hex(16)


def logout(session: str) -> None:
    """End a session."""
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "login.py").write_text(LOGIN)
    (tmp_path / "src" / "main.py").write_text("from login import login\n\nsession = login('me')\n")
    (tmp_path / "README.md").write_text(
        "# Shop\n\n## Sessions\n\nA session ends after one hour of silence.\n"
    )
    return tmp_path


async def ask(folder: Path, question: str) -> tuple[str, Signal | None, int]:
    """The answer without its signal, the signal, and how many turns it took."""
    tools = {tool.spec.name: tool for tool in project_tools(folder)}
    messages: list[Message] = [UserMessage(text=question)]
    for turn in range(6):
        request = ModelRequest(
            messages=messages, tools=tuple(tool.spec for tool in tools.values()), max_output_tokens=2_000
        )
        pieces = await pieces_of(make_model("extractive"), request)
        calls = calls_of(pieces)
        if not calls:
            reply = parse_reply(text_of(pieces))
            return reply.text, reply.signal, turn + 1
        messages.append(AssistantMessage(calls=tuple(calls)))
        for call in calls:
            context = ToolContext(run_id="r", scope="run", turn=turn, call=call.id)
            result = await tools[call.tool].call(call.arguments, context)
            messages.append(ToolMessage(call=call.id, tool=call.tool, text=result.text))
    raise AssertionError("it does not end")


@pytest.mark.guarantee("J2")
async def test_a_question_about_code_is_answered_with_the_definition(folder: Path) -> None:
    text, signal, turns = await ask(folder, "How does `login` work?")

    assert "**src/login.py:" in text.split("\n\n")[1]
    assert "def login(user: str) -> str:" in text
    assert signal is not None
    assert signal.type == "context_sufficient"
    assert turns == 3


@pytest.mark.guarantee("J2")
async def test_a_question_about_documentation_is_answered_from_it(folder: Path) -> None:
    text, _, _ = await ask(folder, "When does a session end after silence?")

    assert "**README.md:" in text.split("\n\n")[1]
    assert "one hour of silence" in text


async def test_a_file_that_is_named_is_shown(folder: Path) -> None:
    text, _, turns = await ask(folder, "What is in src/main.py?")

    assert "**src/main.py:1**" in text
    assert turns == 2


async def test_a_question_nothing_fits_is_answered_honestly(folder: Path) -> None:
    text, signal, _ = await ask(folder, "Where is the quux frobnicated?")

    assert "found nothing" in text
    assert signal is not None
    assert signal.type == "stuck"
