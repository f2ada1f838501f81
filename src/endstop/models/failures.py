"""The failures of providers, as errors of ours.

What failed decides whether trying again may help. No error text of ours ever carries a key: what a provider
says is shortened, and everything that looks like a secret is blotted out.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import cast

from endstop.errors import (
    ModelAccessError,
    ModelBrokeOffError,
    ModelError,
    ModelOverloadedError,
    ModelRefusedError,
    ModelUnreachableError,
    UnknownModelError,
    cause,
)

_MOST_WORDS_CHARS = 400
_MOST_CAUSES = 10
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|pk|gsk|xai|hf|AIza|key)[-_][\w\-*.]{6,}|Bearer\s+\S+", re.IGNORECASE)
_SECRET_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_SECRET = 6

CHECK_KEY = "Check the key, and that it may use this model"
CHECK_NAME = "Check the name of the model, and the address if you gave one"
CHECK_ADDRESS = "Check the network and the address, and that the server is up; then try again"


def model_error(
    error: Exception, *, model: str, has_begun: bool = False, secrets: Iterable[str] = ()
) -> ModelError:
    """``error``, raised while ``model`` was asked, as one of ours. ``has_begun``: some of the reply came."""
    from pydantic_ai import exceptions as theirs

    words = safe_words(error, secrets)
    retry_after_s = error.retry_after if isinstance(error, theirs.ModelAPIError) else None
    if _is_about_a_header(_root(error)):
        return ModelAccessError(
            f"The key for {model} has characters that no key has, such as a line break", to_do="Set it anew"
        )
    match error:
        case ModelError():
            return error
        case theirs.ModelQuotaExceededError():
            return ModelAccessError(
                f"The account that pays for {model} has nothing left: {words}",
                to_do="Top up the account or raise its limit with the provider; waiting does not help",
            )
        case theirs.ModelHTTPError():
            return status_error(error.status_code, model=model, words=words, retry_after_s=retry_after_s)
        case theirs.ModelRateLimitError() | theirs.ModelUnavailableError() | theirs.ModelServerError():
            return status_error(500, model=model, words=words, retry_after_s=retry_after_s)
        case theirs.ModelConnectionError() | theirs.ModelRequestTimeout() if not has_begun:
            return unreachable(model, words)
        case theirs.ContentFilterError() | theirs.ModelRequestRejectedError() | theirs.UserError():
            return status_error(400, model=model, words=words)
        case theirs.ModelAPIError() | theirs.UnexpectedModelBehavior():
            return broke_off(model, words)
        case OSError():  # time-outs among them
            return broke_off(model, words) if has_begun else unreachable(model, words)
        case _:
            return ModelError(
                f"Asking {model} failed: {words}",
                to_do="The provider sent what nobody expects, or the mistake is ours: report it",
            )


def status_error(status: int, *, model: str, words: str, retry_after_s: float | None = None) -> ModelError:
    """The error for an HTTP status from 400 on."""
    if status in (401, 402, 403):
        return ModelAccessError(f"{model} may not be used with this key ({status}): {words}", to_do=CHECK_KEY)
    if status == 404:
        return UnknownModelError(f"The provider does not know {model} ({status}): {words}", to_do=CHECK_NAME)
    if status in (408, 409, 429) or status >= 500:
        return ModelOverloadedError(
            f"{model} cannot answer now ({status}): {words}",
            to_do="Try again later",
            retry_after_s=retry_after_s,
        )
    return ModelRefusedError(
        f"{model} will not take the request ({status}): {words}",
        to_do="Sending the same again will not help: shorten or change it",
    )


def unreachable(model: str, words: str) -> ModelUnreachableError:
    return ModelUnreachableError(f"Nobody answers for {model}: {words}", to_do=CHECK_ADDRESS)


def broke_off(model: str, words: str) -> ModelBrokeOffError:
    return ModelBrokeOffError(f"The reply of {model} broke off: {words}", to_do="Try again")


def safe_words(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """What an error says, or what lies at the bottom of it: in short, and without secrets."""
    said = _said_by_provider(getattr(error, "body", None))
    if not said:
        root = _root(error)
        said = cause(error) if root is error else f"{error} ({cause(root)})"
    return _brief(_without_secrets(said, secrets))


def _root(error: BaseException) -> BaseException:
    for _ in range(_MOST_CAUSES):
        if error.__cause__ is None:
            break
        error = error.__cause__
    return error


def _is_about_a_header(error: BaseException) -> bool:
    return isinstance(error, UnicodeEncodeError) or "Illegal header value" in str(error)


def _said_by_provider(body: object) -> str:
    """The sentence inside the body of an error response, however deep it is."""
    if isinstance(body, str) and body.startswith("{"):
        with suppress(ValueError, RecursionError):
            body = cast("object", json.loads(body))
    for _ in range(4):
        if isinstance(body, str):
            return body
        if not isinstance(body, dict):
            return ""
        fields = cast("dict[str, object]", body)
        body = fields.get("message") or fields.get("error") or fields.get("detail")
    return ""


def _without_secrets(text: str, secrets: Iterable[str]) -> str:
    in_environment = (value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name))
    for secret in sorted({*secrets, *in_environment}, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[key]")
    return _LOOKS_LIKE_A_KEY.sub("[key]", text)


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_WORDS_CHARS else line[: _MOST_WORDS_CHARS - 1] + "…"
