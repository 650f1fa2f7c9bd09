"""Adding, FitzHugh-Nagumo and the digits against their published definitions; the cache of generated data."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.platform.registry import get_task
from longwave.tasks import adding
from longwave.tasks.base import cache
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import fingerprint
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.fitzhugh_nagumo import trajectory

digits_tasks = pytest.mark.parametrize("name", ["digits", "pdigits"])


def load(name: str) -> Data:
    return get_task(name).load(get_task(name).variant)


def rows(split: Sequences) -> set[bytes]:
    return {row.tobytes() for row in split.inputs.numpy()}


def test_equal_numbers_of_another_shape_or_type_give_another_version() -> None:
    x, y = torch.arange(12.0).view(2, 6, 1), torch.zeros(2, dtype=torch.int64)
    split = Sequences(x, y)
    version = Data(valid=split, test=split, train=split).version
    for other in (Sequences(x.view(2, 3, 2), y), Sequences(x, torch.zeros(2, 1, dtype=torch.float64))):
        assert Data(valid=split, test=other, train=split).version != version


@pytest.mark.parametrize("variant", ["", "N=1", "N=0", "N=-5", "N=05", "N=2.5", "N=1000001", "500", "N=5 "])
def test_adding_refuses_a_length_that_makes_no_sense(variant: str) -> None:
    with pytest.raises(ValueError, match=rf"^adding takes a variant N=<steps> between N=2 .*, got '{variant}'\.$"):
        get_task("adding").load(variant)


def test_a_split_and_data_that_cannot_be_fed_are_refused() -> None:
    split = Sequences(torch.zeros(3, 4, 1), torch.zeros(3, 1))
    for inputs, targets in [((3, 4), (3, 1)), ((3, 4, 1), (2, 1)), ((3, 4, 1), (3, 5, 1)), ((0, 4, 1), (0, 1))]:
        with pytest.raises(
            ValueError, match=r"^A split needs inputs \(N, T, p\) or tokens \(N, T\), and N > 0 targets, got \("
        ):
            Sequences(torch.zeros(inputs), torch.zeros(targets))
    for train, stream in [(None, None), (split, lambda seed, n: split)]:
        with pytest.raises(ValueError, match="either a training split or a stream, not both or neither"):
            Data(valid=split, test=split, train=train, stream=stream)


def test_a_model_without_a_recipe_of_its_own_gets_the_common_one() -> None:
    task = get_task("fitzhugh_nagumo")
    assert (task.recipe("cornn").hidden, task.recipe("lem").hidden, task.recipe("new").hidden) == (24, 16, 16)


def test_fitzhugh_nagumo_starts_from_the_authors_random_numbers_and_asks_for_the_next_value() -> None:
    data = load("fitzhugh_nagumo")
    np.random.seed(1234)
    for split, n in [(data.train, 128), (data.valid, 128), (data.test, 1024)]:
        assert split is not None and split.inputs.shape == (n, 1000, 1)
        assert np.array_equal(split.inputs[:, 0, 0].numpy(), np.random.uniform(-1, 1, n).astype(np.float32))
        assert torch.equal(split.targets[:, :-1], split.inputs[:, 1:])


def test_fitzhugh_nagumo_is_what_the_authors_solver_returns_until_rounding_has_grown() -> None:
    def slope(t: float, state: np.ndarray) -> np.ndarray:
        v, w = state
        return np.array([v - v**3 / 3 - w + 0.5, 0.02 * (v + 0.7 - 0.8 * w)])

    data = load("fitzhugh_nagumo")
    starts = np.random.RandomState(1234).uniform(-1, 1, 1280)
    assert data.train is not None
    for split, first in [(data.train, 0), (data.valid, 128), (data.test, 256)]:
        start = (starts[first + 5], 0.0)
        solved = scipy.integrate.solve_ivp(slope, (0, 400), start, t_eval=np.linspace(0, 400, 1001)).y[0]
        np.testing.assert_allclose(split.inputs[5, :200, 0].numpy(), solved[:200], rtol=0, atol=5e-6)
        np.testing.assert_allclose(split.inputs[5, :, 0].numpy(), solved[:-1], rtol=0, atol=0.3)


@pytest.mark.integration
def test_fitzhugh_nagumo_has_the_same_bits_whatever_way_a_processor_sums() -> None:
    code = (
        "from longwave.tasks.fitzhugh_nagumo import trajectory; print([trajectory(c).tobytes() for c in (-0.7, 0.3)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "OPENBLAS_CORETYPE": kind}, capture_output=True
        ).stdout
        for kind in ("Prescott", "Haswell")
    }
    assert len(outputs) == 1 and len(outputs.pop()) > 1001 * 8


@pytest.mark.integration
def test_fitzhugh_nagumo_converges_to_an_independent_runge_kutta_solution() -> None:
    def slope(s: np.ndarray) -> np.ndarray:
        return np.array([s[0] - s[0] ** 3 / 3 - s[1] + 0.5, 0.02 * (s[0] + 0.7 - 0.8 * s[1])])

    h, path = 0.02, [np.array([0.3, 0.0])]
    for _ in range(20_000):
        a = slope(path[-1])
        b = slope(path[-1] + h / 2 * a)
        c = slope(path[-1] + h / 2 * b)
        path.append(path[-1] + h / 6 * (a + 2 * b + 2 * c + slope(path[-1] + h * c)))
    truth = np.stack(path)[::20, 0]
    tolerances = [1e-3, 1e-4, 1e-6, 1e-10]
    errors = [np.sqrt(np.mean((trajectory(0.3, rtol, rtol / 1000) - truth) ** 2)) for rtol in tolerances]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-6


@pytest.mark.parametrize("lags, published", [(2, 2.8e-2), (4, 1.3e-2), (8, 0.98e-2)])
def test_fitzhugh_nagumo_scores_a_linear_filter_as_published(lags: int, published: float) -> None:
    data, metric = load("fitzhugh_nagumo"), get_task("fitzhugh_nagumo").metric

    def history(split: Sequences) -> tuple[np.ndarray, np.ndarray]:
        v = split.inputs[:, :, 0].double().numpy()
        windows = np.lib.stride_tricks.sliding_window_view(v, lags, axis=1)
        ones = np.ones((*windows.shape[:2], 1))
        return np.concatenate([windows, ones], -1), split.targets[:, lags - 1 :].double().numpy()

    assert data.train is not None
    past, future = history(data.train)
    weights = np.linalg.lstsq(past.reshape(-1, lags + 1), future.reshape(-1), rcond=None)[0]
    past, future = history(data.test)
    predicted = torch.from_numpy((past @ weights)[..., None])
    assert metric.score(predicted.unsqueeze(0), torch.from_numpy(future)).item() == pytest.approx(published, rel=0.03)


def test_fitzhugh_nagumo_scores_persistence_as_published() -> None:
    test = load("fitzhugh_nagumo").test
    score = get_task("fitzhugh_nagumo").metric.score(test.inputs.unsqueeze(0), test.targets).item()
    assert score == pytest.approx(7.9e-2, rel=0.01)


@settings(max_examples=50)
@given(length=st.integers(2, 80), seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40))
def test_adding_marks_one_number_in_each_half_and_asks_for_their_sum(length: int, seed: int, n: int) -> None:
    split = adding.sequences(length, seed, n)
    values, marks = split.inputs.double().numpy().transpose(2, 0, 1)
    assert values.shape == (n, length)
    assert ((values >= 0) & (values < 1)).all() and np.isin(marks, [0, 1]).all()
    assert (marks[:, : length // 2].sum(1) == 1).all() and (marks[:, length // 2 :].sum(1) == 1).all()
    for row in range(n):
        first, second = np.flatnonzero(marks[row])
        assert split.targets[row, 0].item() == pytest.approx(values[row, first] + values[row, second], rel=1e-6)
    again = adding.sequences(length, seed, n)
    assert torch.equal(again.inputs, split.inputs) and torch.equal(again.targets, split.targets)


@pytest.mark.parametrize("length", [10, 11])
def test_addings_marks_and_numbers_are_uniform(length: int) -> None:
    values, marks = adding.sequences(length, 5, 4000).inputs.unbind(-1)
    counts = marks.sum(0).numpy()
    for half in (counts[: length // 2], counts[length // 2 :]):
        assert scipy.stats.chisquare(half).pvalue > 1e-3
    assert scipy.stats.kstest(values.double().numpy().ravel(), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("which", ["valid", "test"])
def test_addings_constant_guess_scores_one_sixth(which: str) -> None:
    targets = getattr(load("adding"), which).targets
    score = get_task("adding").metric.score(torch.ones(1, *targets.shape), targets).item()
    spread = (1 / 15 - 1 / 36) ** 0.5  # of (u + u' - 1)²
    assert len(targets) == 1000
    assert abs(score - 1 / 6) < 4 * spread / 1000**0.5
    assert get_task("adding").chance == pytest.approx(1 / 6)


def test_adding_has_the_length_of_its_variant_and_a_stream_for_each_seed() -> None:
    data = get_task("adding").load("N=7")
    assert data.valid.inputs.shape == data.test.inputs.shape == (1000, 7, 2)
    assert data.train is None and data.stream is not None
    one, same, other = data.stream(1, 20), data.stream(1, 20), data.stream(2, 20)
    assert torch.equal(one.inputs, same.inputs) and torch.equal(one.targets, same.targets)
    assert rows(one).isdisjoint(rows(other))


@digits_tasks
def test_digits_are_all_images_of_scikit_learn_once_pixel_by_pixel(name: str) -> None:
    from sklearn.datasets import load_digits

    data, digits = load(name), load_digits()
    assert data.train is not None
    splits = (data.train, data.valid, data.test)
    assert [len(split.inputs) for split in splits] == [1197, 300, 300]
    order = np.random.RandomState(12008).permutation(64) if name == "pdigits" else np.arange(64)
    wanted = sorted(
        (*(int(pixel) for pixel in image.reshape(64)[order]), int(label))
        for image, label in zip(digits.images, digits.target, strict=True)
    )
    images = sorted(
        (*(float(pixel) * 16 for pixel in x[:, 0]), int(label))
        for split in splits
        for x, label in zip(split.inputs, split.targets, strict=True)
    )
    assert images == wanted


@digits_tasks
@pytest.mark.parametrize("which", ["train", "valid", "test"])
def test_digits_have_about_a_tenth_of_each_class_in_every_split(name: str, which: str) -> None:
    labels = getattr(load(name), which).targets.numpy()
    counts = np.bincount(labels, minlength=10)
    assert scipy.stats.chisquare(counts).pvalue > 1e-2
    assert counts.max() / len(labels) < 0.15


def test_permuted_digits_are_digits_under_one_shuffle_that_moves_pixels() -> None:
    order = np.random.RandomState(12008).permutation(64)
    assert sorted(order) == list(range(64)) and (order != np.arange(64)).sum() > 50
    plain, permuted = load("digits"), load("pdigits")
    for which in ("train", "valid", "test"):
        a, b = getattr(plain, which), getattr(permuted, which)
        assert torch.equal(b.inputs, a.inputs[:, order]) and torch.equal(b.targets, a.targets)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for generated data."""
    monkeypatch.setenv("LONGWAVE_CACHE", str(tmp_path / "made" / "here"))
    return tmp_path / "made" / "here"


def test_generated_data_are_made_once_and_read_back_equal(folder: Path) -> None:
    made = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2], dtype=np.int64)}
    calls: list[int] = []

    def make() -> dict[str, np.ndarray]:
        calls.append(1)
        return made

    for _ in range(3):
        stored = cache.cached("some-1", make)
        assert list(stored) == ["a", "b"]
        assert all(np.array_equal(stored[k], v) and stored[k].dtype == v.dtype for k, v in made.items())
    assert calls == [1]
    assert [file.name for file in folder.iterdir()] == ["some-1.npz"]
    assert cache.cached("some-2", lambda: {"c": np.zeros(1)}).keys() == {"c"}


def test_generated_data_that_cannot_be_stored_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("LONGWAVE_CACHE", str(file))
    for value in (1.0, 2.0):
        assert cache.cached("some-1", lambda value=value: {"a": np.array([value])})["a"] == [value]
    assert file.read_text() == "in the way" and list(tmp_path.iterdir()) == [file]


class Bomb:
    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('it was unpickled')",)


def test_a_file_of_generated_data_that_holds_objects_is_made_anew_and_never_unpickled(folder: Path) -> None:
    folder.mkdir(parents=True)
    np.savez(folder / "some-1.npz", a=np.array([Bomb()], dtype=object))
    assert cache.cached("some-1", lambda: {"a": np.ones(2)})["a"].tolist() == [1, 1]


def test_a_stop_while_data_are_stored_leaves_no_file_that_looks_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, **arrays: np.ndarray) -> None:
        Path(path).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache.np, "savez", full)
    assert cache.cached("some-1", lambda: {"a": np.ones(2)})["a"].sum() == 2
    assert list(folder.iterdir()) == []


def test_two_processes_that_make_data_at_once_get_equal_arrays(folder: Path) -> None:
    code = """
import os, time, numpy as np
from longwave.tasks.base.cache import cached, folder
here = folder().parent
here.mkdir(exist_ok=True)
def make():
    (here / f"started{os.getpid()}").touch()
    for _ in range(3000):
        if len(list(here.glob("started*"))) == 2:
            return {"a": np.random.RandomState(3).standard_normal(500_000)}
        time.sleep(0.01)
print(float(cached("some-1", make)["a"].sum()).hex())
"""
    processes = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [process.communicate(timeout=60)[0].strip() for process in processes]
    expected = float(np.random.RandomState(3).standard_normal(500_000).sum()).hex()
    assert answers == [expected, expected]
    assert [file.name for file in folder.iterdir()] == ["some-1.npz"]
    assert float(cache.cached("some-1", dict)["a"].sum()).hex() == expected


def test_a_line_moved_from_one_file_to_the_next_is_another_fingerprint(tmp_path: Path) -> None:
    paths, prints = [tmp_path / "a", tmp_path / "b"], []
    for texts in (("one\ntwo\n", "three\n"), ("one\n", "two\nthree\n"), ("one\ntwo\n", "three\n")):
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        prints.append(fingerprint(paths))
    assert prints[0] == prints[2] != prints[1] and len(prints[0]) == 12
