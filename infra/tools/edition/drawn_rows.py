"""Draws rows of an edition at random and trains each again: how many fall inside their 95 % prediction intervals?

``make drawn EDITION=2`` draws eight rows of edition 2, without a number of the edition that the README shows, and
prints the seed. The same seed draws the same rows of the same edition. Rows are drawn among those with at least two
scores; none is redrawn because of its result.
"""

from __future__ import annotations

import random
import secrets
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from edition.folders import FIRST, LONGWAVE, EditionFolders
from longwave.platform.boards.columns import record
from longwave.platform.boards.row import SHORT
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

OUTCOMES = {0: "inside", 1: "outside", 3: "undecided"}
"""Exit statuses of ``longwave reproduce``."""


def draw_rows(rows: Sequence[Mapping[str, Any]], count: int, seed: int) -> list[Mapping[str, Any]]:
    """Return distinct random rows with which a further training can be compared."""
    candidates = sorted((row for row in rows if is_comparable(row)), key=lambda row: row["key"])
    return random.Random(seed).sample(candidates, min(count, len(candidates)))


def is_comparable(row: Mapping[str, Any]) -> bool:
    """Return whether a further training of a row can be compared with it."""
    return bool(row["kind"] == "retrained" and row["n"] >= 2 and not row["superseded"])


def reproduce_row(row: Mapping[str, Any], store: str) -> str:
    """Train a row of the store again and return where its score lies relative to the interval."""
    done = subprocess.run([*LONGWAVE, "reproduce", row["key"], "--store", store])
    return OUTCOMES.get(done.returncode, "not run")


def main(arguments: Sequence[str]) -> None:
    """Draw, print, and train unless the rows are only to be listed; exit with 1 if fewer than 3 in 4 are inside."""
    parser = ArgumentParser(
        "python -m edition.drawn_rows", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31), help="default: a fresh one")
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--edition", type=int, default=FIRST, help="number of the edition")
    parser.add_argument("--list", action="store_true", help="train nothing")
    options = parser.parse_args(arguments)
    if options.rows < 1:
        parser.error(f"--rows must be 1 or more, got {options.rows}")
    edition = EditionFolders.of_edition(options.edition).edition
    if not edition.is_dir():
        parser.error(f"edition {options.edition} is not published: no folder {edition}")
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/longwave.db"
        subprocess.run([*LONGWAVE, "import", str(edition), "--store", url], check=True)
        with Store(url) as store:
            rows = draw_rows([record(row) for row in read_board(store)], options.rows, options.seed)
        if not rows:
            parser.error(f"no row of edition {options.edition} can be compared with a further training")
        print(f"seed {options.seed}")
        for row in rows:
            print(f"{row['key'][:SHORT]} {row['task']} {row['variant']} {row['model']}", flush=True)
        if options.list:
            return
        outcomes = Counter(reproduce_row(row, url) for row in rows)
    print(f"seed {options.seed}: " + ", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    sys.exit(outcomes["inside"] * 4 < len(rows) * 3)


if __name__ == "__main__":
    main(sys.argv[1:])
