# Every target works alone on a fresh clone: the environment is created when it is missing or out of date.
PYTHON := $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/installed
# Peers are measured as their users have them, and ours without the packages of its tests, which looking for plug-ins would read.
PEERS := .venv-peers
PEERS_STAMP := $(PEERS)/installed
PYTEST := $(RUN) -m pytest -q -p no:cacheprovider
# A JVM that compiles quickly rather than thoroughly suits many small queries; where there is an archive of classes it need not load them.
CLASSES := $(VENV)/classes.jsa
export SFRAME_SPARK_JVM_OPTIONS ?= -XX:TieredStopAtLevel=1 -XX:+UseSerialGC '-XX:SharedArchiveFile=$(CURDIR)/$(CLASSES)' -Xlog:disable -Xlog:all=error:stderr
# Hundreds of processes import the package, the tests and benchmarks: they find them compiled, whatever the environment says.
test changed faults bench bench-cluster bench-large bench-long-run bench-peers bench-scale bench-tpch: export PYTHONDONTWRITEBYTECODE :=

PLUGIN_TESTS := $(wildcard examples/plugin_package/tests)

.PHONY: demo test versions libraries docs faults bench bench-cluster bench-large bench-long-run bench-peers bench-scale bench-tpch check lint types changed clean venv release-check

venv: $(STAMP)

# An environment in a directory, with this package and what some extras name, and a Java runtime if there is none.
define environment
	@test -n "$(PYTHON)" || { echo "sframe_spark needs Python 3.11 or newer on the PATH"; exit 1; }
	test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[$(2)]"
	$(1)/bin/python -c "import sys; from sframe_spark.session.java import search_java; sys.exit(search_java().runtime is None)" 2>/dev/null \
		|| $(1)/bin/python -m pip install --quiet --disable-pip-version-check -e ".[java]"
endef
# A comma itself would begin another argument of a call.
comma := ,

$(STAMP): pyproject.toml $(wildcard examples/plugin_package/pyproject.toml)
	$(call environment,$(VENV),test$(comma)dev)
	if [ -f examples/plugin_package/pyproject.toml ]; then \
		$(RUN) -m pip install --quiet --disable-pip-version-check --no-deps -e examples/plugin_package; fi
	touch $(STAMP)

$(PEERS_STAMP): pyproject.toml
	$(call environment,$(PEERS),peers)
	touch $(PEERS_STAMP)

# What the demo needs: this package, and the environment of tests if that is there already.
DEMO := $(if $(wildcard $(STAMP)),$(VENV),.venv-demo)

demo:
	test -f $(DEMO)/installed || $(MAKE) --no-print-directory $(DEMO)/installed
	$(DEMO)/bin/python examples/demo.py

.venv-demo/installed: pyproject.toml
	$(call environment,.venv-demo,)
	touch $@

# Tests pass without it, only later.
$(CLASSES): $(STAMP)
	$(RUN) -m tests.class_archive $@ || echo "no archive of classes: the tests take longer"

test: $(STAMP) $(CLASSES)
	$(PYTEST) -n 2 --dist worksteal -m "not spark and not cluster and not campaign" sframe_spark tests
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder -m "spark and not campaign" tests $(PLUGIN_TESTS)

# The fixed part of the tests with every Spark and Python that are supported, each in an environment of its own (`.venv-versions`): under an hour.
# `make versions ONLY=pyspark3.5` runs the rows with this in their names, `ONLY=oldest` the first one; `RECORD=record` writes the table in
# docs/install.md anew.
versions: $(STAMP)
	$(RUN) -m tests.versions.matrix $(RECORD) $(ONLY)

# Calls of some eighty other libraries with a frame, in an environment of their newest versions; the table is in docs/interchange.md.
libraries:
	$(call environment,.venv-libraries,test)
	.venv-libraries/bin/python -m pip install --quiet --disable-pip-version-check -r tests/libraries/requirements.txt
	MPLBACKEND=agg .venv-libraries/bin/python -m pytest -q -p no:cacheprovider -m campaign tests/libraries
	MPLBACKEND=agg .venv-libraries/bin/python -m tests.libraries.calls

# The site, in build/docs; a link that leads nowhere is an error.
docs: $(STAMP)
	$(RUN) -c "import sphinx, myst_parser, pydata_sphinx_theme" 2>/dev/null || $(RUN) -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	$(RUN) -m sphinx --fail-on-warning --keep-going --quiet -j auto -c docs/site docs build/docs
	@echo "the site is in build/docs/index.html"

# Everything that may go wrong, at every step; the table of promises is printed at the end.
faults: $(STAMP)
	$(PYTEST) -m "campaign or not campaign" tests/faults

# The same programs in Polars, DuckDB, PySpark and pandas on Spark, results compared first.
bench-peers: $(PEERS_STAMP)
	SFRAME_SPARK_JVM_OPTIONS= $(PEERS)/bin/python -m benchmarks.peers

# The shapes of TPC-H's 22 queries in the same libraries, results compared with DuckDB's first.
bench-tpch: $(PEERS_STAMP)
	SFRAME_SPARK_JVM_OPTIONS= $(PEERS)/bin/python -m benchmarks.tpch

# Groups, joins and distinct values of ROWS rows (10^8), ours and DuckDB with 2 GB, results compared first.
bench-large: ROWS = 100000000
bench-large: $(PEERS_STAMP)
	SFRAME_SPARK_JVM_OPTIONS= $(PEERS)/bin/python -m benchmarks.large --rows $(ROWS)

# A standalone cluster of two workers beside local[2].
bench-cluster: $(STAMP)
	SFRAME_SPARK_JVM_OPTIONS= $(RUN) -m benchmarks.cluster

# What operators cost: measured anew (half an hour), a driver of 10^5 segments simulated anew, then the tables of docs/scale.md.
bench-scale: $(STAMP)
	SFRAME_SPARK_JVM_OPTIONS= $(RUN) -m benchmarks.scale measure simulate

# Two workers of 2 GB make, filter, group, sum up, sort and join 10^7 rows, and each result is checked: ROWS=1e9 needs hours of a core and 32 GB of disk.
ROWS ?= 1e7
bench-long-run: $(STAMP)
	SFRAME_SPARK_JVM_OPTIONS= $(RUN) -m benchmarks.scale.long_run --rows $(ROWS)

bench: $(STAMP)
	SFRAME_SPARK_JVM_OPTIONS= $(RUN) -m benchmarks.run
	SFRAME_SPARK_JVM_OPTIONS= $(RUN) -m benchmarks.laws
	SFRAME_SPARK_JVM_OPTIONS= $(RUN) -m benchmarks.ordered
	SFRAME_SPARK_JVM_OPTIONS= $(RUN) -m benchmarks.interchange
	SFRAME_SPARK_JVM_OPTIONS= $(RUN) -m benchmarks.members

# Within a minute: types beside the tests, without Spark, of the rooms that differ from the main branch.
check: lint
	$(MAKE) --no-print-directory -j 2 --output-sync types changed

lint: $(STAMP)
	$(VENV)/bin/ruff check sframe_spark tests examples benchmarks docs
	$(VENV)/bin/ruff format --check sframe_spark tests examples benchmarks docs

types: $(STAMP)
	$(VENV)/bin/mypy sframe_spark

changed: $(STAMP)
	$(RUN) -m tests.changed_rooms

# Wheel and source distribution, installed into clean environments of every Python that is found; the demo runs in each.
release-check: $(STAMP)
	rm -rf build dist
	$(RUN) -m pip install --quiet --disable-pip-version-check build
	$(RUN) -m build --outdir dist
	for p in python3.11 python3.12 python3.13; do \
		$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
		for f in dist/*.whl dist/*.tar.gz; do \
			place=$$(mktemp -d) && $$p -m venv $$place && $$place/bin/pip install --quiet --disable-pip-version-check "$$f[java]" \
			&& (cd $$place && SFRAME_SPARK_JVM_OPTIONS= bin/python $(CURDIR)/examples/demo.py > demo.txt && tail -1 demo.txt) || exit 1; \
			rm -rf $$place; echo "$$p $$f: the demo runs"; \
		done; \
	done

clean:
	rm -rf $(VENV) $(PEERS) .venv-demo .venv-versions .venv-libraries build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/reference
