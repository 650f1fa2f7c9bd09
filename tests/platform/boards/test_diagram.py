"""Critical-difference figures: tests across tasks against scipy and printed values, the picture by what is in it."""

from __future__ import annotations

import html
import json
import math
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from boards import keep, retrained
from pages import published
from scipy.stats import chi2, friedmanchisquare, wilcoxon

from longwave.platform.boards.board import rows
from longwave.platform.boards.diagram import Diagram, diagram
from longwave.platform.boards.overview import ModelLine, Overview, overview
from longwave.platform.boards.separation import Separation
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.figures.critical_difference import draw_diagram, save_diagram
from longwave.platform.records.group import Group
from longwave.platform.statistics.overall import mean_ranks, task_ranks
from longwave.platform.statistics.ranking import holm
from longwave.platform.statistics.scale import Scale
from longwave.platform.storage.store import Store

DEMSAR = {
    "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.940, 0.619, 0.972, 0.957],
    "C4.5+m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978],
    "C4.5+cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.0, 0.965, 0.614, 0.9751, 0.946],
    "C4.5+m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.0, 0.962, 0.669, 0.975, 0.970],
}
"""Table 6 of Demšar, Journal of Machine Learning Research 2006: AUC of four classifiers on 14 data sets.

0.9751 is 0.975 in print, as is its neighbour below; the ranks printed beside them, 2 and 3, say which was better.
"""


HIGH = Scale("max", None)


def scored(models: Mapping[str, Sequence[float]]) -> Overview:
    """Return an overview of models with these scores, one a task; none has a board behind it."""
    tasks = list(zip(*models.values(), strict=True))
    seeds = [[[score] for score in task] for task in tasks]
    ranks = zip(*(task_ranks(task, HIGH) for task in seeds), strict=True)
    lines = [
        ModelLine(name, name, [None] * len(tasks), rank=mean, medians=scores, ranks=places)
        for (name, scores), mean, places in zip(
            models.items(), mean_ranks(seeds, [HIGH] * len(tasks)), ranks, strict=True
        )
    ]
    return Overview([(f"task {k}", "") for k in range(len(tasks))], lines, [Separation("separates")] * len(tasks))


def ordered(models: int, tasks: int) -> Overview:
    """Return an overview of models that stand in the same order on every task, by gaps that all differ."""
    return scored({f"m{k}": [k * (1 + t / 100) for t in range(tasks)] for k in range(models)})


def texts(picture: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


def test_demsars_example_has_the_ranks_and_the_tests_he_prints() -> None:
    actual = diagram(scored(DEMSAR))
    assert {name: round(rank, 3) for name, rank in actual.ranks.items()} == {
        "C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143,
    }  # fmt: skip
    statistic = 12 * 14 / (4 * 5) * (sum(rank**2 for rank in actual.ranks.values()) - 4 * 5**2 / 4)
    assert round(statistic, 2) == 9.28  # without the correction for equal scores, which makes it larger
    assert actual.friedman == pytest.approx(friedmanchisquare(*DEMSAR.values()).pvalue, rel=1e-12)
    assert actual.friedman < chi2.sf(statistic, 3) < 0.05


def test_pairs_are_wilcoxons_tests_with_holm() -> None:
    actual = diagram(scored(DEMSAR))
    names = list(actual.ranks)
    tests = [wilcoxon(DEMSAR[a], DEMSAR[b], zero_method="zsplit").pvalue for a, b in combinations(names, 2)]
    table = np.array(actual.pairs)
    np.testing.assert_allclose(table[np.triu_indices(4, 1)], holm([float(p) for p in tests]), rtol=1e-12)
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 1)


def test_three_ordered_models_are_told_apart_on_seven_tasks_and_not_on_six() -> None:
    """All 2ⁿ signs are alike: p = 2 / 2ⁿ for each of the 3 pairs, which Holm multiplies by 3."""
    for tasks in (6, 7):
        actual = diagram(ordered(3, tasks))
        assert actual.friedman == pytest.approx(math.exp(-tasks))  # χ² = 2n with two degrees of freedom
        np.testing.assert_allclose(np.array(actual.pairs)[np.triu_indices(3, 1)], 6 / 2**tasks)
    assert "tell any two" not in actual.caption
    assert "6 tasks cannot tell any two of 3 models apart: that takes 7." in diagram(ordered(3, 6)).caption


@pytest.mark.parametrize("models", [3, 5, 22])
def test_the_tasks_that_are_needed_are_the_fewest_with_a_small_enough_p(models: int) -> None:
    actual = Diagram({str(k): 1.0 for k in range(models)}, 2, 1.0, [])
    smallest = [models * (models - 1) / 2 * 2 / 2**n for n in range(30)]
    assert actual.needed == next(n for n, p in enumerate(smallest) if p <= 0.05)


def test_no_pair_is_tested_where_friedmans_test_rejects_nothing() -> None:
    actual = diagram(scored({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 1.0], "c": [3.0, 1.0, 2.0]}))
    assert actual.friedman == 1.0 and actual.pairs == [[1.0] * 3] * 3
    assert "tells no model from the others (p = 1), so no pair was tested." in actual.caption
    assert diagram(scored({name: [1.0, 2.0] for name in "abc"})).friedman == 1.0


def test_the_figure_is_made_of_the_normalised_medians_and_mean_ranks_of_the_overview() -> None:
    tests = {"a": [9.0, 9.2] * 3, "b": [7.0, 7.2] * 3, "c": [5.0, "diverged", 5.0, 6.0, 5.0]}
    groups = [
        retrained(
            model, [t if isinstance(t, str) else t + k / 10 for t in ends], "max", task=f"t{k}", trivial={"m": 1.0}
        )
        for k in range(7)
        for model, ends in tests.items()
    ]
    groups.append(retrained("d", [9.9] * 5, "max", task="t0", trivial={"m": 1.0}))
    whole = overview(rows(groups, []))
    actual = diagram(whole)
    assert list(actual.ranks.items()) == [(line.title, line.rank.value) for line in whole.lines if line.rank]
    assert [*actual.ranks] == ["A", "B", "C"] and actual.tasks == 7
    a, _, c, d = whole.lines
    assert a.medians[0] == 1 and c.medians[0] == pytest.approx(4 / 8.1) and d.medians == ()
    assert max(map(max, actual.pairs)) == 1 and np.array(actual.pairs)[0, 1] == pytest.approx(3 / 64)


def test_models_below_the_trivial_predictor_are_told_apart_by_their_medians() -> None:
    tests = {"a": [0.5] * 10, "b": [2.0] * 10, "c": [4.0] * 10, "d": ["diverged"] * 10}
    groups = [
        retrained(model, [t if isinstance(t, str) else t + k / 100 for k, t in enumerate(ends)], task=f"t{n}",
                  trivial={"m": 1.0})
        for n in range(10) for model, ends in tests.items()
    ]  # fmt: skip
    actual = diagram(overview(rows(groups, [])))
    lowest = 6 * 2 / 2**10  # Holm's first step of six pairs, each with ten differences of one sign
    assert [*actual.ranks] == ["A", "B", "C", "D"]
    assert np.array(actual.pairs)[np.triu_indices(4, 1)] == pytest.approx(lowest)


@pytest.mark.parametrize(("models", "tasks"), [(2, 5), (3, 1)])
def test_too_few_tasks_or_models_have_no_figure(models: int, tasks: int) -> None:
    output = rf"takes 2 separating boards or more and 3 .* with 5 seeds on all of them: here are {tasks} and {models}\."
    with pytest.raises(ConfigError, match=output):
        diagram(ordered(models, tasks))
    with pytest.raises(ConfigError, match="here are 0 and 0"):
        diagram(overview([]))


def test_boards_without_a_ranked_model_are_counted_where_a_figure_is_refused() -> None:
    three = ordered(2, 3)
    unranked = replace(three, lines=[replace(line, rank=None, ranks=()) for line in three.lines])
    with pytest.raises(ConfigError, match="here are 3 and 0"):
        diagram(unranked)


def test_models_that_share_a_name_in_print_stand_under_their_own() -> None:
    actual = ordered(3, 3)
    same = replace(actual, lines=[replace(line, title="LEM") for line in actual.lines])
    assert [*diagram(same).ranks] == ["m2", "m1", "m0"]


def test_the_picture_names_every_model_with_its_rank_and_holds_its_caption_as_text() -> None:
    actual = diagram(scored({"<b>&": DEMSAR["C4.5"], "$x$": DEMSAR["C4.5+m"], "τ-GRU": DEMSAR["C4.5+cf"]}))
    shown = texts(draw_diagram(actual, "Ranked without the tide."))
    assert {f"$x$ {actual.ranks['$x$']:.2f}", f"{actual.ranks['<b>&']:.2f} <b>&", "1", "2", "3"} < set(shown)
    assert " ".join(shown).endswith(f"{actual.caption} Ranked without the tide.")


@pytest.mark.integration
def test_the_picture_is_the_same_bytes_each_time_in_the_readers_colours(tmp_path: Path) -> None:
    actual = replace(diagram(ordered(4, 9)), pairs=[[1.0] * 4] * 4)  # so that a bar joins them all
    picture = draw_diagram(actual)
    code = (
        "import sys, pickle, matplotlib; matplotlib.rcParams['font.size'] = 20\n"
        "from longwave.platform.figures.critical_difference import draw_diagram\n"
        "sys.stdout.buffer.write(draw_diagram(pickle.load(sys.stdin.buffer)).encode())"
    )
    assert picture.count("stroke-width: 3;") == 1
    for seed in "123":
        process = {"args": [sys.executable, "-c", code], "env": {**os.environ, "PYTHONHASHSEED": seed}}
        again = subprocess.run(**process, input=pickle.dumps(actual), capture_output=True, check=True)
        assert again.stdout.decode() == picture
    assert set(re.findall(r"(?:fill|stroke): ?([^;\"]+)", picture)) == {"none", "currentColor"}
    assert "#0" not in picture.replace('href="#', "") and "metadata" not in picture
    for name in ("a.svg", "a.pdf", "a.png"):
        save_diagram(actual, tmp_path / name)
        save_diagram(actual, tmp_path / f"again-{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == picture
    assert (tmp_path / "a.pdf").read_bytes()[:5] == b"%PDF-" and (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"


def test_a_bar_joins_the_models_that_are_not_told_apart() -> None:
    def bars(actual: Diagram) -> int:
        return len(re.findall(r"stroke-width: 3;", draw_diagram(actual)))

    ranks = {"a": 1.0, "b": 2.0, "c": 3.0}
    apart, tied = 0.01, 0.5
    for ab, ac, bc, count in (
        (tied, tied, tied, 1),
        (tied, apart, tied, 2),
        (apart, apart, tied, 1),
        (apart,) * 3 + (0,),
    ):
        assert bars(Diagram(ranks, 9, 0.01, [[1, ab, ac], [ab, 1, bc], [ac, bc, 1]])) == count


def test_a_figure_is_written_as_one_of_three_kinds_of_file(tmp_path: Path) -> None:
    actual = diagram(ordered(3, 3))
    with pytest.raises(ConfigError, match=r"is written as \.svg, \.pdf, \.png, and 'a\.gif' is none of them\."):
        save_diagram(actual, tmp_path / "a.gif")
    with pytest.raises(ConfigError, match=r"a\.svg cannot be written: .*\. Name another file\."):
        save_diagram(actual, tmp_path / "absent/a.svg")


def on(tasks: Sequence[str]) -> list[Group]:
    """Return five retrainings of LEM, GRU and LSTM, in this order of merit, on each task."""
    return [
        retrained(
            model, [k + j / 10 for j in range(5)], task=task, title=f"{model} </script>", trivial={"persistence": 9.0}
        )
        for task, (k, model) in product(tasks, enumerate(("lem", "gru", "lstm")))
    ]


def test_the_command_writes_the_figure_of_the_overview(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store.add_sweep("demo", {})
    keep(store, *on(("adding", "fitzhugh_nagumo")))
    url, file = str(store.engine.url), tmp_path / "f.svg"
    assert main(["board", "--figure", str(file), "--min-seeds", "5", "--store", url]) == 0
    shown = capsys.readouterr()
    assert "2 of 2 boards separate networks" in shown.out and shown.err == f"Figure: {file}\n"
    drawn = texts(file.read_text(encoding="utf-8"))
    assert {"lem </script> 1.00", "gru </script> 2.00", "3.00 lstm </script>"} < set(drawn)
    assert " ".join(drawn).endswith("with at least 5 retrainings.")
    assert main(["board", "adding", "--figure", str(file), "--store", url]) == 2
    assert "here are 1 and 3." in capsys.readouterr().err


@pytest.mark.integration
def test_an_edition_holds_the_figure_as_a_file_and_in_its_page(tmp_path: Path) -> None:
    groups = on(("adding", "copy", "enso", "fitzhugh_nagumo", "lorenz96", "mackey_glass", "parity"))
    published(tmp_path / "one", groups)
    picture = (tmp_path / "one/critical-difference.svg").read_text(encoding="utf-8")
    assert picture == draw_diagram(diagram(overview(rows(groups, []))))
    assert "critical-difference.svg" in json.loads((tmp_path / "one/manifest.json").read_text())["files"]
    page = (tmp_path / "one/index.html").read_text(encoding="utf-8")
    heat_map, inside = re.findall(r"<figure>(.*?)</figure>", page, re.DOTALL)
    plain = re.compile(r' xmlns(:\w+)?="[^"]*"')
    assert "Error of 3 models on 7 boards" in heat_map and "xmlns" not in heat_map
    assert inside == plain.sub("", picture[picture.index("<svg") :]) and "http" not in inside
    assert "&lt;/script&gt; 1.00" in inside and 'href="critical-difference.svg"' in page


@pytest.mark.parametrize(
    "tasks, reason",
    [
        (("adding",), "here are 1 and 3. Train more"),
        (
            ("adding", "fitzhugh_nagumo"),
            "No critical-difference figure: Friedman's test at 5 % tells no model from the others (p = 0.14), so no "
            "pair was tested. 2 tasks cannot tell any two of 3 models apart: that takes 7.",
        ),
    ],
)
def test_an_edition_without_a_figure_says_why(tmp_path: Path, tasks: tuple[str, ...], reason: str) -> None:
    published(tmp_path / "one", on(tasks))
    assert not (tmp_path / "one/critical-difference.svg").exists()
    page = html.unescape((tmp_path / "one/index.html").read_text(encoding="utf-8"))
    assert reason in page and page.count("<figure>") == 1, "the heat map"


@pytest.mark.integration
def test_boards_load_no_library_that_draws() -> None:
    code = (
        "import sys, longwave.platform.editions.publish, longwave.platform.render.board\n"
        "assert not {'matplotlib', 'scikit_posthocs'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
