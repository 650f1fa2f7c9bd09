"""The pages of infra/deploy: the commands they print are ones that Longwave takes, the files they name are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from deployed import DEPLOY, documents
from tree import ROOT

from longwave.platform.cli.main import app

PAGES = sorted(DEPLOY.rglob("README.md"))
WRITTEN = "reference/"
"""Pages that ``make docs`` writes from the code, and whose links it checks."""
DOCS = [ROOT / "README.md", *sorted(page for page in (ROOT / "infra/docs").rglob("*.md") if WRITTEN not in str(page))]
CODE = re.compile(r"```sh\n(.*?)```|`([^`\n]+)`", re.DOTALL)


def commands(text: str) -> list[str]:
    """Return the longwave commands of a page."""
    lines = "\n".join(a or b for a, b in CODE.findall(text.replace("\\\n", " "))).splitlines()
    matches = [re.search(r"(?:^|[\s\"])(longwave (?!longwave)[a-z]+ [^\">]+)", line.split(" # ")[0]) for line in lines]
    return [match[1] for match in matches if match]


def parse(command: str) -> None:
    """Parse a command as the command line does; nothing is run."""
    here: Any = app
    words = shlex.split(command)[1:]
    while hasattr(here, "commands"):
        here = here.commands[words.pop(0)]
    here.make_context(here.name, words)


def test_each_folder_has_one_page() -> None:
    folders = {path.parent for path in DEPLOY.rglob("*") if path.is_file() and path.parent.name != "secrets"}
    assert {page.parent for page in PAGES} == folders
    assert {folder.name for folder in folders} == {"docker", "ray", "kuberay", "slurm", "monitoring", "login"}


@pytest.mark.parametrize("page", PAGES, ids=[page.parent.name for page in PAGES])
def test_longwave_takes_the_commands_of_the_page(page: Path) -> None:
    lines = commands(page.read_text())
    assert any(command.startswith("longwave sweep run") for command in lines)
    for command in lines:
        parse(command)
    with pytest.raises(Exception, match="No such option: --metric"):
        parse("longwave sweep run FILE --metric 9464")


def test_longwave_takes_what_kubernetes_is_told_to_run() -> None:
    parse(documents("kuberay/rayjob.yaml")[0]["spec"]["entrypoint"])
    lab = next(one for one in documents("kuberay/lab.yaml") if one["kind"] == "Deployment")
    parse(" ".join(lab["spec"]["template"]["spec"]["containers"][0]["args"]))


@pytest.mark.parametrize("page", DOCS, ids=[page.stem for page in DOCS])
def test_what_the_readme_and_the_documentation_link_is_there(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert WRITTEN in link or (page.parent / link).exists(), link


@pytest.mark.parametrize("page", [*PAGES, *DOCS], ids=[f"{page.parent.name}-{page.stem}" for page in [*PAGES, *DOCS]])
def test_files_that_the_page_names_are_there(page: Path) -> None:
    for name in re.findall(r"infra/[\w./-]+\w|tests/[\w./-]+\w|\.\./[\w./-]+\w", page.read_text()):
        there = (page.parent if name.startswith("..") else ROOT) / name
        assert WRITTEN in name or there.exists(), name
