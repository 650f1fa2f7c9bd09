"""Editions: what names them, what they refuse to be, and why a rank moved, by boards made for each reason."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from boards import keep, printed, retrained, trials

from longwave.platform.boards.answer import over_all
from longwave.platform.boards.board import rows
from longwave.platform.boards.overview import overviews
from longwave.platform.editions.changes import Change, difference
from longwave.platform.editions.edition import SCHEMA, Edition, edition, load
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import Group
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

LOW, HIGH = [1.0, 1.1, 1.2, 1.3, 1.4], [5.0, 5.1, 5.2, 5.3, 5.4]


def made(groups: Sequence[Group], numbers: Sequence[dict[str, Any]] = (), **head: str) -> Edition:
    """Return the edition of a board."""
    head_fields = {"title": "Ours", "created": "2026-01-01T00:00:00+00:00", "commit": "c", **head}
    return edition(rows(groups, numbers), [trial for group in groups for trial in trials(group)], **head_fields)


def changes(before: Edition, after: Edition) -> dict[str, tuple[str, list[str]]]:
    """Return what changed and why, by the row's title."""
    return {c.title: (c.what, list(c.reasons)) for c in difference(before, after)}


def short(of: Edition, title: str) -> str:
    return next(f"{row['title']} {row['key'][:6]}" for row in of.rows if row["title"] == title)


def test_an_edition_is_named_by_its_rows_alone() -> None:
    groups = [retrained("a", LOW), retrained("b", HIGH)]
    one, same = made(groups), made(groups, title="Other", created="2027-01-01T00:00:00+00:00", commit="d")
    other = made([retrained("a", [*LOW[:4], 1.41]), retrained("b", HIGH)])
    assert one.id == same.id == one.sha256[:16] != other.id
    assert len(one.sha256) == 64


def test_every_row_has_a_key_of_its_own_that_the_next_edition_knows() -> None:
    numbers = [printed("a", 0.5), printed("c", 0.5), printed("c", 0.6), printed("c", 0.6, units="9")]
    groups = [retrained("a", LOW, trivial={"mean": 3.0, "last": 2.0}), retrained("a", LOW, params={"lr": 0.2})]
    keys = [row["key"] for row in made(groups, numbers).rows]
    assert len(set(keys)) == len(keys) == 7
    more = [row["key"] for row in made([*groups, retrained("b", HIGH)], numbers).rows]
    assert set(keys) < set(more)


def test_an_edition_counts_what_it_holds() -> None:
    counts = made([retrained("a", LOW, trivial={"mean": 3.0})], [printed("c", 0.5)]).counts
    assert counts == {"boards": 1, "retrained": 1, "published": 1, "trivial": 1, "retrainings": 5}


def test_an_edition_freezes_what_counts_1_where_no_score_is_perfect() -> None:
    """A likelihood has no perfect score, so the best median counts 1; an error has: 0."""
    up = [retrained(m, [k + 1.0] * 5, "max", trivial={"mean": 0.0}, task="up") for k, m in enumerate("ab")]
    down = [retrained(m, [k + 1.0] * 5, trivial={"mean": 9.0}, task="down") for k, m in enumerate("ab")]
    before = made([*up, *down])
    assert before.tops == {"up": 2.0} and before.to_dict()["tops"] == {"up": 2.0}
    assert load(json.loads(json.dumps(before.to_dict())), "here").tops == {"up": 2.0}
    older = {name: value for name, value in before.to_dict().items() if name != "tops"}
    assert load(older, "here").tops == {} and load(older, "here").id == before.id
    assert made([*up, retrained("c", [7.0] * 5, "max", trivial={"mean": 0.0}, task="up")]).tops == {"up": 7.0}
    assert "On up a gain of 1 is the best median here, 2." in over_all(overviews(rows([*up, *down], []))[0])


def test_an_edition_survives_its_file() -> None:
    before = made([retrained("a", LOW, trivial={"mean": 3.0}), retrained("b", ["diverged"])], [printed("a", 0.5)])
    after = load(json.loads(json.dumps(before.to_dict())), "here")
    assert after == before and after.id == before.id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 9}, r"here: schema version 9; this Longwave reads 4\. Upgrade longwave\."),
        ({"schema": 2}, r"here: schema version 2; this Longwave reads 4\. Publish its store again\."),
        ({"schema": None}, r"here: schema version None; this Longwave reads 4\. Publish its store again"),
        ({"rows": []}, "here: its rows were changed after publishing"),
        ({"rows": {}}, "here is not in the format of an edition"),
        ({"sha256": "0" * 64}, "here: its rows were changed after publishing"),
    ],
)
def test_a_file_that_was_changed_is_no_edition(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load({**made([retrained("a", LOW)]).to_dict(), **change}, "here")


def test_a_file_without_a_field_is_no_edition() -> None:
    content = made([retrained("a", LOW)]).to_dict()
    del content["commit"]
    with pytest.raises(ConfigError, match="here: the field 'commit' is missing"):
        load(content, "here")


@pytest.mark.parametrize(
    ("rows", "message"),
    [([5], "here: row 1 is no record"), ([{"title": "a"}], r"here: row 1 has no field \w+\. Publish it again")],
)
def test_an_edition_whose_hash_is_right_and_whose_rows_are_not_is_refused(rows: list[Any], message: str) -> None:
    head: dict[str, Any] = {"title": "T", "created": "2026-01-01T00:00:00Z", "commit": "c"}
    content = {**head, "schema": SCHEMA, "rows": rows, "sha256": Edition(rows, **head).sha256}
    with pytest.raises(ConfigError, match=message):
        load(content, "here")


def test_equal_editions_differ_in_nothing() -> None:
    groups = [retrained("a", LOW), retrained("b", HIGH), retrained("c", ["diverged"])]
    assert difference(made(groups), made(groups, title="Other")) == []


def test_a_new_row_moves_the_others() -> None:
    before = made([retrained("a", HIGH)])
    after = made([retrained("a", HIGH), retrained("b", LOW)])
    pool = f"pool changed: {short(after, 'B')} new"
    assert changes(before, after) == {"B": ("new", ["new row"]), "A": ("rank", [pool])}
    assert [c.after.split(",")[0] for c in difference(before, after)] == ["rank 1", "rank 2"]


def test_a_lost_row_moves_the_others() -> None:
    before, after = made([retrained("a", HIGH), retrained("b", LOW)]), made([retrained("a", HIGH)])
    pool = f"pool changed: {short(before, 'B')} gone"
    assert changes(before, after) == {"B": ("gone", ["row gone"]), "A": ("rank", [pool])}


def test_rows_without_a_rank_move_nobody() -> None:
    before = made([retrained("a", LOW), retrained("b", HIGH)])
    after = made([retrained("a", LOW), retrained("b", HIGH), retrained("c", ["failed"])], [printed("d", 0.1)])
    assert changes(before, after) == {"C": ("new", ["new row"]), "d": ("new", ["new row"])}


def test_a_row_that_moved_names_its_median_and_the_overtaken_names_that_row() -> None:
    before = made([retrained("a", LOW), retrained("b", HIGH)])
    after = made([retrained("a", LOW), retrained("b", [0.0, 0.1, 0.2, 0.3, 0.4])])
    others = f"other rows moved: {short(after, 'B')}"
    assert changes(before, after) == {"B": ("rank", ["median changed by −5"]), "A": ("rank", [others])}


def test_new_seeds_narrow_a_rank() -> None:
    before = made([retrained("a", [1.0, 1.4]), retrained("b", [1.6, 2.0])])
    after = made([retrained("a", [1.0, 1.4] * 3), retrained("b", [1.6, 2.0] * 3)])
    changes = {c.title: c for c in difference(before, after)}
    assert changes["A"].before.startswith("rank 1–2,") and changes["A"].after.startswith("rank 1,")
    assert changes["A"].reasons == ["new seeds: n 2 → 6", f"other rows moved: {short(after, 'B')}"]


def test_a_new_number_under_the_old_rank_is_told_with_its_reason() -> None:
    before, after = made([retrained("a", LOW)]), made([retrained("a", [*LOW, 1.2])])
    assert changes(before, after) == {"A": ("value", ["new seeds: n 5 → 6"])}


def test_a_seed_that_diverged_more_is_told_with_what_it_does_to_rank_and_median() -> None:
    before = made([retrained("a", LOW), retrained("b", HIGH)])
    after = made([retrained("a", [*LOW[:2], *["diverged"] * 3]), retrained("b", HIGH)])
    changes = {c.title: c for c in difference(before, after)}
    assert changes["A"].before == "rank 1, median 1.2, 1.20 ± 0.16 (5)"
    assert changes["A"].after == "rank 1–2, median diverged, 1.050 ± 0.071 (2 of 5)"
    assert changes["A"].reasons == ["fewer seeds: n 5 → 2", "diverged seeds: 0 → 3"]


def test_scores_that_change_under_their_median_are_told() -> None:
    before, after = made([retrained("a", LOW)]), made([retrained("a", [0.9, *LOW[1:]])])
    assert changes(before, after) == {"A": ("value", ["scores changed, not their median"])}


def test_retrainings_that_end_while_the_board_is_read_stop_the_edition(store: Store) -> None:
    store.add_sweep("demo", {})
    keep(store, retrained("a", ["planned"], task="adding"))
    board = read_board(store)
    keep(store, retrained("a", [2.0], task="adding"))
    with pytest.raises(ConfigError, match="Retrainings of adding ended while its board was read. Publish once more"):
        edition(board, store.retrainings("adding"), "Ours", "", "")
    made = edition(read_board(store), store.retrainings("adding"), "Ours", "", "")
    assert [seed["test"] for row in made.rows for seed in row["seeds"]] == [2.0]


def test_seeds_are_those_of_the_retrainings_by_seed() -> None:
    group = retrained("a", [1.0, "diverged", "planned"])
    made = edition(rows([group], []), trials(group), "Ours", "", "")
    seeds = [
        (seed["trial"], seed["seed"], seed["status"], seed["reason"], seed["test"]) for seed in made.rows[0]["seeds"]
    ]
    one, two, three = (run.id for run in group.runs)
    assert seeds == [(one, 0, "ok", "", 1.0), (two, 1, "diverged", "it did", None), (three, 2, "planned", "", None)]
    with pytest.raises(ConfigError, match="Retrainings of t ended while its board was read"):
        edition(rows([retrained("a", ["running", "diverged", "planned"])], []), trials(group), "Ours", "", "")


def test_a_row_that_was_superseded_says_why_and_leaves_the_pool() -> None:
    before = made([retrained("a", LOW), retrained("b", HIGH)])
    after = made([retrained("a", LOW, superseded="model version 1, now 2"), retrained("b", HIGH)])
    assert changes(before, after) == {
        "A": ("rank", ["superseded: model version 1, now 2"]),
        "B": ("rank", [f"pool changed: {short(after, 'A')} superseded"]),
    }
    standings = {c.title: c.after for c in difference(before, after)}
    assert standings == {"A": "superseded, median 1.2, 1.20 ± 0.16 (5)", "B": "rank 1, median 5.2, 5.20 ± 0.16 (5)"}
    back = changes(after, before)
    assert back["A"] == ("rank", ["no longer superseded"])
    assert back["B"] == ("rank", [f"pool changed: {short(before, 'A')} current again"])


def test_a_row_that_is_trusted_now_enters_the_pool_and_one_that_is_not_leaves_it() -> None:
    trusted = made([retrained("a", LOW), retrained("b", HIGH)])
    [a, b] = trusted.rows
    alone = [{**a, "untrusted": True, "rank_low": None, "rank_high": None}, {**b, "rank_low": 1, "rank_high": 1}]
    untrusted, name = replace(trusted, rows=alone), short(trusted, "A")
    assert changes(untrusted, trusted) == {
        "A": ("rank", ["now trusted"]), "B": ("rank", [f"pool changed: {name} now trusted"])
    }  # fmt: skip
    assert changes(trusted, untrusted) == {
        "A": ("rank", ["no longer trusted"]), "B": ("rank", [f"pool changed: {name} no longer trusted"])
    }  # fmt: skip


def test_what_is_superseded_moves_nobody() -> None:
    old = retrained("a", LOW, superseded="old", hidden=9)
    before = made([old, retrained("b", HIGH)])
    after = made([replace(old, runs=old.runs[:3]), retrained("b", HIGH)])
    assert changes(before, after) == {"A": ("value", ["fewer seeds: n 5 → 3", "median changed by −0.1"])}
    assert changes(before, made([retrained("b", HIGH)])) == {"A": ("gone", ["row gone"])}


def test_a_row_that_got_its_first_score_says_what_it_was_before() -> None:
    before, after = made([retrained("a", ["failed"])]), made([retrained("a", LOW)])
    [change] = difference(before, after)
    assert (change.before, change.after) == ("failed", "rank 1, median 1.2, 1.20 ± 0.16 (5)")
    assert change.reasons == ["new seeds: n 0 → 5", "failed before, ok now"]


def test_a_published_number_that_was_retrained_stands_in_its_row_now() -> None:
    before = made([retrained("a", LOW)], [printed("b", 1.0)])
    after = made([retrained("a", LOW), retrained("b", HIGH, called=("",))], [printed("b", 1.0)])
    gone = next(c for c in difference(before, after) if c.what == "gone")
    assert (gone.kind, gone.reasons) == ("published", ["now retrained here: it is part of the row that retrains it"])


def test_a_published_number_that_is_printed_no_more_is_gone() -> None:
    groups, other = [retrained("b", HIGH, called=("",))], printed("b", 2.0, model_variant="x")
    [gone] = difference(made(groups, [printed("b", 1.0), other]), made(groups, [printed("b", 1.0)]))
    assert (gone.what, gone.kind, gone.reasons) == ("gone", "published", ["row gone"])


def test_ranks_that_move_without_a_number_are_blamed_on_the_ranking() -> None:
    before = made([retrained("a", LOW)])
    after = replace(before, rows=[{**before.rows[0], "rank_high": 2}])
    reason = "no number on this board changed, but ranks are now computed differently"
    assert changes(before, after) == {"A": ("rank", [reason])}


def test_many_rows_are_counted_and_not_listed() -> None:
    before = made([retrained("z", HIGH)])
    after = made([retrained("z", HIGH), *(retrained(name, LOW) for name in "abcde")])
    [reason] = changes(before, after)["Z"][1]
    assert reason.endswith("and 2 more new") and reason.count(",") == 2


def test_exactly_the_ranks_that_differ_are_told_and_each_has_a_reason() -> None:
    rng = random.Random(0)

    def drawn() -> list[Group]:
        return [retrained(n, [rng.gauss(k, 1) for _ in range(rng.choice((2, 5)))]) for k, n in enumerate("abcdef")
                if rng.random() < 0.8]  # fmt: skip

    for _ in range(20):
        before, after = made(drawn()), made(drawn())
        old, new = ({row["key"]: row for row in of.rows} for of in (before, after))
        moved: dict[str, Change] = {c.key: c for c in difference(before, after) if c.what == "rank"}
        ranks = ("rank_low", "rank_high")
        assert set(moved) == {k for k in old.keys() & new if any(old[k][r] != new[k][r] for r in ranks)}
        assert all(c.reasons for c in moved.values())
