# make demo   install, train on the built-in phrasebook, score, export and translate
# make test   install and run the tests, on the TensorFlow and on the JAX backend
# make lint   check style and format

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
RUN ?= runs/demo
EXPORT ?= exports/demo
SENTENCES ?= "The old woman reads a good book in the garden." \
	"We do not want to visit the museum tomorrow." \
	"When does the train arrive?"

.PHONY: install demo test lint format clean

install: $(VENV)/installed

$(VENV)/installed: requirements.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement requirements.txt
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(BIN)/pip install --quiet --editable ".[test,jax,lint]"
	touch $@

demo: install
	$(BIN)/python train.py --config configs/phrasebook.yaml --output $(RUN)
	$(BIN)/python -m keras_transformer evaluate $(RUN) phrasebook:test phrasebook:combinations
	$(BIN)/python export.py $(RUN) --output $(EXPORT)
	$(BIN)/python examples/python/translate.py $$(ls -d $(EXPORT)/* | sort -V | tail -n 1) $(SENTENCES)

test: $(VENV)/installed-test
	$(BIN)/pytest -n 2 --dist loadfile
	KERAS_BACKEND=jax $(BIN)/pytest -n 2 --dist loadfile -m any_backend

lint: $(VENV)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) runs exports
