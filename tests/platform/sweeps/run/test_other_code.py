"""Sweeps that are resumed after the code that trains was edited, or whose checkpoints say what cannot be."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interrupted_drivers import read_results
from packs import PackRecorder, trained, trial
from rich.console import Console

from longwave.platform.errors import ConfigError, Interrupted
from longwave.platform.records import identity
from longwave.platform.records.report import Report
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver
from longwave.platform.training import environment, feed
from longwave.platform.training import train as train_module
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.pack import Pack
from longwave.platform.training.train import train
from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.columns import read_columns


def edit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the training feed other data, and the files of the package have the hash of such an edit."""
    real = identity.derive_seed
    monkeypatch.setattr(feed, "derive_seed", lambda *parts: real(*parts, "edited"))
    monkeypatch.setattr(environment, "CODE_HASH", "edited")
    environment._lasting.cache_clear()


@pytest.mark.integration
def test_after_an_edit_of_the_code_trials_are_trained_anew_as_the_new_code_does_to_the_bit_and_it_is_said(
    tiny: Callable[..., SweepFile], open_store: Callable[[str], Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, shown = tiny(models=["lem"], trials=2, retrain=0), io.StringIO()
    cut, whole = (open_store(f"sqlite:///{tmp_path}/{name}.db") for name in ("cut", "whole"))
    workers = Workers(1, tmp_path / "cut", here=True)

    def run(store: Store, workers: Workers) -> None:
        driver.start_sweep(file, store, workers, None, Console(file=shown, width=300))

    real, closed = Pack.close_epoch, list[int]()

    def close_epoch(pack: Pack) -> Any:
        closed.append(pack.epoch)
        if pack.epoch == 4:
            raise KeyboardInterrupt
        return real(pack)

    with monkeypatch.context() as until_epoch_4:
        until_epoch_4.setattr(Pack, "close_epoch", close_epoch)
        until_epoch_4.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
        with pytest.raises(Interrupted, match="tiny"):
            run(cut, workers)
    edit_code(monkeypatch)
    run(cut, workers)
    run(whole, Workers(1, tmp_path / "whole", here=True))
    environment._lasting.cache_clear()
    assert read_results(cut) == read_results(whole) and len(closed) == 4
    assert shown.getvalue().count("2 trials of lem: a checkpoint written by other code was found (models, tasks, ") == 1
    assert "now edited); they are trained again from the start" in shown.getvalue()
    assert {t.run.environment["code"] for t in cut.trials("tiny") if t.run} == {"edited"}


@pytest.mark.parametrize(
    "wrong", [{"step": 4}, {"step": -1}, {"steps": 3}, {"epoch": 2}, {"epoch": 4}, {"epoch": 2, "steps": 7}], ids=str
)
def test_a_checkpoint_sealed_with_a_step_that_its_curves_exclude_is_not_used(
    wrong: dict[str, int], tmp_path: Path
) -> None:
    config, file, steps = trial(), Checkpoint(tmp_path / "pack.safetensors"), iter(range(1, 100))
    assert train([config], PackRecorder(), file, draining=lambda: next(steps) == 12) == "paused"
    saved = next(file.candidates(), None)
    assert saved and [saved.facts[name] for name in ("epoch", "step", "steps")] == [3, 2, 12]
    file.save(type(saved)(saved.tensors, {**saved.facts, **wrong}))
    file.path.with_stem("pack.before").unlink()
    notices, events = list[str](), PackRecorder()

    def emit(report: Report) -> None:
        notices.extend(report.notices)
        events(report)

    train([config], emit, file)
    assert events.curve(config) == trained([config]).curve(config)
    assert len(notices) == 1 and "a checkpoint contradicts itself" in notices[0], notices


def test_the_hash_is_of_what_trains_in_any_place_and_without_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment._hash_code() == environment.CODE_HASH
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    for name in ("models/a.py", "platform/training/b.py", "platform/boards/c.py", "tasks/d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    before = environment._hash_code()
    for elsewhere in ("platform/boards/c.py", "tasks/d.txt"):
        (tmp_path / elsewhere).write_text("x = 2\n")
    assert environment._hash_code() == before
    (tmp_path / "platform/training/b.py").write_text("x = 2\n")
    assert environment._hash_code() != before


def test_a_folder_in_the_place_of_a_checkpoint_or_of_the_one_before_stops_no_sweep(
    tiny: Callable[..., SweepFile], store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real = tiny(models=["lem"], trials=2, retrain=0), Workers.checkpoint

    def checkpoint(self: Workers, pack: str, before: Any = ()) -> Checkpoint:
        own = real(self, pack, before)
        for place in (own.path, own.path.with_stem(f"{own.path.stem}.before")):
            (place / "x").mkdir(parents=True, exist_ok=True)
        return own

    monkeypatch.setattr(Workers, "checkpoint", checkpoint)
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))
    assert {t.status for t in store.trials("tiny")} == {"ok"}


def test_a_pipe_given_for_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ConfigError, match=r"pipe.toml is a pipe, and a file is read. Write its content to a file"):
        read_sweep(tmp_path / "pipe.toml")
    with pytest.raises(ConfigError, match=r" is a folder, and a file is read. Name a file in it\.$"):
        read_sweep(tmp_path)
    with pytest.raises(DataError, match=r"pipe.toml: it must be a file, got a pipe or a device"):
        read_columns(tmp_path / "pipe.toml", "csv")
