"""Models: real providers by ``provider:model``, GGUF files by ``local:path``, and ``extractive``, built in.

    model = make_model("anthropic:claude-sonnet-5")
    model = make_model("openai:qwen3", base_url="http://127.0.0.1:8080/v1")
    model = make_model("local:/models/qwen3.gguf")
    model = make_model("extractive")

Providers are imported when one is named, not before.
"""

from __future__ import annotations

from difflib import get_close_matches

from endstop.errors import UnknownModelError
from endstop.models.extractive import ExtractiveModel
from endstop.models.prices import Price
from endstop.ports import Model

__all__ = ["PROVIDERS", "ExtractiveModel", "Price", "make_model"]

PROVIDERS = (
    "alibaba",
    "anthropic",
    "azure",
    "azure-responses",
    "bedrock",
    "cerebras",
    "cohere",
    "deepseek",
    "fireworks",
    "gateway/anthropic",
    "gateway/bedrock",
    "gateway/google-cloud",
    "gateway/groq",
    "gateway/openai",
    "google",
    "google-cloud",
    "groq",
    "heroku",
    "huggingface",
    "litellm",
    "meta",
    "mistral",
    "moonshotai",
    "nebius",
    "ollama",
    "openai",
    "openai-chat",
    "openai-responses",
    "openrouter",
    "ovhcloud",
    "sambanova",
    "together",
    "vercel",
    "vllm",
    "xai",
    "zai",
)
"""What may stand before the colon of ``provider:model``, besides ``local`` and ``endstop``."""

_EXAMPLES = "provider:model such as anthropic:claude-sonnet-5, local:/path/to/file.gguf, or extractive"


def make_model(
    name: str, *, base_url: str | None = None, api_key: str | None = None, price: Price | None = None
) -> Model:
    """The model of that name. What is wrong is said now, before anything is spent.

    ``base_url`` is for servers that speak a provider's protocol, ``api_key`` for a key that is not in the
    environment, ``price`` for models whose price nobody else knows; local and built-in models need none.
    """
    if name in ("extractive", "endstop:extractive"):
        return ExtractiveModel()
    provider, colon, model = name.partition(":")
    if not colon or not model.strip():
        raise UnknownModelError(
            f"{name!r} does not name a model", allowed=_EXAMPLES, to_do=_suggestion(provider, model)
        )
    if provider == "local":
        from endstop.models.local import LocalModel

        return LocalModel(model)
    if provider not in PROVIDERS:
        raise UnknownModelError(
            f"There is no provider {provider!r}", allowed=_EXAMPLES, to_do=_suggestion(provider, model)
        )
    try:
        from endstop.models.provider import ProviderModel
    except ImportError:
        raise UnknownModelError(
            f"What {name} needs is not installed", to_do="Run: pip install 'endstop[providers]'"
        ) from None
    return ProviderModel(provider, model, base_url=base_url, api_key=api_key, price=price)


def _suggestion(provider: str, model: str) -> str:
    known = (*PROVIDERS, "local", "extractive")
    for close in get_close_matches(provider, known, n=1):
        return f"Did you mean {close}?" if close == "extractive" else f"Did you mean {close}:{model or '…'}?"
    return f"Providers: {', '.join(known)}"
