"""What a server refuses is the same error that the library raises (I7)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from endstop.client.failures import error_of
from endstop.errors import EndstopError, InvalidValueError, TreeError, UnknownRunError


def kinds(kind: type[EndstopError]) -> Iterator[type[EndstopError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


def told(code: str, **more: object) -> dict[str, object]:
    return {"error": {"code": code, "what": "It went wrong", "allowed": "less", "to_do": "Ask", **more}}


@pytest.mark.guarantee("I7")
@pytest.mark.parametrize("kind", [one for one in kinds(EndstopError) if one.__module__ == "endstop.errors"])
def test_every_error_comes_back_as_its_own_kind_with_its_words(kind: type[EndstopError]) -> None:
    error = error_of(400, told(kind.code))
    assert type(error) is kind
    assert (error.what, error.allowed, error.to_do) == ("It went wrong", "less", "Ask")
    assert error.args == ("It went wrong. Allowed: less. Ask.",)


def test_a_bad_value_comes_back_with_field_value_and_bounds() -> None:
    bounds = {"smallest": 1, "largest": 100}
    error = error_of(422, told("invalid_value", field="max_iterations", value=101, bounds=bounds))
    assert isinstance(error, InvalidValueError)
    assert (error.field, error.value, vars(error)["bounds"]) == ("max_iterations", 101, bounds)


def test_a_broken_tree_comes_back_with_its_problems() -> None:
    error = error_of(422, told("tree_refused", problems=["a.lua:1: No.", "a.lua:2: No."]))
    assert isinstance(error, TreeError)
    assert error.problems == ("a.lua:1: No.", "a.lua:2: No.")


def test_a_code_of_a_newer_server_is_kept_on_a_plain_error() -> None:
    error = error_of(418, told("teapot"))
    assert (type(error), error.code) == (EndstopError, "teapot")
    assert EndstopError.code == "endstop_error"


def test_an_error_without_words_tells_its_status() -> None:
    error = error_of(404, {"error": {"code": "unknown_run"}})
    assert isinstance(error, UnknownRunError)
    assert error.what == "The server answered with status 404"


@pytest.mark.parametrize("document", [None, [], "no", {}, {"error": "no"}, {"detail": "Not Found"}])
def test_an_answer_of_somebody_elses_is_said_to_be_one(document: object) -> None:
    error = error_of(502, document)
    assert "status 502" in error.what
    assert "address" in error.to_do
