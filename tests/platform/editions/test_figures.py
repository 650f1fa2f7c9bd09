"""The figures of an edition: how large they are, and that they show the numbers of its rows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from boards import printed, retrained, trials
from hostile import TEXTS
from pages import page_data, published

from longwave.platform.boards.board import rows
from longwave.platform.editions.edition import edition
from longwave.platform.editions.figures import MOST, Curves, drawings
from longwave.platform.records.group import Group

SVG = "{http://www.w3.org/2000/svg}"
TRIVIAL = {"mean": 9.0, "zero": 12.0}


def groups(count: int, task: str = "t", variant: str = "", seeds: int = 5, names: bool = False) -> Iterator[Group]:
    """Yield rows of one board that differ in everything a figure shows; names may be hostile, and 300 letters long."""
    rng = np.random.default_rng(len(task) + count)
    for k in range(count):
        title = (TEXTS[k % len(TEXTS)] + "x" * 300)[:300] if names else f"Model {k}"
        scores: list[float | str] = [float(score) for score in rng.normal(2 + k / 9, 0.2, seeds)]
        shared = {"title": title, "trivial": TRIVIAL, "family": ("gated", "ODE", "delay")[k % 3]}
        yield retrained(f"m{k}", scores, task=task, variant=variant, hidden=8 + k, **shared)


def learned(some: list[Group], epochs: int = 100) -> Curves:
    rng = np.random.default_rng(7)
    ids = [trial.config.id for group in some for trial in trials(group)]
    return {id: [(k, 1 / k + float(rng.random())) for k in range(1, epochs + 1)] for id in ids}


def sizes(folder: Path) -> dict[str, int]:
    """Return the bytes of all figures by the number of their board."""
    bytes_by_board: dict[str, int] = {}
    for file in folder.glob("board-*.svg"):
        board = file.name.split("-")[1]
        bytes_by_board[board] = bytes_by_board.get(board, 0) + file.stat().st_size
    return bytes_by_board


@pytest.mark.integration
@pytest.mark.parametrize("count", [3, 60])
def test_the_figures_of_a_board_keep_to_their_bytes_whatever_its_rows_are_called(count: int, tmp_path: Path) -> None:
    some = [*groups(count, names=True)]
    published(tmp_path / "one", some, curves=learned(some))
    [size] = sizes(tmp_path / "one").values()
    assert 0 < size <= MOST == 60_000
    for file in (tmp_path / "one").glob("board-*.svg"):
        assert not [
            tag
            for tag in ET.parse(file).iter()
            if tag.tag.rpartition("}")[2] in ("script", "a", "image", "foreignObject")
        ]
    [board] = page_data(tmp_path / "one")["boards"]
    assert [figure["title"] for figure in board["figures"]][-1] == "Learning curves"
    assert board["figures"][-1]["note"].startswith("Validation MSE ↓, one line per retraining")
    assert "Dashed: the test score of the best trivial predictor." in board["figures"][-1]["note"]
    assert ("The first" in board["figures"][0]["note"]) == (count == 60), "it says of how many rows it is"


@pytest.mark.slow  # 1,000 rows are ranked and 60 figures drawn
def test_an_edition_of_a_thousand_rows_has_ten_megabytes_at_most(tmp_path: Path) -> None:
    some = [group for t in range(20) for group in groups(50, f"task_{t}")]
    published(tmp_path / "one", some, curves=learned(some))
    assert len(page_data(tmp_path / "one")["rows"]) >= 1000
    assert max(sizes(tmp_path / "one").values()) <= MOST and len(sizes(tmp_path / "one")) == 20
    assert sum(file.stat().st_size for file in (tmp_path / "one").iterdir()) <= 10_000_000


def test_the_medians_stand_where_the_axis_says() -> None:
    some = [*groups(5)]
    board = rows(some, [printed("m0", 1.5)])
    made = edition(board, [trial for group in some for trial in trials(group)], "", "", "")
    [forest] = [
        d for d in drawings(1, board, board, {r["key"]: r["seeds"] for r in made.rows}, {}) if "medians" in d.file
    ]
    root = ET.fromstring(forest.svg)
    ours = [row for row in board if row.kind == "retrained"]
    ticks = {float(t.text or ""): float(re.findall(r"translate\(([\d.]+),", t.get("transform", ""))[0])
             for t in root.iter(f"{SVG}text") if re.fullmatch(r"[\d.]+", t.text or "")}  # fmt: skip
    (low, x0), (high, x1) = min(ticks.items()), max(ticks.items())
    at = [x0 + (x1 - x0) * np.log(row.median / low) / np.log(high / low) for row in ours if row.median]
    dots = {p.get("id"): p for p in root.findall(f"{SVG}defs/{SVG}path") if "A" in p.get("d", "")}
    marks = [float(u.get("x", "")) for u in root.iter(f"{SVG}use") if u.get("href", "")[1:] in dots]
    marks += [float(re.findall(r"[\d.]+", p.get("transform", ""))[0]) for p in root.iter(f"{SVG}path")
              if "A4.7" in p.get("d", "") and p.get("transform")]  # fmt: skip
    assert sorted(marks) == pytest.approx(sorted(at), abs=0.6)


@pytest.mark.integration
def test_equal_rows_give_equal_figures_and_each_has_its_own_view() -> None:
    some = [*groups(4)]
    board = rows(some, [])
    made = edition(board, [trial for group in some for trial in trials(group)], "", "", "")
    seeds = {row["key"]: row["seeds"] for row in made.rows}
    one, two = (drawings(1, board, board, seeds, learned(some)) for _ in range(2))
    assert [d.svg for d in one] == [d.svg for d in two]
    views = one[-1].views
    assert [views[row.key] for row in board if row.kind == "retrained"] == ["p0", "p1", "p2", "p3"]


@pytest.mark.integration
def test_a_task_of_several_lengths_has_a_figure_against_length_and_no_epochs_no_curves(tmp_path: Path) -> None:
    published(tmp_path / "one", [*groups(2, "t", "N=10"), *groups(2, "t", "N=100")])
    names = {file.name for file in (tmp_path / "one").glob("board-*.svg")}
    assert names == {f"board-{k}-{kind}.svg" for k in (1, 2) for kind in ("medians", "parameters", "time", "length")}


def test_a_board_where_nothing_ended_says_so_and_has_no_figure_of_costs(tmp_path: Path) -> None:
    published(tmp_path / "one", [retrained("a", ["diverged", "diverged"]), retrained("b", ["failed"])])
    assert [file.name for file in (tmp_path / "one").glob("board-*.svg")] == ["board-1-medians.svg"]
    text = "".join(ET.parse(tmp_path / "one/board-1-medians.svg").getroot().itertext())
    assert "no median: 2 diverged" in text


@pytest.mark.integration
def test_a_row_of_very_many_retrainings_has_no_curves_and_is_published() -> None:
    [group] = groups(1, seeds=1000)
    board = rows([group], [])
    seeds = {row["key"]: row["seeds"] for row in edition(board, trials(group), "Ours", "", "").rows}
    made = drawings(1, board, board, seeds, learned([group]))
    assert made and "Learning curves" not in str(made)
