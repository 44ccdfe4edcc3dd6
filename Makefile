# make demo   install, train on the built-in phrasebook, score, export and translate
# make test   install and run the tests, on the TensorFlow and on the JAX backend
# make docs   the pages of docs/ as a site, in site/
# make lint   check style, format, types, which package imports which, and the sizes of functions

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
RUN ?= runs/demo
EXPORT ?= exports/demo
SENTENCES ?= "The old woman reads a good book in the garden." \
	"We do not want to visit the museum tomorrow." \
	"When does the train arrive?"

.PHONY: install install-test demo docs test lint format clean

install: $(VENV)/installed

$(VENV)/installed: requirements.txt pyproject.toml
	@test -x $(BIN)/python || \
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null || { \
		echo "make: PYTHON must be a Python 3.11 to 3.13, as in: make demo PYTHON=python3.12." \
		"Received: $(PYTHON), $$($(PYTHON) --version 2>&1)" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[test,jax,lint,docs]"
	touch $@

install-test: $(VENV)/installed-test

demo: install
	$(BIN)/python train.py --config configs/phrasebook.yaml --output $(RUN)
	$(BIN)/python -m keras_transformer evaluate $(RUN) phrasebook:test phrasebook:combinations
	$(BIN)/python export.py $(RUN) --output $(EXPORT)
	$(BIN)/python examples/python/translate.py $$(ls -d $(EXPORT)/* | sort -V | tail -n 1) $(SENTENCES)
	@echo 'To try it on a page: $(BIN)/pip install -e ".[endpoint]" && $(BIN)/keras-transformer serve $(RUN)'

test: $(VENV)/installed-test
	$(BIN)/pytest -n 2 --dist loadfile
	KERAS_BACKEND=jax $(BIN)/pytest -n 2 --dist loadfile -m any_backend

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/structure.py

docs: $(VENV)/installed-test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(VENV)/installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) runs exports site
