"""Words that are never the same twice, without chance: the same number gives the same words."""

from __future__ import annotations

from endstop.ports import ModelRequest

_SPELLED = (
    "amber anchor apple arrow autumn basin beacon birch border bridge candle canyon castle cedar "
    "circle cobalt copper coral cotton crystal delta desert ember engine falcon feather fennel "
    "forest garden garnet glacier granite harbor hazel helmet island ivory jasper kettle ladder "
    "lantern lemon linen lumber maple marble meadow mirror needle nickel olive orchard paper pebble "
    "pepper pillow planet quarry ribbon river saddle silver thunder valley"
)
_WORDS = tuple(_SPELLED.split())
_SIXTY_FOUR_TO_THE_SIXTH = 2**36
_ODD = 2_654_435_761
"""Multiplying with an odd number is one to one here, and puts neighbours far apart."""


def words(number: int) -> str:
    """Six words: others for every number up to 68 billion."""
    rest = number * _ODD % _SIXTY_FOUR_TO_THE_SIXTH
    chosen: list[str] = []
    for _ in range(6):
        rest, place = divmod(rest, 64)
        chosen.append(_WORDS[place])
    return " ".join(chosen)


def sentence(number: int) -> str:
    return f"{words(number).capitalize()}. "


def never_the_same(request: ModelRequest, ordinal: int) -> str:
    """Words that are new at every call, also when a resumed run brings a fresh model that counts anew."""
    return f"{words(len(request.messages))} {words(ordinal)}"
