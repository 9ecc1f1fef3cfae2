# Every target installs its dependencies into .venv. Python 3.11+, make and a C compiler are
# required.
PYTHON ?= python3
SEED ?= 2
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
MARK := .venv/.installed-

.PHONY: run test coverage lint fuzz verify bench paper docs format clean

run: $(MARK)run  ## tune an example cluster and plot its trade-off
	$(BIN)/moldable tune --workload examples/gpus.toml --max-blocking 0.1
	$(BIN)/moldable tradeoff --workload examples/gpus.toml --costs 1,2,4,8,16,32

test: $(MARK)test  ## tests and every documented example
	$(BIN)/python -m pytest -n auto
	$(BIN)/python -m pytest -n auto --dist loadfile -p no:randomly README.md docs

coverage: $(MARK)test  ## the same, with the share of lines and branches that are run
	$(BIN)/python -m pytest -n auto --cov --cov-report=
	$(BIN)/python -m pytest -n auto --dist loadfile -p no:randomly README.md docs --cov --cov-append \
		--cov-report=term-missing:skip-covered --cov-fail-under=95

lint: $(MARK)lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(MARK)test  ## random inputs until Ctrl-C, or: make fuzz SECONDS=600 SEED=7
	$(BIN)/python -m fuzz --seed $(SEED) $(if $(SECONDS),--seconds $(SECONDS))

verify: $(MARK)test  ## long experiments against independent answers
	$(BIN)/python -m verification

bench: $(MARK)bench  ## speed, compared with other programs
	$(BIN)/python -m benchmarks

paper: $(MARK)docs  ## the paper's figures and table at full scale, and the report on them
	$(BIN)/python -m reproduction all --scale full --out reproduction-results --resume
	$(BIN)/python -m reproduction report reproduction-results

docs: $(MARK)docs  ## the site, in site/
	$(BIN)/mkdocs build --strict

format: $(MARK)lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*

$(MARK)run: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) install --quiet --constraint constraints.txt --upgrade pip
	$(PIP) install --quiet --constraint constraints.txt --editable .
	touch $@

$(MARK)%: $(MARK)run
	$(PIP) install --quiet --constraint constraints.txt --group $* --editable '.[plot]'
	touch $@
