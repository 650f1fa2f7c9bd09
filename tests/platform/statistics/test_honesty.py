"""What is claimed of ranks, medians and overall scores holds on simulated boards: few here, all by ``make honesty``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from honesty import __main__ as program
from honesty.__main__ import markdown_table, read_sections
from honesty.claims import Line
from honesty.seed_laws import FEW_SEEDS, HONEST, UNEQUAL, UNSEEN, SeedLaw
from honesty.simulated_boards import (
    EFFECTS,
    MEDIANS,
    MIXED,
    Effect,
    MedianLaw,
    false_claims,
    false_mean_ranks,
    found_pairs,
    learning_covered,
    median_covered,
    score_covered,
)

FAILING = [law for law in HONEST if "20" in law.name or "40" in law.name]


@pytest.mark.parametrize(
    "law",
    [*HONEST, *(pytest.param(law, marks=pytest.mark.integration) for law in UNEQUAL)],
    ids=lambda law: law.name,
)
def test_a_board_of_eight_models_holds_a_false_claim_in_5_cases_of_100_at_most(law: SeedLaw) -> None:
    for line in (*false_claims(law, 8, 5, 150), *false_claims(law, 8, 10, 150)):
        assert line.holds, line


@pytest.mark.parametrize("law", FAILING, ids=lambda law: law.name)
def test_of_twenty_models_too(law: SeedLaw) -> None:
    for line in false_claims(law, 20, 5, 100):
        assert line.holds, line


@pytest.mark.integration
@pytest.mark.parametrize("law", [*FEW_SEEDS, *UNSEEN], ids=lambda law: law.name)
def test_where_rows_learn_or_do_not_few_and_mixed_seeds_hold_their_claim(law: SeedLaw) -> None:
    for line in (*false_claims(law, 8, 5, 150), *false_claims(law, 13, 5, 100), *false_claims(law, 8, MIXED, 100)):
        assert line.holds, line


@pytest.mark.parametrize("effect", [effect for effect in EFFECTS if effect.sd], ids=lambda effect: effect.name)
def test_the_test_of_ranks_finds_what_the_test_of_means_found(effect: Effect) -> None:
    for m, n in ((8, 5), (8, 8), (20, 10)):
        for line in found_pairs(effect, m, n, 60):
            assert line.holds, line


@pytest.mark.parametrize("law", MEDIANS, ids=lambda law: law.name)
def test_the_interval_of_a_median_covers_as_often_as_it_says(law: MedianLaw) -> None:
    for n in (5, 10, 20):
        for line in median_covered(law, n, 600):
            assert line.holds, line


@pytest.mark.parametrize("lost", [0.0, 0.1])
def test_the_interval_of_an_overall_score_covers_as_often_as_it_says(lost: float) -> None:
    for line in score_covered(5, lost, 5, 400):
        assert line.holds, line


def test_the_interval_of_an_overall_score_covers_where_seeds_gain_all_or_nothing() -> None:
    for line in learning_covered(5, 1, 0.5, 5, 300):
        assert line.holds, line


def test_mean_ranks_hold_family_wise_over_all_tasks() -> None:
    for line in false_mean_ranks(3, 10, 150):
        assert line.holds, line


@pytest.mark.parametrize("law", [*HONEST, *FEW_SEEDS, *UNSEEN], ids=lambda law: law.name)
def test_the_laws_are_what_they_say(law: SeedLaw) -> None:
    errors, better = law.draw(np.random.default_rng(0), 4, 20_000), law.better(4)
    for i, j in ((0, 1), (0, 3), (2, 1), (2, 3)):
        share = np.mean(errors[i] < errors[j]) + 0.5 * np.mean(errors[i] == errors[j])
        if better[i] == better[j]:
            assert share == pytest.approx(0.5, abs=0.015)
        else:
            assert (share > 0.5) == (better[i] > better[j])


def test_a_case_outside_its_claim_is_marked() -> None:
    lines = [Line("a law", "≤ .05", ".043", True), Line("another", "≤ .05", ".210", False)]
    assert markdown_table(lines).splitlines()[2:] == [
        "| a law | ≤ .05 | .043 |  |",
        "| another | ≤ .05 | .210 | **outside** |",
    ]


@pytest.mark.parametrize(("holds", "status"), [(True, 0), (False, 1)])
def test_a_case_outside_its_claim_is_told_by_the_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holds: bool, status: int
) -> None:
    (file := tmp_path / "honesty.md").write_text("# Title\n")
    monkeypatch.setattr(program, "FILE", file)
    monkeypatch.setattr(program, "ProcessPoolExecutor", lambda count: ThreadPoolExecutor(1))
    monkeypatch.setattr(program, "list_cases", lambda name: [lambda: [Line("a law", "≤ .05", ".043", holds)]])
    assert program.main(["pairs"]) == status
    assert ("**outside**" in file.read_text().partition("## Pairs")[2]) is not holds


def test_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["rank"]) == 2
    assert capsys.readouterr().err.startswith("There is no part 'rank': ranks, few-seeds, ")


def test_a_part_that_is_run_alone_leaves_the_others_as_they_are_written() -> None:
    written = "# Title\n\nA header.\n\n## Ranks\n\n| a |\n|---|\n\n## Pairs\n\n| b |\n"
    assert read_sections(written) == {"Ranks": "| a |\n|---|\n", "Pairs": "| b |\n"}
