"""What an edition's page draws: its tables, from the columns that the edition hands over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from boards import printed, retrained
from pages import Page, page_data, published, table

from longwave.platform.boards.board import rows
from longwave.platform.boards.columns import of
from longwave.platform.boards.printed import quote_number, write_evidence
from longwave.platform.boards.texts import marked_median, share
from longwave.platform.records.group import SearchedRange, SearchedTrial, Tally
from longwave.platform.statistics.advice import advice

WHY = "model version 1, now 2"
GROUPS = [
    retrained("lem", [1.0, 1.1, 1.2], trivial={"mean": 9.0}, task="u", family="gates", checks=[False]),
    retrained("gru", [2.0, 2.1, "diverged"], trivial={"mean": 9.0}, task="u"),
    retrained("gru", [0.5, 0.6], task="u", model_version="0", superseded=WHY),
    retrained("lem", [3.0, 3.5], "max", task="v", family="gates"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables") / "one"
    published(place, GROUPS, [printed("lem", 0.5, task="u"), printed("lstm", 3.0, task="u")])
    return place


def test_a_board_has_the_columns_of_the_edition_in_order(folder: Path) -> None:
    lines = table(Page.drawn(folder, view="u"))
    columns = [column for column in page_data(folder)["columns"] if column["stands"]]
    assert [name.rstrip(" ↓") for name in lines[0]] == [column["heading"] for column in columns]
    assert {"verified", "superseded"} <= set(lines[0])
    assert [(line["model"][:4].strip(), line["rank"], line["ties"]) for line in lines] == [
        ("LEMl", "1–2", "a"),
        ("GRUl", "1–2", "a"),
        ("LSTM", "—", "—"),
        ("mean", "—", "—"),
        ("GRU", "—", "—"),  # (superseded)
    ]
    lem, gru, lstm, mean, old = (line["mean ± std (n) ↓"] for line in lines)
    assert (lem, lstm, mean) == ("1.10 ± 0.10 (3, provisional)", "3 (published)", "9 (trivial)")
    assert gru == "2.050 ± 0.071 (2 of 3, provisional)" and old.endswith("(2, provisional)superseded")
    assert [line["superseded"] for line in lines] == ["—"] * 4 + [WHY]


def test_the_head_counts_rows_retrainings_and_what_they_stand_beside(folder: Path) -> None:
    page = Page.drawn(folder)
    assert page("elements.about.textContent") == (
        "4 rows of 10 retrainings, 1 of them beside printed numbers, 1 printed number without a row, and "
        "1 trivial predictor, on 2 boards."
    )
    assert page("elements.caption.text").startswith("1 verdict of current rows on 1 printed number: 1 ")


def test_why_rows_are_superseded_stands_only_where_they_are_unfolded(folder: Path) -> None:
    assert "superseded" not in table(Page.drawn(folder, view="u", open=""))[0]
    assert "superseded" not in table(Page.drawn(folder, view="u", open="trivial"))[0]
    [old] = [line for line in table(Page.drawn(folder, view="u", open="superseded")) if line["superseded"] != "—"]
    assert old["superseded"] == WHY


def test_a_reader_can_ask_for_every_column_and_for_all_rows(folder: Path) -> None:
    assert next(iter(table(Page.drawn(folder, view="all rows"))[0])) == "board"
    keys = [column.key for column in of("page")]
    lines = table(Page.drawn(folder, view="all rows", cols=" ".join(keys)))
    assert list(lines[0]) == [column.heading for column in of("page")]
    assert [line["board"] for line in lines] == ["u", "u", "v", "u", "u", "u"], "what is not ranked stands last"
    assert [line["hidden"] for line in lines] == ["8", "8", "8", "8", "—", "8"]
    assert [line["time to train"] for line in lines] == ["6.0 s", "6.0 s", "4.0 s", "—", "—", "4.0 s"]


@pytest.mark.parametrize(
    ("sort", "order"),
    [("mean-up", ["LEM", "GRU", "LST", "mea", "GRU"]), ("mean-down", ["GRU", "LEM", "LST", "mea", "GRU"]),
     ("valid-down", ["GRU", "LEM", "LST", "mea", "GRU"]), ("title-up", ["GRU", "LEM", "LST", "mea", "GRU"]),
     ("published-up", ["LEM", "GRU", "LST", "mea", "GRU"])],
)  # fmt: skip
def test_columns_sort_by_value_within_their_group_and_what_has_none_stands_last(
    folder: Path, sort: str, order: Sequence[str]
) -> None:
    lines = table(Page.drawn(folder, view="u", sort=sort))
    assert [line["model"][:3] for line in lines] == order


def test_numbers_of_different_metrics_have_no_order(folder: Path) -> None:
    sortable = 'elements.table.all("thead")[0].all("button").map((cell) => cell.attributes["data-sort"])'
    by_goal = {column.key for column in of("page") if column.unit == "metric"}
    assert "mean" in Page.drawn(folder, view="u")(sortable)
    assert not by_goal & set(Page.drawn(folder, view="all rows")(sortable))


def test_a_row_shows_its_seeds_and_why_it_is_superseded(folder: Path) -> None:
    old = next(row["key"] for row in page_data(folder)["rows"] if row["superseded"])
    text = Page.drawn(folder, row=old)('elements["row-part"].text')
    assert f"Superseded: {WHY}." in text and "not ranked" in text and "2.0 s" in text


def test_every_column_is_explained_below_the_tables(folder: Path) -> None:
    page = Page.drawn(folder)
    names, meanings = (page(f'elements.how.all("{tag}").map((node) => node.text)') for tag in ("dt", "dd"))
    explained = dict(zip(names, meanings, strict=True))
    assert {column.heading: column.meaning for column in of("page")}.items() <= explained.items()
    assert "LEM" in page("elements.table.text"), "the overview stands before all boards"


JUDGED = [
    retrained("lem", [1.0, 1.1, 1.2, 1.1, 1.0], trivial={"mean": 0.2}),
    retrained("gru", [2.0, 2.1, 2.2, 2.1, 2.0], departures=("epochs 3 (published 400)", "batch 9 (published 32)")),
    retrained("lstm", [1.0, 4.0, 2.0, "diverged", 3.0]),
]
NUMBERS = [printed("lem", 1.05, n=1, note="of the appendix"), printed("gru", 1.0, n=1), printed("lstm", 2.4, n=1)]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tables") / "two"
    published(place, JUDGED, NUMBERS)
    return place


def test_a_verdict_has_a_sign_of_its_own_and_its_ratio_and_a_lost_row_says_to_whom(judged: Path) -> None:
    by_model = {row.model: row for row in rows(JUDGED, NUMBERS) if row.config}
    cells = {line["model"].partition("lr")[0]: line["verdict"] for line in table(Page.drawn(judged, view="t"))}
    words = {"lem": "= reproduced", "gru": "≠ other protocol", "lstm": "? undecided"}
    wanted = {
        m.upper(): f"! loses to mean{word}{write_evidence(by_model[m].published[0])}" for m, word in words.items()
    }
    assert wanted.items() <= cells.items()


def test_verdicts_sort_by_their_ratio(judged: Path) -> None:
    ratios = {row.title: row.published[0]["ratio"] for row in rows(JUDGED, NUMBERS) if row.published}
    for way, down in (("up", False), ("down", True)):
        lines = table(Page.drawn(judged, view="t", sort=f"verdict-{way}"))
        shown = [line["model"].partition("lr")[0] for line in lines][:3]
        assert shown == sorted(ratios, key=lambda title: ratios[title], reverse=down)


def test_a_row_tells_its_numbers_and_of_each_printed_one_why_it_has_its_word(judged: Path) -> None:
    for row in (row for row in rows(JUDGED, NUMBERS) if row.config):
        text = Page.drawn(judged, row=row.key)('elements["row-part"].text')
        [number] = row.published
        assert f"median [95 %]{marked_median(row)}" in text and f"diverged [95 %]{share(row)}" in text
        assert write_evidence(number) in text and number["why"] in text and quote_number(number) in text
        assert "another protocol" + "".join(number["departures"]) in text or not number["departures"]
        assert (f"note{number['note']}" in text) == bool(number["note"])


def test_a_row_tells_how_its_setting_was_chosen_as_its_columns_say_it(tmp_path: Path) -> None:
    searched = retrained("lem", [0.2, 0.3, 0.4], valid=0.3, search=Tally(9, stopped=6, whole=3), ways=["random search"])
    row, race = searched.row, {"other": (0.3, 0.4), searched.row: (0.2, 0.21)}
    candidates = [SearchedTrial("s", row, "search", "ok", 0.1)]
    candidates += [SearchedTrial(f"{name}{v}", name, "race", "ok", v) for name, vs in race.items() for v in vs]
    group = replace(searched, candidates=candidates, ranges=[SearchedRange("lr", 0.001, 0.1, True)])
    [made] = published(tmp_path, [group]).rows
    text = Page.drawn(tmp_path, row=row)('elements["row-part"].text')
    assert (
        f"search stopped6search completed3search score0.1optimism× 3.00runner-upotherP(better){made['better']:.4g}"
        in text
    )
    assert "winner at the edgelr at the high end of 0.001 to 0.1" in text and made["optimism"] == pytest.approx(3.0)


def test_a_board_says_what_its_seeds_can_rank_and_where_the_methods_are(judged: Path) -> None:
    text = Page.drawn(judged, view="t")("elements.caption.text")
    assert text.startswith(advice(3, 5)) and text.endswith("See Methods.")
