"""What is missing of a sweep, found from the plan in the store: without torch, and whatever has changed since."""

from __future__ import annotations

import io
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from old_store import old_store
from rich.console import Console

from longwave.platform import registry
from longwave.platform.about import complete
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.records.identity import derive_seed
from longwave.platform.records.run import Run
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.schema import SweepTrialRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import driver, sweep
from longwave.platform.sweeps.config import SweepFile
from longwave.platform.sweeps.entry import Sweep
from longwave.platform.sweeps.plan import asked, further
from longwave.platform.sweeps.resolve import explained, resolve
from longwave.platform.sweeps.workers import Workers

Tiny = Callable[..., SweepFile]
FINISHED = ("plain", "halved", "learned", "again", "diverging")
"""Sweeps of the old store that are over."""


@pytest.fixture
def run(store: Store, here: Workers) -> Callable[[SweepFile], object]:
    """Run a sweep, or what is missing of it, in this process."""
    return lambda file: driver.start(file, store, here, None, Console(file=io.StringIO()))


def newer(monkeypatch: pytest.MonkeyPatch, kind: str, name: str, **changes: Any) -> None:
    """Let a model or a task be of another version from now on."""
    known: Any = registry.shipped_models() if kind == "model" else registry.shipped_tasks()
    spec = replace(known[name], version="9", **changes)
    monkeypatch.setattr(registry, f"shipped_{kind}s", lambda: {**known, name: spec})


def test_a_plan_comes_back_from_the_store_as_it_went_in(store: Store, tiny: Tiny) -> None:
    file = tiny(models=["lem", "cornn"], space={"cornn": {"dt": 0.5}}, model={"cornn": {"damping": "implicit"}})
    made = explained(resolve(file))
    assert Sweep.from_dict(file, made.to_dict()) == made
    assert sweep.plan(resolve(file), store) == made == sweep.stored_sweep(store, "tiny")
    assert {(e.places, e.beside) for e in made.entries} == {(20, 2 * 20 + 4)}
    assert {e.base.model: e.looped for e in made.entries} == {"lem": False, "cornn": False}


@pytest.mark.parametrize(
    "how", [{}, {"halving": {"eta": 2, "first": 1}}, {"sampler": "tpe", "rounds": 2}, {"retrain": 0}], ids=str
)
def test_the_trials_of_the_store_are_those_of_the_plan_written_step_by_step(
    store: Store, tiny: Tiny, run: Callable[[SweepFile], object], how: dict[str, Any]
) -> None:
    file = tiny(**how)
    run(file)
    ends = {t.config.id: t.run for t in store.trials("tiny") if t.run}
    wanted = {c.id for c in asked(resolve(file), ends)}
    assert wanted == {t.config.id for t in store.trials("tiny")} == set(ends)
    assert sweep.missing(sweep.stored_sweep(store, "tiny"), store) == []


@pytest.mark.integration
def test_what_is_missing_is_found_without_torch_and_without_data(store: Store, tiny: Tiny, tmp_path: Path) -> None:
    planned = sweep.plan(resolve(tiny(trials=500)), store)
    assert len(sweep.missing(planned, store)) == 1000
    store.close()
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'optuna', 'ray', 'mlflow', 'longwave.tasks']))\n"
        "from pathlib import Path\n"
        "from longwave.platform.storage.store import Store\n"
        "from longwave.platform.sweeps import driver, sweep\n"
        "from longwave.platform.storage.leases import Leases\n"
        "from longwave.platform.sweeps.jobs import Waves\n"
        "from longwave.platform.sweeps.workers import Workers\n"
        f"with Store({store.url!r}, create=False) as store:\n"
        "    known = sweep.stored_sweep(store, 'tiny')\n"
        "    left = sweep.missing(known, store)\n"
        "    with Leases(store, 'tiny') as leases:\n"
        f"        jobs = Waves(known, store, leases, Workers(2, Path({str(tmp_path)!r})), left, {{}}).next()\n"
        "    print(len(left), sum(len(job.configs) for job in jobs.values()))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1000", "1000"]


@pytest.mark.parametrize(("kind", "name", "what"), [("model", "lem", "of lem"), ("task", "adding", "on adding")])
def test_a_sweep_that_is_over_asks_for_nothing_after_a_new_version_and_its_name_is_taken(
    store: Store, tiny: Tiny, run: Callable[[SweepFile], object], monkeypatch: pytest.MonkeyPatch,
    kind: str, name: str, what: str,
) -> None:  # fmt: skip
    file = tiny(models=["lem"])
    run(file)
    count = len(store.trials("tiny"))
    newer(monkeypatch, kind, name)
    assert sweep.missing(sweep.stored_sweep(store, "tiny"), store) == []
    with pytest.raises(ConfigError, match=f"was planned with {kind} version . .*{what}.*; here is 9. Give it another"):
        run(file)
    assert len(store.trials("tiny")) == count


def test_seeds_before_and_after_a_halved_metric_are_two_rows_and_the_older_is_superseded(
    store: Store, tiny: Tiny, run: Callable[[SweepFile], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tiny(models=["lem"]))
    [before] = [row for row in read_board(store) if row.kind == "reproduced"]
    metric = registry.all_tasks()["adding"].metric
    newer(monkeypatch, "task", "adding", metric=replace(metric, finish=lambda ratio: ratio / 2))
    run(tiny(models=["lem"], name="again"))
    new, old = (row for row in read_board(store) if row.kind == "reproduced")
    assert (old.config, old.scores, old.n) == (before.config, before.scores, before.n)
    assert (old.superseded, old.rank_low) == ("task adding: version 2, now 9", None)
    assert (new.superseded, new.rank_low, new.n) == ("", 1, before.n)
    assert sorted(new.scores) == pytest.approx(sorted(score / 2 for score in old.scores))


def test_a_worker_of_another_version_refuses_and_the_trials_stay_planned(
    store: Store, tiny: Tiny, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = sweep.plan(resolve(tiny(models=["lem"])), store)
    newer(monkeypatch, "model", "lem")
    with pytest.raises(WorkerError, match="planned with version 1 of lem, here is 9. Start the sweep under an"):
        driver.resume(planned, store, here, None, Console(file=io.StringIO()))
    assert {t.status for t in store.trials("tiny")} <= {"planned", "running"}


def test_a_worker_with_other_data_refuses(store: Store, tiny: Tiny, here: Workers) -> None:
    made = resolve(tiny(models=["lem"]))
    other = replace(made, entries=tuple(replace(e, base=replace(e.base, data="0" * 12)) for e in made.entries))
    with pytest.raises(WorkerError, match="version 000000000000 of the data of adding, here is"):
        driver.resume(sweep.plan(other, store), store, here, None, Console(file=io.StringIO()))
    assert not [t for t in store.trials("tiny") if t.run]


def test_the_same_settings_meet_the_same_seeds_under_any_version(tiny: Tiny) -> None:
    [entry] = resolve(tiny(models=["lem"])).entries
    assert seed_key(entry.base) == seed_key(replace(entry.base, model_version="2", task_version="3", protocol="4"))


@pytest.fixture
def old(tmp_path: Path, open_store: Callable[[str], Store]) -> Store:
    """A store made before identities could grow, opened now."""
    return open_store(f"sqlite:///{old_store(tmp_path / 'old.db')}")


@pytest.mark.parametrize("name", FINISHED)
def test_a_finished_sweep_of_an_old_store_asks_for_nothing(old: Store, name: str) -> None:
    before = [t.config.id for t in old.trials(name)]
    assert sweep.missing(sweep.stored_sweep(old, name), old) == []
    assert [t.config.id for t in old.trials(name)] == before


@pytest.mark.parametrize("name", ["to-retrain", "to-search", "to-halve"])
def test_an_unfinished_sweep_of_an_old_store_goes_on_with_the_seeds_it_planned(
    old: Store, here: Workers, name: str
) -> None:
    before = [(t.config.id, t.config.seed) for t in old.trials(name)]
    driver.resume(sweep.stored_sweep(old, name), old, here, None, Console(file=io.StringIO()))
    after = [(t.config.id, t.config.seed) for t in old.trials(name)]
    assert after[: len(before)] == before and all(t.run for t in old.trials(name))
    again = [t.config for t in old.trials(name) if t.config.phase == "retrain"]
    assert [c.seed for c in again] == [derive_seed("retrain", seed_key(c), k) for k, c in enumerate(again)] != []
    assert {c.id for c in asked(resolve(sweep.stored_sweep(old, name).file), _ends(old, name))} == {i for i, _ in after}


def test_an_old_sweep_that_is_run_from_its_file_again_asks_for_nothing(old: Store, here: Workers) -> None:
    file = sweep.stored_sweep(old, "plain").file
    before = len(old.trials("plain"))
    view = driver.start(file, old, here, None, Console(file=io.StringIO()))
    assert view.counts() == f"{before} of {before} trials done ({before} ok)"


def _ends(store: Store, name: str) -> dict[str, Any]:
    return {t.config.id: t.run for t in store.trials(name) if t.run}


def test_old_names_of_rows_and_of_their_trials_work_in_commands(
    old: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(old_store(tmp_path / "before.db"))) as before:
        query = "SELECT id, \"row\" FROM trials WHERE phase = 'retrain' AND model = 'cornn' ORDER BY id"
        names = before.execute(query).fetchall()
    [present] = {t.config.row for trial, row in names for name in (trial, row[:9]) for t in old.rows(name)}
    assert present not in {row for _, row in names} and old.present_name(names[0][1]) == present
    assert main(["diff", names[0][1], present[:8], "--store", old.url]) == 0
    assert "differ in nothing" in capsys.readouterr().out


def test_a_search_of_an_old_store_that_lacks_a_round_is_drawn_to_its_end(old: Store) -> None:
    before = [t.config.id for t in old.trials("learned")]
    with old.transaction() as connection:
        connection.execute(
            sa.delete(SweepTrialRow).where(SweepTrialRow.sweep == "learned", SweepTrialRow.position >= 2)
        )
    assert len(old.planned("learned")) == 2
    assert sweep.missing(sweep.stored_sweep(old, "learned"), old) == []
    assert [t.config.id for t in old.trials("learned")] == before


def test_what_pages_need_of_an_old_stores_rows_is_looked_up_where_it_is_sure(old: Store) -> None:
    [first, *_] = [t for t in old.retrainings("adding") if t.config.model == "lem"]
    other = replace(first.config, variant="N=30", data="a" * 12)
    old.add_trials(None, [other, replace(other, data="b" * 12)], [first.about] * 2)
    complete(old)
    told = {(k.kind, k.name, k.variant): (k.version, k.data) for k in old.catalogue()}
    assert told["task", "adding", "N=20"] == ("2", first.config.data) and told["model", "lem", ""] == ("1", "")
    assert ("task", "adding", "N=30") not in told  # two versions of its data are there: neither is known to be newer


def test_only_trials_that_ended_ok_win_and_what_was_retrained_is_not_planned_again(tiny: Tiny) -> None:
    made = resolve(tiny(models=["lem"]))
    search = asked(made, {})
    ends = {c.id: Run(c.id, "ok", valid=float(k + 1)) for k, c in enumerate(search)}
    ends[search[3].id] = Run(search[3].id, "diverged", "loss is nan", valid=0.1)
    planned = [PlannedTrial(c.id, "lem", "search", ends[c.id].status, None, ends[c.id].valid) for c in search]
    found = list(further(made, planned, lambda ids: {c.id: (c, ends[c.id]) for c in search if c.id in ids}))
    again = [config for _, config in found]
    assert {cell for cell, _ in found} == {0}
    assert [c.params for c in again] == [search[0].params] * 2 and again == asked(made, ends)[4:]
    done = [*planned, *(PlannedTrial(c.id, "lem", "retrain", "ok", None, 1.0) for c in again)]
    assert list(further(made, done, lambda ids: pytest.fail("nothing is to be read"))) == []
