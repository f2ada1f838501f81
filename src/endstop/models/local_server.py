"""Serves one GGUF file with llama.cpp, in a process of its own: loading one holds everything else up.

Started by ``endstop.models.llama``. Reads its settings as one line of JSON, tells its address or what is
wrong as another, and ends when its input ends: it does not outlive the process that started it.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what llama.cpp prints must not be taken for an answer
    settings = json.loads(sys.stdin.readline())
    try:
        server = _server(settings)
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent is told
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=told, flush=True)
        return
    print(json.dumps({"address": server.listening_address}), file=told, flush=True)
    sys.stdin.read()


def _server(settings: dict[str, Any]) -> Any:
    llama: Any = import_module("xllamacpp")  # which has no types
    params = llama.CommonParams()
    params.model.path = settings["path"]
    params.n_ctx = settings["context_tokens"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = settings["batch_tokens"]
    params.api_keys = [settings["key"]]
    params.verbosity = -1
    params.warmup = False
    if settings["threads"]:
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    return llama.Server(params)


if __name__ == "__main__":
    main()
