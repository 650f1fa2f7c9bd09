"""What a reader takes along: the table on screen as text, the link, the citation. Against Python's own writers."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from boards import printed, retrained
from hostile import TEXTS
from pages import Page, keys, page_data, published

from longwave.platform.render.export import Format, format_tables
from longwave.platform.render.harmless import all_visible, in_csv, in_latex, in_markdown
from longwave.platform.render.table import Table

NAMES = TEXTS[::9]
GROUPS = [retrained(f"m{k}", [1.0 + k, 1.1 + k, 1.2 + k], title=name, task="t") for k, name in enumerate(NAMES)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    edition = tmp_path_factory.mktemp("editions") / "one"
    published(edition, GROUPS, [printed("m0", 1.0, n=1), printed("expr", 2.0)])
    return edition


def test_texts_are_made_harmless_as_python_makes_them(folder: Path) -> None:
    page = Page.drawn(folder)
    shown = all_visible([*TEXTS])
    assert page("t.map(inMarkdown)", t=shown) == [in_markdown(text) for text in shown]
    assert page("t.map(inLatex)", t=shown) == [in_latex(text) for text in shown]
    line = page("t.map(inCsv).join(',')", t=shown)
    assert next(csv.reader(io.StringIO(line, newline=""))) == [in_csv(text) for text in shown]


@pytest.mark.parametrize("chosen", [{}, {"sort": "title-down"}, {"q": "m1"}, {"cols": "title mean n"}, {"open": ""}])
def test_an_export_is_what_is_on_screen_as_python_would_write_it(folder: Path, chosen: dict[str, str]) -> None:
    page = Page.drawn(folder, view="t", **chosen)
    by_key = {row["key"]: row for row in page_data(folder)["rows"]}
    on_screen = [by_key[key] for key in keys(page)]
    names = page("columns()")
    heads = {column["key"]: column for column in page_data(folder)["columns"]}
    cells = [[row["title"] if name == "title" else row["texts"][name] for name in names] for row in on_screen]
    head = [heads[name]["heading"] for name in names]
    bold = frozenset(
        (k, names.index("median")) for k, row in enumerate(on_screen) if row["leads"] and "median" in names
    )
    right = frozenset(k for k, name in enumerate(names) if heads[name]["align"] == "right")
    table = Table("", head, cells, bold=bold, right=right)
    assert page("WRITERS.Markdown(screenTable())").strip() == format_tables([table], Format.markdown).strip()
    latex = format_tables([table], Format.latex)
    assert page("WRITERS.LaTeX(screenTable())") == latex[latex.index(r"\begin{tabular}") : latex.index(r"\end{table*}")]
    lines = [*csv.reader(io.StringIO(page("WRITERS.CSV(screenTable())"), newline=""))]
    assert lines == [head, *([in_csv(cell) for cell in line] for line in cells)]
    records = json.loads(page("WRITERS.JSON(screenTable())"))
    assert [*records[0]] == names
    assert [record["title"] for record in records] == [row["title"] for row in on_screen]
    if "mean" in names:
        assert [record["mean"] for record in records] == [row["mean"] for row in on_screen]


def test_a_citation_names_board_edition_day_and_link(folder: Path) -> None:
    page = Page.drawn(folder, view="t")
    data = page_data(folder)
    assert page("citation()").startswith(f"T. Ours, edition {data['id']}, 2026-01-01.")
    assert Page.drawn(folder, row=data["rows"][0]["key"])("citation()").startswith(
        f"{data['rows'][0]['title']} on T. Ours"
    )
