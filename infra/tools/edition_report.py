"""The report of an edition, REPORT.md: verdicts, tasks to retire, what is undecided, what it cost, what surprised.

All but the last part is told by the rows. What surprised is written by people, in ``surprises-N.md`` beside edition N.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from edition_folders import SHOWN, EditionFolders
from tree import ROOT

from longwave.platform.boards.answer import answer, over_all
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import REJECTED, SHORT, WENT_ON, Row, named
from longwave.platform.boards.texts import DASH, duration, median, plain, quoted, ratio, result, searched
from longwave.platform.editions.edition import Edition
from longwave.platform.figures.heat_map import heat_map
from longwave.platform.sweeps.plan.range_edges import AtEdge

WIDTH = 900
"""Pixels of the heat map."""
ANSWER = r"(?s)(<!-- edition {0} -->\n).*?(<!-- /edition {0} -->)"
"""Where the README has an edition's answer, if it has it."""
OF_A_SECOND_SEARCH = (
    "A second search went on from the first over wider ranges, and chose these by the validation score of its trials. "
    "Both were retrained, and medians are those of the retrainings; the first is superseded, even where it is the "
    "better one on test data. Winners that it did not change, and those that the retrainings gave up, are not listed."
)
OF_RETRAININGS = (
    "Where both winners of a model had been retrained ten times, the better median validation score of these "
    "retrainings decided; no test score was looked at. Here that was the winner of the first search. As its ten "
    "retrainings chose it, they count no longer: its row shows ten others, with seeds of their own."
)
Board = tuple[str, Sequence[Row], Mapping[str, str]]
"""Its name, its rows, and a link to each of them by key."""


def write_report(
    rows: Sequence[Row],
    edges: Sequence[AtEdge],
    ahead: Mapping[str, float],
    made: Edition,
    folder: Path,
    folders: EditionFolders,
    successor: str = "",
) -> None:
    """Write the report of an edition; of the one that the README shows its answer and its heat map, too.

    Args:
        rows: Of all boards, one board after the other.
        edges: What of the searches' winners sits at an edge of its range.
        ahead: Hours that each sweep is expected to take of which nothing is published yet, by the stem of its file.
        made: The edition.
        folder: Where it lies.
        folders: Of the edition.
        successor: Which boards the next edition trains again; empty if none.
    """
    people = folders.surprises.read_text("utf-8") if folders.surprises.exists() else ""
    text = report(rows, edges, ahead, made.title, made.id, people, folders.number, successor)
    (folder / "REPORT.md").write_text(text, encoding="utf-8")
    _show(rows, folders)


def _show(rows: Sequence[Row], folders: EditionFolders) -> None:
    """Write an edition's heat map, and its answer where the README has a place for it."""
    parts = overviews(rows)
    if drawn := heat_map(parts[0]):
        folders.heat_map.write_text(drawn.svg(WIDTH), encoding="utf-8")
    said = "\n\n".join(map(over_all, parts))
    pattern, before = ANSWER.format(folders.number), folders.readme.read_text(encoding="utf-8")
    text = re.sub(pattern, lambda match: f"{match[1]}{said}\n{match[2]}", before)
    folders.readme.write_text(text, encoding="utf-8")


def report(
    rows: Sequence[Row],
    edges: Sequence[AtEdge],
    ahead: Mapping[str, float],
    title: str,
    edition: str,
    surprises: str,
    number: int = SHOWN,
    successor: str = "",
) -> str:
    """Return the report as Markdown; each statement of a row links it in the edition's page beside.

    Args:
        rows: Of all boards, one board after the other.
        edges: What of the searches' winners sits at an edge of its range.
        ahead: Hours that each sweep is expected to take of which nothing is published yet, by the stem of its file.
        title: Of the edition.
        edition: Its short id.
        surprises: What people say, with links of their own.
        number: Of the edition in the repository.
        successor: Which boards the next edition trains again; empty if none.
    """
    boards = [_board(name, list(group)) for name, group in groupby(rows, key=lambda row: row.place)]
    trained = [row for row in rows if row.kind == "reproduced"]
    seeds, hours = sum(row.seed_count for row in trained), sum(row.train_seconds for row in trained) / 3600
    reasons = {row.superseded for row in trained}
    went_on = {WENT_ON.format(row.key[:SHORT]) for row in trained}
    gone = [row for row in trained if row.superseded in went_on]
    within = [*gone, *(row for row in trained if REJECTED.format(row.key[:SHORT]) in reasons)]
    searching = sum(row.find_seconds for row in trained if row not in within) / 3600  # of a longer search, its whole
    command = EditionFolders.of_edition(number).command
    head = (
        f"Edition `{edition}`: {len(trained)} rows on {len(boards)} board{'s' * (len(boards) > 1)}"
        f"{f', {len(gone)} of them superseded by a second search' * bool(gone)}; their {seeds} retrainings took "
        f"{hours:.1f} hours of one worker, their searches {searching:.1f}. All numbers but those "
        "of the last part are computed from `results`. Names link to rows of `index.html`, with seeds, settings and "
        "the command that trains a row once more. That page is not in the repository, so the links lead nowhere until "
        f"`{command} WORDS=--publish`, which trains nothing, has drawn it beside this file."
    )
    parts = [
        ("Which model is best", [*chain(*((over_all(one), "") for one in overviews(rows))), *_best(boards)]),
        *([("What the next edition replaces", [successor])] if successor else []),
        ("Tasks proposed for retirement", _retired(rows)),
        ("Published numbers", [*filter(None, [verdict_share(rows)]), *_verdicts(boards)]),
        ("Undecided", _undecided(boards)),
        ("Winners at an edge of their range", _edges(boards, edges)),
        ("What a second search changed", _replaced(boards, WENT_ON, OF_A_SECOND_SEARCH)),
        ("What the retrainings changed", _replaced(boards, REJECTED, OF_RETRAININGS)),
        ("What it cost", _cost(boards)),
        ("How far it goes", _ahead(ahead, number)),
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


def _replaced(boards: Iterable[Board], why: str, intro: str) -> list[str]:
    """Return each row that was superseded for a reason, beside the row that took its place."""
    lines = []
    for name, rows, links in boards:
        named = {why.format(row.key[:SHORT]): row for row in rows}
        cells = [
            [links[first.key], median(first), links[last.key], median(last), plain(first.valid), plain(last.valid)]
            for first in rows if (last := named.get(first.superseded))
        ]  # fmt: skip
        head = ["row", "its median", "chosen then", "its median", "validation before", "validation then"]
        lines += _board_table(name, head, cells)
    return [intro, *lines] if lines else []


def _retired(rows: Sequence[Row]) -> list[str]:
    """Return the tasks that no model with a score can be told by, one a line."""
    lines = [
        f"- **{named(place)}**: {told.sentence}"
        for one in overviews(rows)
        for place, told in zip(one.tasks, one.separations, strict=True)
        if place in one.to_retire
    ]
    count = "this task is" if len(lines) == 1 else f"these {len(lines)} tasks are"
    intro = (
        f"For every model with a score {count} saturated: what they rank is who comes nearest to a trivial predictor. "
        "The next edition should make them harder or leave them out."
    )
    return [intro, "", *lines] if lines else []


def _cost(boards: Iterable[Board]) -> list[str]:
    lines = []
    for name, rows, links in boards:
        cells = [
            [
                links[row.key], plain(row.parameters), searched(row), duration(row.find_seconds),
                str(row.seed_count),
                duration(row.train_seconds / row.seed_count if row.seed_count else None),
                DASH if row.joules is None else f"{row.joules:.3g} J",
            ]
            for row in rows if row.kind == "reproduced"
        ]  # fmt: skip
        head = ["row", "parameters", "search trials", "search", "seeds", "a retraining", "energy of one"]
        lines += ["", f"### {name}", "", *table(head, cells)]
    return lines[1:]


def _ahead(sweeps: Mapping[str, float], number: int) -> list[str]:
    """Return which sweeps are still to be trained, and how long that is expected to take."""
    folders = EditionFolders.of_edition(number)
    files = f"`{folders.sweeps.relative_to(ROOT)}`"
    if not sweeps:
        return [f"All sweeps of {files} are published."]
    named = ", ".join(f"`{stem}` ({hours:g} h)" for stem, hours in sweeps.items())
    return [
        f"{len(sweeps)} sweeps of {files} are ready to run and not published yet, with the hours that each is expected "
        f"to take on two cores: {named}. `{folders.command}` goes on with them."
    ]


def table(head: Sequence[str], cells: Iterable[Sequence[str]]) -> list[str]:
    """Return a table in Markdown, line by line."""
    rows = [head, ["---"] * len(head), *cells]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
