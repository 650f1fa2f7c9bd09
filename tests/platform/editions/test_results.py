"""Editions between machines: what publishing puts in, what importing gives back, and forged editions."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bundles import forge, of
from editions import sign
from rich.console import Console

from longwave.platform.cli.main import main
from longwave.platform.editions import results
from longwave.platform.editions.edition import Edition
from longwave.platform.editions.publish import publish, read, received
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle
from longwave.platform.exchange.audit import audit
from longwave.platform.records.group import Pool
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import driver
from longwave.platform.sweeps.config import check_sweep
from longwave.platform.sweeps.workers import Workers

SIZES = {"variant": "N=20", "hidden": 8, "batch": 10, "steps": 5, "epochs": 4, "trials": 2, "retrain": 3}
Row = dict[str, Any]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with one row each of LEM and GRU, of three retrainings."""
    folder = tmp_path_factory.mktemp("swept")
    url = f"sqlite:///{folder}/store.db"
    file = check_sweep({"name": "tiny", "task": "adding", "models": ["lem", "gru"], **SIZES}, "tiny.toml")
    with Store(url) as store:
        driver.start(file, store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))
    return url


@pytest.fixture(scope="module")
def published(swept: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An edition of that store."""
    place = tmp_path_factory.mktemp("published") / "one"
    with Store(swept) as store:
        publish(place, store, "Ours", "c")
    return place


@pytest.fixture
def folder(published: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed at will."""
    return Path(shutil.copytree(published, tmp_path / "one", copy_function=shutil.copyfile))


def mend(folder: Path, change: Callable[[list[Row]], Any]) -> None:
    """Change an edition's rows and write every hash anew, as a careful forger would."""
    made = read(folder)
    rows = json.loads(json.dumps(made.rows))
    write(folder, replace(made, rows=change(rows) or rows))


def write(folder: Path, forged: Edition) -> None:
    """Write an edition of rows that may be anything, with hashes that fit."""
    content = {"rows": forged.rows, "sha256": forged.sha256}
    (folder / "board.json").write_text(json.dumps({**read(folder).to_dict(), **content}))
    sign(folder)


def first(rows: list[Row], kind: str = "reproduced") -> Row:
    return next(row for row in rows if row["kind"] == kind)


@pytest.mark.integration
def test_an_edition_goes_to_another_store_and_on_to_a_third_and_stays_what_it_is(
    swept: str, tmp_path: Path, open_store: Callable[[str], Store], capsys: pytest.CaptureFixture[str]
) -> None:
    urls = [swept, f"sqlite:///{tmp_path}/b.db", f"sqlite:///{tmp_path}/c.db"]
    for k in range(2):
        assert main(["publish", str(tmp_path / f"{k}"), "--store", urls[k]]) == 0
        assert main(["import", str(tmp_path / f"{k}"), "--store", urls[k + 1]]) == 0
    captured = capsys.readouterr()
    assert captured.err == "" and captured.out.count("10 trials imported, 0 known before: schema-checked.") == 2
    assert (tmp_path / f"0/{results.NAME}").read_bytes() == (tmp_path / f"1/{results.NAME}").read_bytes()
    name = bundle.read(tmp_path / f"0/{results.NAME}").name
    pools = [Pool(), *[Pool(trust=(name[:12],))] * 2]
    boards = [read_board(open_store(url), "adding", pool) for url, pool in zip(urls, pools, strict=True)]
    numbers = [[(r.model, r.mean, r.std, r.n, r.rank_low, r.rank_high, r.searched) for r in rows] for rows in boards]
    assert numbers[0] == numbers[1] == numbers[2]
    levels = [{r.verification for r in rows if r.kind == "reproduced"} for rows in boards]
    assert levels == [{"trained here"}, {"schema-checked"}, {"schema-checked"}]
    guest = {f"guest of {name[:12]}, schema-checked"}
    assert [{r["verification"] for r in read(tmp_path / f"{k}").rows if r["config"]} for k in range(2)] == [
        levels[0],
        guest,
    ]


def test_the_results_of_an_edition_are_the_bundle_that_submit_writes(swept: str, folder: Path) -> None:
    assert main(["submit", str(folder / "bundle.json.xz"), "--store", swept]) == 0
    assert (folder / "bundle.json.xz").read_bytes() == (folder / results.NAME).read_bytes()
    made, given = received(folder)
    assert audit(given) == [] and list(results.unlike(made, given)) == []
    assert f'<a href="{results.NAME}">' in (folder / "index.html").read_text(encoding="utf-8")


def better(rows: list[Row]) -> None:
    first(rows)["mean"] *= 0.5


def better_by_a_hair(rows: list[Row]) -> None:
    first(rows)["high"] *= 1 - 1e-7


def better_seeds(rows: list[Row]) -> None:
    first(rows)["seeds"][0]["test"] *= 0.5


def of_other_seeds(rows: list[Row]) -> None:
    first(rows)["seeds"][0]["seed"] += 1


def first_of_all(rows: list[Row]) -> None:
    last = [row for row in rows if row["kind"] == "reproduced"][-1]
    last["rank_low"] = last["rank_high"] = 1 if last["rank_high"] > 1 else 2


def by_another_model(rows: list[Row]) -> None:
    first(rows)["title"] = "Ours"


def not_diverged(rows: list[Row]) -> None:
    first(rows)["diverged"] = True


def a_row_more(rows: list[Row]) -> None:
    rows.append({**first(rows), "key": "f" * 16, "config": "f" * 16})


def a_row_less(rows: list[Row]) -> None:
    rows.remove(first(rows))


def a_weaker_baseline(rows: list[Row]) -> None:
    first(rows, "trivial")["mean"] *= 2


def no_seeds(rows: list[Row]) -> None:
    first(rows)["seeds"] = None


def no_objects(rows: list[Row]) -> list[int]:
    return [1]


def no_key(rows: list[Row]) -> None:
    del first(rows)["key"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (better, r"row \w{12} shows mean [\d.]+, its results give [\d.]+\."),
        (better_by_a_hair, r"row \w{12} shows high [\d.]+, its results give [\d.]+\."),
        (better_seeds, r"row \w{12} shows other retrainings than its results\."),
        (of_other_seeds, r"row \w{12} shows other retrainings than its results\."),
        (first_of_all, r"row \w{12} shows rank_(low|high) \d, its results give \d\."),
        (by_another_model, r"row \w{12} shows title Ours, its results give (LEM|GRU)\b.*\."),
        (not_diverged, r"row \w{12} shows diverged True, its results give 0\."),
        (a_row_more, r"row f{12} is shown, but not in the results\."),
        (a_row_less, r"row \w{12} is not shown, but in the results\."),
        (a_weaker_baseline, r"row \w{12} shows mean [\d.]+, its results give [\d.]+\."),
        (no_seeds, r"its rows have not the form of rows\."),
        (no_objects, r"its rows have not the form of rows\."),
        (no_key, r"its rows have not the form of rows\."),
    ],
)
def test_an_edition_that_shows_what_its_results_do_not_give_is_rejected_in_one_line(
    change: Callable[[list[Row]], Any], message: str, folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    mend(folder, change)
    made, given = received(folder)
    [finding] = results.unlike(made, given)
    assert (finding.check, finding.severity) == ("edition", "reject")
    assert re.fullmatch(message, finding.message), finding.message
    assert main(["import", str(folder), "--store", store.url]) == 2
    captured = capsys.readouterr()
    said, end = captured.err.splitlines()
    assert captured.out == "" and said == f"reject: edition: {finding.message}"
    assert end.endswith("is rejected; nothing was imported.") and store.tasks() == []


def test_several_wrong_rows_are_counted(folder: Path) -> None:
    def all_better(rows: list[Row]) -> None:
        for row in rows:
            row["mean"] *= 0.5

    mend(folder, all_better)
    [finding] = results.unlike(*received(folder))
    assert finding.message.endswith("And 2 rows more.")


def test_results_of_other_runs_are_not_those_of_the_edition(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    def other(changed: dict[str, Any]) -> None:
        of(changed)[0]["run"]["test"] *= 0.9

    bundle.write(forge(bundle.read(folder / results.NAME), other), folder / results.NAME)
    sign(folder)
    assert main(["import", str(folder), "--dry-run", "--store", store.url]) == 2
    assert "reject: edition: row " in capsys.readouterr().err


def test_results_are_those_that_the_manifest_names(folder: Path) -> None:
    packed = (folder / results.NAME).read_bytes()
    (folder / results.NAME).write_bytes(packed + b" ")
    with pytest.raises(ConfigError, match=f"{results.NAME} is not the file that was published"):
        received(folder)
    (folder / results.NAME).write_bytes(packed)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"][results.NAME]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match=f"one has no {results.NAME}: nothing can be imported"):
        received(folder)


@pytest.mark.parametrize(
    "manifest", ["[]", "{}", '{"files": {}}', '{"files": {"../one/board.json": "", "board.json": ""}}']
)
def test_a_manifest_names_files_of_its_own_folder(folder: Path, manifest: str) -> None:
    (folder / "manifest.json").write_text(manifest)
    with pytest.raises(ConfigError, match=r"one is no edition: manifest\.json does not name its files"):
        received(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"rows": NaN}', r"board\.json cannot be read: NaN is no number"),
        ("[" * 100_000, r"board\.json cannot be read: "),
        ("[]", r"board\.json has not the form of an edition"),
        ('{"schema": 1, "rows": 5}', r"board\.json has not the form of an edition"),
    ],
)
def test_a_board_of_another_form_is_no_edition(folder: Path, content: str, message: str) -> None:
    (folder / "board.json").write_text(content)
    manifest = {"files": {"board.json": hashlib.sha256(content.encode()).hexdigest()}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ConfigError, match=message):
        received(folder)


@pytest.mark.parametrize(
    ("options", "place", "value", "why"),
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
    options: list[str], place: str, value: object, why: str, swept: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(f"longwave.platform.{place}", value)
    assert main(["publish", str(tmp_path / "one"), "--store", swept, *options]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith(f"Without {results.NAME}: {why}")
    assert not (tmp_path / "one" / results.NAME).exists()
    assert f"Without {results.NAME}: {why}" in (tmp_path / "one/index.html").read_text(encoding="utf-8")


def test_results_are_put_in_where_they_are_asked_for(
    swept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.editions.results.MOST", {"trials": 9})
    assert main(["publish", str(tmp_path / "one"), "--store", swept, "--results"]) == 0
    assert (tmp_path / "one" / results.NAME).exists()


def test_results_that_import_would_reject_are_left_out(swept: str, tmp_path: Path, store: Store) -> None:
    with Store(swept) as other:
        entries = [t for t in other.trials("tiny") if t.config.phase == "retrain" and t.config.model == "gru"]
        told = other.sweep("tiny").content
    store.add_sweep("tiny", dict(told))
    store.add_trials("tiny", [t.config for t in entries], [t.about for t in entries])
    store.write([], [replace(t.run, environment={}) for t in entries if t.run])
    lines: list[str] = []
    publish(tmp_path / "one", store, "Ours", "c", tell=lines.append)
    [line] = lines
    assert line.startswith(f"Without {results.NAME}: trial ") and line.endswith(" longwave submit FILE says all.")
    assert results.NAME not in json.loads((tmp_path / "one/manifest.json").read_text())["files"]
