"""Guests on a board: whose trainings count, who has a rank, and what a reader can trust."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from boards import keep, printed, retrained, trials
from hypothesis import given
from hypothesis import strategies as some

from longwave.platform.boards import trust
from longwave.platform.boards.answer import answer
from longwave.platform.boards.board import rows
from longwave.platform.boards.compare import compare
from longwave.platform.boards.overview import overview
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import counted, rank
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import Group, Pool
from longwave.platform.render.overview import matrix_table, overview_table
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

A, B = "a" * 64, "b" * 64


def came(model: str, tests: list[float | str], imported: int, bundle: str = A, **changes: Any) -> Group:
    """Return a row of which the last ``imported`` retrainings came in a bundle."""
    made = retrained(model, tests, **changes)
    origins = {run.id: bundle for run in made.runs[len(tests) - imported :]}
    return retrained(model, tests, came=origins, checks=[True] * imported, **changes)


def one(actual: list[Row], model: str) -> Row:
    [row] = [row for row in actual if row.model == model and row.kind == "retrained"]
    return row


FAR = {"mean": 9.0}
HERE = [retrained("lem", [1.0, 1.1, 1.2, 1.3, 1.4]), retrained("gru", [5.0, 5.1, 5.2, 5.3, 5.4])]


def test_an_imported_row_is_shown_without_a_rank_and_behind_all_that_was_trained_here() -> None:
    board = rows([*HERE, came("ours", [0.1, 0.11, 0.12], 3)], [])
    assert [row.model for row in board] == ["lem", "gru", "ours"]
    last = board[-1]
    assert (last.rank_low, last.rank_high, last.ties, last.leads) == (None, None, "", False)
    assert (rank(last), counted(last), last.median) == ("untrusted", "3, untrusted", 0.11)
    assert last.verification == f"untrusted, of {A[:12]}, schema-checked"
    assert [(r.rank_low, r.rank_high) for r in board[:2]] == [(1, 1), (2, 2)]
    assert rows(HERE, []) == board[:2], "an untrusted row moved a rank"


def test_a_board_of_untrusted_rows_alone_says_why_none_is_ranked_and_what_to_do() -> None:
    sentence = answer(rows([came("ours", [0.1, 0.11, 0.12], 3)], [])).sentence
    assert sentence.startswith("No row is ranked here: all are imported and untrusted.")
    assert "longwave reproduce ROW --keep" in sentence and "--trust" in sentence


def test_an_untrusted_row_is_compared_and_leads_no_overview() -> None:
    here = [retrained(group.config.model, [run.test or 0.0 for run in group.runs], trivial=FAR) for group in HERE]
    board = rows([*here, came("ours", [0.1, 0.11, 0.12, 0.13, 0.14], 5, trivial=FAR)], [])
    [contest] = compare(board, "ours", "lem").contests
    assert contest.word == "better"
    lines = {line.model: line for line in overview(board).lines}
    assert (lines["ours"].rank, lines["ours"].why) == (None, "untrusted on t")
    assert lines["lem"].rank is not None and list(lines)[-1] == "ours"


def test_an_untrusted_row_has_no_rank_in_the_matrix_and_its_median_is_said_to_be_untrusted() -> None:
    board = rows([*HERE, came("ours", [0.1, 0.11, 0.12, 0.13, 0.14], 5)], [])
    glance = overview(board)
    ranks = {line[0]: line[2] for line in matrix_table(glance, dict.fromkeys(glance.tasks, 1), saturated=True).lines}
    medians = {line[0]: line[3] for line in overview_table(glance, saturated=True).lines}
    assert ranks == {"LEM": "1", "GRU": "2", "OURS": "untrusted"}
    few = overview(rows([*HERE, retrained("lstm", [0.01])], []))
    table = matrix_table(few, dict.fromkeys(few.tasks, 1), saturated=True)
    assert {line[0]: line[2] for line in table.lines} == {"LEM": "1", "GRU": "2", "LSTM": "—"}, "one seed has no rank"
    assert [name for name, text in medians.items() if text.endswith(" (untrusted)")] == ["OURS"]
    assert [record["t state"] for record in glance.to_dict() if record["model"] == "ours"] == ["untrusted"]


def test_an_untrusted_row_takes_no_published_number_and_is_given_no_verdict() -> None:
    number = printed("ours", 0.11)
    board = rows([*HERE, came("ours", [0.1, 0.11, 0.12], 3)], [number])
    assert one(board, "ours").published == []
    assert [row.kind for row in board if row.model == "ours"] == ["published", "retrained"]


def test_an_untrusted_row_gets_a_rank_once_a_re_run_here_falls_inside_by_what_was_trained_here_alone() -> None:
    tests: list[float | str] = [1.05, 0.1, 0.11, 0.12]
    for outcome in ("outside", "undecided"):
        row = one(rows([*HERE, came("ours", tests, 3, reruns=[outcome])], []), "ours")
        assert row.untrusted and row.rank_low is None
    row = one(rows([*HERE, came("ours", tests, 3, reruns=["inside"])], []), "ours")
    assert not row.untrusted and row.rank_low is None, "one trusted seed has no rank"
    assert (row.n, row.median, len(row.untrusted_runs)) == (1, 1.05, 3)
    assert row.verification == "re-run once, 3 imported and untrusted"
    assert one(rows([*HERE, came("ours", [1.05, *tests], 3, reruns=["inside"])], []), "ours").rank_low is not None


def test_jittered_re_runs_by_others_raise_no_n() -> None:
    tests: list[float | str] = [1.0, 1.1, 1.2, 1.3, 1.4]
    row = one(rows([came("lem", [*tests, *[0.5 + k / 100 for k in range(20)]], 20), HERE[1]], []), "lem")
    [alone, _] = rows(HERE, [])
    assert (row.n, row.median, row.scores, row.rank_low) == (5, alone.median, alone.scores, 1)
    assert row.verification == "trained here, 20 imported and untrusted" and len(row.trials) == 25


def test_a_row_that_an_untrusted_search_chose_replaces_no_trusted_row() -> None:
    for bundles, replaced in (((), True), ((A,), False)):
        chosen = replace(retrained("gru", [1.0, 1.1, 1.2]), untrusted_searches=bundles)
        board = rows([retrained("lem", [1.0, 1.1, 1.2], rejected_for=[chosen.row]), chosen], [])
        assert bool(one(board, "lem").superseded) is replaced


def test_fabricated_seeds_stay_untrusted_beside_a_bundle_that_is_trusted() -> None:
    group = came("ours", [0.1, 0.11, 0.12], 3)
    mixed = came("ours", [0.1, 0.11, 0.12], 3)
    mixed = retrained("ours", [0.1, 0.11, 0.12], came={**mixed.came, mixed.runs[0].id: B}, checks=[True] * 3)
    assert one(rows([*HERE, group], [], Pool(trust=(A,))), "ours").n == 3
    row = one(rows([*HERE, mixed], [], Pool(trust=(A,))), "ours")
    assert (row.n, row.untrusted, row.rank_low) == (2, False, 1)
    assert row.untrusted_runs == [mixed.runs[0].id]
    assert "Trusted, as the reader asked: aaaaaaaaaaaa." in str(Pool(trust=(A,)))
    assert one(rows([*HERE, group], [], Pool(trust=(A[:63],))), "ours").untrusted, "a beginning is no name"


def test_a_bundle_whose_hash_ships_with_the_package_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = tmp_path / "trust.txt"
    listed.write_text(
        f"# an edition and its results\n{'e' * 64} {'1' * 64}  # the first\n{A} {'2' * 64}\n", encoding="utf-8"
    )
    known = trust.shipped(listed)
    assert known == {"e" * 64: "1" * 64, A: "2" * 64}
    listed.with_name("bad.txt").write_text("abc\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"bad\.txt lists 'abc'; a line is a bundle's name and its"):
        trust.shipped(listed.with_name("bad.txt"))
    monkeypatch.setattr(trust, "shipped", lambda: known)
    board = rows([*HERE, came("ours", [0.1, 0.11, 0.12], 3), came("theirs", [0.1, 0.2, 0.3], 3, B)], [])
    assert (one(board, "ours").rank_low, one(board, "ours").verification) == (1, "schema-checked")
    assert one(board, "theirs").untrusted


def test_a_name_to_trust_may_have_digits_in_upper_case() -> None:
    assert trust.resolve_trust(["ABCDEF01"], ["abcdef01" * 8, A]) == ("abcdef01" * 8,)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "3",
            r"--trust takes a bundle's name, or its first 8 hex digits or more, got '3'\. Bundles here: aaaaaaaaaaaa",
        ),
        (A[:7], "--trust takes a bundle's name, or its first 8 hex digits or more, got 'aaaaaaa'"),
        (A + "a", "--trust takes a bundle's name"),
        ("../../..", r"--trust takes a bundle's name"),
        ("bbbbbbbb", r"--trust bbbbbbbb is not a bundle imported here\. Bundles here: aaaaaaaaaaaa"),
        (A[:63], f"--trust {A[:63]} begins the names of 2 bundles: give more digits"),
    ],
)
def test_a_name_to_trust_is_that_of_one_bundle_and_eight_digits_at_least(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        trust.resolve_trust([name], [A, A[:-1] + "b"])


@given(some.lists(some.integers(0, 2**12 - 1).map("{:064x}".format), unique=True), some.integers(1, 64), some.data())
def test_a_beginning_names_a_bundle_only_if_it_is_unique_and_long(
    bundles: list[str], digits: int, data: some.DataObject
) -> None:
    name = (data.draw(some.sampled_from(bundles)) if bundles else A)[:digits]
    matching = [bundle for bundle in bundles if bundle.startswith(name)]
    if digits >= 8 and len(matching) == 1:
        assert trust.resolve_trust([name], bundles) == tuple(matching)
    else:
        with pytest.raises(ConfigError, match="--trust"):
            trust.resolve_trust([name], bundles)


def test_a_beginning_must_be_unique_in_the_store_and_not_on_the_board_alone(tmp_path: Path) -> None:
    """A bundle made so that its name begins like another's is not taken for it where that one has no rows."""
    twin = A[:-1] + "b"
    with Store(f"sqlite:///{tmp_path}/s.db") as store:
        for task, bundle in (("t", A), ("u", twin)):
            made = [replace(trial, origin=bundle) for trial in trials(retrained("lem", [1.0, 1.1], task=task))]
            store.import_trials([bundle], [(trial, ()) for trial in made], [])
        with pytest.raises(ConfigError, match=f"--trust {A[:63]} begins the names of 2 bundles"):
            read_board(store, "u", Pool(trust=(A[:63],)))
        assert [row.untrusted for row in read_board(store, "u", Pool(trust=(twin,)))] == [False]
        assert [row.untrusted for row in read_board(store, "t", Pool(trust=(twin,)))] == [True]


def test_an_untrusted_retraining_describes_no_row_that_was_trained_here(tmp_path: Path) -> None:
    """Not even one whose id comes first."""
    own = trials(retrained("lem", [1.0, 1.1], trivial=FAR, environments=[{"device": "here"}]))
    others = (replace(own[0].config, seed=seed) for seed in range(10, 1000))
    config = next(config for config in others if config.id < min(trial.config.id for trial in own))
    assert own[0].run
    run = replace(own[0].run, trial=config.id, environment={"device": "elsewhere"})
    about = replace(own[0].about, trivial={"mean": 1e-9})
    forged = replace(own[0], config=config, about=about, run=run, origin=A)
    with Store(f"sqlite:///{tmp_path}/s.db") as store:
        store.import_trials([A], [(trial, ()) for trial in (*own, forged)], [])
        board, trusting = read_board(store), read_board(store, pool=Pool(trust=(A,)))
    assert [row.mean for row in board if row.kind == "trivial"] == [9.0]
    assert one(board, "lem").environments == [{"device": "here"}]
    assert [row.mean for row in trusting if row.kind == "trivial"] == [1e-9], "it is the first of the trusted ones"
    assert len(one(trusting, "lem").environments) == 2


@pytest.mark.integration
def test_numbers_that_a_board_does_not_count_count_neither_in_a_row_in_full_nor_between_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    own, other = retrained("lem", [0.1, 0.2, 0.3], task="adding"), retrained("gru", [0.2, 0.2, 0.4], task="adding")
    guests = [replace(trial, origin=A) for trial in trials(retrained("lem", [0.001] * 6, task="adding"))][3:]
    with Store(url) as store:
        store.add_sweep("demo", {"task": "adding"})
        keep(store, own, other)
        store.import_trials([A], [(trial, ()) for trial in guests], [])
        assert one(read_board(store), "lem").median == 0.2
    assert main(["show", own.row, "--format", "json", "--store", url]) == 0
    facts = json.loads(capsys.readouterr().out)
    scores, cost = facts["scores"], facts["cost"]
    assert (scores["median"], scores["n"], cost["seconds of the retrainings"]) == (0.2, 3, 6.0)
    texts = [facts["seeds"][f"seed {k}"] for k in range(6)]
    assert [", not counted: imported and untrusted" in text for text in texts] == [False] * 3 + [True] * 3
    assert main(["diff", own.row, other.row, "--all", "--format", "json", "--store", url]) == 0
    lines = {line["what"]: (line["a"], line["b"]) for line in json.loads(capsys.readouterr().out)["lines"]}
    assert (lines["median"], lines["n"], lines["origin"]) == ((0.2, 0.2), (3, 3), (["trained here"],) * 2)
    assert lines["P(better)"][0]["value"] == pytest.approx(6 / 9)
    for command in (["show", own.row], ["diff", own.row, other.row]):
        assert main([*command, "--trust", A[:12], "--format", "json", "--store", url]) == 0
        assert "0.0505" in capsys.readouterr().out, "the median of all six retrainings"
