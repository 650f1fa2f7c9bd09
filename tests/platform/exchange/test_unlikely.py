"""Bundles of trainings that never happened: each is flagged or rejected, raw and resealed, and none gets a rank."""

from __future__ import annotations

import io
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bundles import Content, built, content, forge, of
from rich.console import Console

from longwave.platform.cli.main import main
from longwave.platform.exchange import intake, replay, unlikely
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import File, seal, write
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.curve import Curve
from longwave.platform.records.group import Pool
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import driver, reproduce
from longwave.platform.sweeps.config import check_sweep
from longwave.platform.sweeps.workers import Workers

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
        driver.start(check_sweep(SWEEP, "tiny.toml"), store, workers, None, Console(file=io.StringIO()))
        return seal(collect(store))


def rounded(x: float) -> float:
    """Return what float32 makes of a number, as a forger who knows of it would."""
    return float(np.float32(x))


def told(entry: dict[str, Any], valids: list[float]) -> None:
    """Tell other validation metrics of a trial, and the run that follows from them."""
    for point, valid in zip(entry["points"], valids, strict=True):
        point["valid"] = rounded(valid)
    best = min(entry["points"], key=lambda p: p["valid"])
    entry["run"] |= {"valid": best["valid"], "best_epoch": best["epoch"]}


def the_year_1999(changed: Content) -> None:
    entry = of(changed)[0]
    entry["ended"] = "1999-12-31T12:00:00Z"
    for point in entry["points"]:
        point["at"] = 946641600.0 + point["epoch"] - 20


def epochs_of_next_year(changed: Content) -> None:
    for point in of(changed)[0]["points"]:
        point["at"] += 366 * 86400


def an_end_before_the_start(changed: Content) -> None:
    for entry in of(changed)[:1]:
        for point in entry["points"]:
            point["at"] += 7200


def near_zero_seconds(changed: Content) -> None:
    entry = of(changed)[0]
    for point in entry["points"]:
        point["seconds"] = 1e-9 * point["epoch"]
    entry["run"]["seconds"] = 1e-8


def a_scaled_curve(changed: Content) -> None:
    first, second, *_ = of(changed)
    for point, other in zip(first["points"], second["points"], strict=True):
        point["loss"] = rounded(0.7 * other["loss"])


def scaled_numbers(changed: Content) -> None:
    entry = of(changed)[0]
    for point in entry["points"]:
        point["loss"] *= 0.9


def a_curve_without_noise(changed: Content) -> None:
    entry = of(changed)[0]
    for point in entry["points"]:
        point["loss"] = rounded(0.5 * math.exp(-0.2 * point["epoch"]))


def validation_without_noise(changed: Content) -> None:
    entry = of(changed)[0]
    told(entry, [0.05 + 0.2 * math.exp(-0.3 * point["epoch"]) for point in entry["points"]])


def validation_by_a_power_law(changed: Content) -> None:
    entry = of(changed)[0]
    told(entry, [0.2 * point["epoch"] ** -0.5 for point in entry["points"]])


def the_worst_seed_diverged(changed: Content) -> None:
    worst = max(of(changed), key=lambda e: e["run"]["test"])
    worst["run"] |= {"status": "diverged", "test": None, "reason": "loss nan, validation nan at epoch 10"}


def the_worst_seed_diverged_by_finite_numbers(changed: Content) -> None:
    worst = max(of(changed), key=lambda e: e["run"]["test"])
    worst["points"].pop()
    best = min(worst["points"], key=lambda p: p["valid"])
    worst["run"] |= {"status": "diverged", "test": None, "reason": "loss 9.1, validation 7.2 at epoch 10"}
    worst["run"] |= {"valid": best["valid"], "best_epoch": best["epoch"]}


def the_worst_seed_diverged_for_no_reason(changed: Content) -> None:
    worst = max(of(changed), key=lambda e: e["run"]["test"])
    worst["run"] |= {"status": "diverged", "test": None, "reason": "bad luck"}


def a_winner_chosen_on_test(changed: Content) -> None:
    searches = sorted(of(changed, phase="search"), key=lambda e: e["run"]["valid"])
    for entry in of(changed):
        entry["config"]["params"] = searches[1]["config"]["params"]


FORGED: tuple[tuple[Callable[[Content], None], str], ...] = (
    (the_year_1999, r"dates: trial \w+ ended at 1999-12-31: there is no such training before 2026-11-20"),
    (epochs_of_next_year, r"dates: trial \w+ has an epoch at 20\d\d-\d\d-\d\d: in the future"),
    (an_end_before_the_start, r"dates: trial \w+ ended before it began"),
    (near_zero_seconds, r"speed: trial \w+ took 1e-09 s for an epoch, on .* it is [\d.e-]+ s at the least"),
    (a_scaled_curve, r"smooth: trial \w+ has training losses that are those of trial \w+ times a number"),
    (scaled_numbers, r"numbers: trial \w+ tells [\d.]+, which is no float32"),
    (a_curve_without_noise, r"smooth: trial \w+ has training losses without noise: they follow a parabola in logs"),
    (validation_without_noise, r"smooth: trial \w+ has validation metrics without noise: .* an exponential to a limit"),
    (validation_by_a_power_law, r"smooth: trial \w+ has validation metrics without noise: they follow a power law"),
    (the_worst_seed_diverged, r"ends: trial \w+ is told as diverged .*, and its curve is finite there"),
    (the_worst_seed_diverged_by_finite_numbers, r"ends: trial \w+ is told as diverged .*, and its curve is finite"),
    (the_worst_seed_diverged_for_no_reason, r"ends: trial \w+ is told as diverged for a reason that no training"),
    (a_winner_chosen_on_test, r"plan: sweep tiny, gru: row \w+ was retrained, the best by validation is row \w+"),
)


def ids(case: object) -> str:
    return getattr(case, "__name__", "")


@pytest.mark.parametrize(("change", "message"), FORGED, ids=ids)
def test_what_never_happened_is_flagged_or_rejected_raw_and_resealed(
    genuine: File, change: Callable[[Content], None], message: str
) -> None:
    lines = [f"{f.check}: {f.message}" for f in audit(forge(genuine, change))]
    assert any(re.match(message, line) for line in lines), lines
    changed = content(genuine)
    change(changed)
    raw = genuine.model_copy(update={"content": built(changed)})
    assert {"hashes", "identity"} & {f.check for f in audit(raw) if f.severity == "reject"}


def test_an_honest_bundle_passes_without_a_word_and_leaves_room(genuine: File) -> None:
    assert audit(genuine) == []
    for entry in genuine.content.trials:
        device = genuine.content.environments[entry.place or ""]["device"]
        floor = unlikely.epoch_floor(entry.config, entry.run.members, device)
        assert 0 < 3 * floor < entry.run.seconds / entry.run.epochs


def test_a_device_is_as_fast_as_its_name_allows() -> None:
    assert unlikely.peak("AMD EPYC, 2 cores") == 2 * unlikely.CORE
    assert unlikely.peak("NVIDIA H200") == unlikely.GPU
    assert unlikely.peak("") == unlikely.peak("a stranger") == unlikely.CORES * unlikely.CORE


def invented(changed: Content, models: tuple[str, ...] = ("gru",)) -> None:
    """A careful forger: every seed better, with noise, float32 and a finite past."""
    draw = random.Random(3)
    for model in models:
        for phase in ("search", "retrain"):
            for entry in of(changed, model, phase):
                told(entry, [0.01 * draw.uniform(0.5, 1.5) / k for k in range(1, 11)])
                if phase == "retrain":
                    entry["run"]["test"] = rounded(entry["run"]["valid"] * draw.uniform(0.9, 1.4))
    best = min(of(changed, phase="search"), key=lambda e: e["run"]["valid"])
    for entry in of(changed):
        entry["config"]["params"] = best["config"]["params"]


def test_an_invented_bundle_that_passes_every_check_has_no_rank(genuine: File, store: Store) -> None:
    file = forge(genuine, invented)
    found = [f for f in audit(file) if f.severity == "reject" and "seeds that the sweep does not give" not in f.message]
    assert found == []
    intake.take(store, file, [])
    board = read_board(store, "adding")
    assert all(row.rank_low is None for row in board if row.kind == "reproduced")
    assert [row.rank_low for row in read_board(store, "adding", Pool(trust=(file.name,))) if row.model == "gru"] == [1]


def test_the_command_says_what_is_forged_and_how_a_guest_is_ranked(
    genuine: File, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(forge(genuine, near_zero_seconds), tmp_path / "forged")
    write(genuine, tmp_path / "honest")
    assert main(["import", str(tmp_path / "forged"), "--dry-run", "--store", store.url]) == 0
    assert "flag: speed: trial " in (out := capsys.readouterr().out) and "can be imported: 1 of 2 rows claimed" in out
    assert main(["import", str(tmp_path / "honest"), "--store", store.url]) == 0
    first, second = re.sub(r"\s+", " ", capsys.readouterr().out).split(" They ")
    assert first.endswith("16 trials imported, 0 known before: schema-checked.")
    assert second.startswith(
        f"are guests: ranked after longwave reproduce ROW --keep, or with --trust {genuine.name[:12]}"
    )
    assert main(["board", "adding", "--store", store.url]) == 0
    assert "guest" in capsys.readouterr().out
    assert main(["board", "adding", "--trust", "0000", "--store", store.url]) == 2
    assert "--trust 0000 is no bundle that rows here came in" in capsys.readouterr().err
    for command in (["board", "adding"], ["compare", "lem", "gru"], ["budget"], ["publish", str(tmp_path / "one")]):
        assert main([*command, "--trust", genuine.name[:12], "--store", store.url]) == 0


def test_a_guest_is_compared_with_what_it_tells_and_ranked_by_what_is_trained_here(genuine: File, store: Store) -> None:
    intake.take(store, genuine, [])
    [name] = {t.config.row for t in store.retrainings("adding") if t.config.model == "gru"}
    for n in (1, 2):
        plan = reproduce.plan(store, name)
        assert plan.expected.n == 5 and len(plan.row) == 5, "re-runs are compared with the claim alone"
        done = reproduce.rerun(plan)
        reproduce.keep(store, done)
        [row] = [r for r in read_board(store, "adding") if r.model == "gru" and r.kind == "reproduced"]
        assert done.outcome == "inside" and (row.n, row.guest, len(row.guests)) == (n, False, 5)


def test_replayed_trials_are_what_an_honest_bundle_tells(genuine: File) -> None:
    assert list(replay.replayed(genuine, 3, random.Random(1))) == []


@pytest.mark.integration
def test_a_trial_of_a_pack_is_replayed_in_company_as_one_member_alone_rounds_otherwise_and_until_halving_cut_it(
    tmp_path: Path, store: Store
) -> None:
    sweep = {
        "name": "wild", "task": "mackey_glass_free", "models": ["gru"], "trials": 3, "retrain": 2, "hidden": 8,
        "epochs": 3, "pack": 3, "halving": {"first": 1}, "space": {"gru": {"lr": {"low": 0.5, "high": 0.6}}},
    }  # fmt: skip
    workers = Workers(1, tmp_path, here=True)
    driver.start(check_sweep(sweep, "wild.toml"), store, workers, None, Console(file=io.StringIO()))
    file = seal(collect(store))
    assert {e.run.members for e in file.content.trials} == {3, 2}
    assert audit(file) == [] == list(replay.replayed(file, 5, random.Random(1)))
    entry = next(e for e in file.content.trials if e.config.halving and e.run.epochs == 3)
    alone = replay.again(entry.config, 1).points[0]
    assert alone.valid != entry.points[0].valid == replay.again(entry.config, 1, packed=True).points[0].valid


@pytest.mark.parametrize("what", ["loss", "valid"])
def test_a_replay_finds_an_epoch_that_never_was(genuine: File, what: str) -> None:
    def other(changed: Content) -> None:
        for entry in changed["trials"]:
            entry["points"][0][what] = rounded(entry["points"][0][what] * 1.001)

    [found] = replay.replayed(forge(genuine, other), 1, random.Random(1))
    assert (found.check, found.severity) == ("replay", "reject")
    assert re.match(rf"trial \w+ tells {what} [\d.]+ at epoch 1; trained again it is [\d.]+\.", found.message)


def test_a_replay_finds_a_seed_that_never_diverged_and_a_score_that_never_was(genuine: File) -> None:
    entry = next(e for e in genuine.content.trials if e.config.phase == "retrain")
    done = replay.again(entry.config, 10)
    assert replay.unlike(entry, done) == ""
    run = entry.run.__class__(**{**vars(entry.run), "test": rounded((entry.run.test or 0) * 0.9)})
    assert "tells the test metric" in replay.unlike(entry.model_copy(update={"run": run}), done)
    cut = entry.model_copy(update={"curve": Curve.of(entry.points[:4])})
    assert replay.unlike(cut, done).startswith("tells no epoch 5; trained again it has one, with loss ")


def test_a_replay_under_another_kernel_path_decides_nothing_and_says_so(genuine: File) -> None:
    def elsewhere(changed: Content) -> None:
        for facts in changed["environments"].values():
            facts["kernel"] = "triton: the fused loop"

    [found] = replay.replayed(forge(genuine, elsewhere), 1, random.Random(1))
    assert (
        found.severity == "flag"
        and "cannot be compared: another kernel path is taken here (kernel triton" in found.message
    )
