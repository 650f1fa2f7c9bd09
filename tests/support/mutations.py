"""Breaks rules one line at a time in a copy of the tree, and tells which test fails.

They are listed in ``mutations.toml``. ``python tests/support/mutations.py`` runs all and writes ``infra/mutations.md``;
``new`` as argument runs those that are not in it yet, and adds them; another word runs those whose text holds it, and
writes nothing. It takes minutes, so it is no test.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

from copies import copied
from tree import ROOT

LIST, TABLE = Path(__file__).with_suffix(".toml"), ROOT / "infra/mutations.md"
NEW, NOTHING = "new", "nothing"
HEAD = (
    "# Rules and the tests that hold them",
    "",
    "Each rule was broken in a copy of the tree, by `python tests/support/mutations.py`; the test named failed.",
    "",
    "| rule | file | broken | caught by |",
    "|---|---|---|---|",
)


@dataclass(frozen=True)
class Mutation:
    """One line broken, and the test that must notice."""

    rule: str
    file: str
    line: str
    broken: str
    test: str


def caught(mutation: Mutation, folder: Path) -> str:
    """Return the line of pytest that tells which test failed; empty if none did."""
    path = copied(folder).folder / "longwave" / mutation.file
    text = path.read_text(encoding="utf-8")
    assert text.count(mutation.line) == 1, f"{mutation.file} holds {mutation.line!r} {text.count(mutation.line)} times"
    path.write_text(text.replace(mutation.line, mutation.broken), encoding="utf-8")
    anew = {"LONGWAVE_CACHE": str(folder / "cache")} if mutation.file.startswith("tasks/") else {}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", mutation.test],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(folder), **anew}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return next((line for line in done.stdout.splitlines() if line.startswith("FAILED ")), "")


def told(mutation: Mutation) -> str:
    """Return the table's line of a mutation, up to the test that noticed."""
    lines = (" ".join(line.split()).replace("|", "\\|") or "nothing" for line in (mutation.line, mutation.broken))
    return f"| {mutation.rule} | {mutation.file} | `{'` → `'.join(lines)}` |"


def noticed(mutation: Mutation) -> str:
    """Break a line, say whether a test noticed, and return the table's line."""
    with tempfile.TemporaryDirectory() as folder:
        found = caught(mutation, Path(folder))
    test = found.removeprefix("FAILED ").split(" - ")[0] or NOTHING
    print(f"{'caught' if found else 'MISSED'}: {mutation.rule}: {test}", flush=True)
    return f"{told(mutation)} {test} |"


def main(word: str = "") -> None:
    """Run all, the new ones, or those that hold ``word``; exit with 1 if one is not caught."""
    known = [Mutation(**m) for m in tomllib.loads(LIST.read_text(encoding="utf-8"))["mutation"]]
    before = TABLE.read_text(encoding="utf-8").splitlines() if word == NEW else []
    held = {line.rpartition(" | ")[0] + " |": line for line in before if not line.endswith(f"| {NOTHING} |")}
    chosen = [mutation for mutation in known if word in ("", NEW) or word in str(mutation)]
    rows = [held.get(told(mutation)) or noticed(mutation) for mutation in chosen]
    if word in ("", NEW):
        TABLE.write_text("\n".join([*HEAD, *rows, ""]), encoding="utf-8")
    sys.exit(any(row.endswith(f"| {NOTHING} |") for row in rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
