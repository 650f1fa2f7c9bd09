"""Files of the true number of series, windows and lines, and what is cut, repeated, copied or constant in them."""

from __future__ import annotations

import inspect
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import raw_images
import raw_signals
import raw_text
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.platform.render.export import Format
from longwave.platform.render.tasks import print_task
from longwave.tasks import bidmc32hr, bidmc32rr, bidmc32spo2, eigenworms, google12, har2, imdb, ptb_char, smnist, timit
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError, Source
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec
from longwave.tasks.formats.audio import map_rows
from longwave.tasks.formats.ts_files import read_ts
from longwave.tasks.har2 import read_table

BIDMC = {"BIDMC32HR": bidmc32hr, "BIDMC32RR": bidmc32rr, "BIDMC32SpO2": bidmc32spo2}


@pytest.fixture(autouse=True)
def short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep data apart, and let sequences have few steps: the true number of them is what counts here."""
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    for module, steps in ((eigenworms, 3), (bidmc32hr, 3), (har2, 1)):
        monkeypatch.setattr(module, "STEPS", steps)


def load(task: TaskSpec, variant: str | None = None) -> Data:
    data: Data = inspect.unwrap(task.load)(task.variant if variant is None else variant)
    return data


def files(task: TaskSpec) -> Source:
    assert task.files is not None
    return task.files


def refused(task: TaskSpec, rule: str) -> None:
    """Check that a data set is refused with one line, and that nothing made of it stays."""
    with pytest.raises(DataError, match=rf"^{re.escape(str(files(task).folder))}[^\n]*{rule}[^\n]*$"):
        load(task)
    assert [path.name for path in files(task).folder.parents[1].iterdir()] == ["raw"]


def change(path: Path, edit: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of a file behind the line @data."""
    head, mark, body = path.read_text().partition("@data\n")
    path.write_text(head + mark + "".join(edit(body.splitlines(keepends=True))))


def write_worms(n: int = 259) -> tuple[Path, Path]:
    folder = files(eigenworms.TASK).folder
    raw_signals.write_eigenworms(folder, n, 3)
    return folder / "EigenWorms_TRAIN.ts", folder / "EigenWorms_TEST.ts"


def write_activities(root: Path, still: str = "") -> None:
    """Write windows of one step, as many as the original has; the channel ``still`` is constant."""
    random = np.random.RandomState(0)
    for part, n in (("train", 7352), ("test", 2947)):
        folder = root / "UCI HAR Dataset" / part
        (folder / "Inertial Signals").mkdir(parents=True)
        for channel in raw_signals.CHANNELS.split():
            values = np.full(n, 0.1) if channel == still else random.randn(n)
            text = "".join(f"  {value:.7e}\n" for value in values)
            (folder / "Inertial Signals" / f"{channel}_{part}.txt").write_text(text)
        (folder / f"y_{part}.txt").write_text("".join(f"{k % 6 + 1}\n" for k in range(n)))


# Cut, repeated, copied


def test_worms_of_the_true_number_load_and_one_less_or_more_is_refused() -> None:
    train, test = write_worms()
    data = load(eigenworms.TASK)
    assert data.train is not None and [len(s) for s in (data.train, data.valid, data.test)] == [181, 39, 39]
    shutil.rmtree(train.parents[2])
    train, test = write_worms()
    whole = test.read_text()
    for edit, count in (
        (lambda rows: rows[:-1], 258),
        (lambda rows: rows[:1], 130),
        (lambda rows: [*rows, rows[-1]], 260),
    ):
        change(test, edit)
        refused(
            eigenworms.TASK, rf"there must be 259 series, as in the original, got {count}\. Is a file truncated, or"
        )
        test.write_text(whole)
    change(train, lambda rows: rows[:100])
    refused(eigenworms.TASK, r"there must be 259 series, as in the original, got 230\.")


def test_worms_may_be_there_twice_as_often_as_in_the_original_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    train, _ = write_worms()
    change(train, lambda rows: [*rows[:-23], *rows[:23]])
    print_task(eigenworms.TASK, Format.table)
    repeats = re.search(r"the same inputs in two splits: (.*)", " ".join(capsys.readouterr().out.split("\n")))
    assert repeats and 0 < sum(map(int, re.findall(r"([0-9]+) \w+ in ", repeats[1]))) <= 23
    change(train, lambda rows: [*rows[:-24], *rows[:24]])
    folder = re.escape(str(train.parent))
    with pytest.raises(
        DataError, match=rf"^{folder}: there must be 236 or more different series, as in the .* got 235\."
    ):
        load(eigenworms.TASK)


@pytest.mark.parametrize("problem", raw_signals.BIDMC_PROBLEMS)
def test_windows_cut_at_a_line_end_or_copied_are_refused(problem: str) -> None:
    task = BIDMC[problem].TASK
    folder = files(task).folder
    raw_signals.write_bidmc(folder, problem, 7949, 3)
    change(folder / f"{problem}_TEST.ts", lambda rows: rows[:-1])
    refused(task, r"there must be 7949 series, as in the original, got 7948\.")
    shutil.copy(folder / f"{problem}_TRAIN.ts", folder / f"{problem}_TEST.ts")
    refused(task, rf"_TEST\.ts: it must hold other series than TRAIN, got a copy of {problem}_TRAIN\.ts\.")


def test_a_last_line_without_an_end_is_refused_as_its_label_may_be_cut() -> None:
    folder = files(bidmc32hr.TASK).folder
    raw_signals.write_bidmc(folder, "BIDMC32HR", 7949, 3)
    path = folder / "BIDMC32HR_TEST.ts"
    path.write_text(path.read_text()[:-2])
    refused(
        bidmc32hr.TASK, r"_TEST\.ts: its last line must have an end, got none\. If the file is complete, add a line end"
    )


def test_activities_of_the_true_number_load_and_no_other_number_does() -> None:
    folder = files(har2.TASK).folder / "UCI HAR Dataset"
    write_activities(folder.parent)
    for part, n in (("train", 7352), ("test", 2947)):
        path = folder / part / f"y_{part}.txt"
        whole = path.read_text()
        path.write_text(whole[:-2])
        refused(har2.TASK, rf"there must be {n} windows in {part}, as in the original, got {n - 1}\.")
        path.write_text(whole)
    data = load(har2.TASK)
    assert data.train is not None and [len(s) for s in (data.train, data.valid, data.test)] == [6452, 900, 2947]


def test_a_channel_that_is_constant_is_not_divided_by_zero() -> None:
    write_activities(files(har2.TASK).folder, still="body_gyro_x")
    with pytest.raises(DataError, match=r"uci_har: body_gyro_x must vary over the training windows to be normalised, "):
        load(har2.TASK)
    assert load(har2.TASK, "raw").test.inputs.isfinite().all()


@pytest.mark.usefixtures("any_count")
def test_sentences_that_are_silent_have_no_norm() -> None:
    folder = files(timit.TASK).folder
    raw_signals.write_timit(folder)
    for path in folder.glob("TRAIN/*/*/*.WAV"):
        raw_signals.write_sphere(path, np.zeros(3000))
    assert load(timit.TASK).test.inputs.isfinite().all()
    with pytest.raises(DataError, match=r"timit: every bin must vary over the training split to be normalised\.$"):
        load(timit.TASK, "normalised")


def test_a_channel_in_place_of_another_is_refused() -> None:
    signals = files(har2.TASK).folder / "UCI HAR Dataset/test/Inertial Signals"
    write_activities(files(har2.TASK).folder)
    shutil.copy(signals / "total_acc_z_test.txt", signals / "body_acc_x_test.txt")
    refused(har2.TASK, r"total_acc_z_test\.txt: it must hold another channel than body_acc_x_test\.txt, got the same")


def test_a_corpus_of_the_true_number_of_lines_loads_and_one_cut_at_a_line_end_does_not() -> None:
    sizes = {"train": 42_068, "valid": 3370, "test": 3761}
    texts = {name: [["a", "man"]] * (n - 1) + raw_text.lines(1, 1)[:1] for name, n in sizes.items()}
    folder = files(ptb_char.TASK).folder
    raw_text.write_ptb(folder, texts=texts)
    assert load(ptb_char.TASK).test.inputs.shape[0] == 1
    for name, n in sizes.items():
        shutil.rmtree(folder.parents[1])
        raw_text.write_ptb(folder, texts={**texts, name: texts[name][1:]})
        refused(ptb_char.TASK, rf"there must be {n} lines in ptb\.{name}\.txt, as in the original, got {n - 1}\.")


SMALL: dict[str, tuple[TaskSpec, Callable[[Path], object], str]] = {
    "words": (google12.TASK, raw_signals.write_speech_commands, "9981 names in validation_list.txt, .* got 13"),
    "sentences": (timit.TASK, raw_signals.write_timit, "3696 sentences of train, as in the original, got 12"),
    "reviews": (imdb.TASK, raw_text.write_imdb, "12500 reviews in each folder, as in the original, got 30"),
}


@pytest.mark.parametrize("what", SMALL)
def test_a_part_of_a_data_set_is_refused(what: str) -> None:
    task, write, rule = SMALL[what]
    write(files(task).folder)
    refused(task, f"there must be {rule}")


@pytest.mark.usefixtures("any_count")
def test_the_halves_of_the_reviews_must_not_be_copies() -> None:
    folder = files(imdb.TASK).folder
    raw_text.write_imdb(folder)
    shutil.rmtree(folder / "aclImdb/test/pos")
    shutil.copytree(folder / "aclImdb/train/pos", folder / "aclImdb/test/pos")
    refused(imdb.TASK, r"aclImdb: its four folders must hold different reviews, got a copy\.")


# Folders for files, and what changes later

EVERY: dict[str, tuple[TaskSpec, Callable[[Path], object]]] = {
    "smnist": (smnist.TASK, raw_images.write_mnist),
    "eigenworms": (eigenworms.TASK, lambda folder: write_worms(40)),
    "har2": (har2.TASK, raw_signals.write_uci_har),
    "google12": (google12.TASK, raw_signals.write_speech_commands),
    "timit": (timit.TASK, raw_signals.write_timit),
    "imdb": (imdb.TASK, raw_text.write_imdb),
    "ptb_char": (ptb_char.TASK, raw_text.write_ptb),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_folder_for_a_file_and_a_file_for_a_folder_are_refused(name: str) -> None:
    task, write = EVERY[name]
    write(files(task).folder)
    need = files(task).needs[-1]
    path = files(task).root / need
    if need.endswith("/"):
        shutil.rmtree(path)
        path.write_text("a file")
        refused(task, rf"{path.name}: it must be a folder, got a file\.")
    else:
        path.unlink()
        path.mkdir()
        refused(task, rf"{path.name}: it must be a file, got a folder\.")


@pytest.mark.usefixtures("any_count")
@pytest.mark.parametrize(("task", "name"), [(imdb.TASK, "train/neg/5_2.txt"), (google12.TASK, "cat/x.wav")])
def test_a_folder_among_many_files_is_refused(task: TaskSpec, name: str) -> None:
    EVERY[task.name][1](files(task).folder)
    path = files(task).root / name
    path.unlink(missing_ok=True)
    path.mkdir()
    refused(task, rf"{path.name}: it must be a file that can be read, got: Is a directory\.")


@pytest.mark.usefixtures("any_count")
def test_a_corpus_that_changes_after_it_was_fetched_is_noticed_inside_its_folder_too() -> None:
    source = files(ptb_char.TASK)
    raw_text.write_ptb(source.folder)
    source.write_sums()
    path = source.root / "ptb.test.txt"
    path.write_text(path.read_text().replace("year", "yaer", 1))
    refused(ptb_char.TASK, r"ptb\.test\.txt: its MD5 must be [0-9a-f]+, got [0-9a-f]+\. Fetch it again\.")


def test_features_whose_file_was_cut_are_made_anew(tmp_path: Path) -> None:
    rows = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    path = tmp_path / "cache" / "k.npy"
    assert np.array_equal(map_rows("k", 4, iter(rows)), rows)
    whole = path.read_bytes()
    for size in (0, 5, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert np.array_equal(map_rows("k", 4, iter(rows)), rows) and path.read_bytes() == whole


# Any byte

LINES = "@targetLabel true\n@data\n1.5,-2,3e0:4,5,6:60.5\n7,8,9:0.25,1,2:61.25\n"


@settings(max_examples=400)
@given(st.integers(0, len(LINES) - 1))
def test_series_cut_anywhere_but_at_a_line_end_are_refused(where: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.ts")
        path.write_text(LINES[:where])
        try:
            series = read_ts(path, 3, 2)
        except DataError as error:
            assert str(error).startswith(f"{path}") and "\n" not in str(error)
        else:  # the count of all series tells this one
            assert LINES[:where].endswith(":60.5\n") and series.labels.tolist() == [[60.5]]


@pytest.mark.integration
@settings(max_examples=400)
@given(st.integers(0, len(LINES) - 1), st.integers(1, 255), st.booleans())
def test_one_other_byte_gives_finite_numbers_of_the_same_shape_or_one_line(where: int, flip: int, table: bool) -> None:
    content = bytearray(
        (LINES.partition("@data\n")[2].replace(":", " ").replace(",", " ") if table else LINES).encode()
    )
    content[where % len(content)] ^= flip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.ts")
        path.write_bytes(content)
        try:
            values = read_table(path, 7) if table else read_ts(path, 3, 2).values
        except DataError as error:
            assert str(error).startswith(f"{path}") and "\n" not in str(error)
        else:
            assert values.shape[1:] == ((7,) if table else (3, 2)) and np.isfinite(values).all()


# The same in two splits


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_what_two_splits_both_feed_is_counted(train: list[int], test: list[int]) -> None:
    def split(values: list[int]) -> Sequences:
        inputs = torch.tensor(values, dtype=torch.float32)[:, None, None].expand(-1, 4, 2)
        return Sequences(inputs, torch.arange(len(values)))

    data = Data(train=split(train), valid=split([7, 0]), test=split(test))
    assert data.repeated() == {
        ("valid", "train"): int(0 in train),
        ("test", "train"): sum(value in train for value in test),
        ("test", "valid"): test.count(0),
    }
    stream = Data(valid=split(train), test=split(test), stream=lambda seed, n: split([1] * n))
    assert stream.repeated() == {("test", "valid"): sum(value in train for value in test)}
