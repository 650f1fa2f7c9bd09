"""What people write of the edition: each number in it is one of a row that the same sentence or its neighbours link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

import pytest
from edition.folders import EditionFolders

from longwave.platform.editions.edition import Edition
from longwave.platform.statistics.prediction import WRONG, find_detection_chance, prediction_interval
from longwave.platform.statistics.scale import scale_of

SAYS = ("mean", "std", "median", "median_best", "median_worst", "scores", "published", "params")
"""Of a row, what may be quoted."""
LINK = re.compile(r"\(index\.html#row=([0-9a-f]+)\)")
FRACTION = re.compile(r"(?<![\w.=])\d+\.\d+(?! times)|\b\d+(?= %(?! interval))")
RATIO = re.compile(r"\b\d+\.\d+(?= times)")


def numbers(content: Any) -> Iterator[float]:
    """Return all numbers in what a row says."""
    if isinstance(content, float | int):
        yield content
    elif isinstance(content, Mapping | list):
        for part in content.values() if isinstance(content, Mapping) else content:
            yield from numbers(part)


def rounded(text: str, values: list[float]) -> bool:
    """Return whether a number that was written is one of these, rounded as it is."""
    digits = len(text.partition(".")[2])
    return any(f"{value:.{digits}f}" == text for value in values)


def strangers(item: str, rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the numbers of an item that are no quotation of a row it links, nor a ratio of two medians, or prints."""
    linked = [rows[key] for key in LINK.findall(item)]
    medians = [row["median"] for row in linked if row["median"]]
    prints = [number["value"] for row in linked for number in row["published"]]
    ratios = [a / b for sizes in (medians, prints) for a, b in permutations(sizes, 2)]
    text, own = LINK.sub("", item), list(numbers([row[name] for row in linked for name in SAYS]))
    lost = [number for number in FRACTION.findall(text) if not rounded(number, own)]
    return lost + [number for number in RATIO.findall(text) if not rounded(number, own + ratios)]


REPRODUCED = "\n### Reproduced rows\n"


def items(text: str) -> list[str]:
    """Return what surprised, one thing each; tables are not among them."""
    return re.split(r"\n(?=- )", text.partition(REPRODUCED)[0].strip())


@pytest.mark.integration  # imports the edition
@pytest.mark.parametrize(("number", "least"), [(1, 20), (2, 5)])
def test_each_number_that_people_wrote_is_one_of_a_row_that_they_link(
    number: int, least: int, import_edition: Callable[[int], Edition]
) -> None:
    rows = {row["key"]: row for row in import_edition(number).rows}
    texts = items(EditionFolders.of_edition(number).surprises.read_text(encoding="utf-8"))
    assert len(texts) >= least
    assert {item[:60]: lost for item in texts if (lost := strangers(item, rows))} == {}


@pytest.mark.integration  # imports the edition
def test_of_reproduced_rows_intervals_are_those_of_their_scores_and_as_many_are_inside_as_people_wrote(
    import_edition: Callable[[int], Edition],
) -> None:
    rows = {row["key"]: row for row in import_edition(2).rows}
    text = EditionFolders.of_edition(2).surprises.read_text(encoding="utf-8").partition(REPRODUCED)[2]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| [")]
    inside = [0, 0]
    for row, _, *scores, low, high, chance in lines:
        found = rows[LINK.findall(row)[0]]
        scale = scale_of(found["metric"], found["goal"], found["unit"], found["floor"])
        assert (interval := prediction_interval(found["scores"], scale)), row
        assert rounded(low, [interval[0]]) and rounded(high, [interval[1]]), row
        assert chance == f"{find_detection_chance(found['scores'], scale, WRONG):.0%}".replace("%", " %"), row
        for k, score in enumerate(scores):
            inside[k] += interval[0] <= float(score) <= interval[1]
    assert inside[0] == inside[1], "they are counted in one sentence"
    assert f"On each processor {inside[0]} of {len(lines)} scores lie inside" in " ".join(text.split())


@pytest.mark.parametrize(
    ("item", "lost"),
    [
        ("- [A](index.html#row=aa) has 0.12, of 34.6 %.", []),
        ("- [A](index.html#row=aa) has 0.13.", ["0.13"]),
        ("- [A](index.html#row=aa) has 35 %, 36 %.", ["36"]),
        ("- [A](index.html#row=aa) and [B](index.html#row=bb): 2.0 times, 2.1 times.", ["2.1"]),
        ("- At F=0.9 there is a 90 % interval, and 0.9.", ["0.9"]),
    ],
)
def test_a_number_of_no_row_is_found(item: str, lost: list[str]) -> None:
    nothing: dict[str, Any] = dict.fromkeys(SAYS, [])
    rows = {"aa": {**nothing, "median": 0.123, "scores": [34.6]}, "bb": {**nothing, "median": 0.246}}
    assert strangers(item, rows) == lost
