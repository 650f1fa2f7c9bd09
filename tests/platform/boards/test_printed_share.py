"""One sentence on all verdicts: how many are of another protocol and why that is no word, and what comes nearest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from boards import printed, retrained

from longwave.platform.boards.board import rows
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import Row


@pytest.fixture(scope="module")
def row() -> Row:
    [row] = rows([retrained("lem", [1.0, 1.1, 1.2, 1.3, 1.4])], [printed("lem", 1.2, n=1)])
    return row


def beside(row: Row, model: str, *numbers: tuple[str, float | None], **changes: Any) -> Row:
    """Return a row beside printed numbers of these verdicts and ratios of errors."""
    made = [{**row.published[0], "verdict": word, "ratio": ratio, "why": "", "limit": False} for word, ratio in numbers]
    return replace(row, title=model, published=made, **changes)


def test_other_protocols_are_counted_and_explained_and_none_reproduced_is_said(row: Row) -> None:
    text = verdict_share(
        [beside(row, "A", ("other protocol", 1.0), ("worse", 2.0)), beside(row, "B", ("undecided", 0.8))]
    )
    assert text.startswith(
        "3 verdicts of current rows on 1 printed number: 1 other protocol (the recipe, data, model form or statistic "
        "differs from the paper's, so there is no verdict), 1 worse, 1 undecided, 0 reproduced."
    )
    assert "Nearest to a reproduction: B on T against 1.2, undecided: error ratio 0.80" in text


@pytest.mark.parametrize(
    ("numbers", "nearest"),
    [
        ([("consistent", 1.0), ("reproduced", 1.2)], "reproduced: error ratio 1.20"),
        ([("undecided", 1.01), ("consistent", 1.2)], "consistent: error ratio 1.20"),
        ([("worse", 2.0), ("better", 0.6)], "better: error ratio 0.60"),
        ([("other protocol", 1.0), ("worse", 9.0)], "worse: error ratio 9.00"),
        ([("other protocol", 3.0), ("other protocol", 0.5)], "other protocol: error ratio 0.50"),
        ([("undecided", None), ("undecided", 50.0)], "undecided: error ratio 50.0"),
    ],
)
def test_the_nearest_is_met_then_of_the_papers_protocol_then_nearest_to_ratio_1(
    row: Row, numbers: list[tuple[str, float | None]], nearest: str
) -> None:
    assert f"against 1.2, {nearest}" in verdict_share([beside(row, "A", *numbers)])


def test_without_another_protocol_nothing_is_explained_and_without_a_number_nothing_said(row: Row) -> None:
    alone = verdict_share([beside(row, "A", ("reproduced", 1.0))])
    assert alone.startswith("1 verdict of current rows on 1 printed number: 1 reproduced. Nearest")
    assert verdict_share([beside(row, "A", ("not run", None)), replace(row, published=[])]) == ""
    assert verdict_share([beside(row, "A", ("worse", 2.0), superseded="a newer version")]) == ""
