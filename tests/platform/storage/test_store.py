"""The store keeps what it is given, once, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from database_rows import read_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from longwave.platform.about import about
from longwave.platform.errors import ConfigError, NoStoreError, StoreError
from longwave.platform.literature.published import FILE, published_rows
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Measure, Point, Run
from longwave.platform.records.stored import CatalogueEntry, PlannedTrial, StoredSweep, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.integrity import find_damage_at
from longwave.platform.storage.schema import SweepTrialRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials

Tiny = Callable[..., SweepFile]
OpenStore = Callable[[str], Store]
HERE = {"torch": "2.15.0", "device": "a"}


@pytest.fixture
def filled(any_store_url: str, tiny: Tiny, open_store: OpenStore) -> tuple[Store, list[TrialConfig]]:
    """A store with the plan of one sweep."""
    store, trials = open_store(any_store_url), all_trials(resolve(tiny()), {})
    store.add_sweep("tiny", {"trials": 4})
    store.add_trials("tiny", trials, [about(c) for c in trials])
    return store, trials


def points(config: TrialConfig, epochs: int) -> list[Point]:
    return [Point(config.id, e, 1.0 / e, 2.0 / e, 0.5 * e, 1.7e9 + e) for e in range(1, epochs + 1)]


def test_a_plan_comes_back_in_order_as_it_was_asked(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    stored = store.trials("tiny")
    assert [t.config for t in stored] == trials
    assert {(t.status, t.pack, t.run) for t in stored} == {("planned", None, None)}
    assert stored[0].about == about(trials[0])
    assert store.sweep("tiny") == StoredSweep("tiny", {"trials": 4})


def test_a_record_and_its_curve_come_back_equal(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    run = Run(trials[3].id, "ok", "", 6, 4, 1e-300, None, 12.5, 8, 1233, HERE)
    store.write(points(trials[3], 6), [run])
    assert store.trials("tiny")[3].run == run
    assert store.curves([trials[3].id]) == points(trials[3], 6)
    ended = store.trials("tiny")[3].ended
    assert ended and ended.tzinfo and abs((datetime.now(UTC) - ended).total_seconds()) < 60


def test_a_second_record_of_a_trial_changes_nothing(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    first = Run(trials[0].id, "ok", valid=0.5, environment=HERE)
    store.write(points(trials[0], 2), [first])
    store.write([replace(p, loss=9.0) for p in points(trials[0], 3)], [Run(trials[0].id, "failed", "twin")])
    assert store.trials("tiny")[0].run == first
    assert store.curves([trials[0].id]) == points(trials[0], 2)


def test_json_comes_back_with_its_keys_in_order_and_its_large_floats(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    config = replace(trials[0], params={"lr": 1e20, "dt": 1e16, "b": -0.0, "a": 1e-7})
    explained = replace(about(config), trivial={"mean": 1.0, "last": 1.0, "a": 1e20})
    facts = {"torch": "2.15.0", "device": "a", "cpu": "b"}
    store.add_trials(None, [config], [explained])
    store.write([], [Run(config.id, "failed", "no", environment=facts)])
    [stored] = store.trials_by_id([config.id])
    assert repr(stored.config.params) == repr(config.params) and stored.config.id == config.id
    assert repr(stored.about.trivial) == repr(explained.trivial)
    assert stored.run and list(stored.run.environment) == list(facts)


def test_two_sweeps_that_ask_for_the_same_trial_share_its_record(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    store.write([], [Run(trials[1].id, "ok", valid=0.5)])
    store.add_sweep("other", {})
    store.add_trials("other", trials[1:3], [about(c) for c in trials[1:3]])
    assert [t.status for t in store.trials("other")] == ["ok", "planned"]


def test_asking_again_keeps_rows_and_packs(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    store.assign({"p1": trials[:3], "p2": trials[3:]})
    store.add_trials("tiny", trials, [about(c) for c in trials])
    assert [t.pack for t in store.trials("tiny")] == ["p1"] * 3 + ["p2"] * 5


def test_a_sweep_is_new_once(any_store_url: str, open_store: OpenStore) -> None:
    store = open_store(any_store_url)
    assert [store.add_sweep("tiny", {"seed": 1}) for _ in range(2)] == [True, False]


def test_a_sweep_name_stands_for_one_sweep_alone(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, _ = filled
    store.add_sweep("tiny", {"trials": 4})
    with pytest.raises(ConfigError, match="The store already has a sweep 'tiny' with another seed, trials"):
        store.add_sweep("tiny", {"trials": 5, "seed": 1})
    with pytest.raises(ConfigError, match="No sweep 'tinny'. Did you mean tiny"):
        store.sweep("tinny")


@given(reason=st.text(min_size=1).filter(lambda s: "\x00" not in s and s.isprintable()))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_stored_as_text(store: Store, tiny: Tiny, reason: str) -> None:
    [config] = all_trials(resolve(tiny(models=["lem"], trials=1, name="s", seed=abs(hash(reason)) % 10**9)), {})
    store.add_sweep("s", {})
    store.add_trials("s", [config], [about(config)])
    store.write([], [Run(config.id, "failed", reason)])
    assert next(t.run.reason for t in store.trials("s") if t.config == config and t.run) == reason


def test_points_that_arrive_twice_and_at_once_are_stored_once(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    curves = [points(c, 20) for c in trials]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda curve: store.write(curve, []), curves * 4))
    assert len(store.curves([c.id for c in trials])) == 20 * len(trials)


def test_what_is_asked_is_told_in_short_and_by_id(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    store.assign({"p": trials[2:]})
    store.write([], [Run(trials[1].id, "ok", valid=0.25), Run(trials[4].id, "failed", "lost")])
    asked_for = store.planned("tiny")
    assert [a.id for a in asked_for] == [c.id for c in trials]
    second = PlannedTrial(trials[1].id, trials[1].model, "search", "ok", None, 0.25)
    assert (asked_for[1], asked_for[1].open, asked_for[2].open, asked_for[2].pack) == (second, False, True, "p")
    assert store.configs([c.id for c in trials[:3]]) == {c.id: c for c in trials[:3]}
    two = sorted([trials[5].id, trials[0].id])
    assert [t.config.id for t in store.trials_by_id(two[::-1])] == two
    assert store.failures("tiny") == [(trials[4].model, "lost")]
    more = [replace(trials[0], seed=seed) for seed in (1, 2, 3)]
    store.add_trials("tiny", more, [about(c) for c in more])
    assert [a.id for a in store.planned("tiny")] == [c.id for c in (*trials, *more)]
    with store.reading() as connection:
        assert sorted(connection.scalars(sa.select(SweepTrialRow.position))) == list(range(11))


def test_a_runs_measures_patch_and_place_come_back(filled: tuple[Store, list[TrialConfig]]) -> None:
    store, trials = filled
    patch = "diff --git a/models/lem.py b/models/lem.py\n"
    where = {**HERE, "diff": digest({"patch": patch})}
    measures = (Measure("accuracy", "%", 91.5), *(Measure("recall", "1", 0.1 * k, "length", k) for k in (16.0, 32.0)))
    run = Run(trials[0].id, "ok", valid=0.5, environment=where, patch=patch, measures=measures)
    store.write([], [run, replace(run, trial=trials[1].id, measures=())])
    store.write([], [run])
    first, second = (t.run for t in store.trials("tiny")[:2])
    assert first == replace(run, patch="") and second and second.measures == ()
    assert store.patches([where["diff"], "none"]) == {where["diff"]: patch}


def test_what_pages_need_is_the_newest_that_was_learnt(any_store_url: str, open_store: OpenStore) -> None:
    store = open_store(any_store_url)
    old, new = (CatalogueEntry("model", "lem", v, "multiscale", facts={"title": f"LEM {v}"}) for v in ("1", "2"))
    task = CatalogueEntry("task", "adding", "2", "arithmetic", "N=20", "d" * 12, {"metric": {"name": "mse"}})
    store.write_catalogue([old, task])
    store.write_catalogue([new])
    assert store.catalogue() == [new, task]


def test_trials_that_ended_elsewhere_are_taken_up_whole_or_not_at_all(
    any_store_url: str, open_store: OpenStore, tiny: Tiny
) -> None:
    store, trials = open_store(any_store_url), all_trials(resolve(tiny(models=["lem"])), {})
    runs = [Run(c.id, "ok", valid=0.5, environment=HERE, measures=(Measure("a", "1", 1.0),)) for c in trials]
    at = datetime(2026, 1, 2, tzinfo=UTC)
    ended = [
        Trial(c, about(c), "ok", None, r, at, "bundle", "inside", ("a", "b")) for c, r in zip(trials, runs, strict=True)
    ]
    sweeps = [(StoredSweep("there@1", {"trials": 4}), [c.id for c in trials], [0] * len(trials))]
    with pytest.raises(StoreError, match="has just written the same records"):
        store.import_trials(["bundle"], [(trial, ()) for trial in (*ended, ended[0])], sweeps)
    assert store.count() == {"trials": 0, "epochs": 0} and store.sweeps() == []
    epochs = [tuple(vars(point).values()) for point in points(trials[0], 2)]
    store.import_trials(["bundle"], zip(ended, [epochs, [], [], []], strict=True), sweeps)
    assert store.trials("there@1") == ended and store.count() == {"trials": 4, "epochs": 2}
    assert store.curves([trials[0].id]) == points(trials[0], 2)


def test_rows_of_another_version_are_told_from_present_ones_with_the_reason(store: Store, tiny: Tiny) -> None:
    [first, *_] = all_trials(resolve(tiny(models=["lem"])), {})
    base = replace(first, phase="retrain")
    others = [replace(base, model_version="0"), replace(base, data="0" * 12), replace(base, protocol="0")]
    store.add_trials(None, [base, *others], [about(base)] * 4)
    store.write_catalogue(
        [
            CatalogueEntry("model", "lem", "1", "multiscale"),
            CatalogueEntry("task", "adding", "2", "", "N=20", base.data),
        ]
    )
    reasons = {group.row: group.superseded for group in store.groups("adding")}
    assert reasons == {
        base.row: "",
        others[0].row: "model lem: version 0, now 1",
        others[1].row: f"data of adding: version {'0' * 12}, now {base.data}",
        others[2].row: "training rules: version 0, now 1",
    }


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "A store is sqlite:///file.db or postgresql://..., got nonsense"),
        ("mysql://localhost/x", "cannot be used|is sqlite:///file.db or postgresql"),
        ("sqlite:////no/such/folder/x.db", "^There is no folder /no/such/folder. Create it, or name another store.$"),
        ("sqlite:////tmp/a?b.db", r"^The path of a SQLite store cannot contain \?, got sqlite:////tmp/a\?b.db. Rename"),
        ("sqlite:///a.db?mode=ro", "or leave out the [?] and what follows.$"),
        ("postgresql://nobody:secret@127.0.0.1:1/none", "connection"),
    ],
)
def test_a_store_that_cannot_be_opened_is_one_line_without_its_password(url: str, message: str) -> None:
    with pytest.raises(StoreError, match=message) as caught:
        Store(url)
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("these are my notes, not a database\n" * 50)
    expected = "notes.txt cannot be used: the file is not a SQLite database. Name another with --store.$"
    for use in (Store, find_damage_at):
        with pytest.raises(StoreError, match=expected):
            use(f"sqlite:///{file}")
    assert file.read_text().startswith("these are my notes")


def test_reading_commands_do_not_make_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store at .*none.db. Make one with: longwave sweep run FILE"):
        Store(f"sqlite:///{tmp_path}/none.db", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read_only", [False, True])
def test_an_empty_database_is_no_store_and_stays_empty(any_store_url: str, tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "any.db").touch()
    with pytest.raises(NoStoreError, match=r"^There is no store at (sqlite|postgresql)://.*\. Make one with: longwave"):
        Store(any_store_url, create=False, read_only=read_only)
    assert read_rows(any_store_url) == {}


def test_every_published_number_is_in_the_store_with_all_its_sources(any_store_url: str, open_store: OpenStore) -> None:
    printed = FILE.read_text(encoding="utf-8").splitlines()[1:]
    rows = published_rows()
    assert len(printed) == 1392
    assert sum(len(row["sources"].split("\n")) for row in rows) == len(printed)
    store = open_store(any_store_url)
    with store.engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM published")) == len(rows)
    lem = [r for r in store.published("fitzhugh_nagumo") if r["model"] == "lem"]
    assert {(r["value"], r["statistic"]) for r in lem} == {(0.002, "reported"), (0.011, "reported")}


def test_a_store_that_is_opened_to_read_refuses_every_write_and_makes_and_upgrades_nothing(
    any_store_url: str, tmp_path: Path
) -> None:
    Store(any_store_url).close()
    with Store(any_store_url, read_only=True) as store:
        assert store.sweeps() == []
        with pytest.raises(StoreError, match=r"readonly|read-only"):
            store.add_sweep("demo", {})
        assert store.sweeps() == []
    with pytest.raises(StoreError, match=r"^There is no store at "):
        Store(f"sqlite:///{tmp_path}/none.db", read_only=True)
    assert not (tmp_path / "none.db").exists()
