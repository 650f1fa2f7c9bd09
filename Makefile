# make demo        install, run the demo sweep, print its leaderboard
# make test        install, run every test that takes at most one CPU second: minutes on two cores
# make test-all    every test
# make test-changed  tests of what changed since the last tag, nearest to the change first; not the slow ones
#                  PYTEST_ADDOPTS="--processor-times 30" lists, for each of the three, the 30 slowest tests
# make honesty     error rates of ranks, intervals and verdicts, claimed and simulated: 20 minutes
# make mutants     breaks lines, one at a time; fails if no test notices: most of an hour; continues where it stopped
# make chaos       sweeps whose drivers, workers, nodes, checkpoints, database and disks fail: hours; continues too
# make edition     trains the missing models of an edition at low priority, then publishes it; hours. EDITION=2: edition 2
# make drawn       trains eight rows of the edition, drawn at random, again
# make gpu         checks correctness and speed on this GPU, and writes infra/benchmarks/<gpu>.json
# make submission  checks the submission in FOLDER: code, results, replays; and lists its changes of the board
# make docs        the documentation site, build/docs/index.html; its reference is generated from the code
# make check       formatting, lint, types, security, licences
# make lengths     lists functions with many arguments, statements or branches, as advice
# make audit       known vulnerabilities of the locked packages, from an online service
# make shots       screenshots of every page of the Lab, light and dark, desktop and phone, of STORE in SHOTS
# make screens     output of commands at 80, 120 and 200 columns, to be reviewed: tests/platform/cli/screens
# make freeze      records ids and results of new models and tasks, and the layers' signatures; refuses changes without
#                  a new version
# make lock        resolves the dependencies again
PY ?= python3
VENV ?= .venv
UV := .tools/bin/uv
BIN := $(VENV)/bin
# Our programs, which share a few files with the tests.
TOOL := PYTHONPATH=infra/tools:tests/support:infra/benchmarks $(BIN)/python -m

# Value of a variable that must be given.
given = $(or $($(1)),$(error make $@ needs $(1)=VALUE))

.PHONY: install demo test test-all test-changed honesty mutants chaos edition drawn submission gpu docs check lengths audit shots screens freeze lock
.DEFAULT_GOAL := install

$(UV):
	$(PY) -m venv .tools
	.tools/bin/pip install -q --disable-pip-version-check uv==0.13.8

$(VENV)/.stamp: requirements.lock pyproject.toml | $(UV)
	$(UV) venv -q --seed --allow-existing -p $(PY) $(VENV)
	$(UV) pip sync -q -p $(BIN)/python --compile-bytecode --require-hashes requirements.lock
	$(UV) pip install -q -p $(BIN)/python --no-deps -e .
	touch $@

install: $(VENV)/.stamp

demo: install
	$(BIN)/longwave demo

# Keep the files with assertions rewritten by pytest, even if the environment forbids bytecode: saves seconds.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q

# Three processes, as tests wait for disks and other processes during a quarter of their time on two cores.
test: install
	$(PYTEST) -n 3 --dist worksteal -m "not integration and not slow"

test-all: install
	$(PYTEST) -n 2 --dist worksteal

# TIER="integration and not slow" runs only these; STOP_AFTER=N stops after N seconds and lists unfinished tests.
test-changed: install
	$(PYTEST) -n 2 --dist loadfile --no-loadscope-reorder --changed -m "$(or $(TIER),not slow)" $(STOP_AFTER:%=--stop-after %)

honesty: install
	$(TOOL) honesty $(WORDS)

# All of it takes about 15 minutes on an H200 with 16 cores. WORDS="speeds kernels" runs only these of correctness, halves,
# speeds, kernels and sweeps.
gpu: install
	$(TOOL) gpu $(WORDS)

# WORDS="platform/boards tasks" runs only these folders; --survivors only survivors, --all also those with a result.
mutants: install
	nice -n 19 env $(TOOL) mutants $(WORDS)

chaos: install
	$(TOOL) chaos $(WORDS)

# Intermediate results are in .edition-1 and infra/board/unfinished-1. WORDS="b1 b2 --models lem,gru" trains only these;
# WORDS=--publish none; WORDS=--pause stops it cleanly from another terminal, and the same command continues; WORDS=--keep
# saves the finished part.
edition: install
	nice -n 19 env $(TOOL) edition $(EDITION:%=--edition %) $(WORDS)

drawn: install
	nice -n 19 env $(TOOL) edition.drawn_rows $(EDITION:%=--edition %) $(WORDS)

submission: install
	$(TOOL) submission "$(call given,FOLDER)" $(COMMENT:%=--comment %) $(WORDS)

docs: install
	$(TOOL) docs

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy infra/benchmarks
	$(BIN)/bandit -q -c pyproject.toml -r platform models tasks dashboard infra/package infra/benchmarks
	$(TOOL) licences

# Advice, not a rule: functions with many arguments, statements or branches.
lengths: install
	$(BIN)/ruff check --exit-zero --output-format concise --select PLR0913,PLR0915,C901 .

audit: | $(UV)
	$(UV) tool run pip-audit --requirement requirements.lock --require-hashes --disable-pip

shots: install
	$(TOOL) shots "$(call given,STORE)" "$(call given,SHOTS)"

screens: install
	$(TOOL) screens

freeze: install
	$(TOOL) frozen

lock: | $(UV)
	$(UV) pip compile -q --universal -p 3.11 --generate-hashes --no-header --group dev --group docs --extra all --extra graphs --extra s3 pyproject.toml -o requirements.lock
