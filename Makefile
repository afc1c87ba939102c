# Two commands do everything on a machine with Python 3.11 or newer: `make demo` (`SHUFFLE=1` for the one with a
# shuffler) and `make test`.
# `make test-all` runs the slow tests too.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Several processes share the cores; threads of one more layer would fight for them.
export OPENBLAS_NUM_THREADS ?= 1
# Tests start many processes, each of which would compile the library again.
unexport PYTHONDONTWRITEBYTECODE
# One more than the cores that are wanted: some tests wait for processes, and for limits of time.
WORKERS ?= 3
# Neighbours in a file share what they make, so they go to one process; who is done takes from others.
PYTEST := -m pytest -n $(WORKERS) --dist worksteal
STAMP := $(VENV)/.installed

.PHONY: demo test test-all fuzz check lint types layers rooms docs client browser spark bench figures site release clean

demo: $(STAMP)
	$(BIN)/ldpsql demo $(if $(SHUFFLE),--shuffle)

# All but what needs a browser or Java, which `make browser` and `make spark` run, and what is slow.
test: $(STAMP)
	$(BIN)/python $(PYTEST) -m "not slow and not spark" --ignore tests/browser

test-all: $(STAMP)
	$(BIN)/python $(PYTEST) -m "slow or not slow"

# A minute of the processor for inputs that nobody meant, other ones each time; what is found is kept as a case.
fuzz: $(STAMP)
	PYTHONPATH=src:tests $(BIN)/python -m fuzz

check: lint types layers rooms docs test

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

layers: $(STAMP)
	$(BIN)/lint-imports

rooms: $(STAMP)
	$(BIN)/python -m tools.rooms --check

docs: $(STAMP)
	$(BIN)/python -m tools.command_reference --check
	$(BIN)/python -m tools.survey_reference --check

# The JavaScript client: its tests, its types, and its size, minified and compressed; and the page: its tests, and
# whether what it takes from others is what its lock file makes. Needs node and npm.
client:
	cd clients/js && npm ci --silent --no-audit --no-fund && node --test && npm run --silent types && npm run --silent size
	cd clients/page && npm ci --silent --no-audit --no-fund && node --test && npm run --silent check

# The page and the client in a real browser, which is there already, such as Debian's chromium.
browser: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement tests/browser/requirements.lock
	$(BIN)/python -m pytest --require-browser tests/browser

# Folders of reports that Spark reads, on this machine, and once more by Spark Connect. FULL=1 asks every golden
# statement and the whole contract, too, and some of executors in processes of their own: ten minutes. Needs Java 17 or
# newer.
spark: CLUSTER := local-cluster[2,1,1024]
spark: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement tests/spark/requirements.lock
	$(BIN)/python -m pytest --require-spark -m $(if $(FULL),spark,"spark and not slow") tests/spark tests/store
	SPARK_REMOTE=local $(BIN)/python -m pytest --require-spark -m "spark and not slow" tests/spark tests/store
	$(if $(FULL),SPARK_MASTER='$(CLUSTER)' $(BIN)/python -m pytest --require-spark \
		-m "spark and not slow" tests/spark/test_golden.py)

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# FULL=1 takes all of the papers' parameters, and hours.
figures: $(STAMP)
	$(BIN)/python -m benchmarks.figures $(if $(FULL),--full)

# The documentation as a site, in build/site; a link that leads nowhere is an error.
site: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'mkdocs-material>=9.5,<10'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# What a release holds: wheels and sdists of the three distributions, and what is in them (CycloneDX). The page's
# libraries have their licences beside them, in src/ldpsql/server/page/vendor.
release: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'cyclonedx-bom>=4.0'
	rm -rf dist && mkdir dist
	$(BIN)/python -m build --outdir dist device
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist lab
	$(PYTHON) -m venv dist/.environment
	dist/.environment/bin/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock \
		dist/ldpsql_device-*.whl dist/ldpsql_lab-*.whl "$$(echo dist/ldpsql-*.whl)[all]"
	$(BIN)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --output-file dist/python.cdx.json \
		dist/.environment/bin/python
	rm -rf dist/.environment
	cd clients/page && npm ci --silent --no-audit --no-fund && \
		npm sbom --sbom-format cyclonedx --sbom-type application > ../../dist/page.cdx.json

$(STAMP): pyproject.toml device/pyproject.toml lab/pyproject.toml requirements.lock
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.12')"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable device --editable . --editable lab
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis
