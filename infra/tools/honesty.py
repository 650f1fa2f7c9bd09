"""How often the platform is wrong, claimed and simulated: ``make honesty`` draws all cases and writes a table.

It takes about 20 minutes on two cores and writes ``infra/honesty.md``; ``make honesty WORDS="ranks pairs"`` runs these
parts alone (of ``PARTS``) and writes nothing. The default tests
run the same cases on few boards.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from claims import Line
from simulated_boards import Case, interval_cases, overall_cases, rank_cases
from simulated_pairs import pair_cases
from simulated_selection import selection_cases
from simulated_verdicts import verdict_cases
from tree import ROOT

FILE = ROOT / "infra/honesty.md"
PARTS = ("ranks", "intervals", "overall", "pairs", "verdicts", "selection")
BOARDS = 3000
"""Boards a case of ranks, half as many with 20 models: the standard error of a share of .05 is .004 (.006)."""
CASES = 4000
"""Cases of the other parts."""
HEADER = """# What is claimed, and what came out

Written by `make honesty`: each case is drawn anew and judged by the platform's own functions. Ranks: {boards} boards a
case, half as many with 20 models, a third of that for power; the other parts: {cases} cases. Power is beside that of
Welch's test on means with Holm's adjustment. A case outside its claim is marked **outside**.
"""


def list_cases(name: str, boards: int = BOARDS, cases: int = CASES) -> list[Case]:
    """Return the cases of one part."""
    if name == "ranks":
        return rank_cases(boards)
    if name == "intervals":
        return interval_cases(cases)
    if name == "selection":
        return selection_cases(cases)
    if name == "pairs":
        return pair_cases(cases)
    return overall_cases(cases) if name == "overall" else verdict_cases(cases)


def run_case(name: str, index: int) -> list[Line]:
    """Return the lines of one case of a part, by its place: laws themselves do not travel between processes."""
    return list_cases(name)[index]()


def markdown_table(lines: Sequence[Line]) -> str:
    """Return lines as a table of Markdown."""
    rows = [
        f"| {line.case} | {line.claimed} | {line.simulated} | {'' if line.held else '**outside**'} |" for line in lines
    ]
    return "\n".join(["| case | claimed | simulated | |", "|---|---|---|---|", *rows]) + "\n"


def main(parts: Sequence[str]) -> None:
    """Run parts, print their tables, and write them where all were run."""
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        sys.exit(f"There is no part {unknown[0]!r}: {', '.join(PARTS)}.")
    sections, outside, chosen = [HEADER.format(boards=BOARDS, cases=CASES)], 0, parts or PARTS
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = {name: pool.map(run_case, repeat(name), range(len(list_cases(name)))) for name in chosen}
        for name in chosen:
            lines = [line for some in results[name] for line in some]
            outside += sum(not line.held for line in lines)
            sections.append(f"## {name.capitalize()}\n\n{markdown_table(lines)}")
            print(sections[-1], flush=True)
    if not parts:
        FILE.write_text("\n".join(sections), encoding="utf-8")
    print(f"{outside} outside their claims.")


if __name__ == "__main__":
    main(sys.argv[1:])
