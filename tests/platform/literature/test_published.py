"""The shipped numbers: as printed, labelled a table at a time, each of one paper and of one variant of ours."""

from __future__ import annotations

import csv
import inspect
import re
from collections import Counter
from typing import Any

import pytest

from longwave.models.base.block_options import OPTIONS, fits
from longwave.platform.literature.pairing import BLOCK
from longwave.platform.literature.published import (
    FILE,
    NOWHERE,
    SECOND_HAND,
    STATISTICS,
    TABLES,
    as_printed,
    names,
    published_rows,
    rounding,
    tables,
    with_spread,
)
from longwave.platform.registry import all_models, all_tasks, get_model, get_task

PRINTED = published_rows()
MODERN = ("al_rnn", "bmru", "d_linoss", "horn", "linoss", "lrcssm", "lru", "mingru", "minlstm", "paragru", "paralstm",
          "rg_lru", "s5", "slstm", "transformer")  # fmt: skip
with FILE.open(newline="", encoding="utf-8") as file:
    LINES = list(csv.DictReader(file))


def labelled(source: str, table: str) -> dict[str, set[tuple[str, int | None]]]:
    """Return statistic and count of the numbers of a table by model, as they stand alone."""
    actual: dict[str, set[tuple[str, int | None]]] = {}
    for line in LINES:
        if (line["source"], line["table"]) == (source, table):
            own = line if line["statistic"] else tables()[source, table]
            count = int(own["n_runs"]) if own["n_runs"] else None
            actual.setdefault(line["model"], set()).add((own["statistic"], count))
    return actual


def test_every_printed_text_says_the_number_beside_it() -> None:
    assert len(LINES) == 1392
    for line in LINES:
        assert float(line["printed"]) == pytest.approx(float(line["value"]), rel=1e-12), line
        assert line["printed"].strip("0123456789.e-") == "" and not line["printed"].startswith("."), line


@pytest.mark.parametrize(
    ("where", "printed", "half"),
    [
        (("cornn", "Table 5", "psmnist", "cornn"), "96.10", 0.005),
        (("lem", "Table 2", "eigenworms", "exprnn"), "40.0", 0.05),
        (("lem", "Table 6", "ptb_char", "antisymmetric_rnn"), "1.60", 0.005),
        (("taugru", "Table 5", "enso", "cornn"), "4.00e-2", 0.00005),
        (("taugru", "Table 8", "mackey_glass", "lem"), "0.1430e-2", 0.0000005),
    ],
)
def test_zeros_at_the_end_stand_as_in_print_and_say_how_far_a_number_is_rounded(
    where: tuple[str, ...], printed: str, half: float
) -> None:
    keys = ("source", "table", "task", "model")
    assert [line["printed"] for line in LINES if tuple(line[k] for k in keys) == where] == [printed]
    assert rounding(printed) == pytest.approx(half, rel=1e-12)


def test_all_numbers_of_a_printed_table_of_accuracies_have_the_same_decimals() -> None:
    for table in (("cornn", "Table 1"), ("lipschitz", "Table 1"), ("taugru", "Table 6"), ("lem", "Table 1")):
        mine = [line["printed"] for line in LINES if (line["source"], line["table"]) == table]
        assert {len(text.partition(".")[2]) for text in mine} == {1}, table


def test_a_power_of_ten_is_written_as_readers_know_it() -> None:
    assert (as_printed("98.90"), as_printed("0.20e-2"), as_printed("2.0e-12")) == (
        "98.90", "0.20 × 10⁻²", "2.0 × 10⁻¹²",
    )  # fmt: skip


def test_every_table_has_one_line_with_a_reason_and_every_line_a_number() -> None:
    with TABLES.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    described = [(line["source"], line["table"]) for line in lines]
    assert len(described) == len(set(described)) and set(described) == {
        (line["source"], line["table"]) for line in LINES
    }
    assert all(len(line["why"]) > 10 and line["statistic"] in STATISTICS for line in lines)


@pytest.mark.parametrize("table", ["Table 1", "Table 3", "Table 4", "Table 5", "Table 9"])
def test_lem_and_its_rivals_of_one_table_are_labelled_alike(table: str) -> None:
    actual = labelled("lem", table)
    assert "lem" in actual and set().union(*actual.values()) == {("reported", None)}


def test_what_a_paper_ran_itself_has_one_label_a_table() -> None:
    actual: dict[tuple[str, str], set[str]] = {}
    columns = {("lipschitz", "Table 4"), ("taugru", "Table 10")}  # minimum, average and maximum are columns there
    for line in LINES:
        table = (line["source"], line["table"])
        if line["origin"].startswith(("this paper", "this work")) and table not in columns:
            actual.setdefault(table, set()).add(line["statistic"] or tables()[table]["statistic"])
    assert {table: words for table, words in actual.items() if len(words) > 1} == {}


def test_a_number_that_says_its_own_statistic_differs_from_its_table() -> None:
    for line in LINES:
        table = tables()[line["source"], line["table"]]
        assert line["statistic"] or not line["n_runs"], "a count of its own comes with a statistic of its own"
        assert (line["statistic"], line["n_runs"]) != (table["statistic"], table["n_runs"]), line


@pytest.mark.parametrize(
    ("where", "statistic", "n"),
    [
        (("grazzi2025", "Table 2", "modular_arithmetic", "slstm", "0.787"), "best", "3"),
        (("grazzi2025", "appendix table", "modular_arithmetic", "slstm", "0.124"), "median", "3"),
        (("grazzi2025", "Table 2", "modular_arithmetic", "slstm", "1.0"), "reported", ""),
        (("linoss", "Table 1", "uea6_average", "linoss", "67.8"), "average", ""),
        (("slice", "Table 2", "parity", "lstm", "100"), "mean", "5"),
        (("mamba3", "state-tracking table", "parity", "mamba2", "0.9e-2"), "best", ""),
    ],
)
def test_a_number_is_called_what_it_is_of_its_papers_runs(where: tuple[str, ...], statistic: str, n: str) -> None:
    keys = ("source", "table", "task", "model", "printed")
    [line] = [line for line in LINES if tuple(line[key] for key in keys) == where]
    own = line if line["statistic"] else tables()[line["source"], line["table"]]
    assert (own["statistic"], own["n_runs"]) == (statistic, n)


def test_printed_averages_over_tasks_are_those_of_the_numbers_in_their_table() -> None:
    parts = {
        "uea6_average": ("eigenworms", "scp1", "scp2", "ethanol", "heartbeat", "motor"),
        "fsa4_average": ("cycle_navigation", "even_pairs", "modular_arithmetic", "parity"),
        "lra_average": ("listops", "lra_text", "lra_retrieval", "lra_image", "lra_pathfinder", "lra_pathx"),
    }
    checked, off = 0, {}
    for line in LINES:
        if line["task"] in parts:
            same = ("source", "table", "model", "model_variant")
            mine = [other for other in LINES if all(other[key] == line[key] for key in same)]
            numbers = [float(other["value"]) for other in mine if other["task"] in parts[line["task"]]]
            if len(numbers) >= len(parts[line["task"]]) - 1:
                checked += 1
                if abs(sum(numbers) / len(numbers) - float(line["value"])) > 0.061:
                    off[line["source"], line["model"], line["model_variant"]] = sum(numbers) / len(numbers)
    assert checked == 67 and list(off) == [("lra", "sinkhorn", "")], "the leaderboard prints 51.29 for 51.48"


def test_a_quote_without_its_statistic_is_the_number_it_quotes() -> None:
    [best] = [n for n in PRINTED if (n["task"], n["model"], n["value"]) == ("ncifar", "cornn", 59.0)]
    assert (best["statistic"], len(best["sources"].split("\n"))) == ("best", 4)
    same = [n for n in PRINTED if (n["task"], n["model_variant"], n["value"]) == ("timit", "rk2", 2.76)]
    assert [(n["statistic"], n["n"]) for n in same] == [("best", 10)], "the best of 10 is the least of 10"
    other = [n for n in PRINTED if (n["task"], n["model_variant"], n["value"]) == ("smnist", "rk2", 98.9)]
    assert {n["units"] for n in other} == {"64", "128"}, "two sizes are two numbers"
    [quote] = [n for n in PRINTED if (n["task"], n["model"], n["value"]) == ("scifar", "tau_gru", 74.9)]
    assert (quote["statistic"], quote["n"]) == ("max", 8), "τ-GRU's Table 3 repeats the maximum of Table 10"


def test_what_one_printing_of_a_number_leaves_out_another_says() -> None:
    known = {
        (n["task"], n["model"], n["value"], s.partition(")")[0]): n for n in PRINTED for s in n["sources"].split("\n")
    }
    for line in LINES:
        source = f"{line['source']}, {line['table']} ({line['origin']})".partition(")")[0]
        number = known[line["task"], line["model"], float(line["value"]), source]
        for cell, name in (("n_runs", "n"), ("layers", "layers"), ("params", "params")):
            assert number[name] is not None or not line[cell], line


def test_equal_numbers_of_two_papers_runs_are_two_numbers() -> None:
    same = [n for n in PRINTED if (n["task"], n["model"], n["value"]) == ("bidmc32hr", "unicornn", 1.31)]
    assert {(n["paper"], n["statistic"], n["n"]) for n in same} == {("thesis", "run", 1), ("lem", "reported", None)}


def test_each_number_has_an_id_of_its_own() -> None:
    assert Counter(n["id"] for n in PRINTED).most_common(1)[0][1] == 1
    assert len(PRINTED) == 1251


def test_whose_run_a_number_is_follows_from_who_it_is_credited_to() -> None:
    for line in LINES:
        if line["origin"].startswith("this paper"):
            assert line["paper"] == line["source"], line
        if line["paper"] not in ("", line["source"]):
            named = ("Rusch", "Erichson", "thesis ch.", "LEM paper", "Beck", "[")
            assert any(name in line["origin"] for name in named), line
    [theirs] = [n for n in PRINTED if (n["task"], n["model"], n["value"]) == ("psmnist", "lstm", 92.9)]
    assert theirs["paper"] == "", "Helfrich et al. ran it"


def test_every_variant_that_numbers_belong_to_is_one_of_the_task() -> None:
    for task, spec in all_tasks().items():
        for ours in {n["ours"] for n in PRINTED if n["task"] == task} - {NOWHERE, spec.variant}:
            assert ours in re.findall(r"[\w=.]+", spec.variants), (task, ours)


@pytest.mark.parametrize(
    ("task", "paper", "ours"),
    [
        ("psmnist", "cornn", "seed=12008"),
        ("psmnist", "lipschitz", "seed=12008"),
        ("psmnist", "lem", "seed=5544"),
        ("psmnist", "thesis", "seed=5544"),
        ("psmnist", "taugru", "seed=12008"),
        ("smnist", "lipschitz", "lipschitz"),
        ("smnist", "lem", ""),
        ("scifar", "lipschitz", "neighbours"),
        ("imdb", "cornn", "padded"),
        ("imdb", "taugru", ""),
        ("enso", "taugru", "h=1"),
        ("timit", "lipschitz", "previous"),
        ("ncifar", "cornn", ""),
    ],
)
def test_a_paper_that_tells_its_data_has_its_numbers_on_that_variant(task: str, paper: str, ours: str) -> None:
    mine = [n for n in PRINTED if (n["task"], n["paper"]) == (task, paper) and n["ours"] != NOWHERE]
    assert {n["ours"] for n in mine} == {ours}


def test_parameters_fixed_in_print_are_the_models_own_and_their_defaults_where_nothing_searches_them() -> None:
    fixed: list[dict[str, Any]] = [n for n in PRINTED if n["fixed"]]
    assert {n["model"] for n in fixed} == {"lem", "tau_gru"}
    for number in fixed:
        params = {param.name: param for param in get_model(number["model"]).params}
        for name, _, value in (part.partition("=") for part in number["fixed"].split()):
            assert params[name].searched or params[name].default == float(value)


def test_blocks_of_numbers_are_written_as_a_row_has_them() -> None:
    for number in (n for n in PRINTED if n["block"] not in ("", NOWHERE)):
        pairs = dict(part.split("=") for part in number["block"].split())
        assert fits(get_model(number["model"]).layer) and list(pairs) == [n for n in (*BLOCK, "width") if n in pairs]
        assert pairs.pop("width").isdecimal() and pairs["block"] in ("pre", "post"), number
        for name, value in pairs.items():
            assert value in map(str, OPTIONS[name][1:]), f"{number}: a default is left out"
        assert str(number["layers"]) == pairs["depth"] and number["units"].isdecimal()


FEATURES = {"eigenworms": (6, 5), "scp1": (6, 2), "scp2": (7, 2), "ethanol": (3, 4), "heartbeat": (61, 2),
            "motor": (64, 2)}  # fmt: skip
"""Features and classes of Walker et al.'s six sets."""


def test_blocks_and_sizes_of_numbers_give_the_parameters_that_are_printed_with_them() -> None:
    checked = 0
    for number in (n for n in PRINTED if n["task"] in FEATURES and n["params"] and n["block"] not in ("", NOWHERE)):
        spec, (p, q) = get_model(number["model"]), FEATURES[number["task"]]
        pairs = dict(part.split("=") for part in number["block"].split())
        width, depth = int(pairs["width"]), int(pairs["depth"])
        options = {**pairs, "depth": depth, **spec.printed.get(number["model_variant"], {})}
        buffers = depth * (2 * width + 1)
        counts = [spec.parameters(p + time, int(number["units"]), q, width, options) + buffers for time in (0, 1)]
        assert number["params"] in counts, number
        checked += 1
    assert checked == 43


def test_what_is_known_from_notes_alone_says_so_first() -> None:
    secondhand = [line for line in LINES if SECOND_HAND in line["note"]]
    assert {line["source"] for line in secondhand} == {
        "d-linoss", "liquid-s4", "lmu", "lmu-fft", "lmuformer", "minrnn", "ms-ssm", "pararnn", "pd-ssm", "s4", "s5",
        "sugru", "xlstm",
    }  # fmt: skip
    for line in LINES:
        if "notes on the paper" in line["note"] + tables()[line["source"], line["table"]]["why"]:
            assert line["note"].startswith(SECOND_HAND), line
        assert (SECOND_HAND in line["note"]) == line["note"].startswith(SECOND_HAND), line


@pytest.mark.parametrize("name", MODERN)
def test_each_model_after_2021_has_a_printed_number_or_says_that_none_is_available(name: str) -> None:
    printed = [n for n in PRINTED if n["model"] == name]
    assert bool(printed) != (
        "No published result of it is available here" in (inspect.getdoc(get_model(name).layer) or "")
    )


def test_every_model_of_a_published_number_has_a_name_in_print_and_ours_have_our_own() -> None:
    assert {number["model"] for number in PRINTED} == set(names())
    ours = {name: spec.title for name, spec in all_models().items() if name in names()}
    assert ours == {name: names()[name] for name in ours}


def test_every_recipe_names_its_paper_or_is_ours() -> None:
    called = {"LEM": "lem", "coRNN": "cornn", "Lipschitz": "lipschitz", "τ-GRU": "taugru", "UnICORNN": "thesis",
              "thesis": "thesis", "GraphCON": "thesis", "Mamba": "mamba", "ours": ""}  # fmt: skip
    for task, spec in all_tasks().items():
        for model in spec.recipes if spec.family != "your own data" else ():
            recipe = spec.recipe(model)
            word = re.sub("^units(:| of) ", "", recipe.source).split("'")[0].split(",")[0].split(":")[0].split(" ")[0]
            assert recipe.paper == called[word], (task, model, recipe.source)
            if "not stated" in recipe.source or "no batch" in recipe.source:
                assert recipe.unstated, (task, model)


def test_notes_on_protocols_are_of_papers_that_are_known() -> None:
    known = {"cornn", "lem", "lipschitz", "taugru", "thesis", "xlstm", "mamba", "zoology", "lra", "grazzi2025"}
    for spec in all_tasks().values():
        assert {paper for message in spec.protocols for paper in message.papers} <= known
    [last] = get_task("fitzhugh_nagumo").protocols
    assert (last.papers, last.minor) == (("lem",), True)


@pytest.mark.parametrize(
    ("printed", "std", "text"),
    [
        ("10.89e-2", 0.0096, "(10.89 ± 0.96) × 10⁻²"),
        ("0.2e-2", 0.00012, "(0.2 ± 0.012) × 10⁻²"),
        ("1.5e3", 20.0, "(1.5 ± 0.02) × 10³"),
        ("99.0", 1.9, "99.0 ± 1.9"),
        ("81.1", 16.65, "81.1 ± 16.65"),
        ("100", 0.0, "100 ± 0"),
        ("1.2e-2", None, "1.2 × 10⁻²"),
    ],
)
def test_a_printed_number_and_its_spread_have_one_power_of_ten(printed: str, std: float | None, text: str) -> None:
    assert with_spread(as_printed(printed), std) == text
