"""``longwave published``: every printed number, what it is, and why some stand beside no row of ours."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter

import pytest

from longwave.platform.cli.main import main


def test_the_numbers_of_a_task_are_listed_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published", "fitzhugh_nagumo", "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert "| LSTM | 1.2 × 10⁻² | 16 | lem, Table 4; lem, Table 9 |" in text
    assert "7 of 7 can be compared with a row of ours." in text


def test_what_all_numbers_share_is_said_once_so_that_a_narrow_terminal_shows_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["published", "fitzhugh_nagumo"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Not shown" not in text and text.startswith("model number units printed in")
    assert (
        "All numbers: task: fitzhugh_nagumo; variant: tau=0.02; metric: L2 error; what it is: reported; run of: LEM; "
        "belongs to: fitzhugh_nagumo." in text
    )
    assert main(["published", "eigenworms", "--model", "exprnn", "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert "| eigenworms | N=17984 | expRNN | accuracy |" in text and "All numbers" not in text, "of one alone, no"


@pytest.mark.integration
def test_those_without_a_partner_are_listed_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published", "--unpaired", "--format", "json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert len(numbers) == 1251 - 324 and all(number["why"] for number in numbers)
    reasons = Counter(number["why"] for number in numbers)
    assert reasons.keys() > {
        "task not here", "model not here", "form not here", "block not here", "variant not here", "validation split",
    }  # fmt: skip
    assert main(["published", "--unpaired"]) == 0
    assert "324 of 1251 can be compared with a row of ours." in capsys.readouterr().out


def test_a_number_that_is_known_from_notes_alone_is_flagged(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published", "selective_copy", "--model", "mingru", "--format", "markdown"]) == 0
    assert "| 99.5 ± 0.2 | mean | — | minrnn, selective copy table, second hand |" in capsys.readouterr().out
    assert main(["published", "selective_copy", "--model", "mamba", "--format", "markdown"]) == 0
    assert "second hand" not in capsys.readouterr().out


def test_a_model_is_asked_for_by_its_key_and_spreads_stand_with_their_numbers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["published", "eigenworms", "--model", "lem", "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {(line["model"], line["printed"]) for line in lines} == {("lem", "92.3"), ("lem", "57.9"), ("lem", "88.2")}
    assert main(["published", "eigenworms", "--model", "exprnn", "--format", "latex"]) == 0
    assert r"40.0 $\pm$ 10.1 & mean of 5 & 64" in capsys.readouterr().out


def test_an_unknown_task_or_model_is_refused_with_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published", "smnits"]) == 2
    assert capsys.readouterr().err == (
        "longwave: No published number of the task 'smnits'. Did you mean smnist or psmnist or mnist98?\n"
    )
    assert main(["published", "--model", "lmm"]) == 2
    assert "No published number of the model 'lmm'. Did you mean" in capsys.readouterr().err


def test_a_model_here_of_which_no_number_is_printed_is_no_wrong_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["published", "--model", "horn"]) == 2
    assert capsys.readouterr().err == (
        "longwave: No published number of the model horn is on record. See: longwave models horn\n"
    )
