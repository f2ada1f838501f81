"""Which providers could be used as things stand. Nothing is called; of a key, only whether there is one.

Asking each provider's own code would be surer, and would import all of it: eight seconds for a list. The
tests ask, and compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from endstop.models import PROVIDERS

_GATEWAY = ("PYDANTIC_AI_GATEWAY_API_KEY",)
_OPENAI = ("OPENAI_API_KEY",)

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "azure": ("AZURE_OPENAI_ENDPOINT",),
    "azure-responses": ("AZURE_OPENAI_ENDPOINT",),
    "bedrock": ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
    "cohere": ("CO_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "google-cloud": ("GOOGLE_APPLICATION_CREDENTIALS",),
    "heroku": ("HEROKU_INFERENCE_KEY",),
    "huggingface": ("HF_TOKEN",),
    "litellm": (),
    "ollama": ("OLLAMA_BASE_URL",),
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "vercel": ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
    "vllm": ("VLLM_BASE_URL",),
}
"""What a provider reads from the environment, any one of them; for others it is ``NAME_API_KEY``."""

_PACKAGES = {
    "anthropic": "anthropic",
    "bedrock": "boto3",
    "cohere": "cohere",
    "google": "google.genai",
    "google-cloud": "google.genai",
    "groq": "groq",
    "huggingface": "huggingface_hub",
    "mistral": "mistralai",
    "xai": "xai_sdk",
}
"""What has to be installed; for others it is ``openai``, whose protocol they speak."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderState:
    """One provider: whether it could be used, and what to do if not."""

    name: str
    is_usable: bool
    variables: tuple[str, ...]
    """Any one of these in the environment gives it its key (or its address)."""
    to_do: str = ""


def provider_states(environ: Mapping[str, str]) -> list[ProviderState]:
    """All providers there are, by name."""
    return [_state(name, environ) for name in PROVIDERS]


def variables_of(provider: str) -> tuple[str, ...]:
    """What it reads from the environment, any one of them."""
    if provider.startswith("gateway/"):
        return _GATEWAY
    return VARIABLES.get(provider, (f"{provider.upper()}_API_KEY",))


def _state(name: str, environ: Mapping[str, str]) -> ProviderState:
    variables = variables_of(name)
    to_do = ""
    if not is_installed(name):
        extra = name.removeprefix("gateway/")
        to_do = f"Run: pip install 'pydantic-ai-slim[{extra}]'"
    elif variables and not any(environ.get(one) for one in variables):
        to_do = f"Set the environment variable {' or '.join(variables)}"
    return ProviderState(name=name, is_usable=not to_do, variables=variables, to_do=to_do)


def is_installed(provider: str) -> bool:
    """Whether the packages are there that it needs."""
    package = _PACKAGES.get(provider.removeprefix("gateway/"), "openai")
    return all(is_there(one) for one in ("pydantic_ai", package))


def is_there(package: str) -> bool:
    """Whether a package is installed, by its dotted name. It is not imported."""
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package that it would be in
        return False
