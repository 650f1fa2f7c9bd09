"""The Methods: one text, which the command line prints and an edition's page folds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from boards import retrained
from honesty.simulated_selection import DEFAULT_RULE, FIRST_RULE
from pages import published
from tree import ROOT

from longwave.platform.boards.methods import methods
from longwave.platform.cli.main import main
from longwave.platform.statistics.verdict import ENOUGH


def test_the_command_prints_the_methods_for_eighty_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["methods"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) == 80
    words = re.sub(r"\W+", " ", text)
    for section in methods().split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        assert title in text
        first = re.sub(r"\W+", " ", body.strip().splitlines()[0]).strip()
        assert first in words, f"The first line of {title!r} is not printed."


def test_the_page_folds_every_section_of_the_methods(tmp_path: Path) -> None:
    published(tmp_path / "one", [retrained("lem", [1.0, 1.1])])
    page = (tmp_path / "one/index.html").read_text(encoding="utf-8")
    text = page[page.index('<div id="methods">') : page.index('<h2 id="how-title">')]
    titles = re.findall(r"<details><summary>(.+?)</summary>", text)
    assert titles == [section.partition("\n")[0] for section in methods().split("\n## ")[1:]]
    assert text.count("<table>") == methods().count("\n| --- |") > 2
    assert "**" not in text and "`" not in text and "](" not in text


def test_the_methods_quote_what_was_simulated_of_the_rules_of_selection() -> None:
    lines = (ROOT / "infra/honesty.md").read_text(encoding="utf-8").splitlines()
    pattern = re.compile(r"([\d.]+) to ([\d.]+) trainings; A: error .([\d.]+)%.*seeds of edition 1 0([\d.]+);")
    [old], [new] = (
        [found.groups() for line in lines if line.startswith(f"| {rule.name} |") and (found := pattern.search(line))]
        for rule in (FIRST_RULE, DEFAULT_RULE)
    )
    said = re.sub(r"\s+", " ", methods())
    trainings, more, fewer = (f"{float(number):.0f}" for number in (new[0], new[1], old[0]))
    assert f"Rule 2 costs {trainings} full trainings (rule 1: {fewer}), and about {more} if halving" in said
    assert f"Its mean error is {new[2]} % smaller in A;" in said and f"is {new[3]} (rule 1: {old[3]})." in said


@pytest.mark.parametrize(
    "output",
    [
        "not a claim about means",
        "45 %",
        "26 %",
        "twenty 14 %",
        ".0625",
        "No claim by luck",
        "No paper here prints a median of a metric that a task here has",
        "in the same block, of the same depth and width",
        "verifies nothing",
        "need\n  not be transitive",
        "exact Mann–Whitney test",
        "× 1.25",
        "44 %",
        "`make honesty`",
    ],
)
def test_the_methods_name_what_is_not_claimed_and_the_cases_outside(output: str) -> None:
    assert re.sub(r"\s+", " ", output) in re.sub(r"\s+", " ", methods())


def test_the_methods_name_the_minimum_of_seeds_that_the_board_asks_for() -> None:
    assert ENOUGH == 5
    assert "fewer than five seeds is provisional" in methods() and "at least five seeds" in methods()
