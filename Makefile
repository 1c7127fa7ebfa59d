# gpuyard: the commands of the README, nothing clever.
#   make up STACK=aws-prod        create or update a stack in the sandbox, on the real engine
#   make test                     every check and test

STACK  ?= aws-prod
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.gpuyard-setup
UV     := 0.13.9
# What every run imports is compiled once, here: some machines keep Python from doing so itself.
WARM   := pulumi pulumi_aws pulumi_policy grpc google opentelemetry pydantic typer rich ruamel yaml semver

.PHONY: help setup engine up preview refresh destroy outputs test lint format unit bench docs component-schema lock clean

help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -3

# All set-up: the pinned dependencies and gpuyard itself, in .venv. `pulumi up` of the official CLI uses the same .venv.
setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gpuyard needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet uv==$(UV)
	@echo "Installing the pinned dependencies into $(VENV) ..."
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip sync --quiet --require-hashes requirements.lock
	@VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q -j 0 $(addprefix $(VENV)/lib/python*/site-packages/,$(WARM)) components policies infra || true
	@touch $(STAMP)

engine: setup
	@$(BIN)/gpuyard engine

up: setup
	@$(BIN)/gpuyard up $(STACK)

preview: setup
	@$(BIN)/gpuyard preview $(STACK)

refresh: setup
	@$(BIN)/gpuyard refresh $(STACK)

destroy: setup
	@$(BIN)/gpuyard destroy $(STACK)

outputs: setup
	@$(BIN)/gpuyard outputs $(STACK)

test: lint engine
	$(BIN)/python -m pytest -n auto --dist worksteal

unit: setup
	$(BIN)/python -m pytest -n auto --dist worksteal tests/unit tests/policy

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python benchmarks/engine.py
	$(BIN)/python benchmarks/check.py $(if $(CHECKOV),--checkov $(CHECKOV))

docs: setup
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html; with search: python3 -m http.server -d site"

# What other languages see of the components, and what editors know of a stack file.
component-schema: setup
	$(BIN)/python -m gpuyard.provider > components/schema.json
	$(BIN)/gpuyard schema -o schemas/stack.schema.json

# Pin the newest releases anew.
lock: setup
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group dev --generate-hashes \
	  --no-header --upgrade --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) .sandbox build dist site
