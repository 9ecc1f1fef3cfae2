# Every target installs its dependencies into .venv. Python 3.11+, make and a C compiler are
# required.
PYTHON ?= python3
SEED ?= 2
MINUTES ?= 60
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
MARK := .venv/.installed-
# Tests of engines mostly wait, so there is one worker more than there are processors.
WORKERS := -n $(shell expr $$(nproc) + 1) --dist loadfile --no-loadscope-reorder
# Tests start hundreds of processes, which would otherwise compile the sources each time.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: run engines test coverage lint fuzz soak verify bench paper docs dist man container format clean

run: $(MARK)run  ## from a week's job log to a report: report.html
	$(BIN)/moldable plan examples/slurm-week.txt --servers 64 --class-by "name:^(train|eval|solve)" \
		--precision 0.2 --seed 1 --report report.html

engines: $(MARK)engines  ## browser, Slurm, systemd-analyze, Ray, executorlib and submitit for the tests; Debian, as root
	scripts/engines.sh

test: $(MARK)test  ## tests and every documented example
	$(BIN)/python -m pytest $(WORKERS)
	$(BIN)/python -m pytest -n auto --dist loadfile -p no:randomly README.md docs

coverage: $(MARK)test  ## the same, with the share of lines and branches that are run
	$(BIN)/python -m pytest $(WORKERS) --cov --cov-report=
	$(BIN)/python -m pytest -n auto --dist loadfile -p no:randomly README.md docs --cov --cov-append \
		--cov-report=term-missing:skip-covered --cov-fail-under=95

lint: $(MARK)lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet --strict-collection .github/workflows
	$(BIN)/hadolint --failure-threshold info Containerfile

fuzz: $(MARK)test  ## random inputs until Ctrl-C, or: make fuzz SECONDS=600 SEED=7; READERS=1000000: of single readers
	$(BIN)/python -m fuzz --seed $(SEED) $(if $(SECONDS),--seconds $(SECONDS)) $(if $(READERS),--readers \
		--inputs $(READERS) --resume fuzz-readers-$(SEED).json --table docs/results/fuzz.md)

soak: $(MARK)test  ## the Slurm agent and the explorer under a light load: make soak MINUTES=60
	$(BIN)/python -m verification.soak --minutes $(MINUTES) --out docs/results/soak.md

verify: $(MARK)test  ## long tests, and experiments against independent answers
	$(BIN)/python -m pytest -n auto -m long
	$(BIN)/python -m verification --processes 2 --write

bench: $(MARK)bench  ## speed, compared with other programs
	$(BIN)/python -m benchmarks

paper: $(MARK)docs  ## the paper's figures and table at full scale, and the report on them
	$(BIN)/python -m reproduction all --scale full --out reproduction-results --resume
	$(BIN)/python -m reproduction report reproduction-results

docs: $(MARK)docs  ## the site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(MARK)dist  ## wheel and sdist in dist/, checked and tried in an empty environment
	$(BIN)/python -m scripts.distribution

man: $(MARK)run  ## the manual page, from the help of all commands
	$(BIN)/python -m scripts.man_page

container:  ## an image with the command
	podman build --tag moldable .

format: $(MARK)lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv site dist report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*

$(MARK)run: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) install --quiet --constraint constraints.txt --upgrade pip
	$(PIP) install --quiet --constraint constraints.txt --editable '.[report]'
	touch $@

$(MARK)%: $(MARK)run
	$(PIP) install --quiet --constraint constraints.txt --group $* --editable '.[report,explore]'
	touch $@
