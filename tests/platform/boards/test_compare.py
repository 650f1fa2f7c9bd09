"""Two models against each other: the numbers are those of the contrast, and one sentence says what they come to."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from boards import keep, retrained

from longwave.platform.boards.board import rows
from longwave.platform.boards.compare import compare, resolve
from longwave.platform.boards.row import SHORT, Row
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.render.comparison import print_comparison
from longwave.platform.render.export import Format
from longwave.platform.statistics.contrast import contrast
from longwave.platform.statistics.scale import Scale
from longwave.platform.storage.store import Store

LOW, HIGH = [7.0, 7.1, 7.2, 7.3], [9.0, 9.1, 9.2, 9.3]
NEAR, NEARER = [7.05, 7.25, 7.45, 7.5], [7.15, 7.08, 7.25, 7.35]


def seven_tasks() -> list[Row]:
    """LEM beats coRNN on u, v; loses on w; x and y are open; on z LEM diverges, on t it failed. GRU ran on q alone."""
    tasks = {"u": (LOW, HIGH), "v": (LOW, HIGH), "w": (HIGH, LOW), "x": (NEAR, LOW), "y": (NEARER, LOW)}
    tasks |= {"z": (["diverged"] * 6, [*LOW, 7.4, 7.5]), "t": (["failed"] * 4, LOW)}
    groups = [retrained(m, s, task=t) for t, both in tasks.items() for m, s in zip(("lem", "cornn"), both, strict=True)]
    return rows([*groups, retrained("gru", LOW, task="q")], [])


def test_each_contest_is_the_contrast_of_the_rows_seeds() -> None:
    actual = compare(seven_tasks(), "lem", "cornn")
    by_task = {contest.a.task: contest for contest in actual.contests}
    assert sorted(by_task) == ["t", "u", "v", "w", "x", "y", "z"]
    assert by_task["x"].contrast == contrast(NEAR, LOW, Scale())
    assert [by_task[t].word for t in "uwxzt"] == ["better", "worse", "undecided", "worse", "no seed"]
    assert by_task["z"].contrast == contrast([None] * 6, [*LOW, 7.4, 7.5], Scale())
    assert by_task["t"].contrast is None and by_task["t"].hint == ""


def test_sides_of_one_name_are_told_apart_by_their_rows_and_only_models_are_represented_by_a_row() -> None:
    block = {"block": "pre", "depth": 1}
    made = rows([retrained("lem", HIGH), retrained("lem", LOW, title="LEM (block pre)", options=block)], [])
    best, plain = sorted(made, key=lambda row: row.median or 0.0)
    assert plain.label == "LEM" != best.label
    of_model = compare(made, plain.config, "lem")
    assert of_model.verdict.startswith(f"LEM ({plain.config[:SHORT]}) loses to LEM ({best.config[:SHORT]}) on ")
    assert of_model.how.startswith("A model is represented by")
    of_rows = compare(made, best.config, plain.config)
    assert (of_rows.a, of_rows.b) == (best.label, "LEM") and of_rows.how.startswith("Median over all seeds")


def test_a_terminal_shows_the_settings_of_a_few_boards_only(capsys: pytest.CaptureFixture[str]) -> None:
    made = [row for row in seven_tasks() if row.kind == "retrained"]
    differing = [
        replace(row, settings={**row.settings, "params": {"lr": 0.001 * k}}) if row.model == "lem" else row
        for k, row in enumerate(made, 1)
    ]
    print_comparison(compare(made, "lem", "cornn"), Format.table)
    assert "settings that differ: none" in capsys.readouterr().out
    print_comparison(compare(differing, "lem", "cornn"), Format.table)
    printed = " ".join(capsys.readouterr().out.split())
    assert "lr 0.00" not in printed and "Settings that differ on a board: add --task TASK." in printed
    print_comparison(compare(differing, "lem", "cornn"), Format.csv)
    assert "lr" in capsys.readouterr().out, "other formats have all"


def test_a_model_without_a_row_on_a_task_is_said_to_have_run_elsewhere() -> None:
    with pytest.raises(ConfigError, match="^lem and gru cannot be compared on u: lem ran on t, u, .*; gru on q\\.$"):
        compare(seven_tasks(), "lem", "gru", task="u")
    assert [contest.a.task for contest in compare(seven_tasks(), "lem", "cornn", task="u").contests] == ["u"]


def test_one_sentence_counts_the_tasks_and_says_how_many_seeds_would_decide() -> None:
    more = contrast(NEAR, LOW, Scale()).more, contrast(NEARER, LOW, Scale()).more
    assert None not in more and 0 not in more
    actual = compare(seven_tasks(), "lem", "cornn")
    near = ", ".join(f"about {k} more seeds would decide {task}" for k, task in sorted(zip(more, "xy", strict=True)))
    assert actual.verdict == (
        f"LEM beats CORNN on 2 of 7 boards; loses on 2; 2 undecided; 1 without a seed of both; {near}."
    )
    back = compare(seven_tasks(), "cornn", "lem").verdict
    assert back.startswith("CORNN beats LEM on 2 of 7 boards; loses on 2; 2 undecided;")


@pytest.mark.parametrize(
    ("a", "b", "end"),
    [
        ([1.0], [2.0, 2.1], ": one seed cannot decide."),
        ([1.0, 1.1, 1.2, 1.3, 1.4], [1.0, 1.1, 1.2, 1.3, 1.4], ": even 100 more seeds would not decide."),
        (NEAR, LOW, " more seeds would decide it."),
    ],
)
def test_on_one_board_the_sentence_says_what_would_decide_it_or_that_nothing_would(
    a: list[float], b: list[float], end: str
) -> None:
    verdict = compare(rows([retrained("a", a), retrained("b", b)], []), "a", "b").verdict
    assert verdict.endswith(end) and verdict.count("decide") == 1


def test_a_ratio_within_the_margin_is_no_difference() -> None:
    pair = rows([retrained("a", [1.00, 1.01, 1.02, 1.03]), retrained("b", [1.005, 1.015, 1.025, 1.035])], [])
    assert compare(pair, "a", "b", margin=1.05).verdict == "A and B are equivalent on T."
    assert "the 90 % interval of the ratio lies in 1/1.05 to 1.05." in compare(pair, "a", "b", margin=1.05).how
    assert "Equivalent" not in compare(pair, "a", "b").how


def test_how_a_comparison_is_to_be_read_is_said() -> None:
    how = compare(seven_tasks(), "lem", "cornn").how
    assert "a diverged seed counted as worst" in how and "the ranks of a board are stricter" in how


def test_boards_on_which_one_model_has_no_row_are_named_as_in_print() -> None:
    groups = [retrained(m, LOW, variant=f"N={n}") for m, sizes in (("a", "12"), ("b", "13")) for n in sizes]
    actual = compare(rows(groups, []), "a", "b")
    assert actual.how.endswith(" Only one of them has a row on: T, N=2; T, N=3.")
    assert actual.to_dict()["alone"] == ["t N=2", "t N=3"]
    assert "Only one" not in compare(seven_tasks(), "lem", "cornn").how


def test_a_model_stands_for_its_row_that_is_best_on_validation() -> None:
    groups = [
        retrained("a", [1.0, 1.1], valid=9.0, hidden=1),
        retrained("a", [2.0, 2.1], valid=1.0, hidden=2),
        retrained("b", [3.0, 3.1], params={"dt": 0.5}),
    ]
    [contest] = compare(rows(groups, []), "a", "b").contests
    assert contest.a.hidden == 2
    assert contest.differs == {"hidden": (2, 8), "lr": (0.1, None), "dt": (None, 0.5)}


def test_two_rows_of_one_model_can_be_compared_by_their_names() -> None:
    pair = rows([retrained("a", LOW, hidden=1), retrained("a", HIGH, hidden=2)], [])
    better, worse = pair
    actual = compare(pair, better.config, worse.config)
    assert actual.verdict == "A (hidden 1) beats A (hidden 2) on T."
    assert actual.contests[0].differs == {"hidden": (1, 2)}


def test_what_cannot_be_compared_is_refused_in_one_line() -> None:
    made = seven_tasks()
    with pytest.raises(
        ConfigError, match="^gru and lem have no task in common: gru ran on q; lem on t, u, v, w, x, y, z"
    ):
        compare(made, "gru", "lem")
    with pytest.raises(ConfigError, match="^lem and lem are the same row. Compare two rows, or two models"):
        compare(made, "lem", "lem")


def test_a_comparison_is_printed_with_probabilities_ratios_and_what_differs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_comparison(compare(seven_tasks(), "lem", "cornn"), Format.markdown)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "### LEM against CORNN"
    assert lines[5].startswith(
        "| u: MSE ↓ | **7.15 [7.00, 7.30] (87.5 %) (4)** | 9.15 [9.00, 9.30] (87.5 %) (4) | 1.00 ["
    )
    assert "| 0.78 (0.76–0.80) | better |" in lines[5]
    assert lines[7].startswith("| w: MSE ↓ | 9.15 [9.00, 9.30] (87.5 %) (4) | **7.15 [")
    assert "| failed |" in lines[4] and "| no seed |" in lines[4]
    assert "| diverged (0 of 6) |" in lines[10] and "| — | worse |" in lines[10]
    assert "| undecided (about " in lines[8] and lines[8].endswith(" more seeds) | none |")
    assert lines[-1].startswith("LEM beats CORNN on 2 of 7 boards;")


def test_programs_get_the_same_with_full_precision(capsys: pytest.CaptureFixture[str]) -> None:
    actual = compare(seven_tasks(), "lem", "cornn", margin=1.01)
    print_comparison(actual, Format.json)
    content = json.loads(capsys.readouterr().out)
    assert (content["a"], content["b"], content["margin"], content["verdict"]) == ("LEM", "CORNN", 1.01, actual.verdict)
    first = content["tasks"][1]
    wanted = contrast(LOW, HIGH, Scale(), 1.01)
    assert wanted.ratio is not None
    assert (first["ratio"], first["ratio_low"], first["improvement"]) == (
        wanted.ratio.value,
        wanted.ratio.low,
        wanted.improvement.value,
    )
    assert (first["a_model"], first["a_n"], first["decision"], first["more"]) == ("lem", 4, "better", 0)
    assert (first["a_median"], first["a_median_best"], first["b_median"]) == pytest.approx((7.15, 7.0, 9.15))
    assert (content["tasks"][-1]["a_diverged"], content["tasks"][-1]["ratio"]) == (6, None)
    print_comparison(actual, Format.csv)
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [line["decision"] for line in lines] == [task["decision"] for task in content["tasks"]]


@pytest.fixture
def stored(tmp_path: Path, open_store: Callable[[str], Store]) -> str:
    """A store with four retrainings of LEM and of LSTM on FitzHugh-Nagumo."""
    url = f"sqlite:///{tmp_path}/pair.db"
    store = open_store(url)
    store.add_sweep("demo", {})
    for model, tests in {"lem": [0.002, 0.003, 0.004, 0.005], "lstm": [0.012, 0.013, 0.014, 0.015]}.items():
        keep(store, retrained(model, tests, task="fitzhugh_nagumo", metric="l2_error"))
    return url


@pytest.mark.integration
def test_the_command_compares_models_and_rows(stored: str, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*arguments: str) -> str:
        assert main([*arguments, "--store", stored]) == 0
        return capsys.readouterr().out

    assert "LEM beats LSTM on " in " ".join(printed("compare", "lem", "lstm").split())
    ours = [r for r in json.loads(printed("board", "--format", "json")) if r["kind"] == "retrained"]
    names = [row["config"][:8] for row in ours]
    content = json.loads(printed("compare", *names, "--task", "fitzhugh_nagumo", "--format", "json"))
    assert [task["decision"] for task in content["tasks"]] == ["better"]
    assert "| LEM | 1.00" not in printed("board", "--format", "markdown"), "no trivial predictor, no score"
    alone = printed("board", "fitzhugh_nagumo", "--models", "lstm", "--format", "markdown")
    assert "Ranked: only models lstm." in alone and "| LEM |" not in alone


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "lem", "lst"), "No retrained model 'lst'. Did you mean lstm"),
        (("compare", "lem", "0123456789"), "No trained row has a name that begins with 0123456789"),
        (("compare", "lem", "lstm", "--task", "adding"), "No retrainings of adding are stored yet"),
        (("compare", "lem", "lstm", "--margin", "1"), "ratio of errors above 1, got margin 1. Try 1.05."),
        (("compare", "lem", "lstm", "--margin", "nan"), "ratio of errors above 1, got margin nan."),
        (("board", "fitzhugh_nagumo", "--models", "lemm"), "No results of model 'lemm'. Did you mean lem"),
        (("board", "fitzhugh"), "No task 'fitzhugh'"),
    ],
)
def test_bad_input_is_one_line(
    stored: str, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--store", stored]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and message in captured.err


def test_a_name_is_a_model_before_it_is_a_row_and_its_first_digits_are_enough() -> None:
    made = seven_tasks()
    assert resolve(made, "lem") == "lem"
    name = made[0].config
    assert resolve(made, name[:9].upper()) == name == resolve(made, name)


def test_names_that_name_nothing_or_too_much_say_what_to_do() -> None:
    alike = [replace(row, config=f"abcd{k}" + row.config[5:]) for k, row in enumerate(seven_tasks())]
    with pytest.raises(
        ConfigError, match="^No trained row has a name that begins with 0123456789. See the names with: longwave"
    ):
        resolve(alike, "0123456789")
    with pytest.raises(
        ConfigError, match=r"^abcd begins the names of 15 rows: abcd\w{8} \(\w+ on \w\), .* and 10 more\. Give"
    ):
        resolve(alike, "abcd")
    with pytest.raises(ConfigError, match="^No retrained model 'abc'. .*Rows are named by 4 hex digits or more"):
        resolve(alike, "abc")
