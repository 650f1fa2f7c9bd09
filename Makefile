# make demo        install, run the demo sweep, print its leaderboard
# make test        install, run every test that takes no more than a second of processor: minutes on two cores
# make test-all    every test
# make test-changed  those of what changed since the last tag, nearest to the change first; not the slow ones
#                  PYTEST_ADDOPTS="--processor-times 30" lists, for each of the three, which 30 take most
# make honesty     how often ranks, intervals and verdicts are wrong, claimed and simulated: 20 minutes
# make mutants     breaks lines, one at a time; fails where no test notices: most of an hour; it goes on where it stopped
# make chaos       sweeps whose drivers, workers, nodes, checkpoints, database and disks fail: hours; it goes on
# make edition     trains what is missing of an edition at low priority, then publishes it; hours. EDITION=2: of the second
# make drawn       trains eight rows of the edition, drawn at random, once more
# make gpu         is everything right on this GPU, and how fast? infra/benchmarks/<gpu>.json
# make submission  checks the one in FOLDER, code, results and replays, and says what it changes on the board
# make docs        the documentation site, build/docs/index.html; what it says of commands, keys, models and tasks is from the code
# make check       formatting, lint, types, security, licences
# make lengths     functions that have many arguments, statements or branches: advice alone
# make audit       known vulnerabilities of the locked packages; asks an outside service
# make shots     every page of the Lab, light and dark, on a desktop and a phone: pictures in SHOTS, of the store in STORE
# make screens     what commands print at 80, 120 and 200 columns, as texts to be read: tests/platform/cli/screens
# make freeze      record the ids and results of what is new, and the layers' signatures; refuses what changed without
#                  a version
# make lock        resolve the dependencies anew
PY ?= python3
VENV ?= .venv
UV := .tools/bin/uv
BIN := $(VENV)/bin
# Programs of ours, which share a few files with the tests.
TOOL := PYTHONPATH=tests/support:infra/benchmarks $(BIN)/python infra/tools

.PHONY: install demo test test-all test-changed honesty mutants chaos edition drawn submission gpu docs check lengths audit shots screens freeze lock
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
	$(BIN)/longwave demo

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
	$(TOOL)/honesty.py $(WORDS)

gpu: install
	$(TOOL)/gpu.py

# WORDS="platform/boards tasks" runs these folders alone; --survivors those that survived once more, --anew all.
mutants: install
	nice -n 19 env $(TOOL)/mutants.py $(WORDS)

chaos: install
	$(TOOL)/chaos.py $(WORDS)

# What is made on the way lies in .edition-1 and infra/board/unfinished-1. WORDS="b1 b2" runs these alone, WORDS=--publish
# none; WORDS=--pause ends it in order from another terminal, and the same command goes on; WORDS=--keep writes what is
# done so far; WORDS=--widen writes second searches of those whose winners sit at the edge of a range.
edition: install
	nice -n 19 env $(TOOL)/build_edition.py $(EDITION:%=--edition %) $(WORDS)

drawn: install
	nice -n 19 env $(TOOL)/drawn_rows.py $(WORDS)

submission: install
	$(TOOL)/submission.py "$(FOLDER)" $(COMMENT:%=--comment %) $(WORDS)

docs: install
	$(TOOL)/docs.py

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy infra/benchmarks
	$(BIN)/bandit -q -c pyproject.toml -r platform models tasks dashboard infra/package infra/benchmarks
	$(TOOL)/licences.py

# Advice, no rule: functions of many arguments, statements or branches.
lengths: install
	$(BIN)/ruff check --exit-zero --output-format concise --select PLR0913,PLR0915,C901 .

audit: | $(UV)
	$(UV) tool run pip-audit --requirement requirements.lock --require-hashes --disable-pip

shots: install
	$(TOOL)/shots.py "$(STORE)" "$(SHOTS)"

screens: install
	$(TOOL)/screens.py

freeze: install
	$(TOOL)/frozen.py

lock: | $(UV)
	$(UV) pip compile -q --universal -p 3.11 --generate-hashes --no-header --group dev --group docs --extra all --extra graphs --extra s3 pyproject.toml -o requirements.lock
