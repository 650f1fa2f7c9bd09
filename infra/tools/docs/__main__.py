"""The documentation site: ``make docs`` writes the reference from the code, then has Sphinx build all pages.

A warning is an error; so is a link to a missing page or heading. External links are not checked. It also writes the
pages of the editions that ship.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tree import ROOT

from docs.catalogue_pages import catalogue_pages
from docs.reference import reference_pages
from longwave.platform.editions.files import draw_files
from longwave.platform.editions.publish import write
from longwave.platform.editions.shipped import folder_of, read_shipped, rows_of

SOURCE = ROOT / "infra/docs"
BUILT = ROOT / "build/docs"


def write_reference(folder: Path) -> None:
    """Write the pages generated from code to a folder; unchanged ones are not rewritten, obsolete ones are removed."""
    pages = reference_pages() | catalogue_pages()
    files = {folder / f"{name}.md": text for name, text in pages.items()}
    for old in set(folder.rglob("*.md")) - files.keys():
        old.unlink()
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def draw_editions(folder: Path) -> None:
    """Write the pages of each edition that ships to a subfolder, ``edition-1``."""
    for number, edition in read_shipped().items():
        lacks = f"they are in {folder_of(number)}/results of the repository."
        write(folder / f"edition-{number}", edition, draw_files(edition, rows_of(edition), None, lacks, {}))


class Links(HTMLParser):
    """The links of a page, and its anchors."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src"):
                self.targets.add(value)
            elif value and name == "id":
                self.anchors.add(value)


def list_dead_links(site: Path) -> list[str]:
    """Return a line for each broken link of a page to a file of the site, or to an anchor in one."""
    pages = {file.resolve(): Links(file) for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}
    dead = []
    for file, links in pages.items():
        for target in sorted(links.targets):
            address = urlsplit(target)
            if address.scheme or address.netloc:
                continue
            page = (file.parent / unquote(address.path)).resolve() if address.path else file
            anchor = unquote(address.fragment)
            anchors = pages[page].anchors if page in pages else set()
            in_edition = any(part.startswith("edition-") for part in page.parts)  # a script makes its anchors
            if not page.exists() or (anchor and not in_edition and anchor not in anchors):
                dead.append(f"{file.relative_to(site.resolve())}: broken link {target}.")
    return dead


def build_site(out: Path = BUILT) -> int:
    """Write the reference, build the site in ``out`` with the edition's pages, and return Sphinx's exit status."""
    shutil.rmtree(out, ignore_errors=True)  # including obsolete pages
    write_reference(SOURCE / "reference")
    draw_editions(out)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    status = subprocess.run([*command, str(SOURCE), str(out)], cwd=SOURCE).returncode
    dead = list_dead_links(out)
    for line in dead:
        print(line, file=sys.stderr)
    return status or len(dead) > 0


if __name__ == "__main__":
    sys.exit(build_site())
