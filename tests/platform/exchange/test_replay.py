"""Bundles of trainings that never happened: what a replay finds, and why none of them gets a rank."""

from __future__ import annotations

import io
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bundles import Content, forge, of
from rich.console import Console

from longwave.platform.cli.main import main
from longwave.platform.exchange import intake
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import File, seal, write
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.curve import Curve
from longwave.platform.exchange.replay import describe_difference, replay, train_again
from longwave.platform.records.group import Pool
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import reproduce
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

SWEEP: dict[str, Any] = {
    "name": "tiny", "task": "adding", "variant": "N=20", "models": ["lem", "gru"], "trials": 3, "retrain": 5,
    "hidden": 8, "batch": 10, "steps": 5, "epochs": 10,
}  # fmt: skip


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> File:
    """A bundle of one row each of LEM and GRU, of five retrainings and ten epochs."""
    folder = tmp_path_factory.mktemp("swept")
    with Store(f"sqlite:///{folder}/store.db") as store:
        workers = Workers(1, folder, here=True)
        driver.start_sweep(check_sweep(SWEEP, "tiny.toml"), store, workers, None, Console(file=io.StringIO()))
        return seal(collect(store))


def rounded(x: float) -> float:
    """Return what float32 makes of a number, as a forger who knows of it would."""
    return float(np.float32(x))


def set_validation(entry: dict[str, Any], valids: list[float]) -> None:
    """Give a trial other validation metrics, and the run that follows from them."""
    for point, valid in zip(entry["points"], valids, strict=True):
        point["valid"] = rounded(valid)
    best = min(entry["points"], key=lambda p: p["valid"])
    entry["run"] |= {"valid": best["valid"], "best_epoch": best["epoch"]}


def invented(changed: Content, models: tuple[str, ...] = ("gru",)) -> None:
    """A careful forger: every seed better, with noise, float32 and a finite past."""
    draw = random.Random(3)
    for model in models:
        for phase in ("search", "retrain"):
            for entry in of(changed, model, phase):
                set_validation(entry, [0.01 * draw.uniform(0.5, 1.5) / k for k in range(1, 11)])
                if phase == "retrain":
                    entry["run"]["test"] = rounded(entry["run"]["valid"] * draw.uniform(0.9, 1.4))
    best = min(of(changed, phase="search"), key=lambda e: e["run"]["valid"])
    for entry in of(changed):
        entry["config"]["params"] = best["config"]["params"]


@pytest.mark.integration
def test_an_invented_bundle_that_passes_every_check_has_no_rank(genuine: File, store: Store) -> None:
    file = forge(genuine, invented)
    rejections = [
        f for f in audit(file) if f.severity == "reject" and "seeds that do not follow from the sweep" not in f.message
    ]
    assert rejections == []
    intake.import_bundle(store, file, [])
    board = read_board(store, "adding")
    assert all(row.rank_low is None for row in board if row.kind == "retrained")
    assert [row.rank_low for row in read_board(store, "adding", Pool(trust=(file.name,))) if row.model == "gru"] == [1]


@pytest.mark.integration
def test_the_command_says_how_an_untrusted_row_is_ranked(
    genuine: File, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(genuine, tmp_path / "honest")
    trusted = genuine.name[:12]
    assert main(["import", str(tmp_path / "honest"), "--store", store.url]) == 0
    first, second = re.sub(r"\s+", " ", capsys.readouterr().out).split(" They ")
    assert first.endswith("16 trials imported, 0 already known: schema-checked.")
    commands = [f"longwave {line} --store {store.url}" for line in (f"board --trust {trusted}", "reproduce ROW --keep")]
    assert second == f"are untrusted. Rank them with {commands[0]}, or one row by running {commands[1]} twice. "
    assert main(["board", "adding", "--store", store.url]) == 0
    assert "untrusted" in capsys.readouterr().out
    assert main(["board", "adding", "--trust", "00000000", "--store", store.url]) == 2
    assert "--trust 00000000 is not a bundle imported here" in capsys.readouterr().err
    for command in (["board", "adding"], ["compare", "lem", "gru"], ["budget"], ["publish", str(tmp_path / "one")]):
        assert main([*command, "--trust", genuine.name[:12], "--store", store.url]) == 0
    first, second = {t.config.row for t in store.retrainings("adding")}
    for trust, rank in ([], "untrusted"), (["--trust", genuine.name[:12]], "1–2"):
        capsys.readouterr()
        assert main(["diff", first, second, *trust, "--store", store.url]) == 0
        assert main(["show", first, *trust, "--format", "csv", "--store", store.url]) == 0
        assert f"row,rank,{rank}\n" in capsys.readouterr().out


@pytest.mark.integration
def test_an_untrusted_row_is_compared_with_its_claim_and_ranked_by_re_runs_here(genuine: File, store: Store) -> None:
    intake.import_bundle(store, genuine, [])
    [name] = {t.config.row for t in store.retrainings("adding") if t.config.model == "gru"}
    for n in (1, 2):
        plan = reproduce.plan_rerun(store, name)
        assert plan.expected.n == 5 and len(plan.row) == 5, "re-runs are compared with the claim alone"
        done = reproduce.train_again(plan)
        reproduce.store_rerun(store, done)
        [row] = [r for r in read_board(store, "adding") if r.model == "gru" and r.kind == "retrained"]
        assert done.outcome == "inside" and (row.n, row.untrusted, len(row.untrusted_runs)) == (n, False, 5)
        assert (row.rank_low is not None) == (n == 2), "a rank takes two seeds"


def test_replayed_trials_are_those_of_an_honest_bundle(genuine: File) -> None:
    assert list(replay(genuine, 3, random.Random(1))) == []


@pytest.mark.integration
def test_a_trial_of_a_pack_is_replayed_in_company_as_one_member_alone_rounds_otherwise_and_until_halving_cut_it(
    tmp_path: Path, store: Store
) -> None:
    sweep = {
        "name": "wild", "task": "mackey_glass_free", "models": ["gru"], "trials": 3, "retrain": 2, "hidden": 8,
        "epochs": 3, "pack": 3, "halving": {"first": 1}, "space": {"gru": {"lr": {"low": 0.5, "high": 0.6}}},
    }  # fmt: skip
    workers = Workers(1, tmp_path, here=True)
    driver.start_sweep(check_sweep(sweep, "wild.toml"), store, workers, None, Console(file=io.StringIO()))
    file = seal(collect(store))
    assert {e.run.members for e in file.content.trials} == {3, 2}
    assert audit(file) == [] == list(replay(file, 5, random.Random(1)))
    entry = next(e for e in file.content.trials if e.config.halving and e.run.epochs == 3)
    alone = train_again(entry.config, 1).points[0]
    assert alone.valid != entry.points[0].valid == train_again(entry.config, 1, packed=True).points[0].valid


@pytest.mark.integration
def test_a_trial_of_a_pack_that_ended_early_ends_in_the_same_epoch_again(tmp_path: Path, store: Store) -> None:
    sweep = {
        "name": "early", "task": "mackey_glass_free", "models": ["gru"], "trials": 0, "retrain": 3, "hidden": 8,
        "epochs": 12, "pack": 3, "recipe": {"patience": 2, "schedule": "plateau", "plateau_patience": 0},
        "space": {"gru": {"lr": 0.05}},
    }  # fmt: skip
    workers = Workers(1, tmp_path, here=True)
    driver.start_sweep(check_sweep(sweep, "early.toml"), store, workers, None, Console(file=io.StringIO()))
    trials = seal(collect(store)).content.trials
    assert any(entry.run.epochs < 12 for entry in trials)
    for entry in trials:
        again = train_again(entry.config, 12, packed=entry.run.members > 1)
        assert again.run and (again.run.epochs, again.run.best_epoch) == (entry.run.epochs, entry.run.best_epoch)
        assert [p.valid for p in again.points] == pytest.approx([p.valid for p in entry.points], rel=1e-5)


@pytest.mark.parametrize("what", ["loss", "valid"])
def test_a_replay_finds_an_epoch_that_never_was(genuine: File, what: str) -> None:
    def other(changed: Content) -> None:
        for entry in changed["trials"]:
            entry["points"][0][what] = rounded(entry["points"][0][what] * 1.001)

    [finding] = replay(forge(genuine, other), 1, random.Random(1))
    assert (finding.check, finding.severity) == ("replay", "reject")
    assert re.match(rf"trial \w+ has {what} [\d.]+ at epoch 1; trained again it is [\d.]+\.", finding.message)


def test_a_replay_finds_a_seed_that_never_diverged_and_a_score_that_never_was(genuine: File) -> None:
    entry = next(e for e in genuine.content.trials if e.config.phase == "retrain")
    done = train_again(entry.config, 10)
    assert describe_difference(entry, done) == ""
    run = entry.run.__class__(**{**vars(entry.run), "test": rounded((entry.run.test or 0) * 0.9)})
    assert "has the test metric" in describe_difference(entry.model_copy(update={"run": run}), done)
    cut = entry.model_copy(update={"curve": Curve.of(entry.points[:4])})
    assert describe_difference(cut, done).startswith("has no epoch 5, but has one when trained again, with loss ")


def test_a_replay_under_another_kernel_path_decides_nothing_and_says_so(genuine: File) -> None:
    def elsewhere(changed: Content) -> None:
        for facts in changed["environments"].values():
            facts["kernel"] = "triton: the fused loop"

    [finding] = replay(forge(genuine, elsewhere), 1, random.Random(1))
    assert (
        finding.severity == "flag"
        and "cannot be compared: this machine takes another kernel path (kernel triton" in finding.message
    )
