"""Editions between machines: what publishing puts in, what importing gives back, and forged editions."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from editions import sign
from rich.console import Console

from longwave.platform.boards import columns
from longwave.platform.cli.main import main
from longwave.platform.editions.folder import FOLDER, find_results
from longwave.platform.editions.publish import publish, read
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle
from longwave.platform.exchange.audit import audit
from longwave.platform.records.group import Pool
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

SIZES = {"variant": "N=20", "hidden": 8, "batch": 10, "steps": 5, "epochs": 4, "trials": 2, "retrain": 3}


def run(store: Store, folder: Path, **changes: Any) -> None:
    """Run a sweep of LEM and GRU, of two search trials and three retrainings each."""
    file = check_sweep({"name": "tiny", "task": "adding", "models": ["lem", "gru"], **SIZES, **changes}, "tiny.toml")
    driver.start_sweep(file, store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with one row each of LEM and GRU, of three retrainings."""
    folder = tmp_path_factory.mktemp("swept")
    url = f"sqlite:///{folder}/store.db"
    with Store(url) as store:
        run(store, folder)
    return url


@pytest.fixture(scope="module")
def published(swept: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edition of that store."""
    path = tmp_path_factory.mktemp("published") / "one"
    with Store(swept) as store:
        publish(path, store, "Ours", "c")
    return path


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed at will."""
    return Path(shutil.copytree(published, tmp_path / "one", copy_function=shutil.copyfile))


def bundles(folder: Path) -> list[Path]:
    return sorted((folder / FOLDER).iterdir())


@pytest.mark.integration
def test_an_edition_goes_to_another_store_and_on_to_a_third_and_stays_what_it_is(
    swept: str, tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    urls = [swept, f"sqlite:///{tmp_path}/b.db", f"sqlite:///{tmp_path}/c.db"]
    for k in range(2):
        assert main(["publish", str(tmp_path / f"{k}"), "--store", urls[k]]) == 0
        assert main(["import", str(tmp_path / f"{k}"), "--store", urls[k + 1]]) == 0
    captured = capsys.readouterr()
    assert captured.err == "" and captured.out.count("10 trials imported, 0 already known: schema-checked.") == 2
    [first], [second] = (bundles(tmp_path / f"{k}") for k in range(2))
    assert first.read_bytes() == second.read_bytes() and first.name == second.name
    name = bundle.read(first).name
    pools = [Pool(), *[Pool(trust=(name[:12],))] * 2]
    boards = [read_board(open_store(url), "adding", pool) for url, pool in zip(urls, pools, strict=True)]
    numbers = [[(r.model, r.mean, r.std, r.n, r.rank_low, r.rank_high, r.searched) for r in rows] for rows in boards]
    assert numbers[0] == numbers[1] == numbers[2]
    levels = [{r.verification for r in rows if r.kind == "retrained"} for rows in boards]
    assert levels == [{"trained here"}, {"schema-checked"}, {"schema-checked"}]
    untrusted = {f"untrusted, of {name[:12]}, schema-checked"}
    assert [{r["verification"] for r in read(tmp_path / f"{k}").rows if r["config"]} for k in range(2)] == [
        levels[0],
        untrusted,
    ]


@pytest.mark.integration
def test_the_bundles_of_an_edition_hold_what_submit_writes(swept: str, folder: Path) -> None:
    assert main(["submit", str(folder / "bundle.json.xz"), "--store", swept]) == 0
    [path] = find_results(folder)
    file = bundle.read(path)
    assert path.name == f"tiny-{file.name[:12]}.json.xz" and audit(file) == []
    assert (folder / "bundle.json.xz").read_bytes() == path.read_bytes()
    assert f'<a href="{FOLDER}/">' in (folder / "index.html").read_text(encoding="utf-8")


def test_the_pages_of_an_edition_are_views_that_no_import_compares(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever a publisher's pages show, and however columns are called now, its bundles decide."""
    meant = [replace(c, meaning=f"{c.meaning} More is said.") if c.key == "median" else c for c in columns.COLUMNS]
    another = columns.Column("doubled", "doubled", "Twice the median.", "number", read=lambda row: row.median and 2)
    monkeypatch.setattr(columns, "COLUMNS", (*meant, another))
    content = json.loads((folder / "board.json").read_text())
    content["rows"][0]["median"] = 0.0
    (folder / "board.json").write_text(json.dumps(content))
    (folder / "index.html").unlink()
    assert main(["import", str(folder), "--store", store.url]) == 0
    assert "10 trials imported, 0 already known: schema-checked." in capsys.readouterr().out
    (folder / "board.json").unlink()
    with pytest.raises(ConfigError, match=r"one has no pages. .*: longwave import .*one, then longwave publish "):
        read(folder)


def test_a_bundle_that_was_changed_is_rejected_though_the_manifest_was_written_anew(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    [path] = bundles(folder)
    content = json.loads(lzma.decompress(path.read_bytes()))
    next(e for e in content["content"]["trials"] if e["config"]["phase"] == "retrain")["run"]["test"] *= 0.9
    path.write_bytes(lzma.compress(json.dumps(content).encode()))
    sign(folder)
    assert main(["import", str(folder), "--store", store.url]) == 2
    assert "reject: hashes: trial " in capsys.readouterr().err and store.tasks() == []


@pytest.mark.integration
def test_an_edition_takes_the_bundles_before_as_they_are_and_adds_one_for_what_is_new(
    folder: Path, tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    url = f"sqlite:///{tmp_path}/more.db"
    assert main(["import", str(folder), "--store", url]) == 0
    store = open_store(url)
    run(store, tmp_path, name="second", seed=1)
    publish(tmp_path / "two", store, "Ours", "c", previous=folder)
    first, second = bundles(tmp_path / "two")[::-1]
    assert first.read_bytes() == bundles(folder)[0].read_bytes() and second.name.startswith("second-")
    files = bundle.read_together([first, second])
    assert len({e.config.id for file in files for e in file.content.trials}) == 20, "each trial lies in one bundle"

    other = open_store(f"sqlite:///{tmp_path}/other.db")
    assert main(["import", str(folder), "--store", other.url]) == 0
    before = other.sweeps()
    assert main(["import", str(tmp_path / "two"), "--store", other.url]) == 0
    assert len(other.sweeps()) == 2 and set(before) < set(other.sweeps()), "a sweep that is known keeps its name"
    assert {t.origin for t in other.retrainings()} == {file.name for file in files}


@pytest.mark.integration
def test_an_edition_made_of_other_trainings_takes_no_bundle_before(folder: Path, tmp_path: Path, store: Store) -> None:
    run(store, tmp_path, name="tiny", seed=2)
    publish(tmp_path / "two", store, "Ours", "c", previous=folder)
    [path] = bundles(tmp_path / "two")
    assert path.name != bundles(folder)[0].name


def test_results_are_those_that_the_manifest_names(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    [path] = bundles(folder)
    packed = path.read_bytes()
    path.write_bytes(packed + b" ")
    with pytest.raises(ConfigError, match=f"{path.name} differs from the published file"):
        find_results(folder)
    path.write_bytes(packed)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"][f"{FOLDER}/{path.name}"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert main(["import", str(folder), "--store", store.url]) == 2
    assert "one contains no results to import" in capsys.readouterr().err


@pytest.mark.parametrize(
    "manifest", ["[]", "{}", '{"files": 1}', '{"files": {"../one/board.json": ""}}', '{"files": {"results/../x": ""}}']
)
def test_a_manifest_names_files_of_its_own_folder(folder: Path, manifest: str) -> None:
    (folder / "manifest.json").write_text(manifest)
    with pytest.raises(ConfigError, match=r"one is not an edition: manifest\.json does not list its files"):
        find_results(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"rows": NaN}', r"board\.json is no JSON: lexical error"),
        ("[" * 100_000, r"board\.json has more than 24 objects and lists within each other"),
        ("[]", r"board\.json is not in the format of an edition"),
        ('{"schema": 1, "rows": 5}', r"board\.json is not in the format of an edition"),
    ],
)
def test_a_board_of_another_form_is_no_edition(folder: Path, content: str, message: str) -> None:
    (folder / "board.json").write_text(content)
    manifest = {"files": {"board.json": hashlib.sha256(content.encode()).hexdigest()}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match=message):
        read(folder)


@pytest.mark.parametrize(
    ("options", "name", "value", "why"),
    [
        (["--no-results"], "editions.results.MOST", {}, "they were not asked for."),
        ([], "editions.results.MOST", {"trials": 9}, "the store has 10 trials, more than 9. Ask for them"),
        (
            [],
            "editions.results.MOST",
            {"epochs": 39},
            "the store has 40 epochs, more than 39. Ask for them",
        ),
        ([], "exchange.limits.BYTES", 2000, "The bundle would have 0 MiB, 0 at most: submit fewer rows."),
        (["--results"], "exchange.limits.BYTES", 2000, "The bundle would have 0 MiB, 0 at most: submit fewer rows."),
    ],
)
def test_an_edition_too_large_for_its_results_is_published_without_them_and_says_so(
    options: list[str], name: str, value: object, why: str, swept: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(f"longwave.platform.{name}", value)
    assert main(["publish", str(tmp_path / "one"), "--store", swept, *options]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(f"Without {FOLDER}: {why}")
    assert not (tmp_path / "one" / FOLDER).exists()
    assert f"Without {FOLDER}: {why}" in (tmp_path / "one/index.html").read_text(encoding="utf-8")


def test_results_are_put_in_where_they_are_asked_for(
    swept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.editions.results.MOST", {"trials": 9})
    assert main(["publish", str(tmp_path / "one"), "--store", swept, "--results"]) == 0
    assert (tmp_path / "one" / FOLDER).exists()


def test_results_that_import_would_reject_are_left_out(swept: str, tmp_path: Path, store: Store) -> None:
    with Store(swept) as other:
        trials = [t for t in other.trials("tiny") if t.config.phase == "retrain" and t.config.model == "gru"]
        settings = other.sweep("tiny").content
    store.add_sweep("tiny", dict(settings))
    store.add_trials("tiny", [t.config for t in trials], [t.about for t in trials])
    store.write([], [replace(t.run, environment={}) for t in trials if t.run])
    lines: list[str] = []
    publish(tmp_path / "one", store, "Ours", "c", report=lines.append)
    [line] = lines
    assert line.startswith(f"Without {FOLDER}: trial ") and line.endswith(" more trials or sweeps have faults.")
    assert find_results(tmp_path / "one") == []
