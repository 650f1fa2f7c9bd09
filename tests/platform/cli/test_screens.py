"""What commands print at 80, 120 and 200 columns is what was read and kept; ``make screens`` writes it anew."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from screens import (
    FOLDER,
    SCREENS,
    WIDTHS,
    make_command,
    make_rows,
    print_page,
    print_screen,
    screen_file,
    stage_commands,
)

from longwave.platform.cli.main import main


@pytest.fixture(scope="module", autouse=True)
def staged() -> Iterator[None]:
    """Commands have the store of the screens."""
    with stage_commands():
        yield


@pytest.fixture(autouse=True)
def home() -> None:
    """Leave the home that ``stage`` names."""


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_the_one_that_was_read(name: str) -> None:
    assert print_page(name) == screen_file(name).read_text(encoding="utf-8"), (
        f"Read what `make screens` writes to {screen_file(name).name}."
    )


def test_no_screen_is_kept_of_what_is_gone() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SCREENS)


@pytest.mark.parametrize("name", SCREENS)
def test_no_line_is_wider_than_the_terminal(name: str) -> None:
    for part in re.split("^─── ", screen_file(name).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        assert max(map(cell_len, part.splitlines()[1:])) <= int(part.split()[0]), part[:2000]


@pytest.mark.integration
@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_ends_in_spaces(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for show in SCREENS.values():
        show()
    assert main(["methods"]) == 0
    assert not re.findall(".* \n", capsys.readouterr().out)


@pytest.mark.parametrize("width", [*WIDTHS, 60])
def test_scores_ranks_and_row_ids_of_a_board_are_whole_at_any_width(width: int) -> None:
    shown = print_screen("board_of_one_task", width)
    for rank, median, config in (
        ("1–2", "0.0127 [0.0124, 0.0130]", "17319b40"),
        ("1–2", "0.0521 [0.0514, 0.0527] (75 %)", "1a882293"),
        ("3", "0.0940 [0.0914, diverged]", "31c9c60a"),
    ):
        [line] = [line for line in shown.splitlines() if config in line and median in line]
        assert line.split()[0] == rank
    first = "LEM beats the best trivial predictor (mean, 0.169). Best median of 3 ranked rows"
    assert " ".join(shown.split()).startswith(f"{first}: LEM, 0.0127 [0.0124, 0.0130]")


def test_a_pipe_without_columns_gets_whole_lines_and_leaves_nothing_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    make_command("tasks")()
    out = capsys.readouterr().out
    assert "No room" not in out and "Memory: add two numbers that lie up to N steps apart among distractors." in out
    assert sum(line.startswith("adding ") for line in out.splitlines()) == 1


def test_programs_get_the_same_at_any_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = []
    for width in ("40", "200"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["board", "adding", "--format", "csv"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_a_board_counts_search_trials_that_were_drawn_and_trained_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["board", "adding", "--format", "json"]) == 0
    best = json.loads(capsys.readouterr().out)[0]
    assert [best[name] for name in ("searched", "search_whole", "search_diverged")] == [8, 7, 1]


def test_a_row_and_a_trial_are_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    best = make_rows()[0]

    def facts_of(name: str) -> dict[str, dict[str, object]]:
        assert main(["show", name, "--format", "json"]) == 0
        facts: dict[str, dict[str, object]] = json.loads(capsys.readouterr().out)
        return facts

    row, trial = facts_of(best.config.row[:6]), facts_of(best.runs[2].id[:9].upper())
    assert row["row"]["name"] == best.config.row and row["scores"]["n"] == 6
    assert len(row["seeds"]) == 6 and best.runs[2].id in str(row["seeds"]["seed 2"])
    assert (row["cost"]["seconds of the retrainings"], row["cost"]["search trials drawn"]) == (12.0, 8)
    assert row["cost"]["search trials completed"] == 7, "one diverged"
    assert row["commands"]["train it once more"] == f"longwave reproduce {best.config.row[:12]}"
    assert trial["trial"] == {
        "name": best.runs[2].id, "of the row": best.config.row, "phase": "retrain", "seed": 2, "sweeps": ["demo"],
        "pack": None,
    }  # fmt: skip
    assert trial["scores"]["test"] == best.runs[2].test and trial["settings"]["lr"] == 0.1
    assert trial["end"]["status"] == "ok" and trial["cost"]["seconds"] == 2.0


PAPER = r"""\documentclass[twocolumn]{article}
\begin{document}
TABLES
\end{document}
"""


@pytest.mark.integration
@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no pdflatex here")
def test_boards_compile_in_a_paper_of_two_columns_and_fit_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["board"], ["board", "adding"], ["board", "digits"], ["published", "psmnist"]):
        assert main([*command, "--format", "latex"]) == 0
    paper = PAPER.replace("TABLES", capsys.readouterr().out)
    (tmp_path / "paper.tex").write_text(paper, encoding="utf-8")
    made = subprocess.run(["pdflatex", "-halt-on-error", "paper.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert made.returncode == 0 and b"Overfull" not in made.stdout, made.stdout.decode(errors="replace")[-2000:]
