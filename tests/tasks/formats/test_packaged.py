"""Real series that arrive with a package: what is read is what is there, split as promised, and nothing is written."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.platform.cli.main import main
from longwave.platform.registry import get_task
from longwave.tasks.base.raw import DataError
from longwave.tasks.formats.archive import VARIANTS, archive_task, split_archive
from longwave.tasks.formats.monthly import by_time
from longwave.tasks.formats.packaged import Packaged
from longwave.tasks.formats.ts_files import both_parts, read_ts

ARCHIVE = ["gun_point", "basic_motions", "osu_leaf", "acsf1", "japanese_vowels"]
HEAD = "@dimensions 2\n@equalLength false\n@timestamps false\n@classLabel true a b\n@data\n"


def series(steps: int, k: int) -> np.ndarray:
    return np.arange(steps * 2, dtype=np.float32).reshape(steps, 2) + k


def line(x: np.ndarray, label: str) -> str:
    return ":".join(",".join(f"{v:g}" for v in channel) for channel in x.T) + f":{label}\n"


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Packaged:
    """A package that holds a set of ten and ten series of 3 to 7 steps; importing it is an error."""
    folder = tmp_path / "site/shelf/data"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise ImportError('nobody imports it')")
    for part, start in (("TRAIN", 0), ("TEST", 10)):
        lines = [line(series(3 + k % 5, k), "ab"[k % 2]) for k in range(start, start + 10)]
        (folder / f"Toy_{part}.ts").write_text(HEAD + "".join(lines))
    monkeypatch.syspath_prepend(tmp_path / "site")
    needs = ("Toy_TRAIN.ts", "Toy_TEST.ts")
    sums = {name: hashlib.md5((folder / name).read_bytes()).hexdigest() for name in needs}
    return Packaged(
        "toy", "Toy", "none", needs, counts={"series": 20}, install="shelf", package="shelf", inside="data", sums=sums
    )


def test_unequal_series_are_read_as_they_were_written_and_padded_with_zeros(shipped: Packaged) -> None:
    arrays = both_parts(shipped, 0, 2, 2)
    assert arrays["lengths"].tolist() == [3 + k % 5 for k in range(20)]
    assert arrays["labels"].tolist() == [k % 2 for k in range(20)]
    for k, x in enumerate(arrays["values"]):
        assert (x[: 3 + k % 5] == series(3 + k % 5, k)).all() and not x[3 + k % 5 :].any()


def test_a_series_whose_channels_differ_in_length_and_a_file_of_equal_ones_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.ts"
    path.write_text(HEAD + "1,2:1,2,3:a\n")
    with pytest.raises(DataError, match=r"x\.ts, line 6: every dimension must have 2 values, got 3\."):
        read_ts(path, 0, 2, 2)
    path.write_text(HEAD.replace("false", "true", 1) + "1,2:1,2:a\n")
    with pytest.raises(DataError, match=r"x\.ts: @equallength must be false, got true\."):
        read_ts(path, 0, 2, 2)


def test_the_archives_split_and_ten_others_keep_sizes_classes_and_every_series_once(shipped: Packaged) -> None:
    task = archive_task(shipped, "toy", 0, 2, 2, 10, "nobody", length="3 to 7", lag="")
    tests = []
    for variant in VARIANTS:
        data = task.load(variant)
        assert data.train is not None and (len(data.train), len(data.valid), len(data.test)) == (8, 2, 10)
        for split in (data.train, data.valid, data.test):
            assert max(Counter(split.targets.tolist()).values()) == len(split) / 2, "stratified"
            assert split.lengths is not None
        assert sum(data.repeated().values()) == 0
        seen = torch.cat([x[:n] for x, n in zip(data.train.inputs, data.train.lengths, strict=True)])  # type: ignore[arg-type]
        np.testing.assert_allclose(seen.mean(0), 0, atol=1e-5)
        np.testing.assert_allclose(seen.std(0, correction=0), 1, rtol=1e-5)
        tests.append(data.test.inputs)
    assert tests[0].shape[0] == 10 and len({t.numpy().tobytes() for t in tests}) == len(tests)
    with pytest.raises(ValueError, match="toy takes a variant '' or resample=0 or"):
        task.load("resample=10")


@given(st.integers(0, 9), st.integers(2, 4), st.integers(5, 20))
@settings(max_examples=20)
def test_a_resample_of_the_archive_has_each_class_as_often_as_it_can(k: int, classes: int, each: int) -> None:
    labels = np.repeat(np.arange(classes), 2 * each)
    arrays = {"labels": labels, "lengths": np.full(len(labels), 4)}
    arrays["values"] = np.random.default_rng(k).normal(size=(len(labels), 4, 1)).astype(np.float32)
    data = split_archive(arrays, len(labels) // 2, f"resample={k}", ragged=False)
    assert [*Counter(data.test.targets.tolist()).values()] == [each] * classes
    assert data.train is not None and data.test.lengths is None


def test_another_file_than_the_one_a_task_was_written_for_is_named_and_nothing_is_written(shipped: Packaged) -> None:
    before = {path.name for path in shipped.folder.iterdir()}
    shipped.locate("toy")
    assert shipped.foreign and {path.name for path in shipped.folder.iterdir()} == before
    with (shipped.folder / "Toy_TEST.ts").open("a") as file:
        file.write("# more\n")
    with pytest.raises(DataError, match=r"Toy_TEST\.ts.*MD5"):
        shipped.locate("toy")


def test_without_the_package_it_is_said_how_to_install_it_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.tasks.formats.packaged.find_spec", lambda name: None)
    assert main(["data", "fetch", "gun_point"]) == 2
    message = re.sub(r"\s+", " ", capsys.readouterr().err)
    assert "gun_point needs GunPoint: GunPoint_TRAIN.ts is not in" in message
    assert "Get it with: pip install 'longwave[archive]'." in message and "Traceback" not in message


def test_data_of_a_package_are_ready_and_another_folder_is_not_taken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = Path(get_task("nino34").files.folder)  # type: ignore[union-attr]
    before = sorted(folder.iterdir())
    assert main(["data", "fetch", "nino34"]) == 0 and "public domain" in capsys.readouterr().out
    assert sorted(folder.iterdir()) == before
    assert main(["data", "fetch", "nino34", "--path", str(tmp_path)]) == 2
    line = f"longwave: nino34 reads its files in {folder}. Leave out --path {tmp_path}.\n"
    assert capsys.readouterr().err == line


def test_the_measured_el_nino_is_that_of_the_file_by_another_reader() -> None:
    from longwave.tasks.nino34 import FILE, FILES, read_anomalies

    table = pd.read_csv(FILES.folder / FILE, sep=r"\s+")
    assert (read_anomalies() == table.iloc[:, 9].to_numpy()).all() and len(table) == 61 * 12
    assert table.columns[8] == "NINO3.4" and table.columns[9].startswith("ANOM")


def test_sunspots_are_those_of_the_file_by_another_reader() -> None:
    from longwave.tasks.sunspots import FILE, FILES, read_numbers

    rows = [row.split() for row in (FILES.folder / FILE).read_text().splitlines()]
    years = [row for row in rows if row and row[0].isdigit() and 1749 <= int(row[0]) <= 2009]
    assert [int(row[0]) for row in years] == list(range(1749, 2010))
    assert read_numbers().tolist() == [float(value) for row in years for value in row[1:]]
    assert len(read_numbers()) == 260 * 12 + 6


def test_windows_of_a_monthly_series_begin_a_stride_apart_and_end_within_their_split() -> None:
    months, first = np.arange(106.0), {"train": 0, "valid": 60, "test": 79}
    data = by_time(months, first, 16, 3)
    mean, spread = months[:60].mean(), months[:60].std()
    starts = {"train": range(0, 42, 2), "valid": [60], "test": [79, 87]}  # 3 months after 60 + 15 is the last of 79
    for name, split in (("train", data.train), ("valid", data.valid), ("test", data.test)):
        assert split is not None
        windows = np.add.outer(starts[name], np.arange(16.0))[..., None]
        np.testing.assert_allclose(split.inputs * spread + mean, windows, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(split.targets * spread + mean, windows + 3, rtol=1e-5)


@pytest.mark.parametrize("name", ARCHIVE)
def test_the_sets_of_aeon_are_as_many_series_as_the_archive_says(name: str) -> None:
    if not find_spec("aeon"):
        pytest.skip("aeon is not installed: pip install 'longwave[archive]'")
    task = get_task(name)
    for variant in ("", "resample=7"):
        data = task.load(variant)
        assert data.train is not None and task.files is not None
        assert len(data.train) + len(data.valid) + len(data.test) == task.files.counts["series"]
        assert data.train.inputs.shape[-1] == task.inputs and int(data.train.targets.max()) == task.outputs - 1
