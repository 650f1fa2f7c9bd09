"""Published folders: their files against the store, hashes against hashlib, and what publishing refuses."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from longwave.platform.boards.board import board
from longwave.platform.cli.main import main
from longwave.platform.editions.changes import changelog
from longwave.platform.editions.edition import edition
from longwave.platform.editions.publish import publish, read
from longwave.platform.errors import ConfigError
from longwave.platform.literature.bibliography import bibliography, entries, keys
from longwave.platform.literature.published import published_rows
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store

FILES = {"index.html", "board.json", "rows.parquet", "trials.parquet", "sources.bib", "CHANGES.md", "changes.json"}
FACTS = {"commit": "abc1234", "device": "H200", "kernel": "fused"}


def add(store: Store, model: str, scores: list[float | str], first: int = 0) -> None:
    """Add retrainings of one row: a number is an ok run's test metric, a word how another one ended."""
    for seed, score in enumerate(scores, first):
        config = TrialConfig("fitzhugh_nagumo", "", "d", model, {}, {"lr": 0.01}, 16, 32, 3, "retrain", seed)
        about = {
            "task": "FitzHugh-Nagumo",
            "model": f"{model} </script><b>",
            "metric": "l2_error",
            "unit": "1",
            "goal": "min",
            "published": ["tau=0.02"],
            "called": [""],
            "departures": ["epochs 3 (published 400)"],
            "trivial": {"persistence": 0.5},
        }
        store.ask("demo", [config], [about])
        if isinstance(score, str):
            store.write([], [Run(config.id, score, "it did", environment=FACTS)])  # type: ignore[arg-type]
        else:
            store.write([], [Run(config.id, "ok", "", 3, 2, 0.5, score, 2.0, 1, 1233, FACTS)])


@pytest.fixture
def filled(store: Store) -> Store:
    """A store with a full row, one with a diverged seed, one without a mean, and the published numbers."""
    store.add_sweep("demo", {"trials": 2})
    add(store, "lem", [0.003, 0.005, 0.007, 0.004, 0.006])
    add(store, "lstm", [0.010, 0.012, "diverged"])
    add(store, "gru", ["failed"])
    return store


def data(folder: Path) -> dict[str, Any]:
    """Return the data in a page as a browser finds it: up to the first end of a script."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(
        text.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    )
    return found


def test_an_edition_is_a_folder_whose_manifest_names_every_other_file(filled: Store, tmp_path: Path) -> None:
    made = publish(tmp_path / "one", filled, "Ours", "c0ffee")
    manifest = json.loads((tmp_path / "one/manifest.json").read_text())
    assert (manifest["edition"], manifest["sha256"]) == (made.id, made.sha256)
    assert set(manifest["files"]) == FILES
    assert {file.name for file in (tmp_path / "one").iterdir()} == FILES | {"manifest.json"}
    for name, sha256 in manifest["files"].items():
        assert hashlib.sha256((tmp_path / "one" / name).read_bytes()).hexdigest() == sha256
    assert [path.name for path in tmp_path.glob(".one*")] == []


def test_the_same_store_gives_the_same_edition_and_one_more_seed_another(filled: Store, tmp_path: Path) -> None:
    one, two = (publish(tmp_path / name, filled, title, "c") for name, title in (("one", "Ours"), ("two", "Theirs")))
    assert one.id == two.id
    for name in ("rows.parquet", "trials.parquet", "sources.bib"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    add(filled, "lstm", [0.011], first=9)
    assert publish(tmp_path / "three", filled, "Ours", "c").id != one.id


def test_board_json_holds_the_rows_of_the_board_with_their_seeds(filled: Store, tmp_path: Path) -> None:
    publish(tmp_path / "one", filled, "Ours", "c0ffee")
    content = json.loads((tmp_path / "one/board.json").read_text())
    assert (content["schema"], content["title"], content["commit"]) == (1, "Ours", "c0ffee")
    assert [row["mean"] for row in content["rows"]] == [row.mean for row in board(filled)]
    lem = next(row for row in content["rows"] if row["model"] == "lem" and row["kind"] == "reproduced")
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
    ours = rows[rows["kind"].eq("reproduced") & rows["mean"].notna()].set_index("key")["mean"]
    pd.testing.assert_series_equal(means.sort_index(), ours.sort_index(), check_names=False)
    assert sorted(trials["status"]) == ["diverged", "failed", *["ok"] * 7]


def test_a_row_says_how_far_it_is_verified_and_what_a_retraining_took(filled: Store, tmp_path: Path) -> None:
    config = TrialConfig("fitzhugh_nagumo", "", "d", "lem", {}, {"lr": 0.01}, 16, 32, 3, "retrain", 99)
    filled.ask("demo", [config], [filled.retrainings("fitzhugh_nagumo")[0].about])
    came = {**FACTS, "bundle": "b", "checked": "flags"}
    filled.write([], [Run(config.id, "ok", "", 3, 2, 0.5, 0.004, 2.0, 1, 1233, came, joules=40.0)])
    made = publish(tmp_path / "one", filled, "Ours", "c")
    levels = {row["model"]: row["verification"] for row in made.rows if row["kind"] != "published"}
    assert levels == {"lem": "claimed", "lstm": "trained here", "gru": "trained here", "persistence": ""}
    rows, trials = (pd.read_parquet(tmp_path / "one" / f"{name}.parquet") for name in ("rows", "trials"))
    assert set(rows["verification"]) == {"claimed", "trained here", ""}
    assert trials.set_index("seed")["joules"].dropna().to_dict() == {99: 40.0}
    lem = next(row for row in data(tmp_path / "one")["rows"] if row["verification"] == "claimed")
    assert lem["facts"] == {**FACTS, "joules a retraining": "40"}


def test_parquet_has_the_same_columns_whatever_is_in_them(
    filled: Store, tmp_path: Path, open_store: Callable[[str], Store]
) -> None:
    publish(tmp_path / "one", filled, "Ours", "c")
    bare = open_store(f"sqlite:///{tmp_path}/bare.db")
    bare.add_sweep("demo", {"trials": 2})
    add(bare, "lstm", ["failed"])
    publish(tmp_path / "two", bare, "Ours", "c")
    for name in ("rows", "trials"):
        one, two = (pd.read_parquet(tmp_path / folder / f"{name}.parquet").dtypes for folder in ("one", "two"))
        assert one.equals(two)


def test_the_page_holds_its_data_and_asks_nobody_for_more(filled: Store, tmp_path: Path) -> None:
    made = publish(tmp_path / "one", filled, "A < {{data}} & </title>", "c")
    text = (tmp_path / "one/index.html").read_text(encoding="utf-8")
    assert "<title>A &lt; {{data}} &amp; &lt;/title&gt;</title>" in text
    for word in ("http://", "https://", "fetch(", "XMLHttpRequest", "import ", "src=", "<link"):
        assert word not in text.split('id="data">')[0] + text.split('id="data">')[1].split("</script>", 1)[1], word
    found = data(tmp_path / "one")
    assert found["id"] == made.id
    assert [row["key"] for row in found["rows"]] == [row["key"] for row in made.rows]
    assert {row["state"] for row in found["rows"]} == {"ok", "failed"}
    [lem] = [row for row in found["rows"] if row["model"] == "lem" and row["kind"] == "reproduced"]
    assert (lem["text"], lem["n"], lem["facts"], lem["family"]) == ("0.0050 ± 0.0016", 5, FACTS, "multiscale")
    assert all(cell in {"", *(r["key"] for r in found["rows"])} for cell in found["overview"]["lines"][0]["cells"])


def test_an_edition_is_never_written_over(filled: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one").mkdir()
    command = ["publish", str(tmp_path / "one"), "--store", str(filled.engine.url)]
    assert main(command) == 0
    assert re.match(r"Edition [0-9a-f]{16} \(boards 1, reproduced 3, ", capsys.readouterr().out)
    before = {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()}
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "is not an empty folder, and an edition is never changed. Name a new one." in said and said.count("\n") == 1
    assert {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()} == before
    assert all(file.stat().st_mode & 0o222 == 0 for file in (tmp_path / "one").iterdir())


def test_a_file_is_no_folder_and_an_empty_store_no_edition(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="file is not an empty folder"):
        publish(tmp_path / "file", store, "Ours", "c")
    with pytest.raises(ConfigError, match="There is no row to publish yet"):
        publish(tmp_path / "one", store, "Ours", "c")
    assert not (tmp_path / "one").exists()


def test_a_folder_that_cannot_be_made_is_said_in_one_line(filled: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="one cannot be written: .*. Name another folder."):
        publish(tmp_path / "file/one", filled, "Ours", "c")


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_changed_after_publishing_is_found(filled: Store, tmp_path: Path, name: str) -> None:
    publish(tmp_path / "one", filled, "Ours", "c")
    assert read(tmp_path / "one").title == "Ours"
    file = tmp_path / "one" / name
    file.chmod(0o644)
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(ConfigError, match=f"{name} is not the file that was published"):
        read(tmp_path / "one")
    with pytest.raises(ConfigError, match=f"{name} is not the file that was published"):
        publish(tmp_path / "two", filled, "Ours", "c", tmp_path / "one")
    assert not (tmp_path / "two").exists()


def test_a_folder_without_a_manifest_is_no_edition(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is no edition: manifest\.json cannot be read"):
        read(tmp_path)


def test_the_changes_are_told_in_all_three_places(filled: Store, tmp_path: Path) -> None:
    one = publish(tmp_path / "one", filled, "Ours", "c")
    assert (tmp_path / "one/CHANGES.md").read_text() == f"# Ours: edition {one.id}\n\nThe first edition.\n"
    add(filled, "lstm", [0.001], first=9)
    two = publish(tmp_path / "two", filled, "Ours", "c", tmp_path / "one")
    told = json.loads((tmp_path / "two/changes.json").read_text())
    assert (told["edition"], told["previous"]) == (two.id, one.id)
    assert told["changes"] == data(tmp_path / "two")["changes"] != []
    text = (tmp_path / "two/CHANGES.md").read_text(encoding="utf-8")
    assert (
        f"Since edition {one.id}: {len(told['changes'])} changes. A moved rank is told" in text
        and "## fitzhugh_nagumo" in text
    )
    assert "new seeds: n 2 → 3; mean changed by −0.00333" in text


def test_a_changelog_without_changes_says_so(filled: Store) -> None:
    made = edition(board(filled), filled.retrainings("fitzhugh_nagumo"), "Ours", "", "")
    assert "Since edition 77: no changes." in changelog(made, "77", [])


def test_the_sources_of_an_edition_are_those_its_rows_name(filled: Store, tmp_path: Path) -> None:
    publish(tmp_path / "one", filled, "Ours", "c")
    found = set(
        re.findall(r"^@\w+\{([\w-]+),", (tmp_path / "one/sources.bib").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = {s for row in board(filled) for number in row.published for s in number["sources"]}
    assert {s.split(",")[0] for s in named} <= found <= set(entries())


def test_bibtex_is_well_formed_and_every_key_stands_once() -> None:
    text = bibliography(f"{key}, everything" for key in entries())
    blocks = text.strip().split("\n\n")
    assert len(blocks) == len(set(entries().values()))
    heads = []
    for block in blocks:
        assert block.count("{") == block.count("}") and block.isascii()
        heads.append(re.match(r"@(inproceedings|misc|phdthesis)\{([\w-]+),\n", block)[2])  # type: ignore[index]
        names = re.findall(r"^  (\w+) = \{.+\},$", block, re.MULTILINE)
        assert {"author", "title", "year"} <= set(names) and len(names) == len(block.split("\n")) - 2
    assert len(set(heads)) == len(heads)


def test_a_source_names_the_paper_that_prints_it_and_those_it_credits() -> None:
    assert keys("lem, Table 1 (Kag & Saligrama 2021)") == ["lem", "kag2021"]
    assert keys("cornn, Table 1 (this paper)") == ["cornn"]
    assert keys("lipschitz, Table 1 (Jing et al. 2017, value adopted from Kerg et al. 2019 (*))") == [
        "lipschitz", "jing2017", "kerg2019",
    ]  # fmt: skip
    assert keys("thesis, Table 3.1 (UnICORNN paper as re-printed in LEM paper Table 2)") == [
        "thesis",
        "unicornn",
        "lem",
    ]


def test_every_source_of_a_number_on_a_sequence_task_has_an_entry() -> None:
    from longwave.platform.registry import all_tasks

    ours = [row for row in published_rows() if row["task"] in all_tasks()]
    named = {key for row in ours for source in row["sources"].split("\n") for key in keys(source)}
    assert len(ours) > 300 and named <= set(entries())
