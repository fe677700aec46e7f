# Everything here needs Python 3.11 or later and make; the rest is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# node-postgres, a client of the server's PostgreSQL protocol.
CLIENTS := .clients
LOWEST_PYTHON ?= python3.11
LOWEST := .venv-lowest
# A test tool that runs as a command only, in an environment of its own: it wants newer packages than prdp.
OPENAPI := .venv-openapi
# Of tests/engines, not those that hold a newer DuckDB's optimiser to be as careless as it is; nor Spark,
# ClickHouse and Polars, whose lowest is what all tests run with, nor MariaDB, whose server is the same.
LOWEST_TESTS := tests/engines --ignore-glob='*test_spark*' --ignore-glob='*test_clickhouse*' \
	--ignore-glob='*test_polars*' --ignore-glob='*test_mariadb*' --ignore-glob='*test_postgres_*' \
	tests/expressions/test_parse.py tests/test_policy.py tests/tables/test_table.py \
	tests/tables/test_groups.py tests/declare/test_keys.py tests/release/test_release.py tests/tables/test_custom.py \
	tests/ledger/test_durable.py tests/tables/test_join.py tests/tables/test_roles.py tests/cli/test_app.py \
	tests/collector/test_server.py tests/docs/test_readme.py -k 'not optimiser_is_left_on and not refused_with_the_types'
# One process more than there are processors: many tests wait for servers and other programs.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Programs that the slow tests use. Where one is named here and missing, its tests fail instead of being skipped.
PRDP_TOOLS ?= chromium java jdbc mariadbd node node-postgres postgres schemathesis
export PRDP_TOOLS
# LOCKED=1 installs the versions in requirements.lock instead of the newest.
PINS := $(if $(LOCKED),--constraint requirements.lock)
DATA ?=
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes: each would compile all of prdp again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-slow test-all test-lowest coverage lock check coq format docs notebooks bench ratios questions paper paper-quick clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/base: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing prdp into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet $(PINS) --editable .
	@touch $@

$(VENV)/dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing prdp and its test tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet $(PINS) --editable '.[dev,mcp]'
	@touch $(VENV)/base $@

demo: $(VENV)/base  ## set up, then answer questions about a million made-up bank accounts
	@$(BIN)/prdp demo

$(OPENAPI)/ready: pyproject.toml
	@test -x $(OPENAPI)/bin/python || $(PYTHON) -m venv $(OPENAPI)
	@echo "installing schemathesis into $(OPENAPI) ..."
	@$(OPENAPI)/bin/python -m pip install --quiet 'schemathesis>=4'
	@touch $@

$(CLIENTS)/ready:
	@echo "installing node-postgres into $(CLIENTS) ..."
	@mkdir -p $(CLIENTS)
	@npm install --silent --no-fund --no-audit --fetch-retries=1 --prefix $(CLIENTS) pg@8 \
		|| echo "npm is not available: the test of node-postgres has no client"
	@touch $@

test: $(VENV)/dev  ## set up, then run the tests that need no server, no browser and no Java
	@$(BIN)/python -m pytest -n $(WORKERS) -q -m 'not slow'

test-slow: $(VENV)/dev $(OPENAPI)/ready $(CLIENTS)/ready  ## the others: servers, Spark, the browser, Node, the wheel, notebooks
	@$(BIN)/python -m pytest -n $(WORKERS) -q -m slow

test-all: test test-slow  ## every test; where a program is missing, its tests fail

coverage: $(VENV)/dev  ## which lines the tests of make test run: a report in build/coverage
	@$(BIN)/python -m pytest -n $(WORKERS) -q -m 'not slow' --cov=prdp --cov-report=term:skip-covered \
		--cov-report=html:build/coverage

lock: $(VENV)/dev  ## upgrade .venv, and write what is newest today into requirements.lock
	@$(BIN)/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable '.[dev,mcp]'
	@echo "# Written by make lock, with Python 3.11; make test LOCKED=1 installs these versions." > requirements.lock
	@$(BIN)/python -m pip freeze --exclude-editable >> requirements.lock

$(LOWEST)/dev: pyproject.toml
	@test -x $(LOWEST)/bin/python || $(LOWEST_PYTHON) -m venv $(LOWEST)
	@echo "installing prdp and the lowest of what it needs into $(LOWEST) ..."
	@$(LOWEST)/bin/python -m tests.lowest > $(LOWEST)/lowest.txt
	@$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/lowest.txt --editable '.[dev]'
	@touch $@

test-lowest: $(LOWEST)/dev  ## the tests that matter most, with Python 3.11 and the lowest version of every dependency
	@$(LOWEST)/bin/python -m tests.lowest --installed
	@$(LOWEST)/bin/python -m pytest -n $(WORKERS) -q -W default::DeprecationWarning $(LOWEST_TESTS)

check: $(VENV)/dev  ## linters, spelling and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/codespell
	@$(BIN)/mypy

coq: $(VENV)/dev  ## check the proofs in proofs/coq, and the laws that run against them; needs Coq
	@$(BIN)/python -m proofs.coq.check

format: $(VENV)/dev  ## rewrite the code in the house style
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(VENV)/dev  ## the site with search, the reference and the notebooks, in build/site; links are checked
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "python -m http.server --directory build/site shows it"

notebooks: $(VENV)/dev  ## run the notebooks in examples/, and store what they show
	@$(BIN)/python -m examples.run

ratios: $(VENV)/dev  ## fails where a question costs 10 % more than in the commit of benchmarks/ratios_baseline
	@$(BIN)/python -m benchmarks.ratios

bench: $(VENV)/dev  ## speed, as ratios to a baseline in the same run; what is killed and attacked, in short
	@$(BIN)/python -m benchmarks.scan_speed
	@$(BIN)/python -m benchmarks.group_speed
	@$(BIN)/python -m benchmarks.noise_speed
	@$(BIN)/python -m benchmarks.ledger_stress --quick
	@$(BIN)/python -m benchmarks.local_speed
	@$(BIN)/python -m benchmarks.collector_stress --clients 500
	@$(BIN)/python -m benchmarks.collector_hostile --times 100

questions: $(VENV)/dev  ## errors of the questions that the paper does not ask; DATA=folder adds the real sets
	@$(BIN)/python -m experiments.questions $(if $(DATA),--data $(DATA))
	@$(BIN)/python -m experiments.keys $(if $(DATA),--data $(DATA))
	@$(BIN)/python -m experiments.local $(if $(DATA),--data $(DATA))

paper: $(VENV)/dev  ## every table and figure of the paper, as a report in results/paper; DATA=folder as above
	@$(BIN)/python -m experiments.paper $(if $(DATA),--data "$(DATA)")

paper-quick: $(VENV)/dev  ## the same in a minute or two, with few runs and small sets, in results/paper-quick
	@$(BIN)/python -m experiments.paper --quick $(if $(DATA),--data "$(DATA)")

clean:  ## remove what make made
	rm -rf $(VENV) $(LOWEST) $(OPENAPI) $(CLIENTS) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
