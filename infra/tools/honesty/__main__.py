"""Error rates of the platform, claimed and simulated: ``make honesty`` draws all cases and writes a table.

It takes about 20 minutes of one core and writes ``infra/honesty.md``; ``make honesty WORDS="ranks pairs"`` runs only
these parts, of ``PARTS``, and leaves the others in the file unchanged. The default tests run the same cases on few
boards.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from markdown_parts import table
from tree import ROOT

from honesty.claims import Line
from honesty.simulated_boards import Case, few_seeds_cases, interval_cases, overall_cases, rank_cases
from honesty.simulated_pairs import pair_cases
from honesty.simulated_selection import selection_cases
from honesty.simulated_verdicts import verdict_cases

FILE = ROOT / "infra/honesty.md"
PARTS = ("ranks", "few-seeds", "intervals", "overall", "pairs", "verdicts", "selection")
BOARDS = 300
"""Boards per case of ranks, half as many with 20 models: the standard error of a share of .05 is .013 (.018)."""
CASES = 1000
"""Cases of the other parts."""
HEADER = """# Error rates, claimed and simulated

Written by `make honesty`: each case is simulated and judged by the platform's own functions. Ranks: {boards} boards per
case, half as many with 20 models, a third of that for power; the other parts: {cases} simulations per case. Power is
followed by that of Welch's test on means with Holm's adjustment. A case is marked **outside** if it misses its claim by
more than three standard errors of the simulation: .038 at .05 with 300 boards, .053 with 150. Where the claim says
"named", no rule keeps the rate of false claims at 5 %, and Methods explain why; such cases with few seeds are simulated
ten times as often. Cases "kept for the check" were not used while the rules were designed. θ is P(better) of a pair, t3
Student's t with three degrees of freedom, and cv the standard deviation over the mean.
"""


def list_cases(name: str) -> list[Case]:
    """Return the cases of one part."""
    if name == "ranks":
        return rank_cases(BOARDS)
    if name == "few-seeds":
        return few_seeds_cases(BOARDS)
    if name == "intervals":
        return interval_cases(CASES)
    if name == "selection":
        return selection_cases(CASES)
    if name == "pairs":
        return pair_cases(CASES)
    return overall_cases(CASES) if name == "overall" else verdict_cases(CASES)


def run_case(name: str, index: int) -> list[Line]:
    """Return the lines of one case of a part, by index: distributions cannot be pickled."""
    return list_cases(name)[index]()


def markdown_table(lines: Sequence[Line]) -> str:
    """Return lines as a table of Markdown."""
    cells = ((line.case, line.claimed, line.simulated, "" if line.holds else "**outside**") for line in lines)
    return table(("case", "claimed", "simulated", ""), cells) + "\n"


def main(parts: Sequence[str]) -> int:
    """Run parts, print their tables, and replace them in the file; return 1 if a case is outside its claim."""
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        print(f"There is no part {unknown[0]!r}: {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    written = read_sections(FILE.read_text(encoding="utf-8"))
    outside, names = 0, parts or PARTS
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = {name: pool.map(run_case, repeat(name), range(len(list_cases(name)))) for name in names}
        for name in names:
            lines = [line for some in results[name] for line in some]
            outside += sum(not line.holds for line in lines)
            written[name.capitalize()] = markdown_table(lines)
            print(f"## {name.capitalize()}\n\n{written[name.capitalize()]}", flush=True)
            sections = [f"## {title}\n\n{written[title]}" for title in map(str.capitalize, PARTS) if title in written]
            FILE.write_text("\n".join([HEADER.format(boards=BOARDS, cases=CASES), *sections]), encoding="utf-8")
    print(f"{outside} outside their claims.")
    return int(outside > 0)


def read_sections(text: str) -> dict[str, str]:
    """Return the tables of the file by title."""
    parts = (part.partition("\n\n") for part in text.split("\n## ")[1:])
    return {title.strip(): f"{table.rstrip()}\n" for title, _, table in parts}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
