# `make demo` and `make test` are all the set-up there is: they make .venv and install into it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

# An option, if the variable was given at all: one that is empty is told as a mistake, and not read as all.
given = $(if $(filter undefined,$(origin $(1))),,--$(2) "$($(1))")
pairs = $(or $(strip $(call given,PAIRS,pairs) $(call given,FIRST,first) $(call given,SECOND,second)),--all)

.DEFAULT_GOAL := help
.PHONY: help demo test test-long chaos repeat check lint fmt bench bench-peers bench-growth simulate ablate interleave writes power clean

help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## Install what penstock needs and run a short tour of it
	@$(BIN)/penstock demo

test: lint ## Run the checks and all tests but the long ones; COVERAGE=1 measures which lines they go over, as CI does
	@sh tests/install_packages.sh
	@rm -f .coverage .coverage.*
	@$(BIN)/python -m compileall -q src tests benchmarks examples
	@PENSTOCK_NO_SKIPS=1 $(BIN)/python -m tests.side_by_side $(if $(COVERAGE),--coverage)
	@$(if $(COVERAGE),$(BIN)/coverage combine -q && $(BIN)/coverage report)

test-long: $(DEV) ## Run the long tests that make test leaves out: all, or one of ten slices, SLICE=0 … 9, or SLICE=next as CI does
	@sh tests/install_packages.sh
	@PENSTOCK_NO_SKIPS=1 $(BIN)/python -m tests.side_by_side --long $(SLICE)

chaos: $(DEV) ## Kill, cut, stop and fill everything under load: SEED=7 FAULT=worker-killed ENGINE=sqlite SIZE=short
	@$(BIN)/python -m tests.chaos $(call given,SEED,seed) $(call given,FAULT,fault) \
		$(call given,ENGINE,engine) $(call given,SIZE,size)

repeat: $(DEV) ## Run contract, end-to-end tests and short chaos again and again, for 40 minutes at most: N=20
	@$(BIN)/python -m tests.repeat $(call given,N,rounds)

check: lint ## Check format, lint, import rules and types
	@$(BIN)/mypy

lint: $(DEV)
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/lint-imports

fmt: $(DEV) ## Format the code and fix what the linter can fix
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

bench: $(RUNTIME) ## Measure this machine: penstock against bare SQLite, on a file in this folder
	@$(BIN)/penstock bench --raw

bench-peers: ## Measure penstock beside other job queues: PEERS=pgqueuer,huey JOBS=50000 ROUNDS=3 OUT=folder DATA=folder
	@$(PYTHON) -m benchmarks.peers $(call given,PEERS,peers) $(call given,JOBS,jobs) \
		$(call given,ROUNDS,rounds) $(call given,OUT,out) $(call given,DATA,data)

bench-growth: ## Measure how the cost per job grows, with plots: CURVES=waiting,history ENGINES=sqlite SIZE=full MINUTES=30 PLOTS=folder
	@$(PYTHON) -m benchmarks.growth $(call given,CURVES,curves) $(call given,ENGINES,engines) \
		$(call given,SIZE,size) $(call given,ROUNDS,rounds) $(call given,MINUTES,minutes) \
		$(call given,OUT,out) $(call given,PLOTS,plots) $(call given,DATA,data) \
		$(call given,REPLOT,replot)

simulate: $(DEV) ## Run workers in virtual time with faults drawn from seeds: SEEDS=1000 FROM=0 FEATURES=1, or SEED=7 LOUD=1 SAVE=file
	@$(BIN)/python -m tests.simulation $(call given,SEED,seed) $(if $(LOUD),--loud) $(call given,SAVE,save) \
		$(call given,SEEDS,seeds) $(call given,FROM,from) $(if $(ALL),--keep-going) $(if $(FEATURES),--features)

ablate: $(DEV) ## Take each safeguard away in the simulation and show the first seed that notices
	@$(BIN)/python -m tests.simulation --ablate

interleave: $(DEV) ## Run any two operations of a store at once on PostgreSQL, all pairs: FIRST=expire SECOND=age, or PAIRS=50 SEED=7
	@$(BIN)/python -m tests.nets interleavings $(call pairs) $(call given,SEED,seed)

writes: $(DEV) ## Run any two operations in two processes on one file, the first held or killed in its midst: as interleave
	@$(BIN)/python -m tests.nets writes $(call pairs) $(call given,SEED,seed)

power: $(DEV) ## Cut the power after each write of every operation on a file: FIRST=expire SEED=7
	@$(BIN)/python -m tests.nets power $(or $(call given,FIRST,first),--all) $(call given,SEED,seed)

clean: ## Remove the virtual environment, caches and bench files
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage build dist
	rm -f penstock-bench-*.db*
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found: install Python 3.11 or newer, or name it: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "penstock needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1): name another with make PYTHON=python3.12"; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(RUNTIME): pyproject.toml | $(BIN)/python
	@echo "Installing penstock into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	@echo "Installing penstock and its development tools into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@ $(RUNTIME)
