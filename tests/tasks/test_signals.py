"""Worms, heart beats, activities, words and sentences: what the tasks make of the real file formats."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import raw_signals
import scipy.io.wavfile
import torch
from raw_signals import sound, write_wav
from sklearn.model_selection import train_test_split  # type: ignore[import-untyped]
from torch.utils.data import random_split

from longwave.tasks import bidmc32hr, bidmc32rr, bidmc32spo2, eigenworms, google12, har2, timit
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec

BIDMC = {"BIDMC32HR": bidmc32hr, "BIDMC32RR": bidmc32rr, "BIDMC32SpO2": bidmc32spo2}


@pytest.fixture(autouse=True)
def cache_folder(any_count: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the series of the archives have three steps."""
    monkeypatch.setattr(eigenworms, "STEPS", 3)
    monkeypatch.setattr(bidmc32hr, "STEPS", 3)


def load(task: TaskSpec, variant: str = "") -> Data:
    return inspect.unwrap(task.load)(variant)


def folder_of(task: TaskSpec) -> Path:
    assert task.files is not None
    return task.files.folder


def splits(data: Data) -> list[Sequences]:
    assert data.train is not None
    return [data.train, data.valid, data.test]


def refused(task: TaskSpec, rule: str) -> None:
    """Check that a data set is refused with one line, and that nothing made of it stays."""
    with pytest.raises(DataError, match=rf"^{folder_of(task)}[^\n]*{rule}[^\n]*$"):
        load(task)
    assert [path.name for path in folder_of(task).parents[1].iterdir()] == ["raw"]


# EigenWorms


def test_worms_are_divided_as_the_papers_code_divides_them() -> None:
    train, rest = train_test_split(np.arange(259), test_size=0.3, random_state=1234)
    valid, test = train_test_split(rest, test_size=0.5, random_state=1234)
    found_train, found_rest = eigenworms.split_indices(259, 0.3)
    halves = [found_rest[half] for half in eigenworms.split_indices(len(found_rest), 0.5)]
    assert [len(part) for part in (train, valid, test)] == [181, 39, 39]
    for indices, expected in zip([found_train, *halves], [train, valid, test], strict=True):
        assert np.array_equal(indices, expected)


@pytest.mark.usefixtures("short")
def test_worms_keep_their_classes_and_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = raw_signals.write_eigenworms(folder_of(eigenworms.TASK), 40, 3)
    first = load(eigenworms.TASK)
    monkeypatch.setattr(eigenworms, "both_parts", None)
    assert load(eigenworms.TASK).version == first.version
    parts = train_test_split(np.arange(40), test_size=0.3, random_state=1234)
    parts[1:] = train_test_split(parts[1], test_size=0.5, random_state=1234)
    values = np.random.RandomState(0).randint(-99, 99, (40, 3, 6))
    for split, index in zip(splits(first), parts, strict=True):
        assert np.array_equal(split.targets.numpy(), labels[index] - 1)
        assert np.array_equal(split.inputs.numpy(), values[index].astype(np.float32))


@pytest.mark.usefixtures("short")
def test_worms_of_other_classes_in_the_two_files_are_refused() -> None:
    raw_signals.write_eigenworms(folder_of(eigenworms.TASK), 40, 3, classes="1 2 3 4 5 6")
    refused(eigenworms.TASK, "TEST.ts: @classlabel must be true and 5 classes, got true 1 2 3 4 5 6")
    raw_signals.write_eigenworms(folder_of(eigenworms.TASK), 40, 3)
    path = folder_of(eigenworms.TASK) / "EigenWorms_TEST.ts"
    path.write_text(path.read_text().replace("true 1 2", "true 0 2").replace(":1\n", ":0\n"))
    refused(eigenworms.TASK, "TEST.ts: the classes must be those of TRAIN, 1 2 3 4 5, got 0 2 3 4 5")


# BIDMC


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("problem", raw_signals.BIDMC_PROBLEMS)
def test_windows_are_divided_as_the_papers_code_divides_them(problem: str) -> None:
    task = BIDMC[problem].TASK
    values, targets = raw_signals.write_bidmc(folder_of(task), problem, 7949, 3)
    seeded = [torch.Generator().manual_seed(123456) for _ in range(2)]
    train, rest = random_split(range(7949), [5565, 2384], generator=seeded[0])  # type: ignore[arg-type]
    test, valid = random_split(rest, [1192, 1192], generator=seeded[1])
    for split, part in zip(splits(load(task)), [train, valid, test], strict=True):
        index = list(part)
        np.testing.assert_array_equal(split.inputs.numpy(), values[index].astype(np.float32))
        np.testing.assert_array_equal(split.targets.numpy()[:, 0], targets[index].astype(np.float32))


@pytest.mark.parametrize("problem", raw_signals.BIDMC_PROBLEMS)
def test_each_problem_has_its_own_files_and_whole_windows(problem: str) -> None:
    task = BIDMC[problem].TASK
    assert task.name == problem.lower() and task.files is not None
    with pytest.raises(
        DataError, match=rf"^{task.name} needs {problem}: {problem}_TRAIN\.ts is not in .*{task.name}\."
    ):
        load(task)
    getattr(raw_signals, f"write_{task.name}")(folder_of(task))
    assert [tuple(split.inputs.shape) for split in splits(load(task))] == [(28, 4000, 2), (6, 4000, 2), (6, 4000, 2)]


# HAR-2


def test_activities_are_what_numpy_reads_in_the_published_groups() -> None:
    raw_signals.write_uci_har(folder_of(har2.TASK), train=147)
    data = load(har2.TASK, "raw")
    folder = folder_of(har2.TASK) / "UCI HAR Dataset"
    order = np.random.RandomState(1234).permutation(147)
    for split, part, index in zip(
        splits(data), ["train", "train", "test"], [order[17:], order[:17], np.arange(30)], strict=True
    ):
        signals = folder / part / "Inertial Signals"
        for k, channel in enumerate(raw_signals.CHANNELS.split()):
            expected = np.loadtxt(signals / f"{channel}_{part}.txt")[index]
            np.testing.assert_allclose(split.inputs[..., k].numpy(), expected, rtol=1e-6)
        names = ["walking", "walking upstairs", "walking downstairs", "sitting", "standing", "laying"]
        activities = [names[k - 1] for k in np.loadtxt(folder / part / f"y_{part}.txt", dtype=int)[index]]
        assert split.targets.tolist() == [a in ("standing", "walking", "walking downstairs") for a in activities]


def test_activities_are_normalised_by_the_training_split() -> None:
    raw_signals.write_uci_har(folder_of(har2.TASK))
    raw, fed = load(har2.TASK, "raw"), load(har2.TASK)
    assert raw.train is not None and fed.train is not None
    shift, scale = raw.train.inputs.double().mean((0, 1)), raw.train.inputs.double().std((0, 1), correction=0)
    for before, after in zip(splits(raw), splits(fed), strict=True):
        torch.testing.assert_close(after.inputs.double() * scale + shift, before.inputs.double(), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(fed.train.inputs.mean((0, 1)), torch.zeros(9), atol=1e-5, rtol=0)
    torch.testing.assert_close(fed.train.inputs.std((0, 1)), torch.ones(9), atol=1e-4, rtol=0)


def test_chance_is_the_share_of_the_larger_group_in_the_published_counts() -> None:
    walking, upstairs, downstairs, sitting, standing, laying = 496, 471, 420, 491, 532, 537  # UCI, test part
    assert walking + upstairs + downstairs + sitting + standing + laying == 2947
    groups = (walking + downstairs + standing, upstairs + sitting + laying)
    split = Sequences(torch.zeros(2947, 1, 1), torch.arange(2).repeat_interleave(torch.tensor(groups)))
    majority = replace(har2.TASK, baselines={"majority": har2.TASK.baselines["majority"]})
    scores = majority.trivial(Data(train=split, valid=split, test=split))
    assert har2.TASK.chance_at("", scores) == pytest.approx(100 * max(groups) / 2947)


HAR = {
    "an activity 7": ("train/y_train.txt", lambda t: "7" + t[1:], r"an activity must be one of 1 to 6, got 7"),
    "an activity 0": ("test/y_test.txt", lambda t: "0" + t[1:], r"an activity must be one of 1 to 6, got 0"),
    "half an activity": ("test/y_test.txt", lambda t: "1.5" + t[1:], r"must be one of 1 to 6, got 1\.5"),
    "no activities": ("test/y_test.txt", lambda t: "", r"there must be lines of 1 numbers, found none"),
    "an activity too few": ("test/y_test.txt", lambda t: t[2:], r"one line for each of the 29 lines of y_test\.txt"),
    "a column too few": ("body_acc_y_train.txt", lambda t: t[16:], r", line 1: there must be 128 numbers, got 127"),
    "a word": ("body_gyro_z_test.txt", lambda t: "word" + t[16:], r"there must be only numbers: .*word"),
    "a number too large": (
        "total_acc_x_test.txt",
        lambda t: "1e39 " + t[16:],
        r", line 1: every number must be finite",
    ),
    "NaN": ("total_acc_x_test.txt", lambda t: "NaN " + t[16:], r", line 1: every number must be finite"),
    "a file cut short": ("total_acc_z_train.txt", lambda t: t[:-20], r", line 70: there must be 128 numbers, got 127"),
}


@pytest.mark.parametrize("what", HAR)
def test_broken_activities_are_refused(what: str) -> None:
    name, change, rule = HAR[what]
    raw_signals.write_uci_har(folder_of(har2.TASK))
    path = next(folder_of(har2.TASK).rglob(Path(name).name))
    path.write_text(change(path.read_text()))
    refused(har2.TASK, rule)


# Google12


def test_words_have_their_classes_and_splits() -> None:
    root = folder_of(google12.TASK)
    raw_signals.write_speech_commands(root)
    data = load(google12.TASK)
    words = sorted([*raw_signals.COMMANDS, *raw_signals.OTHERS])
    numbers = {"yes": 2, "no": 3, "up": 4, "down": 5, "left": 6, "right": 7, "on": 8, "off": 9, "stop": 10, "go": 11}
    expected = [numbers.get(word, 0) for word in words]
    for split, k, silence in zip(splits(data), range(3), [[1, 1, 1, 1], [], []], strict=True):
        assert split.targets.tolist() == expected + silence
        for n, word in enumerate(words):
            _, samples = scipy.io.wavfile.read(next((root / word).glob(f"*_nohash_{k}.wav")))
            assert np.array_equal(split.inputs[n].numpy(), google12.features(samples / np.float32(32768)))


def test_silence_is_every_whole_second_of_noise() -> None:
    root = folder_of(google12.TASK)
    raw_signals.write_speech_commands(root)
    data = load(google12.TASK)
    assert data.train is not None
    silences = data.train.inputs[data.train.targets == 1].numpy()
    noises = [scipy.io.wavfile.read(path)[1] for path in sorted((root / "_background_noise_").glob("*.wav"))]
    pieces = [noise[start : start + 16000] for noise in noises for start in (0, 16000)]
    assert np.array_equal(silences, [google12.features(piece / np.float32(32768)) for piece in pieces])


def test_words_stay_on_disk_and_are_transformed_once(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw_signals.write_speech_commands(folder_of(google12.TASK))
    first = load(google12.TASK)
    monkeypatch.setattr(google12, "features", None)
    assert load(google12.TASK).version == first.version
    assert sorted(path.suffix for path in cache_folder.iterdir()) == ["", ".npy", ".npy", ".npy"]
    features = np.load(next(cache_folder.glob("google12-1-test-*.npy")), mmap_mode="r")
    assert np.array_equal(features, first.test.inputs.numpy())


def _append(name: str, text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        with (root / name).open("a") as file:
            file.write(text)

    return change


def _all_listed(root: Path) -> None:
    _append("testing_list.txt", "".join(f"{p.parent.name}/{p.name}\n" for p in root.glob("*/*_0.wav")))(root)


def _cut(root: Path) -> None:
    path = root / "yes/00000000_nohash_2.wav"
    path.write_bytes(path.read_bytes()[:-1000])


SPEECH = {
    "an empty list": (lambda r: (r / "testing_list.txt").write_text("\n"), "testing_list.txt: there must be names"),
    "an absent file": (_append("validation_list.txt", "yes/x.wav\n"), "must name a file that is there, got yes/x.wav"),
    "a file in both": (_append("testing_list.txt", "bed/0000000a_nohash_1.wav\n"), "no file may be in both lists"),
    "nothing to learn": (_all_listed, "there must be sound files that are in neither list"),
    "a sound cut short": (_cut, "yes/00000000_nohash_2.wav: there must be 16000 samples"),
    "another rate": (lambda r: write_wav(r / "_background_noise_/tap.wav", sound(99, 1), 8000), "tap.wav: .* 8000 Hz"),
    "a text": (lambda r: (r / "cat/x.wav").write_text("hello"), "cat/x.wav: a sound file must begin with RIFF"),
}


@pytest.mark.parametrize("what", SPEECH)
def test_broken_words_are_refused(what: str) -> None:
    change, rule = SPEECH[what]
    raw_signals.write_speech_commands(folder_of(google12.TASK))
    change(folder_of(google12.TASK))
    root = folder_of(google12.TASK)
    with pytest.raises(DataError, match=rf"^{root}[^\n]*{rule}[^\n]*$"):
        load(google12.TASK)
    assert not [path for path in root.parents[1].iterdir() if path.name.startswith(".")]


# TIMIT


def test_the_speakers_of_timit_are_24_and_50_with_8_sentences_each_that_count() -> None:
    assert set(timit.CORE) == set(raw_signals.CORE.upper().split()) and len(set(timit.CORE)) * 8 == 192
    assert set(timit.DEVELOPMENT) == set(raw_signals.DEVELOPMENT.upper().split())
    assert len(set(timit.DEVELOPMENT)) * 8 == 400 and not set(timit.CORE) & set(timit.DEVELOPMENT)


def test_sentences_are_split_by_speaker_and_fed_frame_by_frame() -> None:
    root = folder_of(timit.TASK)
    raw_signals.write_timit(root)
    write_wav(root / "TRAIN/DR1/FCJF0/SX10.WAV.wav", sound(4000, 1))  # some copies hold each sentence twice
    data = load(timit.TASK)
    assert [len(split.inputs) for split in splits(data)] == [12, 24, 50]
    paths = sorted(p for p in root.glob("TEST/*/*/SX100.WAV") if p.parent.name.lower() in raw_signals.CORE.split())
    for input_row, target_row, path in zip(data.valid.inputs, data.valid.targets, paths, strict=True):
        levels = timit.log_spectrum(timit.read_sound(path, 16000))
        steps = len(levels) - 1
        assert np.array_equal(input_row[:steps].numpy(), levels[:-1])
        assert np.array_equal(target_row[:steps].numpy(), levels[1:])
        assert target_row[steps:].isnan().all() and not input_row[len(levels) :].any()
    longest = max(int(split.targets[..., 0].isfinite().sum(1).max()) for split in splits(data))
    assert longest == max(split.inputs.shape[1] for split in splits(data))


def test_normalised_sentences_have_mean_0_and_variance_1_in_training() -> None:
    raw_signals.write_timit(folder_of(timit.TASK))
    plain, fed = load(timit.TASK), load(timit.TASK, "normalised")
    assert plain.train is not None and fed.train is not None
    levels = torch.cat([plain.train.inputs[:, :1], plain.train.targets], 1).flatten(0, 1)
    levels = levels[levels[:, 0].isfinite()].double()
    for before, after in zip(splits(plain), splits(fed), strict=True):
        expected = (before.targets.double() - levels.mean(0)) / levels.std(0)
        torch.testing.assert_close(after.targets.double(), expected, atol=1e-4, rtol=1e-4, equal_nan=True)
        torch.testing.assert_close(after.inputs[:, 1:], after.targets[:, :-1].nan_to_num(), check_stride=False)


def test_the_variant_previous_asks_for_what_was_shown_one_frame_before() -> None:
    raw_signals.write_timit(folder_of(timit.TASK))
    plain, recall = load(timit.TASK), load(timit.TASK, "previous")
    for before, after in zip(splits(plain), splits(recall), strict=True):
        scored = after.targets.isfinite()
        assert torch.equal(scored, before.targets.isfinite())
        assert torch.equal(after.targets[:, 1:][scored[:, 1:]], after.inputs[:, :-1][scored[:, 1:]])
        assert torch.equal(after.inputs, before.targets.nan_to_num())


def _silent_speaker(root: Path) -> None:
    next(root.glob("TEST/*/MJDH0/SX100.WAV")).unlink()


def _untrained(root: Path) -> None:
    for path in root.glob("TRAIN/*/*/S[XI]*.WAV"):
        path.unlink()


def _cut_sentence(root: Path) -> None:
    path = next(root.glob("TEST/*/FELC0/SX100.WAV"))
    path.write_bytes(path.read_bytes()[:-100])


SENTENCES = {
    "a speaker without sentences": (_silent_speaker, "TEST: there must be sentences SI or SX of the speaker MJDH0"),
    "nothing to learn": (_untrained, "TRAIN: there must be sentences SI or SX, found none"),
    "a sentence cut short": (_cut_sentence, "FELC0/SX100.WAV: there must be [0-9]+ samples"),
}


@pytest.mark.parametrize("what", SENTENCES)
def test_broken_sentences_are_refused(what: str) -> None:
    change, rule = SENTENCES[what]
    root = folder_of(timit.TASK)
    raw_signals.write_timit(root)
    change(root)
    with pytest.raises(DataError, match=rf"^{root}[^\n]*{rule}[^\n]*$"):
        load(timit.TASK)
    assert not [path for path in root.parents[1].iterdir() if path.name.startswith(".")]


def test_timit_cannot_be_fetched() -> None:
    with pytest.raises(
        DataError, match=r"^timit needs TIMIT .* Get it with: longwave data fetch timit --path FOLDER\. Buy "
    ):
        load(timit.TASK)


ALL = [eigenworms, *BIDMC.values(), har2, google12, timit]


@pytest.mark.parametrize("task", [module.TASK for module in ALL], ids=lambda task: task.name)
def test_an_unknown_variant_is_refused_before_files_are_looked_for(task: TaskSpec) -> None:
    with pytest.raises(ValueError, match=rf"^{task.name} (has one variant|takes a variant).*got 'nonsense'\.$"):
        load(task, "nonsense")
