"""What is missing of a sweep, found from the plan in the store: without torch, and whatever has changed since."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from recorded import recorded_store
from rich.console import Console

from longwave.platform import registry
from longwave.platform.about import about, write_catalogue
from longwave.platform.errors import ConfigError, StoreError, WorkerError
from longwave.platform.records.run import Run
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.integrity import find_damage
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan import stored
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.resolve import resolve, with_descriptions
from longwave.platform.sweeps.plan.trials import all_trials, following_trials
from longwave.platform.sweeps.run import driver

Tiny = Callable[..., SweepFile]


@pytest.fixture
def run(store: Store, here: Workers) -> Callable[[SweepFile], object]:
    """Run a sweep, or what is missing of it, in this process."""
    return lambda file: driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))


def newer(monkeypatch: pytest.MonkeyPatch, kind: str, name: str, **changes: Any) -> None:
    """Let a model or a task be of another version from now on."""
    known: Any = registry.shipped_models() if kind == "model" else registry.shipped_tasks()
    spec = replace(known[name], version="9", **changes)
    monkeypatch.setattr(registry, f"shipped_{kind}s", lambda: {**known, name: spec})


def test_a_plan_comes_back_from_the_store_as_it_went_in(store: Store, tiny: Tiny) -> None:
    file = tiny(models=["lem", "cornn"], space={"cornn": {"dt": 0.5}}, model={"cornn": {"damping": "implicit"}})
    made = with_descriptions(resolve(file))
    assert Sweep.from_dict(file, made.to_dict()) == made
    assert stored.store_plan(resolve(file), store) == made == stored.read_sweep_plan(store, "tiny")
    assert {(e.positions, e.other_numbers) for e in made.cells} == {(20, 2 * 20 + 4)}
    assert {e.base.model: e.looped for e in made.cells} == {"lem": False, "cornn": False}


def test_of_two_that_start_a_sweep_at_once_the_second_is_held_to_the_plan_of_the_first(
    store: Store, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tiny(models=["lem"])
    stored.store_plan(resolve(file), store)
    monkeypatch.setattr(store, "sweeps", list)  # the second looked before the first had written
    newer(monkeypatch, "model", "lem")
    with pytest.raises(ConfigError, match="was planned with model version .* of lem on adding, which is now 9"):
        stored.store_plan(resolve(file), store)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("UPDATE sweeps SET plan = json_set(plan, '$.entries[0].space[0].low', 0.5)", "the sweep 'tiny'"),
        ("UPDATE sweeps SET plan = '{}'", "the sweep 'tiny'"),
        ("UPDATE sweeps SET content = '[]'", "the sweep 'tiny'"),
        ("UPDATE trials SET config = json_set(config, '$.seed', 77)", "the plan of trial [0-9a-f]{16}"),
        ("UPDATE trials SET about = json_set(about, '$.goal', 'max')", "the plan of trial [0-9a-f]{16}"),
    ],
)
def test_a_plan_that_was_damaged_in_the_store_is_not_trained_and_stays_found(
    store: Store, tiny: Tiny, run: Callable[[SweepFile], object], change: str, what: str
) -> None:
    stored.missing_trials(stored.store_plan(resolve(tiny(models=["lem"])), store), store)
    with store.transaction() as connection:
        connection.execute(sa.text(change))
    with pytest.raises(
        StoreError, match=f"is damaged: {what} does not match its checksum. Save what is readable with: .* --repair"
    ):
        run(tiny(models=["lem"]))
    assert {planned.status for planned in store.planned("tiny")} == {"planned"}
    assert find_damage(store.engine)


@pytest.mark.integration
@pytest.mark.parametrize(
    "how", [{}, {"halving": {"eta": 2, "first": 1}}, {"sampler": "tpe", "rounds": 2}, {"retrain": 0}], ids=str
)
def test_the_trials_of_the_store_are_those_of_the_plan_written_step_by_step(
    store: Store, tiny: Tiny, run: Callable[[SweepFile], object], how: dict[str, Any]
) -> None:
    file = tiny(**how)
    run(file)
    ends = {t.config.id: t.run for t in store.trials("tiny") if t.run}
    wanted = {c.id for c in all_trials(resolve(file), ends)}
    assert wanted == {t.config.id for t in store.trials("tiny")} == set(ends)
    assert stored.missing_trials(stored.read_sweep_plan(store, "tiny"), store) == []


@pytest.mark.integration
def test_what_is_missing_is_found_without_torch_and_without_data(store: Store, tiny: Tiny, tmp_path: Path) -> None:
    planned = stored.store_plan(resolve(tiny(trials=500)), store)
    assert len(stored.missing_trials(planned, store)) == 1000
    store.close()
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'optuna', 'ray', 'mlflow', 'longwave.tasks']))\n"
        "from pathlib import Path\n"
        "from longwave.platform.storage.store import Store\n"
        "from longwave.platform.sweeps.plan import stored\n"
        "from longwave.platform.sweeps.run import driver\n"
        "from longwave.platform.storage.leases import Leases\n"
        "from longwave.platform.sweeps.run.queue import PackQueue\n"
        "from longwave.platform.sweeps.place.workers import Workers\n"
        f"with Store({store.url!r}, create=False) as store:\n"
        "    known = stored.read_sweep_plan(store, 'tiny')\n"
        "    left = stored.missing_trials(known, store)\n"
        "    with Leases(store, 'tiny') as leases:\n"
        f"        jobs = PackQueue(known, store, leases, Workers(2, Path({str(tmp_path)!r})), left, {{}}).next()\n"
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
    assert stored.missing_trials(stored.read_sweep_plan(store, "tiny"), store) == []
    with pytest.raises(
        ConfigError, match=f"was planned with {kind} version . .*{what}.*, which is now 9. Rename the sweep"
    ):
        run(file)
    assert len(store.trials("tiny")) == count


@pytest.mark.integration
def test_seeds_before_and_after_a_halved_metric_are_two_rows_and_the_older_is_superseded(
    store: Store, tiny: Tiny, run: Callable[[SweepFile], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tiny(models=["lem"]))
    [before] = [row for row in read_board(store) if row.kind == "retrained"]
    metric = registry.all_tasks()["adding"].metric
    newer(monkeypatch, "task", "adding", metric=replace(metric, finish=lambda ratio: ratio / 2))
    run(tiny(models=["lem"], name="again"))
    new, old = (row for row in read_board(store) if row.kind == "retrained")
    assert (old.config, old.scores, old.n) == (before.config, before.scores, before.n)
    assert (old.superseded, old.rank_low) == ("task adding: version 2, now 9", None)
    assert (new.superseded, new.rank_low, new.n) == ("", 1, before.n)
    assert sorted(new.scores) == pytest.approx(sorted(score / 2 for score in old.scores))


def test_a_worker_of_another_version_refuses_and_the_trials_stay_planned(
    store: Store, tiny: Tiny, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = stored.store_plan(resolve(tiny(models=["lem"])), store)
    newer(monkeypatch, "model", "lem")
    with pytest.raises(WorkerError, match="planned with version 1 of lem, which is now 9. Start the sweep under an"):
        driver.resume_sweep(planned, store, here, None, Console(file=io.StringIO()))
    assert {t.status for t in store.trials("tiny")} <= {"planned", "running"}


def test_a_worker_with_other_data_refuses(store: Store, tiny: Tiny, here: Workers) -> None:
    made = resolve(tiny(models=["lem"]))
    other = replace(made, cells=tuple(replace(e, base=replace(e.base, data="0" * 12)) for e in made.cells))
    with pytest.raises(WorkerError, match="version 000000000000 of the data of adding, which is now"):
        driver.resume_sweep(stored.store_plan(other, store), store, here, None, Console(file=io.StringIO()))
    assert not [t for t in store.trials("tiny") if t.run]


def test_the_same_settings_meet_the_same_seeds_under_any_version(tiny: Tiny) -> None:
    [entry] = resolve(tiny(models=["lem"])).cells
    assert seed_key(entry.base) == seed_key(replace(entry.base, model_version="2", task_version="3", protocol="4"))


def test_what_pages_need_of_rows_is_looked_up_where_it_is_sure(store: Store) -> None:
    first = recorded_store(store, 4)[1]
    others = [replace(first, variant="N=30", data=letter * 12) for letter in "ab"]
    store.add_trials(None, others, [about(first)] * 2)
    write_catalogue(store)
    versions = {(k.kind, k.name, k.variant): (k.version, k.data) for k in store.catalogue()}
    assert versions["task", "adding", "N=20"] == ("2", first.data) and versions["model", "lem", ""] == ("1", "")
    assert (
        "task",
        "adding",
        "N=30",
    ) not in versions  # two versions of its data are there: neither is known to be newer


def test_only_trials_that_ended_ok_win_and_what_was_retrained_is_not_planned_again(tiny: Tiny) -> None:
    made = resolve(tiny(models=["lem"]))
    search = all_trials(made, {})
    ends = {c.id: Run(c.id, "ok", valid=float(k + 1)) for k, c in enumerate(search)}
    ends[search[3].id] = Run(search[3].id, "diverged", "loss is nan", valid=0.1)
    planned = [PlannedTrial(c.id, "lem", "search", ends[c.id].status, None, ends[c.id].valid, 0) for c in search]
    actual = list(following_trials(made, planned, lambda ids: {c.id: (c, ends[c.id]) for c in search if c.id in ids}))
    again = [config for _, config in actual]
    assert {cell for cell, _ in actual} == {0}
    assert [c.params for c in again] == [search[0].params] * 2 and again == all_trials(made, ends)[4:]
    done = [*planned, *(PlannedTrial(c.id, "lem", "retrain", "ok", None, 1.0, 0) for c in again)]
    assert list(following_trials(made, done, lambda ids: pytest.fail("nothing is to be read"))) == []
