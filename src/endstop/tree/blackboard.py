"""What the nodes of a tree tell each other: a typed, bounded blackboard that belongs to one run (E2).

A board has the keys that were declared for it. Below it there can be

- a *scope*, which has keys of its own; everything else goes to the board above;
- a *branch*, for a child that runs beside others: it sees the board above, and keeps what it writes to itself
  until it is merged.

Values are copied when they are written and when they are read, so nobody can change one behind the board's
back: not past its type, its size, or the walls of a branch. All boards of a run share one size limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from endstop.errors import InvalidValueError
from endstop.kernel.texts import closest
from endstop.tree.plain_values import TooLargeError, copied, light_bytes, require_type, weighed
from endstop.tree.spec import KeySpec, KeyType, PlainValue

MOST_BYTES = 1_000_000


class _Space:
    """How much all boards of a run hold together."""

    __slots__ = ("most_bytes", "used_bytes")

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.used_bytes = 0


class Blackboard:
    """Keys and what they hold."""

    __slots__ = ("_bytes", "_defaults", "_is_branch", "_parent", "_space", "_types", "_values")

    def __init__(self, keys: Iterable[KeySpec] = (), *, most_bytes: int = MOST_BYTES) -> None:
        self._space = _Space(most_bytes)
        self._parent: Blackboard | None = None
        self._is_branch = False
        self._declare(keys)

    def get(self, key: str) -> PlainValue:
        """What the key holds: what was written last, or its default. It is the caller's own."""
        value = self.peek(key)
        return copied(value) if type(value) in (list, dict) else value

    def peek(self, key: str) -> PlainValue:
        """The same without a copy, for those who only look."""
        try:
            return self._values[key]
        except KeyError:
            if self._parent is None:
                raise self._undeclared(key) from None
        board = self._parent
        while board is not None:
            if key in board._values:
                return board._values[key]
            board = board._parent
        raise self._undeclared(key)

    def set(self, key: str, value: object) -> None:
        """Write. If the value is refused, nothing has changed."""
        home, space = self._home(key), self._space
        size = light_bytes(value, home._types[key]) if key in home._types else None
        if size is not None:  # what nearly all are, and nothing that needs a copy or a closer look
            used_bytes = space.used_bytes + size - home._bytes[key]
            if used_bytes <= space.most_bytes:
                space.used_bytes = used_bytes
                home._values[key] = cast("PlainValue", value)
                home._bytes[key] = size
                return
        plain, size = self._checked(key, value)
        home._put(key, plain, size)

    def declares(self, key: str) -> bool:
        """Whether the key can be read and written here."""
        return self._type_of(key) is not None

    @property
    def keys(self) -> tuple[str, ...]:
        """All keys that can be read and written here, those from above first."""
        above = () if self._parent is None else self._parent.keys
        return (*above, *(key for key in self._types if key not in above))

    @property
    def used_bytes(self) -> int:
        """About how much all boards of the run hold together."""
        return self._space.used_bytes

    def scope(self, keys: Iterable[KeySpec]) -> Blackboard:
        """A board below this one with keys of its own."""
        return self._below(keys, is_branch=False)

    def branch(self) -> Blackboard:
        """A board below this one that keeps all that is written to it to itself."""
        return self._below((), is_branch=True)

    def merge(self, branches: Iterable[Blackboard]) -> None:
        """Take over what was written to branches of this board, in their order, and leave them empty.

        What the later ones wrote wins. A list or a map is replaced whole.
        """
        for branch in branches:
            written = [(key, branch._values[key], branch._bytes[key]) for key in branch._values]
            branch.clear()  # first, so that what moves is never counted twice
            for key, value, size in written:
                self._home(key)._put(key, value, size)

    def clear(self) -> None:
        """As it was at first: the keys declared here hold their defaults."""
        for key in self._bytes:
            self._space.used_bytes -= self._bytes[key]
        self._values.clear()
        self._bytes.clear()
        for key, (value, size) in self._defaults.items():
            self._put(key, value, size)

    def snapshot(self) -> dict[str, PlainValue]:
        """What the keys declared here hold (in a branch: what was written to it), to be restored later."""
        return {key: copied(value) for key, value in self._values.items()}

    def restore(self, snapshot: Mapping[str, object]) -> None:
        """As it was when the snapshot was taken. If one value is refused, nothing has changed."""
        before = self.snapshot()
        try:
            self._replace(snapshot)
        except InvalidValueError:
            self._replace(before)
            raise

    def _replace(self, values: Mapping[str, object]) -> None:
        self.clear()
        for key, value in values.items():
            if not self._is_branch and key not in self._types:
                raise self._undeclared(key)
            self.set(key, value)

    def _below(self, keys: Iterable[KeySpec], *, is_branch: bool) -> Blackboard:
        board = Blackboard.__new__(Blackboard)
        board._space = self._space
        board._parent = self
        board._is_branch = is_branch
        board._declare(keys)
        return board

    def _declare(self, keys: Iterable[KeySpec]) -> None:
        self._types: dict[str, KeyType] = {}
        self._values: dict[str, PlainValue] = {}
        self._bytes: dict[str, int] = {}
        self._defaults: dict[str, tuple[PlainValue, int]] = {}
        for key in keys:
            if key.name in self._types:
                raise InvalidValueError("key of the blackboard", key.name, allowed="each name once")
            self._types[key.name] = key.type
            size = light_bytes(key.default, key.type)
            if size is None or self._space.used_bytes + size > self._space.most_bytes:
                value, size = self._checked(key.name, key.default)
            else:
                value = key.default
            self._defaults[key.name] = value, size
            self._put(key.name, value, size)

    def _checked(self, key: str, value: object) -> tuple[PlainValue, int]:
        """The value as it would be kept, if it may be."""
        key_type = self._type_of(key)
        if key_type is None:
            raise self._undeclared(key)
        field = f"blackboard key {key!r}"
        others = self._space.used_bytes - self._home(key)._bytes.get(key, 0)
        try:
            plain, size = weighed(field, value, most_bytes=self._space.most_bytes - others)
        except TooLargeError as error:
            raise InvalidValueError(
                f"size of the blackboard in bytes with {key!r} written",
                others + error.bytes,
                allowed=f"at most {self._space.most_bytes:,} in all",
                to_do="Write less, or set keys that are no longer needed to nothing",
            ) from None
        require_type(field, plain, key_type)
        return plain, size

    def _put(self, key: str, value: PlainValue, size: int) -> None:
        self._space.used_bytes += size - self._bytes.get(key, 0)
        self._values[key] = value
        self._bytes[key] = size

    def _type_of(self, key: str) -> KeyType | None:
        board: Blackboard | None = self
        while board is not None:
            if key in board._types:
                return board._types[key]
            board = board._parent
        return None

    def _home(self, key: str) -> Blackboard:
        """The board that a declared key is written to from here: a branch, or where it was declared."""
        board = self
        while not board._is_branch and key not in board._types and board._parent is not None:
            board = board._parent
        return board

    def _undeclared(self, key: str) -> InvalidValueError:
        meant = closest(key, self.keys)
        return InvalidValueError(
            "key of the blackboard",
            key,
            allowed="a key that the tree declares, or that one of its leaves writes",
            to_do=f"Did you mean {meant!r}?" if meant else "Declare it in the tree's blackboard",
        )
