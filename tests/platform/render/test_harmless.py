"""300 hostile texts through every output, and out of Chromium if it is there."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hostile import TEXTS
from markdown_it import MarkdownIt

from longwave.platform.redaction import redact_document
from longwave.platform.render.export import Format, format_tables
from longwave.platform.render.harmless import (
    all_visible,
    escape_invisible,
    in_csv,
    in_html,
    in_json,
    in_latex,
    one_line,
)
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import Terminal, print_table

ACTS = ("Cc", "Cf", "Cs", "Zl", "Zp")
TABLE = Table("".join(TEXTS[:20]), ("name",), [(text,) for text in TEXTS], records=[{"name": text} for text in TEXTS])


def acting(text: str) -> set[str]:
    return {sign for sign in text if unicodedata.category(sign) in ACTS} - {"\n"}


def test_there_are_three_hundred_texts() -> None:
    assert len(set(TEXTS)) == len(TEXTS) == 300


@pytest.mark.parametrize("format", [f for f in Format if f is not Format.table])
def test_no_format_holds_what_acts_on_a_terminal(format: Format) -> None:
    assert acting(format_tables([TABLE], format)) == set()


def test_a_terminal_shows_text_and_one_line_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name",), [(text,) for text in TEXTS], title=TABLE.title)
    for text in TEXTS:
        Terminal(width=4000).print(text, markup=False, highlight=False)
        assert "\n" not in one_line(text)
    assert acting(capsys.readouterr().out) == set()
    assert (
        escape_invisible("τ-GRU (hidden 64), Δt 0.1 ± 2·10⁻³\nn = 5 漢字")
        == "τ-GRU (hidden 64), Δt 0.1 ± 2·10⁻³\nn = 5 漢字"
    )


def test_json_reads_back_what_it_was_given() -> None:
    names = [record["name"] for record in json.loads(format_tables([TABLE], Format.json))]
    assert names == redact_document(list(TEXTS)), "one of them looks like a URL with a password"
    assert in_json('"\U000e0041"') == '"\\udb40\\udc41"'


def test_no_cell_of_csv_is_a_formula_and_numbers_stay_numbers() -> None:
    lines = list(csv.DictReader(io.StringIO(format_tables([TABLE], Format.csv))))
    assert len(lines) == len(TEXTS)
    for line in lines:
        assert not re.match(r"\s*[=+\-@\t\r＝]", line["name"]), line
    for number in ("-0.5", "+1e-3", "-12 %", "1", "−3", "-", "= "):
        assert in_csv(number) == number


def test_markdown_holds_no_element_no_link_and_no_image() -> None:
    drawn = MarkdownIt("commonmark", {"html": True}).enable("table").render(format_tables([TABLE], Format.markdown))
    tags = set(re.findall(r"<\s*/?([a-zA-Z!]+)", drawn))
    assert tags <= {"h", "table", "thead", "tbody", "tr", "th", "td", "code", "em", "strong", "p"} | {"h3"}
    assert drawn.count("<tr>") == len(TEXTS) + 1


def test_latex_holds_no_command_of_theirs() -> None:
    for text in TEXTS:
        bare = re.sub(r"\\textbackslash\{\}|\\text\w+\{\}|\\[&%$#_{}]|\$[^$]+\$", "", in_latex(text))
        assert not re.search(r"[\\&%$#_^{}~]", bare), text
    assert in_latex("2 × 10⁻¹²") == r"2 $\times$ 10$^{-12}$"
    lines = format_tables([Table("", ("a",), [("[x]",), ("*",)])], Format.latex).splitlines()
    assert r"{}[x] \\" in lines and r"{}* \\" in lines, "the line before would take it for an argument"


@pytest.mark.integration
@pytest.mark.skipif(not shutil.which("chromium"), reason="there is no chromium here")
def test_a_browser_runs_nothing_of_it(tmp_path: Path) -> None:
    data = json.dumps(all_visible(list(TEXTS)), ensure_ascii=False).replace("<", "\\u003c")
    body = "".join(f"<p>{in_html(text)}</p>" for text in TEXTS)
    script = "for (const t of JSON.parse(document.getElementById('d').textContent)) document.body.append(t)"
    (tmp_path / "page.html").write_text(
        "<!doctype html><meta charset=utf-8><body><script>function fired() { document.title = 'FIRED'; }</script>"
        f"{body}"
        f"<script type='application/json' id='d'>{data}</script><script>{script}</script>",
        encoding="utf-8",
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={tmp_path}/u"]
    command = ["chromium", *flags, "--virtual-time-budget=1000", "--dump-dom", str(tmp_path / "page.html")]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    assert dom.count("<p>") == len(TEXTS) and "FIRED" not in dom.split("</script>")[-1]
    assert not re.search(r"<title>FIRED|<(img|svg|iframe|style)", dom) and dom.count("<script") == 3
