"""Serves a GGUF file with llama.cpp until its input ends; tells its address as a line of JSON."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any


def main() -> None:
    llama: Any = import_module("xllamacpp")  # which has no types
    params = llama.CommonParams()
    params.model.path = sys.argv[1]
    params.n_ctx = 4_096
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = 128
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more of them hinder each other here
    params.sampling.temp = 0.0  # the likeliest word each time: the same question has the same answer
    params.verbosity = -1
    params.sampling.temp = 0.0  # the likeliest word every time: the same replies in every run, and real loops
    params.warmup = False
    server = llama.Server(params)
    sys.stdout.write(json.dumps({"address": server.listening_address}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
