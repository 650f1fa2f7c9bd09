"""Published folders: their files against the store, hashes against hashlib, and what publishing refuses."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from boards import keep, retrained
from pages import page_data, published

from longwave.platform.cli.main import main
from longwave.platform.editions.changes import changelog
from longwave.platform.editions.edition import edition
from longwave.platform.editions.publish import publish, read
from longwave.platform.errors import ConfigError
from longwave.platform.literature.bibliography import entries
from longwave.platform.records.group import Group
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

FILES = {"index.html", "board.json", "rows.parquet", "trials.parquet", "sources.bib", "CHANGES.md", "changes.json",
         "board.schema.json", "croissant.json",
         *(f"board-1-{kind}.svg" for kind in ("medians", "parameters", "time"))}  # fmt: skip
FACTS = {"commit": "abc1234", "device": "H200", "kernel": "fused"}


def row(model: str, scores: list[float | str], **changes: Any) -> Group:
    """Return retrainings of one row: a number is an ok run's test metric, a word how another one ended."""
    defaults = {
        "task": "fitzhugh_nagumo",
        "metric": "l2_error",
        "title": f"{model} </script><b>",
    }
    more = {"departures": ("epochs 3 (published 400)",), "trivial": {"persistence": 0.5}, "environments": [FACTS]}
    return retrained(model, scores, **{**defaults, **more, **changes})


LSTM: list[float | str] = [0.010, 0.012, "diverged"]
GROUPS = [
    row("lem", [0.003, 0.005, 0.007, 0.004, 0.006], family="multiscale"),
    row("lstm", LSTM),
    row("gru", ["failed"]),
]
"""A full row, one with a diverged seed, one without a mean."""


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with these rows and the published numbers."""
    store.add_sweep("demo", {})
    keep(store, *GROUPS)
    return store


@pytest.mark.integration
def test_an_edition_is_a_folder_whose_manifest_names_every_other_file(filled: Store, tmp_path: Path) -> None:
    made = publish(tmp_path / "one", filled, "Ours", "c0ffee")
    manifest = json.loads((tmp_path / "one/manifest.json").read_text())
    assert (manifest["edition"], manifest["sha256"]) == (made.id, made.sha256)
    assert set(manifest["files"]) == FILES
    assert {file.name for file in (tmp_path / "one").iterdir()} == FILES | {"manifest.json"}
    for name, sha256 in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "one" / name).read_bytes()).hexdigest() == sha256
    assert [path.name for path in tmp_path.glob(".one*")] == []


@pytest.mark.integration
def test_a_note_stands_above_the_boards_of_the_page_as_text_and_changes_no_edition(
    filled: Store, tmp_path: Path
) -> None:
    noted, plain = (
        publish(tmp_path / name, filled, "Ours", "c", note=note)
        for name, note in (("one", "<b>2 & 3</b>"), ("two", ""))
    )
    page = (tmp_path / "one/index.html").read_text()
    assert "<p>&lt;b&gt;2 &amp; 3&lt;/b&gt;</p>" in page and noted.id == plain.id


@pytest.mark.integration
def test_the_same_store_gives_the_same_edition_and_one_more_seed_another(filled: Store, tmp_path: Path) -> None:
    one, two = (publish(tmp_path / name, filled, title, "c") for name, title in (("one", "Ours"), ("two", "Theirs")))
    assert one.id == two.id
    for name in ("rows.parquet", "trials.parquet", "sources.bib"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    keep(filled, row("lstm", [*LSTM, 0.011]))
    assert publish(tmp_path / "three", filled, "Ours", "c").id != one.id


def test_board_json_holds_the_rows_of_the_board_with_their_seeds(filled: Store, tmp_path: Path) -> None:
    publish(tmp_path / "one", filled, "Ours", "c0ffee")
    content = json.loads((tmp_path / "one/board.json").read_text())
    assert (content["schema"], content["title"], content["commit"]) == (4, "Ours", "c0ffee")
    assert [row["mean"] for row in content["rows"]] == [row.mean for row in read_board(filled)]
    lem = next(row for row in content["rows"] if row["model"] == "lem" and row["kind"] == "retrained")
    assert [(s["seed"], s["test"], s["status"]) for s in lem["seeds"]] == [
        (k, test, "ok") for k, test in enumerate((0.003, 0.005, 0.007, 0.004, 0.006))
    ]
    assert lem["command"] == f"longwave reproduce {lem['key'][:12]}"


def test_parquet_holds_the_same_rows_and_retrainings(filled: Store, tmp_path: Path) -> None:
    made = publish(tmp_path / "one", filled, "Ours", "c")
    rows, trials = (pd.read_parquet(tmp_path / "one" / f"{name}.parquet") for name in ("rows", "trials"))
    assert list(rows["key"]) == [row["key"] for row in made.rows]
    for name in ("mean", "n", "rank_low", "parameters", "title", "provisional", "state"):
        assert [None if pd.isna(v) else v for v in rows[name]] == [row[name] for row in made.rows]
    assert [json.loads(cell) for cell in rows["params"]] == [row["params"] for row in made.rows]
    means = trials.groupby("row")["test"].mean().dropna()
    ours = rows[rows["kind"].eq("retrained") & rows["mean"].notna()].set_index("key")["mean"]
    pd.testing.assert_series_equal(means.sort_index(), ours.sort_index(), check_names=False)
    assert sorted(trials["status"]) == ["diverged", "failed", *["ok"] * 7]


def test_a_row_says_how_far_it_is_verified_and_what_a_retraining_took(tmp_path: Path) -> None:
    lem = row("lem", [0.003, 0.004], checks=[True, False])
    lem = replace(lem, runs=[lem.runs[0], replace(lem.runs[1], joules=40.0)])
    made = published(tmp_path / "one", [lem, row("lstm", [0.010])])
    levels = {r["model"]: r["verification"] for r in made.rows}
    assert levels == {"lem": "claimed", "lstm": "trained here", "persistence": ""}
    rows, trials = (pd.read_parquet(tmp_path / "one" / f"{name}.parquet") for name in ("rows", "trials"))
    assert set(rows["verification"]) == {"claimed", "trained here", ""}
    assert trials.set_index("seed")["joules"].dropna().to_dict() == {1: 40.0}
    data = page_data(tmp_path / "one")
    shown = next(r for r in data["rows"] if r["verification"] == "claimed")
    assert shown["facts"] == {**FACTS, "joules a retraining": "40"}
    [verified] = [column for column in data["columns"] if column["key"] == "verification"]
    assert verified["stands"] and "claimed: imported, and a check raised a flag" in verified["meaning"]


def test_what_goes_without_saying_is_no_column_of_the_page_unless_a_reader_asks(tmp_path: Path) -> None:
    published(tmp_path / "one", GROUPS)
    stands = {column["key"]: column["stands"] for column in page_data(tmp_path / "one")["columns"]}
    assert [stands[key] for key in ("verification", "superseded", "valid", "mean")] == [False, False, False, True]


def test_a_superseded_row_is_shown_with_its_reason_in_every_file(tmp_path: Path) -> None:
    why = "model version 1, now 2"
    made = published(tmp_path / "one", [*GROUPS, row("lem", [0.001, 0.002], superseded=why, model_version="0")])
    assert [r["superseded"] for r in made.rows if r["superseded"]] == [why]
    assert why in set(pd.read_parquet(tmp_path / "one/rows.parquet")["superseded"])
    data = page_data(tmp_path / "one")
    [old] = [r for r in data["rows"] if r["superseded"]]
    assert (old["texts"]["superseded"], old["rank_low"], old["state"]) == (why, None, "ok")
    assert [column["stands"] for column in data["columns"] if column["key"] == "superseded"] == [True]
    assert old["key"] not in json.dumps(data["overviews"])


@pytest.mark.integration
def test_parquet_has_the_same_columns_whatever_is_in_them(
    filled: Store, tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    publish(tmp_path / "one", filled, "Ours", "c")
    bare = open_store(f"sqlite:///{tmp_path}/bare.db")
    bare.add_sweep("demo", {})
    keep(bare, row("lstm", ["failed"]))
    publish(tmp_path / "two", bare, "Ours", "c")
    for name in ("rows", "trials"):
        one, two = (pd.read_parquet(tmp_path / folder / f"{name}.parquet").dtypes for folder in ("one", "two"))
        assert one.equals(two)


def test_the_page_holds_its_data_and_asks_nobody_for_more(filled: Store, tmp_path: Path) -> None:
    made = publish(tmp_path / "one", filled, "A < {{data}} & </title>", "c")
    text = (tmp_path / "one/index.html").read_text(encoding="utf-8")
    assert "<title>A &lt; {{data}} &amp; &lt;/title&gt;</title>" in text
    before, _, after = text.partition('id="data">')
    code = before + after.partition("</script>")[2]
    assert 'JSON.parse(document.getElementById("data").textContent)' in code
    for word in ("http://", "https://", "fetch(", "XMLHttpRequest", "\nimport ", "import(", "src="):
        assert word not in code, word
    assert text.count("<link") == 1 and '<link rel="icon" href="data:,">' in text, "no browser asks for an icon"
    data = page_data(tmp_path / "one")
    assert data["id"] == made.id
    assert [row["key"] for row in data["rows"]] == [row["key"] for row in made.rows]
    assert {row["state"] for row in data["rows"]} == {"ok", "failed"}
    [lem] = [row for row in data["rows"] if row["model"] == "lem" and row["kind"] == "retrained"]
    assert (lem["texts"]["mean"], lem["n"], lem["facts"]) == ("0.0050 ± 0.0016 (5)", 5, FACTS)
    assert all(cell in {"", *(r["key"] for r in data["rows"])} for cell in data["overviews"][0]["lines"][0]["cells"])


def test_an_edition_is_never_written_over(filled: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one").mkdir()
    command = ["publish", str(tmp_path / "one"), "--store", str(filled.engine.url)]
    assert main(command) == 0
    assert re.match(r"Edition [0-9a-f]{16} \(boards 1, trained rows 3, ", capsys.readouterr().out)
    before = {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()}
    assert main(command) == 2
    errors = capsys.readouterr().err
    assert "is not empty, and an edition is never changed. Name a new folder." in errors and errors.count("\n") == 1
    assert {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()} == before
    assert all(file.stat().st_mode & 0o222 == 0 for file in (tmp_path / "one").iterdir())


def test_a_file_is_no_folder_and_an_empty_store_no_edition(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="file is not empty, and an edition"):
        publish(tmp_path / "file", store, "Ours", "c")
    with pytest.raises(ConfigError, match="There is no row to publish yet"):
        publish(tmp_path / "one", store, "Ours", "c")
    assert not (tmp_path / "one").exists()


@pytest.mark.integration
def test_a_folder_that_cannot_be_made_is_said_in_one_line(filled: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="one cannot be written: .*. Name another folder."):
        publish(tmp_path / "file/one", filled, "Ours", "c")


def test_a_file_changed_after_publishing_is_found(filled: Store, tmp_path: Path) -> None:
    publish(tmp_path / "one", filled, "Ours", "c")
    for name in FILES:
        assert read(tmp_path / "one").title == "Ours"
        file = tmp_path / "one" / name
        published = file.read_bytes()
        file.chmod(0o644)
        file.write_bytes(published + b" ")
        with pytest.raises(ConfigError, match=f"{name} differs from the published file"):
            read(tmp_path / "one")
        with pytest.raises(ConfigError, match=f"{name} differs from the published file"):
            publish(tmp_path / "two", filled, "Ours", "c", tmp_path / "one")
        assert not (tmp_path / "two").exists()
        file.write_bytes(published)


def test_a_folder_without_a_manifest_is_no_edition(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is not an edition: Cannot read .*manifest\.json"):
        read(tmp_path)


@pytest.mark.integration
def test_the_changes_are_told_in_all_three_places(filled: Store, tmp_path: Path) -> None:
    one = publish(tmp_path / "one", filled, "Ours", "c")
    assert (
        tmp_path / "one/CHANGES.md"
    ).read_text() == f"# Ours: edition {one.id}\n\nNo earlier edition was given to compare with.\n"
    keep(filled, row("lstm", [*LSTM, 0.001]))
    two = publish(tmp_path / "two", filled, "Ours", "c", tmp_path / "one")
    written = json.loads((tmp_path / "two/changes.json").read_text())
    assert (written["edition"], written["previous"]) == (two.id, one.id)
    assert written["changes"] == page_data(tmp_path / "two")["changes"] != []
    text = (tmp_path / "two/CHANGES.md").read_text(encoding="utf-8")
    assert (
        f"Since edition {one.id}: {len(written['changes'])} changes. A changed rank is listed" in text
        and "## fitzhugh_nagumo" in text
    )
    assert "new seeds: n 2 → 3; median changed by −0.001" in text


def test_a_changelog_without_changes_says_so(filled: Store) -> None:
    made = edition(read_board(filled), filled.retrainings("fitzhugh_nagumo"), "Ours", "", "")
    assert "Since edition 77: no changes." in changelog(made, "77", [])


def test_the_sources_of_an_edition_are_those_its_rows_name(filled: Store, tmp_path: Path) -> None:
    publish(tmp_path / "one", filled, "Ours", "c")
    cited = set(
        re.findall(r"^@\w+\{([\w-]+),", (tmp_path / "one/sources.bib").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = {s for row in read_board(filled) for number in row.published for s in number["sources"]}
    assert {s.split(",")[0] for s in named} <= cited <= set(entries())
