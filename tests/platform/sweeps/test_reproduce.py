"""``longwave reproduce`` and ``longwave diff``, on rows that a real sweep made and on rows made up to be wrong."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from scipy import stats as scipy_stats

from longwave.platform.about import about
from longwave.platform.boards.diff import compared
from longwave.platform.boards.row import command
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.records.about import About
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Run
from longwave.platform.records.stored import Trial
from longwave.platform.statistics.contrast import contrast
from longwave.platform.statistics.scale import Scale
from longwave.platform.statistics.stats import summary
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import reproduce
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.reproduce import Rerun, plan_rerun, store_rerun
from longwave.platform.sweeps.run import driver
from longwave.platform.training import train as train_module

ABOUT = About("Adding problem", "GRU", "mse", "1", "min")
Printed = Callable[..., str]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one row each of LEM and GRU, of four retrainings."""
    folder = tmp_path_factory.mktemp("swept")
    small = {"hidden": 8, "batch": 10, "steps": 5, "epochs": 4, "trials": 2, "retrain": 4, "variant": "N=20"}
    file = check_sweep({"name": "tiny", "task": "adding", "models": ["lem", "gru"], **small}, "tiny.toml")
    with Store(f"sqlite:///{folder}/store.db") as store:
        driver.start_sweep(file, store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))
    return folder / "store.db"


@pytest.fixture
def known(swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_store: Callable[[str], Store]) -> Store:
    """A copy of that store, which commands use too."""
    url = f"sqlite:///{shutil.copy(swept, tmp_path / 'copy.db')}"
    monkeypatch.setenv("LONGWAVE_STORE", url)
    return open_store(url)


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Run a command that must exit as told; return what it printed."""

    def run(code: int, *arguments: object) -> str:
        assert main(list(map(str, arguments))) == code
        captured = capsys.readouterr()
        if code == 2:
            assert captured.out == "" and captured.err.count("\n") == 1
            return captured.err
        return captured.out

    return run


def of(store: Store, model: str) -> list[Trial]:
    return [t for t in store.retrainings("adding") if t.config.model == model]


def claimed(store: Store, tests: Sequence[float | None], **changes: Any) -> str:
    """Write a row with these scores, None for a seed that diverged, which nobody has trained, and return its name."""
    [gru, *_] = of(store, "gru")
    configs = [replace(gru.config, **{"epochs": 2, **changes}, seed=seed) for seed in range(len(tests))]
    store.add_trials(None, configs, [ABOUT] * len(configs))
    ends = [
        Run(c.id, "diverged", "it did") if t is None else Run(c.id, "ok", valid=1.0, test=t)
        for c, t in zip(configs, tests, strict=True)
    ]
    store.write([], ends)
    return configs[0].row


@pytest.mark.parametrize("model", ["lem", "gru"])
def test_the_same_seed_gives_the_same_number_alone_as_in_its_pack(known: Store, model: str) -> None:
    for trial in of(known, model):
        plan = reproduce.plan_rerun(known, trial.config.row, trial.config.seed)
        done = reproduce.train_again(plan)
        assert trial.run and plan.before == trial.run.test == pytest.approx(done.run.test, rel=1e-4)
        assert plan.config.id == trial.config.id and done.differences == []


def test_a_row_is_reproduced_with_a_fresh_seed_by_the_command_it_names(known: Store, output: Printed) -> None:
    row = of(known, "lem")[0].config.row
    before = of(known, "lem")
    arguments = command(row).split()[1:]
    assert arguments == ["reproduce", row[:12]]
    printed = output(0, *arguments)
    mean = summary([t.run.test for t in before if t.run and t.run.test is not None]).mean
    assert f"Row {row[:12]}: LEM on adding N=20" in printed and f"{mean:.2f}" in printed
    assert "its ends are a factor of " in printed and "an error 1.5 times as large would fall outside in " in printed
    assert (
        "one more retraining is expected in [" in printed
        and "Fits the row: inside the interval of one more seed." in printed
    )
    actual = json.loads(output(0, *arguments, "--format", "json"))
    assert actual["seed"] not in {t.config.seed for t in before} and f"seed {actual['seed']} gave" in printed
    assert actual["interval"][0] <= actual["value"] <= actual["interval"][1] and actual["same_seed_before"] is None
    errors = [t.run.test for t in before if t.run and t.run.test is not None]
    assert actual["ratio"] == pytest.approx(actual["value"] / scipy_stats.gmean(errors)) and actual["diverged"] == 0
    assert actual["improvement"] == np.mean([actual["value"] < error for error in errors])
    better = f"better than {100 * actual['improvement']:.0f} % of its seeds"
    assert f"× {actual['ratio']:.3g} the row's error, {better}" in printed
    assert of(known, "lem") == before, "the row was changed"


def test_a_re_run_inside_an_interval_that_nothing_misses_verifies_nothing(known: Store, output: Printed) -> None:
    row = claimed(known, [0.001, 0.3, 0.004, 90.0])
    printed = output(3, "reproduce", row, "--keep")
    assert "from the row's typical error; an error 1.5 times as large would fall outside in 5 % of cases" in printed
    assert "a score inside would verify nothing" in printed
    assert (
        "Undecided: inside the interval, but errors 1.5 times as large would be inside, too, in 95 % of cases."
        in printed
    )
    assert [t.rerun for t in of(known, "gru") if t.config.row == row and t.rerun] == ["undecided"]


def test_the_same_seed_is_set_beside_its_number_in_the_row(known: Store, output: Printed) -> None:
    trial = of(known, "gru")[0]
    assert trial.run and trial.run.test
    printed = output(0, "reproduce", trial.config.row, "--seed", trial.config.seed)
    assert f"the same seed gave {trial.run.test:.6g} before; the difference is " in printed


def test_a_kept_re_run_is_one_more_retraining_that_no_sweep_asked_for_and_the_next_has_another_seed(
    known: Store, output: Printed
) -> None:
    row, before = of(known, "gru")[0].config.row, {t.config.id for t in of(known, "gru")}
    torch.set_num_threads(2)
    first = json.loads(output(0, "reproduce", row, "--keep", "--format", "json"))
    assert "Kept as one more retraining" in output(0, "reproduce", row, "--keep")
    fresh = [t for t in of(known, "gru") if t.config.id not in before]
    assert len(fresh) == 2 and first["kept"] and first["seed"] in {t.config.seed for t in fresh}
    for trial in fresh:
        assert trial.run and (trial.status, trial.rerun) == ("ok", "inside")
        assert trial.run.environment["threads"] == "1", "as in a sweep"
        assert [p.epoch for p in known.curves([trial.config.id])] == [1, 2, 3, 4]
    assert {t.config.id for t in known.trials("tiny")}.isdisjoint({t.config.id for t in fresh})
    line = output(2, "reproduce", row, "--keep-weights")
    assert "so its weights would belong to none. Add --keep, or name the --seed of a retraining." in line
    line = output(2, "reproduce", row, "--keep", "--seed", first["seed"])
    assert f"Seed {first['seed']} is already in the row" in line


def test_of_two_processes_that_keep_a_re_run_of_one_seed_the_second_is_told(known: Store) -> None:
    [gru, *_] = of(known, "gru")
    plan = plan_rerun(known, gru.config.row)
    first, second = (Rerun(plan, Run(plan.config.id, "ok", epochs=1, valid=v, test=v), []) for v in (0.1, 0.5))
    assert store_rerun(known, first)
    with pytest.raises(ConfigError, match=r"was added to the row by another process meanwhile\. Run the command again"):
        store_rerun(known, second)
    [kept] = known.trials_by_id([plan.config.id])
    assert kept.run and kept.run.test == 0.1


def test_a_re_run_is_compared_with_trusted_retrainings_before_others(
    known: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = of(known, "gru")
    trusted, other, rerun = (
        [replace(t, **changed) for t in row] for changed in ({"origin": "a"}, {"origin": "b"}, {"rerun": "inside"})
    )
    monkeypatch.setattr(reproduce, "shipped", lambda: {"a": ""})
    comparable = reproduce.comparable_trials
    assert comparable([*other, *trusted, *rerun]) == trusted
    assert comparable([*other, *trusted, *row]) == row
    assert comparable([*other, *rerun]) == other and comparable(rerun) == rerun


def test_a_kept_re_run_is_described_by_this_longwave_and_not_by_its_row(known: Store) -> None:
    plan = plan_rerun(known, claimed(known, [0.1, 0.2]))
    assert store_rerun(known, Rerun(plan, Run(plan.config.id, "ok", epochs=1, valid=0.1, test=0.1), []))
    [kept] = known.trials_by_id([plan.config.id])
    assert kept.about == about(plan.config) and plan.row[0].about == ABOUT != kept.about


def test_a_row_whose_numbers_are_false_is_outside(known: Store, output: Printed) -> None:
    row = claimed(known, [1e-6, 1.1e-6, 1.2e-6])
    assert "Does NOT fit the row: outside" in output(1, "reproduce", row)
    assert json.loads(output(1, "reproduce", row, "--keep", "--format", "json"))["outcome"] == "outside"
    assert [t.rerun for t in known.rows(row) if t.rerun] == ["outside"]


def test_a_re_run_that_diverges_is_outside_where_no_seed_of_the_row_did(known: Store, output: Printed) -> None:
    row = claimed(known, [0.1, 0.2, 0.3], params={"lr": 1e30})
    printed = output(1, "reproduce", row)
    assert (
        "diverged: loss" in printed and "NOT fit the row: it diverged, which none of the row's 3 seeds did." in printed
    )


def test_a_re_run_that_diverges_is_undecided_where_a_seed_of_the_row_did(known: Store, output: Printed) -> None:
    row = claimed(known, [0.1, None, 0.3, None, 0.4], params={"lr": 1e30})
    printed = output(3, "reproduce", row)
    assert "over 3 retrainings; 2 more diverged" in printed
    assert "Undecided: it diverged, and so did 2 of the row's 5 seeds." in printed and "better than 20 % of" in printed
    actual = json.loads(output(3, "reproduce", row, "--format", "json"))
    assert (actual["outcome"], actual["diverged"], actual["ratio"], actual["improvement"]) == (
        "undecided",
        2,
        None,
        0.2,
    )


def test_where_nothing_can_be_said_the_exit_is_3(known: Store, output: Printed) -> None:
    single, equal = claimed(known, [0.1]), claimed(known, [0.1, 0.1], epochs=3)
    assert "no prediction interval: the row has one score" in output(3, "reproduce", single)
    assert "no prediction interval: the row has 2 equal scores" in output(3, "reproduce", equal)
    broken = claimed(known, [0.1, 0.2], params={"lr": 0.1}, options={"nonsense": True})
    printed = output(3, "reproduce", broken, "--keep")
    assert "gave failed: " in printed and "Undecided: the training failed." in printed and len(known.rows(broken)) == 2


def test_equal_scores_are_reproduced_by_an_equal_one(known: Store) -> None:
    plan = reproduce.plan_rerun(known, claimed(known, [0.5, 0.5]))
    assert reproduce.Rerun(plan, Run(plan.config.id, "ok", valid=1.0, test=0.5), ()).outcome == "inside"
    assert reproduce.Rerun(plan, Run(plan.config.id, "ok", valid=1.0, test=0.6), ()).outcome == "undecided"


def test_other_data_are_an_error_before_anything_runs(
    known: Store, output: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduce, "train", lambda *_: pytest.fail("something ran"))
    row = claimed(known, [0.1, 0.2], data="0123456789ab")
    assert f"Row {row[:12]} was made with version 0123456789ab of the data of adding, which is now" in output(
        2, "reproduce", row
    )


def test_a_row_without_a_score_has_nothing_to_reproduce(known: Store, output: Printed) -> None:
    config = replace(of(known, "gru")[0].config, epochs=1)
    known.add_trials(None, [config], [ABOUT])
    assert "has no score to compare with" in output(2, "reproduce", config.row)


def test_a_name_that_fits_no_row_or_several_is_one_line(known: Store, output: Printed) -> None:
    config, first = of(known, "gru")[0].config, {}
    for hidden in range(1, 10_000):
        other = replace(config, hidden=hidden)
        twin = first.setdefault(other.row[:4], other)
        if twin is not other:
            break
    known.add_trials(None, [twin, other], [ABOUT] * 2)
    line = output(2, "reproduce", other.row[:4])
    assert f"{other.row[:4]} begins the names of 2 rows: " in line and f"{twin.row[:12]} (gru on adding)" in line
    assert known.rows(other.row[:12].upper())[0].config == other
    missing = next(f"{k:04x}" for k in range(2**16) if f"{k:04x}" not in {*first, *[t.config.row[:4] for t in
                   known.retrainings("adding")]})  # fmt: skip
    message = f"No trained row has a name that begins with {missing}. See the names with:"
    assert message in output(2, "reproduce", missing)
    assert "No trained row of psmnist has a name" in output(2, "reproduce", other.row, "--task", "psmnist")
    for name in ("abc", "0" * 17, "wxyz"):
        assert f"4 to 16 hex digits, got {name!r}" in output(2, "diff", name, other.row)


def test_what_is_different_here_is_named(known: Store) -> None:
    plan = reproduce.plan_rerun(known, of(known, "gru")[0].config.row)
    run = Run(plan.config.id, "ok", valid=1.0, test=0.1, environment={"commit": "0" * 40, "kernel": "triton"})
    actual = {name: (there, here) for name, there, here in reproduce.Rerun(plan, run, ()).differences}
    assert actual["commit"][1] == "0" * 40 and actual["kernel"][1] == "triton" and actual["lock"][1] == "—"
    assert "cuda" not in actual and "python" not in actual


def test_an_interrupted_re_run_goes_on_where_it_was(known: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    plan = reproduce.plan_rerun(known, of(known, "lem")[0].config.row)
    whole, seen = reproduce.train_again(plan), []

    def interrupt(point: Any) -> None:
        seen.append(point.epoch)
        if point.epoch == 3:
            raise KeyboardInterrupt("at epoch 3")

    with pytest.raises(KeyboardInterrupt, match="at epoch 3"):
        reproduce.train_again(plan, interrupt)
    steps: list[int] = []
    real = train_module.Pack.train_epoch
    monkeypatch.setattr(
        train_module.Pack, "train_epoch", lambda self, after: (steps.append(self.epoch), real(self, after))[1]
    )
    again = reproduce.train_again(plan)
    assert steps[0] == 3 and again.run.test == whole.run.test and len(again.points) == 4


def test_a_rows_uncommitted_changes_are_printed_as_git_takes_them(known: Store, output: Printed) -> None:
    config = replace(of(known, "gru")[0].config, epochs=2)
    known.add_trials(None, [config], [ABOUT])
    patch = "diff --git a/models/lem.py b/models/lem.py\n"
    facts = {"diff": digest({"patch": patch})}
    known.write([], [Run(config.id, "ok", valid=1.0, test=1.0, environment=facts, patch=patch)])
    assert output(0, "reproduce", config.row, "--patch") == patch
    assert output(0, "reproduce", claimed(known, [1.0], epochs=3), "--patch") == ""


def lines(printed: str) -> dict[str, tuple[Any, Any]]:
    return {line["what"]: (line["a"], line["b"]) for line in json.loads(printed)["lines"]}


@pytest.mark.integration
def test_a_difference_of_rows_names_only_what_differs_unless_asked(known: Store, output: Printed) -> None:
    a, b = of(known, "lem")[0].config.row, of(known, "gru")[0].config.row
    actual = lines(output(0, "diff", a[:8], b, "--format", "json"))
    assert (
        actual["model"] == ("lem", "gru")
        and actual["dt"][1] is None
        and "task" not in actual
        and "commit" not in actual
    )
    whole = lines(output(0, "diff", a, b, "--all", "--format", "json"))
    assert (
        whole["task"] == ("adding", "adding") and whole["sweeps"] == (["tiny"], ["tiny"]) and set(actual) < set(whole)
    )
    assert {"commit", "lock", "version", "batch", "mean", "n", "kernel", "differs from the recipe"} <= set(whole)
    assert whole["origin"] == (["trained here"], ["trained here"])
    table = output(0, "diff", a, b)
    assert f"lem {a[:12]}" in table and "configuration" in table
    assert "do not differ" in output(0, "diff", a, a)
    [head, *cells] = csv.reader(io.StringIO(output(0, "diff", a, b, "--format", "csv")))
    assert head == ["section", "what", "a", "b"] and {c[1] for c in cells} == set(actual)
    markdown = output(0, "diff", a, b, "--format", "markdown")
    assert f"| lem {a[:12]} | gru {b[:12]} |" in markdown and markdown.count("\n|") == len(actual) + 2
    assert r"\begin{table*}" in output(0, "diff", a, b, "--format", "latex")


def test_rows_of_unlike_seeds_stand_to_each_other_as_compare_says(known: Store, output: Printed) -> None:
    a, b = (of(known, model) for model in ("lem", "gru"))
    ours, theirs = ([t.run.test for t in group if t.run] for group in (a, b))
    actual = lines(output(0, "diff", a[0].config.row, b[0].config.row, "--format", "json"))
    both = contrast(ours, theirs, Scale())
    assert both.ratio and actual["error of a / error of b"][0] == asdict(both.ratio)
    assert actual["P(better)"][0] == asdict(both.improvement)
    assert actual["a against b"][0].startswith(both.decision)


def test_errors_of_equal_seeds_are_paired(known: Store, output: Printed) -> None:
    ours, theirs = [1.0, 2.0, 4.0], [1.5, 2.2, 4.9, 100.0]
    a, b = claimed(known, ours), claimed(known, theirs, epochs=3)
    actual = lines(output(0, "diff", a, b, "--format", "json"))
    ratio, low, high = actual["error of a / error of b, 3 equal seeds"][0].values()
    test = scipy_stats.ttest_rel(np.log(ours), np.log(theirs[:3]))
    assert ratio == pytest.approx(np.exp(np.mean(np.log(ours) - np.log(theirs[:3])))) and actual["epochs"] == (2, 3)
    assert (low, high) == pytest.approx(tuple(np.exp(test.confidence_interval(0.95))))
    both = contrast(ours, theirs, Scale())
    assert both.ratio and actual["error of a / error of b"][0] == asdict(both.ratio), (
        "the unpaired one stands beside it"
    )
    assert actual["P(better) of equal seeds"][0]["value"] == 1.0
    assert actual["a against b, seed by seed"][0] == "undecided", "three pairs decide nothing"


def test_unlike_tasks_are_not_compared(known: Store) -> None:
    a, b = known.rows(claimed(known, [1.0, 2.0])), known.rows(claimed(known, [1.0, 2.0], variant="N=50"))
    assert not [line for line in compared(a, b, ([], [])) if line.what in ("a against b", "error of a / error of b")]


def test_a_row_is_found_by_the_index_alone(known: Store) -> None:
    import sqlalchemy as sa

    from longwave.platform.storage.schema import TrialRow

    query = sa.select(TrialRow.id).where(TrialRow.row.between("abcd", "abcdg"))
    with known.transaction() as connection:
        text = query.compile(connection, compile_kwargs={"literal_binds": True})
        plan = connection.execute(sa.text(f"EXPLAIN QUERY PLAN {text}")).all()
    assert "USING INDEX ix_trials_row" in str(plan) or "USING COVERING INDEX ix_trials_row" in str(plan)
