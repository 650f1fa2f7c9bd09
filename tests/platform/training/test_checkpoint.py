"""Checkpoints that were damaged, cut, swapped, of others or not written at all: never a wrong curve."""

from __future__ import annotations

import io
import random
import resource
import secrets
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from object_store import bucket
from packs import PackRecorder, trained, trial
from s3fs import S3FileSystem

from longwave.platform.errors import ConfigError
from longwave.platform.paths import make_ready, sweep_storage, to_path
from longwave.platform.records.report import Report
from longwave.platform.registry import get_task
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.training import checkpoint as checkpoint_module
from longwave.platform.training import train as train_module
from longwave.platform.training.checkpoint import Checkpoint, Saved
from longwave.platform.training.pack import Pack
from longwave.platform.training.snapshot import snapshot
from longwave.platform.training.train import train

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath

CONFIGS = [trial(seed=k) for k in range(2)]
DATA = get_task("adding").load("N=20")


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with bucket() as url:
        yield url


@pytest.fixture(params=["folder", "memory", pytest.param("s3", marks=pytest.mark.integration)])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> AnyPath:
    """An empty folder: of this machine, of fsspec's memory, and of an object store that another thread serves."""
    if request.param == "folder":
        return tmp_path
    root = "memory://" if request.param == "memory" else request.getfixturevalue("store")
    actual = to_path(f"{root}/{secrets.token_hex(4)}")
    make_ready(actual)
    return actual


def names(folder: AnyPath) -> list[str]:
    """Return the names of a folder's files."""
    return sorted(file.name for pattern in ("*", ".*") for file in folder.glob(pattern) if file.is_file())


def saved_checkpoint(folder: AnyPath, seed: int = 0) -> Checkpoint:
    """Return a checkpoint of the trials after two epochs, beside it the one after the first."""
    pack, file = Pack([trial(seed=seed + k) for k in range(2)], DATA), Checkpoint(folder / "pack.safetensors")
    for _ in range(2):
        pack.train_epoch()
        pack.close_epoch()
        file.save(snapshot(pack))
    return file


def before(file: Checkpoint) -> AnyPath:
    return file.path.with_stem(f"{file.path.stem}.before")


def same(one: Saved | None, other: Saved) -> bool:
    """Return whether a checkpoint holds the same as another, to the bit."""
    return (
        one is not None
        and one.facts == other.facts
        and one.tensors.keys() == other.tensors.keys()
        and all(torch.allclose(one.tensors[k], v, 0, 0, equal_nan=True) for k, v in other.tensors.items())
    )


def test_the_newest_comes_first_then_the_one_before_it_then_those_of_others(folder: AnyPath) -> None:
    file = saved_checkpoint(folder)
    assert [s.facts["epoch"] for s in file.candidates()] == [3, 2]
    heir = Checkpoint(folder / "heir.safetensors", (file.path,))
    assert [s.facts["epoch"] for s in heir.candidates()] == [3, 2]
    pack = Pack(CONFIGS, DATA)
    heir.save(snapshot(pack))
    assert [s.facts["epoch"] for s in heir.candidates()] == [1, 3, 2]


@pytest.mark.parametrize("folder", ["folder", "memory"], indirect=True)
def test_of_100_flipped_bits_each_is_seen_and_the_one_before_serves(folder: AnyPath) -> None:
    file, chance = saved_checkpoint(folder), random.Random(1)
    older, content = list(file.candidates())[1], file.path.read_bytes()
    for _ in range(100):
        damaged, k = bytearray(content), chance.randrange(len(content))
        damaged[k] ^= 1 << chance.randrange(8)
        file.path.write_bytes(damaged)
        assert same(next(file.candidates(), None), older)


@pytest.mark.parametrize("folder", ["folder", "memory"], indirect=True)
def test_of_100_cut_files_each_is_seen_and_the_one_before_serves(folder: AnyPath) -> None:
    file, chance = saved_checkpoint(folder), random.Random(2)
    older, content = list(file.candidates())[1], file.path.read_bytes()
    for length in [0, 1, 31, 32, 33, *(chance.randrange(len(content)) for _ in range(95))]:
        file.path.write_bytes(content[:length])
        assert same(next(file.candidates(), None), older)


def swapped(file: Checkpoint) -> None:
    other = before(file).rename(file.path.with_stem("x"))
    file.path.rename(before(file))
    other.rename(file.path)


def damaged(path: AnyPath) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def of_another_version(path: AnyPath) -> None:
    real = checkpoint_module.FORMAT
    saved = next(Checkpoint(path).candidates())
    try:
        checkpoint_module.FORMAT = "1"
        Checkpoint(path).save(saved)
    finally:
        checkpoint_module.FORMAT = real


def of_a_wider_model(path: AnyPath) -> None:
    """Put tensors of another width under the ids of the trials."""
    saved = next(Checkpoint(path).candidates())
    saved.tensors["values"] = torch.cat([saved.tensors["values"]] * 2, 1)
    Checkpoint(path).save(saved)


HARM: dict[str, tuple[Callable[[Checkpoint], object], int]] = {
    "nothing": (lambda file: None, 2),
    "the newest is damaged": (lambda file: damaged(file.path), 1),
    "the newest is not there": (lambda file: file.path.unlink(), 1),
    "the two are swapped": (swapped, 1),
    "both are damaged": (lambda file: (damaged(file.path), damaged(before(file))), 0),
    "the newest is that of another pack": (
        lambda file: file.path.write_bytes(saved_checkpoint(file.path.parent / "other", 7).path.read_bytes()), 1),
    "all are of another version": (lambda file: (before(file).unlink(), of_another_version(file.path),
                                                 before(file).unlink()), 0),
    "the newest has another width": (lambda file: of_a_wider_model(file.path), 2),
    "a folder lies there": (lambda file: (file.path.unlink(), file.path.mkdir()), 1),
}  # fmt: skip


@pytest.mark.parametrize("harm", HARM)
def test_whatever_happened_to_a_checkpoint_the_curve_is_that_of_an_undisturbed_run_to_the_bit(
    harm: str, folder: AnyPath
) -> None:
    file, (do, stands) = saved_checkpoint(folder), HARM[harm]
    do(file)
    events, whole = trained(CONFIGS, file), trained(CONFIGS)
    assert events.began == [{c.id: stands for c in CONFIGS}]
    for config in CONFIGS:
        assert events.curve(config) == whole.curve(config)
        assert events.run(config).valid == whole.run(config).valid


@contextmanager
def no_room(limit: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    message = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, message)


def test_a_save_without_room_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    file = saved_checkpoint(tmp_path)
    names, contents = sorted(tmp_path.iterdir()), [s.facts for s in file.candidates()]
    with no_room(1000), pytest.raises(OSError, match="File too large"):
        file.save(snapshot(Pack(CONFIGS, DATA)))
    assert sorted(tmp_path.iterdir()) == names and [s.facts for s in file.candidates()] == contents


def test_a_store_that_is_gone_is_an_error_of_the_system_to_a_save_and_no_checkpoint_to_a_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    away = {"MAX_ATTEMPTS": "1", "ENDPOINT_URL": "http://127.0.0.1:9", "ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b"}
    for name, value in away.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setattr(S3FileSystem, "_cache", {})  # another test's server would be asked
    folder = to_path("s3://away/gone")
    file = Checkpoint(folder / "pack.safetensors")
    with pytest.raises(OSError, match="s3://.*pack.safetensors: Could not connect to the endpoint"):
        file.save(snapshot(Pack(CONFIGS, DATA)))
    assert next(file.candidates(), None) is None
    with pytest.raises(ConfigError, match="Checkpoints cannot be kept at s3://.*/gone: .*Could not connect"):
        make_ready(folder)
    workers = Workers(1, folder)
    workers.drain()
    assert "could not be told to stop" in capsys.readouterr().err and not workers.draining()


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("nowhere://a/b", "nowhere://a/b is no place for checkpoints: Unsupported filesystem"),
        ("dropbox://a", "Install what fsspec asks for, where drivers and workers run: "),
    ],
)
def test_a_url_that_nothing_here_reaches_is_refused_in_a_line(where: str, line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        to_path(where)


def test_what_is_no_url_is_a_path_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert to_path("a/b") == tmp_path / "a/b" == to_path(f"file://{tmp_path}/a/b")
    assert sweep_storage("memory://a", "demo") == to_path("memory://a/demo")


def test_while_the_disk_is_full_training_goes_on_and_later_saves_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: io.StringIO
) -> None:
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    file, whole, events, saves = Checkpoint(tmp_path / "pack"), trained(CONFIGS), PackRecorder(), list[bool]()
    real = Checkpoint.save

    def save(self: Checkpoint, saved: Saved) -> None:
        full = 6 <= len(saves) < 12  # of five steps an epoch
        saves.append(False)
        if full:
            with no_room(1000):
                real(self, saved)
        real(self, saved)
        saves[-1] = True

    monkeypatch.setattr(Checkpoint, "save", save)
    requested = iter(range(1000))
    assert train(CONFIGS, events, file, draining=lambda: next(requested) == 14) == "paused"
    assert saves == [True] * 6 + [False] * 6 + [True] * 4
    assert "could not be written" in logged.getvalue()
    monkeypatch.undo()
    assert (actual := next(file.candidates(), None)) and (actual.facts["epoch"], actual.facts["step"]) == (3, 5)
    events.runs.clear()
    assert train(CONFIGS, events, file) == "over"
    for config in CONFIGS:
        assert events.run(config).valid == whole.run(config).valid
        assert set(events.curve(config)) == set(whole.curve(config))


def test_a_pack_that_is_over_leaves_no_file_of_its_own_and_those_of_others_alone(folder: AnyPath) -> None:
    file = saved_checkpoint(folder)
    file.part("half").save(snapshot(Pack(CONFIGS, DATA)))
    (folder / ".pack.123.safetensors").write_text("what a killed save left")
    other = Checkpoint(folder / "pack2.safetensors", (file.path,))
    other.save(snapshot(Pack(CONFIGS, DATA)))
    file.remove()
    assert names(folder) == [other.path.name]
    other.remove()
    other.remove()
    assert not names(folder)


def test_packs_cut_from_one_begin_with_its_checkpoint_unless_they_have_their_own(folder: AnyPath) -> None:
    file, new, old = saved_checkpoint(folder), *(Checkpoint(folder / f"{name}.safetensors") for name in ("new", "old"))
    old.save(snapshot(Pack(CONFIGS, DATA)))
    assert file.share_with(new, old)
    assert [s.facts["epoch"] for s in new.candidates()] == [3, 2] and [s.facts["epoch"] for s in old.candidates()][
        0
    ] == 1
    new.save(snapshot(Pack(CONFIGS, DATA)))
    assert [s.facts["epoch"] for s in new.candidates()] == [1, 3], "the first one's file is not changed by the second"
    assert [s.facts["epoch"] for s in file.candidates()] == [3, 2]
    file.remove()
    assert file.share_with(new) and [*new.candidates()], "a pack that has saved nothing has nothing to share"


def test_a_checkpoint_that_cannot_be_handed_on_stays_and_says_so(tmp_path: Path) -> None:
    file = saved_checkpoint(tmp_path)
    assert not file.share_with(Checkpoint(tmp_path / "pack.safetensors" / "new.safetensors"))
    assert [s.facts["epoch"] for s in file.candidates()] == [3, 2]


def test_a_report_says_first_what_stands(folder: AnyPath) -> None:
    output: list[Report] = []
    train(CONFIGS, output.append, saved_checkpoint(folder))
    assert output[0].began == {c.id: 2 for c in CONFIGS} and len(output[0].points) == 4
    assert not any(report.began for report in output[1:])
