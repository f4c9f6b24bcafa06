# make demo   compile a real model, run it on the simulated NPU, check it against onnxruntime
# make test   lint, types, every test
# Both set up their own environment in .venv; nothing but Python 3.11+ is needed.

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto

.NOTPARALLEL:
.PHONY: demo test lint format types check bench docs clean install

demo: $(VENV)/.installed
	$(BIN)/python -m gedialect.cli.demo

test: $(VENV)/.installed-test lint types check

check: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(JOBS) -q

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.installed-test
	$(BIN)/pyright

# The quick measurements, about a minute; bench/README.md has the others.
bench: $(VENV)/.installed-test
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/parse.py
	$(BIN)/python bench/rules.py
	$(BIN)/python bench/packing.py
	$(BIN)/python bench/speed.py test/data/ppocr_cls/ppocr_cls.onnx --repeat 3

# Pages that follow from declarations, and the output shown in the others.
docs: $(VENV)/.installed-test
	$(BIN)/python tools/gen_docs.py
	$(BIN)/python tools/update_readme.py

install: $(VENV)/.installed

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gedialect needs Python 3.11 or newer; say make PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Stamps hold until pyproject.toml changes, so repeated calls cost nothing.
$(VENV)/.installed: pyproject.toml | $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[verify]'
	@touch $@

$(VENV)/.installed-test: pyproject.toml | $(VENV)/.created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,dev]'
	@touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
