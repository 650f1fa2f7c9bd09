"""The documentation site: the reference has all that the code has, no link is dead, and tutorials do what they say."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from docs import __main__ as docs
from docs.__main__ import SOURCE, build_site, list_dead_links, write_reference
from docs.catalogue_pages import model_page, task_page
from docs.reference import TABLES, card_page, column_page, command_page, list_commands, sweep_page
from markdown_parts import attributes, escape, table
from tree import ROOT

from longwave.platform.boards.columns import COLUMNS
from longwave.platform.cli.commands import COMMANDS
from longwave.platform.registry import shipped_models, shipped_tasks
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.training.rules import COMMON, optimisers, schedules
from longwave.tasks.cards.card import Card, SplitRule


def rows_of(page: str) -> dict[str, str]:
    """Return the lines of a page's tables by what stands in their first cell."""
    return {line.split(" | ")[0].strip("| `"): line for line in page.splitlines() if line.startswith("| `")}


def test_every_command_and_every_option_stands_in_the_reference() -> None:
    page = command_page()
    assert {f"longwave {words}" for words in COMMANDS} < {words for words, _ in list_commands()}
    for words, command in list_commands():
        section = re.split(r"\n##+ ", page.partition(f"# {words}\n")[2])[0]
        assert section, words
        for param in command.params:
            named = param.opts if param.opts[0].startswith("-") else [param.metavar or param.name]
            assert all(name.replace("|", "\\|") in section for name in named), (words, named)


def test_every_key_of_a_sweep_file_stands_in_the_reference_with_a_meaning() -> None:
    rows = rows_of(sweep_page())
    keys = {*SweepFile.model_fields, *(key for part in TABLES for key in part.model_fields)}
    numbers = [p for one in (*optimisers().values(), *schedules().values()) for p in one.params]
    assert keys | {p.name for p in (*numbers, *COMMON)} <= rows.keys()
    assert not [key for key in keys if rows[key].endswith("|  |")]


def test_every_key_of_a_card_and_every_column_of_a_board_stands_in_the_reference() -> None:
    keys = {*(Card.model_fields.keys() - {"split"}), *(f"split.{key}" for key in SplitRule.model_fields)}
    assert rows_of(card_page()).keys() == keys
    assert rows_of(column_page()).keys() == {column.key for column in COLUMNS}


def test_the_page_of_lem_has_equation_ranges_printed_and_own_results() -> None:
    page = model_page(shipped_models()["lem"])
    assert "z[n]  = (1 − δ[n]) z[n-1] + δ[n] tanh(Wz y[n-1] + Vz x[n] + bz)" in page
    assert "| `dt` | Δt | `[0.01, 2]` |" in page and "lr=0.00904 dt=1" in page
    assert "0.327 \\[0.284, 0.386\\]" in page  # edition 1, as `longwave board fitzhugh_nagumo_free` prints it
    assert re.search(r"\[psmnist\]\(\.\./tasks/psmnist\.md\) \| accuracy \| 96\.6 \|", page)  # LEM, Table 4


def test_the_page_of_a_task_has_metric_recipes_licence_and_boards() -> None:
    page = task_page(shipped_tasks()["fitzhugh_nagumo_free"])
    assert "| licence of the data | generated, none |" in page and "| all models | hidden" in page
    assert "LEM beats the best trivial predictor" in page and "940847bb" in page


def test_text_of_a_page_is_shown_as_it_is() -> None:
    assert escape("a_b* <c> ``d|e``") == r"a\_b\* \<c\> `d|e`"
    assert table(("h",), [("`d|e` and \\|",)]).splitlines()[-1] == r"| `d\|e` and \| |"
    assert table(("h",), []) == ""


def test_attributes_that_share_a_text_are_read_one_by_one() -> None:
    class Sample:
        """A sample.

        Attributes:
            a, b: Both of these,
                on two lines.
            c: Another.
        """

    assert attributes(Sample) == {
        "a": "Both of these, on two lines.",
        "b": "Both of these, on two lines.",
        "c": "Another.",
    }


def test_a_link_to_a_page_or_a_heading_that_is_not_there_is_dead(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#here">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>')
    (tmp_path / "b.html").write_text('<h1 id="here"></h1><a href="https://example.org/x">4</a>')
    assert list_dead_links(tmp_path) == ["a.html: broken link b.html#gone.", "a.html: broken link c.html."]


@pytest.mark.parametrize("file", ["README.md", ".github/CONTRIBUTING.md"])
def test_links_of_a_text_for_the_repository_lead_to_files(file: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / file).read_text(encoding="utf-8"))
    assert not [link for link in links if not ((ROOT / file).parent / link).exists()]


def test_pages_of_what_is_gone_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "reference_pages", lambda: {"kept": "1\n"})
    monkeypatch.setattr(docs, "catalogue_pages", lambda: {"models/new": "2\n"})
    (tmp_path / "models").mkdir()
    (tmp_path / "models/old.md").write_text("0\n")
    write_reference(tmp_path)
    assert {str(f.relative_to(tmp_path)): f.read_text() for f in tmp_path.rglob("*.md")} == {
        "kept.md": "1\n",
        "models/new.md": "2\n",
    }


@pytest.mark.integration
def test_the_site_is_built_without_a_warning_or_a_dead_link(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert build_site(tmp_path / "site") == 0
    assert capfd.readouterr().err == ""
    for page in (
        "index",
        "tutorials/own_model",
        "methods",
        "reference/models/lem",
        "edition-1/index",
        "edition-2/index",
    ):
        assert (tmp_path / f"site/{page}.html").exists()


def run_page(name: str, folder: Path, changes: dict[str, str]) -> str:
    """Run the shell commands of a page in a folder, which is also the home folder, with these changes of its text, and
    return what they print.
    """
    text = (SOURCE / name).read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    commands = "set -euo pipefail\n" + "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LONGWAVE_")}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "200"}
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")  # it has the compiled loops
    environment |= {"HOME": str(folder), "XDG_CACHE_HOME": caches}
    ended = subprocess.run(["bash", "-c", commands], cwd=folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "leaked" not in ended.stderr and "Traceback" not in ended.stderr, ended.stderr
    return ended.stdout


@pytest.mark.integration
def test_the_tutorial_on_a_csv_ends_with_its_board(tmp_path: Path) -> None:
    printed = run_page("tutorials/own_data.md", tmp_path, {"--seeds 8": "--seeds 2", "--trials 4": "--trials 1"})
    assert "Run it with: longwave sweep run gestures.sweep.toml" in printed
    assert re.search(r"^ *[1–2]+  LEM ", printed, re.MULTILINE) and "1-NN" in printed


@pytest.mark.integration
def test_the_tutorial_on_a_model_ends_with_its_board(tmp_path: Path) -> None:
    changes = {
        "trials = 8": "trials = 1\nepochs = 2",
        "retrain = 5": "retrain = 2",
        "run leaky.toml": "run leaky.toml --here",
    }
    printed = run_page("tutorials/own_model.md", tmp_path, changes)
    assert "model my-leaky: 19 rules pass." in printed
    assert re.search(r"^ *[1–3]+  Leaky \[my-leaky", printed, re.MULTILINE) and "analogues" in printed


@pytest.mark.integration
def test_a_store_is_copied_and_restored_as_its_page_says(tmp_path: Path) -> None:
    text = (SOURCE / "backup.md").read_text(encoding="utf-8").partition("## PostgreSQL")[0]
    copied, restored = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    bundle = next((ROOT / "infra/board/edition-1/results").glob("edition1-g3-karate-5*"))
    script = (
        f"set -eu\nlongwave import {bundle}\n{copied}\nlongwave board > before\n{restored}\nlongwave board > after\n"
    )
    environment = {**os.environ, "LONGWAVE_HOME": str(tmp_path)} | {"LONGWAVE_STORE": ""}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # The doctor of a page ends with 1 on a machine that is slow.
    script = script.replace("longwave doctor", "longwave doctor || true; : ")
    ended = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (tmp_path / "before").read_text() == (tmp_path / "after").read_text() != ""
    with closing(sqlite3.connect(tmp_path / "longwave.db")) as store:
        assert store.execute("select count(*) from trials").fetchone()[0] == 252
