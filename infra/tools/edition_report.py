"""The report of an edition, REPORT.md: verdicts, trivial predictors, what is undecided, what it cost, what surprised.

All but the last part is told by the rows. What surprised is written by people, in ``surprises.md`` beside the edition.
"""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from edition_table import summary, table

from longwave.platform.boards.answer import against_trivial, answer
from longwave.platform.boards.row import SHORT, WENT_ON, Row
from longwave.platform.boards.texts import DASH, duration, median, plain, quoted, ratio, result
from longwave.platform.editions.edition import Edition
from longwave.platform.sweeps.plan.range_edges import AtEdge

MAIN = "fitzhugh_nagumo"
"""The board whose medians the README shows."""
TABLE = re.compile(r"(<!-- edition -->\n).*?(<!-- /edition -->)", re.DOTALL)
"""Where the README has the edition's table."""
Board = tuple[str, Sequence[Row], Mapping[str, str]]
"""Its name, its rows, and a link to each of them by key."""


def write_report(
    rows: Sequence[Row],
    edges: Sequence[AtEdge],
    ahead: Mapping[str, float],
    made: Edition,
    folder: Path,
    parent: Path,
    readme: Path,
) -> None:
    """Write the report of an edition, and for the README its table and a figure.

    Args:
        rows: Of all boards, one board after the other.
        edges: What of the searches' winners sits at an edge of its range.
        ahead: Hours that each sweep is expected to take of which nothing is published yet, by the stem of its file.
        made: The edition.
        folder: Where it lies.
        parent: Where ``surprises.md`` lies, and the figure is to.
        readme: Where the table is to stand.
    """
    people = surprises.read_text("utf-8") if (surprises := parent / "surprises.md").exists() else ""
    (folder / "REPORT.md").write_text(report(rows, edges, ahead, made.title, made.id, people), encoding="utf-8")
    boards = list(dict.fromkeys(row.place for row in rows))
    if MAIN in boards:
        shutil.copyfile(folder / f"board-{boards.index(MAIN) + 1}-medians.svg", parent / "medians.svg")
    text = TABLE.sub(lambda match: f"{match[1]}{summary(rows)}\n{match[2]}", readme.read_text(encoding="utf-8"))
    readme.write_text(text, encoding="utf-8")


def report(
    rows: Sequence[Row],
    edges: Sequence[AtEdge],
    ahead: Mapping[str, float],
    title: str,
    edition: str,
    surprises: str,
) -> str:
    """Return the report as Markdown; each statement of a row links it in the edition's page beside.

    Args:
        rows: Of all boards, one board after the other.
        edges: What of the searches' winners sits at an edge of its range.
        ahead: Hours that each sweep is expected to take of which nothing is published yet, by the stem of its file.
        title: Of the edition.
        edition: Its short id.
        surprises: What people say, with links of their own.
    """
    boards = [_board(name, list(group)) for name, group in groupby(rows, key=lambda row: row.place)]
    trained = [row for row in rows if row.kind == "reproduced"]
    seeds, hours = sum(row.seed_count for row in trained), sum(row.train_seconds for row in trained) / 3600
    gone = [row for row in trained if row.superseded.startswith(WENT_ON)]
    searching = sum(row.find_seconds for row in trained if row not in gone) / 3600  # theirs went on in another's
    head = (
        f"Edition `{edition}`: {len(trained)} rows on {len(boards)} board{'s' * (len(boards) > 1)}"
        f"{f', {len(gone)} of them superseded by a second search' * bool(gone)}; their {seeds} retrainings took "
        f"{hours:.1f} hours of one worker, their searches {searching:.1f}. All numbers but those "
        "of the last part are computed from `results`. Names link to rows of `index.html`, with seeds, settings and "
        "the command that trains a row once more. That page is not in the repository, so the links lead nowhere until "
        "`make edition WORDS=--publish`, which trains nothing, has drawn it beside this file."
    )
    parts = [
        ("Which model is best", _best(boards)),
        ("Published numbers", _verdicts(boards)),
        ("Undecided", _undecided(boards)),
        ("Winners at an edge of their range", _edges(boards, edges)),
        ("What a second search changed", _searched_on(boards)),
        ("What trivial predictors reach", _trivial(boards)),
        ("What it cost", _cost(boards)),
        ("How far it goes", _ahead(ahead)),
        ("What surprised", surprises.strip().splitlines() or ["Nothing is written yet."]),
    ]
    body = [line for part, lines in parts for line in ("", f"## {part}", "", *(lines or ["Nothing."]))]
    return "\n".join([f"# {title}: report", "", head, *body, ""])


def _board(name: str, rows: Sequence[Row]) -> Board:
    return name, rows, {row.key: f"[{row.label}](index.html#row={row.key})" for row in rows}


def _best(boards: Iterable[Board]) -> list[str]:
    lines = []
    for name, rows, links in boards:
        first = answer(rows)
        at = "".join(f" Row: {links[row.key]}." for row in first.leaders[:1])
        lines.append(f"- **{name}**: {first.sentence}{at}")
    return lines


def _verdicts(boards: Iterable[Board]) -> list[str]:
    lines = []
    for name, rows, links in boards:
        whys = [_why(row, number) for row, number in _printed(rows)]
        shared = [why for why in dict.fromkeys(chain(*whys)) if len(whys) > 1 and all(why in of for of in whys)]
        cells = [
            [links[r.key], result(r), median(r), quoted(number), number["verdict"], ratio(number)]
            + ["; ".join(why for why in of if why not in shared) or (DASH if shared else "in nothing that is known")]
            for (r, number), of in zip(_printed(rows), whys, strict=True)
        ]
        if cells:
            head = ["row", "mean ± std (n)", "median", "in print", "verdict", "error, ours / print", "how we differ"]
            counts = Counter(number["verdict"] for _, number in _printed(rows)).most_common()
            intro = f"{len(cells)} printed number{'s' * (len(cells) > 1)}: "
            intro += f"{', '.join(f'{verdict} {count}' for verdict, count in counts)}."
            intro += f" In all rows we differ from the papers in this: {'; '.join(shared)}." if shared else ""
            lines += [
                "",
                f"### {name}",
                "",
                intro,
                "",
                *table([*head[:-1], f"{head[-1]}, besides"] if shared else head, cells),
            ]
    return lines[1:]


def _why(row: Row, number: Mapping[str, Any]) -> list[str]:
    """Return how a row is known to differ from a printed number's training, and why nothing is decided."""
    return list(dict.fromkeys([*number["departures"], *row.known]))


def _undecided(boards: Iterable[Board]) -> list[str]:
    return [
        f"- {name}, {links[row.key]} beside {number['printed']}: {number['why']}"
        for name, rows, links in boards
        for row, number in _printed(rows)
        if number["verdict"] == "undecided"
    ]


def _printed(rows: Iterable[Row]) -> list[tuple[Row, Mapping[str, Any]]]:
    return [(row, number) for row in rows if row.current for number in row.published]


def _edges(boards: Iterable[Board], edges: Sequence[AtEdge]) -> list[str]:
    """Return the numbers of winners that sit at an edge of what was searched, board by board."""
    lines = []
    for name, rows, links in boards:
        cells = [
            [links[row.key], edge.name, f"{edge.value:.3g}", f"{edge.low:g} to {edge.high:g}", edge.end]
            for row in rows
            for edge in dict.fromkeys(edge for edge in edges if edge.row == row.key)
        ]
        lines += _board_table(name, ["row", "number", "winner's", "searched", "end"], cells)
    intro = (
        "Each is in the outer 5 % of all that was searched: a better one may lie beyond. Where a second search was "
        "made over wider ranges, for all models alike, rows say so under search, and the ranges are those."
    )
    return [intro, *lines] if lines else []


def _board_table(board: str, head: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table under its board's name; none without cells."""
    return ["", f"### {board}", "", *table(head, cells)] if cells else []


def _searched_on(boards: Iterable[Board]) -> list[str]:
    """Return each row that a second search gave up, beside the row that it chose."""
    lines = []
    for name, rows, links in boards:
        named = {f"{WENT_ON}{row.key[:SHORT]}": row for row in rows}
        cells = [
            [links[first.key], median(first), links[last.key], median(last), plain(first.valid), plain(last.valid)]
            for first in rows if (last := named.get(first.superseded))
        ]  # fmt: skip
        head = ["row", "its median", "chosen then", "its median", "validation before", "validation then"]
        lines += _board_table(name, head, cells)
    intro = (
        "A second search went on from the first over wider ranges, and chose these by the validation score of its "
        "trials. Both were retrained, and medians are those of the retrainings; the first is superseded, even where it "
        "is the better one on test data. Winners that it did not change are not listed."
    )
    return [intro, *lines] if lines else []


def _trivial(boards: Iterable[Board]) -> list[str]:
    lines = []
    for name, rows, links in boards:
        simple = [row for row in rows if row.trivial and row.mean is not None]
        ranked = [row for row in rows if row.rank_low is not None]
        if simple and ranked:
            saturated = all(row.loses_to for row in ranked)
            saturation = "Saturated: no row's median is better than it. " if saturated else ""
            best = next(row for row in rows if row.trivial)
            lines.append(f"- **{name}**: {saturation}{against_trivial(rows)} It is {links[best.key]}.")
    return lines


def _cost(boards: Iterable[Board]) -> list[str]:
    lines = []
    for name, rows, links in boards:
        cells = [
            [
                links[row.key], plain(row.parameters), str(row.searched), duration(row.find_seconds),
                str(row.seed_count),
                duration(row.train_seconds / row.seed_count if row.seed_count else None),
                DASH if row.joules is None else f"{row.joules:.3g} J",
            ]
            for row in rows if row.kind == "reproduced"
        ]  # fmt: skip
        head = ["row", "parameters", "search trials", "search", "seeds", "a retraining", "energy of one"]
        lines += ["", f"### {name}", "", *table(head, cells)]
    return lines[1:]


def _ahead(sweeps: Mapping[str, float]) -> list[str]:
    """Return which sweeps are still to be trained, and how long that is expected to take."""
    if not sweeps:
        return ["All sweeps of `infra/sweeps/edition1` are published."]
    named = ", ".join(f"`{stem}` ({hours:g} h)" for stem, hours in sweeps.items())
    return [
        f"{len(sweeps)} sweeps of `infra/sweeps/edition1` are ready to run and not published yet, with the hours that "
        f"each is expected to take on two cores: {named}. `make edition` goes on with them."
    ]
