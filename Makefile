# A new machine needs python3.11, make and access to a package index; everything else is set up here.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
export READBENCH_DATA ?= data
export DO_NOT_TRACK = 1
export DAGSTER_DISABLE_TELEMETRY = 1
export HF_HUB_DISABLE_TELEMETRY = 1
PORT ?= 3000

.PHONY: build test test-long ui bench refresh clean
.DEFAULT_GOAL := build

# The environment is rebuilt only if one of these files has changed.
.venv/.ready: constraints.txt bootstrap.txt pyproject.toml
	@echo "setting up .venv (about a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bootstrap.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r constraints.txt
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

build: .venv/.ready  ## the main job: a lite release of all datasets from miniatures, offline, with scores
	@$(BIN)/readbench build

test: .venv/.ready  ## run style checks, type checks and tests
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/pytest -n 2

test-long: .venv/.ready  ## run the long proofs: fuzzing, mutation, kills
	@$(BIN)/pytest -n 2 -m long

ui: .venv/.ready  ## open the Dagster UI of the same instance on 127.0.0.1
	@$(BIN)/python -m assets.ui --port $(PORT)

bench: .venv/.ready  ## measure speed and memory
	@$(BIN)/python -m benchmarks

refresh: .venv/.ready  ## write the generated files: docs/labels.md, docs/columns.md and the snapshot of the graph
	@$(BIN)/python -m assets.refresh

clean:  ## remove the environment; data are kept
	rm -rf .venv
