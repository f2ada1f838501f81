"""``make_model``: which model a name stands for, and what is said when it stands for none."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_ai.providers import infer_provider_class

from endstop.errors import InvalidValueError, ModelAccessError, UnknownModelError
from endstop.models import PROVIDERS, make_model
from endstop.models.provider import ProviderModel
from endstop.ports import Model


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", ["extractive", "endstop:extractive"])
def test_the_built_in_model_has_two_names(name: str) -> None:
    assert make_model(name).name == "endstop:extractive"


def test_a_provider_model_keeps_the_name_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")

    model = make_model("anthropic:claude-sonnet-5")

    assert model.name == "anthropic:claude-sonnet-5"
    assert isinstance(model, Model)


def test_a_model_name_may_have_colons_of_its_own() -> None:
    model = make_model("openai:qwen3:8b", base_url="http://127.0.0.1:1/v1")

    assert model.name == "openai:qwen3:8b"


@pytest.mark.parametrize("name", ["", ":", "gpt-4o", "openai:", "openai: ", ":gpt-4o", "nobody:knows"])
def test_a_name_that_stands_for_nothing_is_refused_with_examples(name: str) -> None:
    with pytest.raises(UnknownModelError, match=r"provider:model such as anthropic:claude"):
        make_model(name)


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("antropic:claude-sonnet-5", "anthropic:claude-sonnet-5"),
        ("opneai:gpt-4o", "openai:gpt-4o"),
        ("Groq:llama", "groq:llama"),
        ("extractiv", "extractive"),
        ("anthropic", "anthropic:…"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(misspelt: str, meant: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        make_model(misspelt)

    assert caught.value.to_do == f"Did you mean {meant}?"


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-4o", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY"),
        ("groq:llama", "GROQ_API_KEY"),
    ],
)
def test_a_missing_key_is_told_with_the_variable_to_set(name: str, variable: str) -> None:
    with pytest.raises(ModelAccessError) as caught:
        make_model(name)

    assert variable in caught.value.what
    assert caught.value.to_do.startswith(f"Set the environment variable {variable}")


def test_a_missing_package_is_told_with_what_to_install() -> None:
    with pytest.raises(UnknownModelError, match=r"pip install 'pydantic-ai-slim\[cohere\]'"):
        make_model("cohere:command-r", api_key="some-key")


@pytest.mark.parametrize(
    "address", ["nonsense", "ftp://x/y", "http://[::1", "http://", "http://x:port/v1", "http://a b/v1"]
)
def test_an_address_must_be_one(address: str) -> None:
    with pytest.raises(InvalidValueError, match="base_url"):
        make_model("openai:some-model", base_url=address)


@pytest.mark.parametrize("blank", ["", " "])
def test_a_blank_key_is_no_key(blank: str) -> None:
    with pytest.raises(ModelAccessError, match="ANTHROPIC_API_KEY is not set"):
        make_model("anthropic:some-model", api_key=blank)


def test_a_blank_key_in_the_environment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    with pytest.raises(ModelAccessError, match="OPENAI_API_KEY"):
        make_model("openai:gpt-4o")


def test_an_address_that_is_missing_is_told() -> None:
    with pytest.raises(
        ModelAccessError, match="Set the environment variable OLLAMA_BASE_URL, or give base_url"
    ):
        make_model("ollama:qwen3")


def test_a_gateway_gets_the_key_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYDANTIC_AI_GATEWAY_API_KEY", raising=False)
    model = make_model(
        "gateway/anthropic:some-model", api_key="some-key", base_url="http://127.0.0.1:1/proxy"
    )

    assert model.name == "gateway/anthropic:some-model"


def test_what_the_library_itself_refuses_is_passed_on() -> None:
    with pytest.raises(ModelAccessError, match="InvalidURL"):
        make_model("openai:some-model", base_url="http://x\0y/v1")


def test_a_provider_that_takes_no_address_says_so() -> None:
    with pytest.raises(InvalidValueError, match=r"deepseek takes no base_url"):
        make_model("deepseek:deepseek-chat", base_url="http://127.0.0.1:1/v1", api_key="some-key-here")


def test_a_local_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownModelError, match=r"cannot be read"):
        make_model(f"local:{tmp_path / 'nothing.gguf'}")


def _in_new_process(code: str, *flags: str) -> str:
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_built_in_model_imports_no_provider() -> None:
    code = (
        "import asyncio, sys\n"
        "from endstop.models import make_model\n"
        "from endstop.ports import ModelRequest, UserMessage\n"
        "request = ModelRequest(messages=[UserMessage(text='hi')], max_output_tokens=100)\n"
        "async def main():\n"
        "    return [piece async for piece in make_model('extractive').stream(request)]\n"
        "assert asyncio.run(main())\n"
        "print([name for name in ('pydantic_ai', 'genai_prices', 'httpx', 'openai') if name in sys.modules])"
    )

    assert _in_new_process(code) == "[]"


def test_without_the_providers_package_the_error_says_what_to_install() -> None:
    code = (
        "import sys\n"
        "sys.modules['pydantic_ai'] = None\n"
        "from endstop.errors import UnknownModelError\n"
        "from endstop.models import make_model\n"
        "try:\n"
        "    make_model('openai:gpt-4o')\n"
        "except UnknownModelError as error:\n"
        "    print(error)"
    )

    told = _in_new_process(code)

    assert "pip install 'endstop[providers]'" in told


def test_a_provider_whose_models_cannot_chat_is_refused() -> None:
    with pytest.raises(UnknownModelError, match="elevenlabs:x cannot be used"):
        ProviderModel("elevenlabs", "x", api_key="some-key")


def test_every_listed_provider_is_known_to_the_library() -> None:
    """By its source: to import them all takes long, and some of their packages warn."""
    known = inspect.getsource(infer_provider_class)

    assert [one for one in PROVIDERS if f"'{one.removeprefix('gateway/')}'" not in known] == []
