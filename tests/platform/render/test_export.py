"""Tables as CSV, Markdown, LaTeX and JSON, read back by readers that are not ours."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from longwave.platform.render.export import Format, as_json, format_tables
from longwave.platform.render.harmless import LATEX, in_csv, in_latex
from longwave.platform.render.table import Table

RECORDS = [
    {
        "model": "lem",
        "mean": 0.1 + 0.2,
        "std": None,
        "sources": ["a, Table 1", "b; c"],
        "params": {"lr": 0.1},
        "ok": True,
    },
    {"model": "τ-GRU", "mean": 1e-300, "extra": 3, "sources": [], "published": [{"value": 1.0}]},
]
TABLE = Table(
    "t: accuracy [%]",
    ("model", "mean ± std (n)"),
    [("LEM_a", "0.30 ± 0.10 (5)"), ("A|B & C", "—")],
    "n < 5 is 100 % provisional.",
    frozenset({(0, 1)}),
    RECORDS,
)
cell_texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12)


def test_csv_keeps_every_digit_and_what_is_nested_is_json() -> None:
    first, second = csv.DictReader(io.StringIO(format_tables([TABLE], Format.csv)))
    assert (float(first["mean"]), float(second["mean"])) == (0.1 + 0.2, 1e-300)
    assert (first["std"], first["extra"], second["extra"], first["ok"]) == ("", "", "3", "True")
    assert first["sources"] == "a, Table 1; b; c"
    assert (json.loads(first["params"]), json.loads(second["published"])) == ({"lr": 0.1}, [{"value": 1.0}])


@given(st.lists(cell_texts, min_size=2, max_size=2))
def test_any_text_comes_back_from_csv_as_it_was_made_harmless(texts: list[str]) -> None:
    made = Table("", (), (), records=[{"a": texts[0], "b": texts[1]}])
    [line] = csv.DictReader(io.StringIO(format_tables([made], Format.csv)))
    assert [line["a"], line["b"]] == [in_csv(text) for text in texts]


def test_several_tables_are_one_csv_and_one_list_in_json() -> None:
    assert len(list(csv.DictReader(io.StringIO(format_tables([TABLE, TABLE], Format.csv))))) == 4
    assert json.loads(format_tables([TABLE, TABLE], Format.json)) == [*RECORDS, *RECORDS]
    assert json.loads(format_tables([TABLE], Format.json, {"a": 1})) == {"a": 1}


def test_json_refuses_what_is_not_finite() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"mean": float("nan")})


def test_markdown_is_a_table_that_others_read() -> None:
    text = format_tables([TABLE], Format.markdown)
    lines = text.splitlines()
    assert (lines[0], lines[-1]) == ("### t: accuracy [%]", TABLE.caption)
    assert lines[4] == "| LEM_a | **0.30 ± 0.10 (5)** |" and lines[5] == r"| A\|B & C | — |"
    read = pd.read_csv(io.StringIO("\n".join(lines[2:5])), sep=r"\s*\|\s*", engine="python").dropna(axis=1, how="all")
    assert list(read.columns) == list(TABLE.columns) and len(read) == 2


def test_latex_is_a_table_over_both_columns_that_needs_no_package_with_escaped_text_and_bold_cells() -> None:
    lines = format_tables([TABLE], Format.latex).splitlines()
    assert (lines[0], lines[-1], lines.count(r"\hline")) == (r"\begin{table*}", r"\end{table*}", 3)
    assert r"LEM\_a & \textbf{0.30 $\pm$ 0.10 (5)} \\" in lines
    assert r"A|B \& C & --- \\" in lines
    assert r"\caption{t: accuracy [\%]. n $<$ 5 is 100 \% provisional.}" in lines
    opened, closed = (re.findall(rf"\\{word}{{([\w*]+)}}", "\n".join(lines)) for word in ("begin", "end"))
    assert opened == closed[::-1] == ["table*", "tabular"]


def test_in_latex_columns_of_prose_wrap_so_that_a_wide_table_fits_the_page() -> None:
    lines = [("LEM", "some words " * 10, "0.5", "other words " * 8)]
    wide = Table("", ("model", "why", "mean", "where"), lines, right=frozenset({2}), prose=frozenset({0, 1, 3}))
    [alignment] = re.findall(r"\\begin{tabular}{(.*)}", format_tables([wide], Format.latex))
    shares = [float(share) for share in re.findall(r"p{([\d.]+)\\textwidth}", alignment)]
    assert re.sub(r"p{[^}]*}", "p", alignment) == "lprp" and 0.8 < sum(shares) < 1
    [narrow] = re.findall(
        r"\\begin{tabular}{(.*)}", format_tables([replace(wide, lines=[("LEM", "a", "0", "b")])], Format.latex)
    )
    assert narrow == "llrl"


@given(cell_texts)
@example("10⁻⁰⁴ is 10⁻⁴")
def test_in_latex_has_no_bare_special_character(text: str) -> None:
    bare = re.sub(r"\$\^\{[-0-9]+\}\$", "", in_latex(text))  # the digits of an exponent are one
    for written in sorted(LATEX.values(), key=len, reverse=True):
        bare = bare.replace(written, "")
    assert not set(bare) & set(LATEX)


def test_a_table_without_lines_is_still_one() -> None:
    empty = Table("none", ("a",), ())
    assert format_tables([empty], Format.markdown).startswith("### none\n\n| a |\n| --- |")
    assert r"\begin{tabular}{l}" in format_tables([empty], Format.latex)
    assert format_tables([empty], Format.csv) == "a\n", "pandas reads it"
    assert json.loads(format_tables([empty], Format.json)) == []


def test_a_csv_without_records_has_the_keys_that_they_would_have() -> None:
    assert format_tables([Table("", ["what it is"], [], keys=["what", "why"])], Format.csv) == "what,why\n"
    assert format_tables([Table("", ["what"], [])], Format.csv) == "what\n"
