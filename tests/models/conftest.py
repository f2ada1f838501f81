"""A provider to talk to, and models that talk to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from provider_server import KEY, ProviderServer, provider_server

from endstop.models import make_model
from endstop.ports import Model


@pytest.fixture
async def server() -> AsyncIterator[ProviderServer]:
    async with provider_server() as served:
        yield served


@pytest.fixture
def chat_model(server: ProviderServer) -> Model:
    """A model behind OpenAI's chat protocol."""
    return make_model("openai:some-model", base_url=server.url, api_key=KEY)


@pytest.fixture
def anthropic_model(server: ProviderServer) -> Model:
    return make_model("anthropic:some-model", base_url=server.url.removesuffix("/v1"), api_key=KEY)
