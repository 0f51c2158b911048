# OmniGraph. `make` alone lists what there is. Everything runs in a private environment, .venv, made from nothing but python3.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SAY     = printf '\033[1m%s\033[0m\n'
PIP     = $(BIN)/python -m pip install --disable-pip-version-check --no-compile --constraint constraints.txt

# By all cores at once; pip does it on one.
COMPILE = $(BIN)/python -m compileall -q -j 0 $(VENV)/lib

# Where this is set every process compiles the package anew, and tests start hundreds of them.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo test check quick bench format docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/run.stamp ## set up and show the main job, end to end
	@$(BIN)/python examples/demo.py

test: check ## every check and every test
	@$(SAY) "Tests"
	@$(BIN)/python -m pytest -n 3 --dist worksteal

check: $(VENV)/dev.stamp ## ruff, mypy --strict, import layers
	@$(SAY) "Style (ruff)"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(SAY) "Types (mypy --strict)"
	@$(BIN)/mypy --num-workers 2
	@$(SAY) "Layers (import-linter)"
	@$(BIN)/lint-imports --no-logo

quick: $(VENV)/dev.stamp ## tests without the slow suites
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

bench: $(VENV)/bench.stamp ## benchmarks; results are written to benchmarks/results
	@$(BIN)/python -m benchmarks

format: $(VENV)/dev.stamp ## let ruff lay out the code
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

docs: $(VENV)/dev.stamp ## regenerate the reference pages
	@$(BIN)/python docs/generate.py

clean: ## remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(SAY) "Creating the environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed; set PYTHON=/path/to/python3")'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@$(SAY) "Installing OmniGraph with Spark (450 MB to unpack: some minutes the first time)"
	@$(PIP) --editable '.[spark,server,client]'
	@$(COMPILE)
	@touch $@

$(VENV)/bench.stamp: $(VENV)/dev.stamp
	@$(SAY) "Installing the peers to measure against"
	@$(PIP) --editable '.[spark,server,client,telemetry,oidc,dev,bench]'
	@$(COMPILE)
	@touch $@

$(VENV)/dev.stamp: pyproject.toml constraints.txt | $(BIN)/python
	@$(SAY) "Installing OmniGraph with Spark and the test tools (450 MB to unpack: some minutes the first time)"
	@$(PIP) --editable '.[spark,server,client,telemetry,oidc,dev]'
	@$(COMPILE)
	@touch $(VENV)/run.stamp $@
