# make demo        install, run the demo sweep, print its leaderboard
# make test        install, run every test that takes no more than a second of processor: minutes on two cores
# make test-all    every test
# make test-changed  those of what changed since the last tag, nearest to the change first; not the slow ones
#                  PYTEST_ADDOPTS="--processor-times 30" lists, for each of the three, which 30 take most
# make honesty     how often ranks, intervals and verdicts are wrong, claimed and simulated: 20 minutes
# make chaos       sweeps whose drivers, workers, nodes, checkpoints, database and disks fail: hours; it goes on
# make edition     the living board: trains what is missing of infra/sweeps/edition1 at low priority, then publishes; hours
# make drawn       trains eight rows of the edition, drawn at random, once more
# make gpu         is everything right on this GPU, and how fast? infra/benchmarks/<gpu>.json
# make check       formatting, lint, types, security, licences
# make audit       known vulnerabilities of the locked packages; asks an outside service
# make shots     every page of the Lab, light and dark, on a desk and a phone: pictures in SHOTS, of the store in STORE
# make screens     what commands print at 80, 120 and 200 columns, as texts to be read: tests/platform/cli/screens
# make freeze      record the ids and results of what is new, and the layers' signatures; refuses what changed without
#                  a version
# make lock        resolve the dependencies anew
PY ?= python3
VENV ?= .venv
UV := .tools/bin/uv
BIN := $(VENV)/bin

.PHONY: install demo test test-all test-changed honesty chaos edition drawn gpu check audit shots screens freeze lock
.DEFAULT_GOAL := install

$(UV):
	$(PY) -m venv .tools
	.tools/bin/pip install -q --disable-pip-version-check uv==0.13.8

$(VENV)/.stamp: requirements.lock pyproject.toml | $(UV)
	$(UV) venv -q --allow-existing -p $(PY) $(VENV)
	$(UV) pip sync -q -p $(BIN)/python --compile-bytecode --require-hashes requirements.lock
	$(UV) pip install -q -p $(BIN)/python --no-deps -e .
	touch $@

install: $(VENV)/.stamp

demo: install
	$(BIN)/longwave sweep run infra/sweeps/demo.toml
	$(BIN)/longwave board adding

# Tests whose assertions pytest has rewritten once are kept, also where the environment forbids it: seconds a process.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n 2

test: install
	$(PYTEST) --dist worksteal -m "not integration and not slow"

test-all: install
	$(PYTEST) --dist worksteal

# TIER="integration and not slow" runs these alone; STOP_AFTER=N lists what has not run after so many seconds.
test-changed: install
	$(PYTEST) --dist loadfile --no-loadscope-reorder --changed -m "$(or $(TIER),not slow)" $(STOP_AFTER:%=--stop-after %)

honesty: install
	$(BIN)/python tests/support/honesty.py

gpu: install
	$(BIN)/python tests/support/gpu.py

chaos: install
	$(BIN)/python tests/support/chaos.py

# What is made on the way lies in .edition and infra/board/unfinished. WORDS="b1 b2" runs these alone, WORDS=--publish none;
# WORDS=--widen writes second searches of those whose winners sit at the edge of a range.
edition: install
	nice -n 19 $(BIN)/python tests/support/living_board.py $(WORDS)

drawn: install
	nice -n 19 $(BIN)/python tests/support/drawn_rows.py $(WORDS)

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/bandit -q -c pyproject.toml -r platform models tasks dashboard infra/package
	$(BIN)/python tests/support/licences.py

audit: | $(UV)
	$(UV) tool run pip-audit --requirement requirements.lock --require-hashes --disable-pip

shots: install
	$(BIN)/python tests/support/shots.py "$(STORE)" "$(SHOTS)"

screens: install
	$(BIN)/python tests/support/screens.py

freeze: install
	$(BIN)/python tests/support/frozen.py

lock: | $(UV)
	$(UV) pip compile -q --universal -p 3.11 --generate-hashes --no-header --group dev --extra cluster --extra graphs --extra s3 pyproject.toml -o requirements.lock
