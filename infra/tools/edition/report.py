"""The report of an edition, REPORT.md: answers, verdicts, tasks to remove, cost, surprises.

All parts but the last are computed from the rows. People write the surprises, in ``surprises-N.md`` next to edition N.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from markdown_parts import table
from tree import ROOT

from edition.draws import RungDraw, describe_draws
from edition.folders import FIRST, EditionFolders
from edition.searches import (
    OF_A_SECOND_SEARCH,
    OF_RETRAININGS,
    Board,
    RaceChoice,
    board_table,
    describe_edges,
    describe_races,
    describe_replaced,
)
from edition.steps import describe_steps
from edition.sweeps import ModelSweep
from edition.unpaired import describe_unpaired
from longwave.platform.boards.answer import answer, over_all
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.pairs import ranked
from longwave.platform.boards.printed import quote_number, write_ratio
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import REJECTED, SHORT, WENT_ON, Row, distinct_boards, sum_search_seconds
from longwave.platform.boards.separation import separation
from longwave.platform.boards.texts import DASH, duration, median, plain, result, searched
from longwave.platform.editions.edition import Edition
from longwave.platform.figures.heat_map import heat_map
from longwave.platform.statistics.ranking import chain_length
from longwave.platform.sweeps.plan.range_edges import AtEdge
from longwave.platform.wording import describe_count

WIDTH = 900
"""Of the heat map, in pixels."""
ANSWER = r"(?s)(<!-- edition {0} -->\n).*?(<!-- /edition {0} -->)"
"""The part of the README with an edition's answer, if there is one."""


@dataclass(frozen=True)
class Findings:
    """What a report says that its rows do not contain.

    Attributes:
        edges: Hyper-parameters of winners at an edge of their range.
        races: What each race chose.
        missing: The sweeps that are not published yet.
        lags: Lines on how far models remember, as of ``draw_lags``.
        steps: After how many steps each retraining learned, by row, as of ``steps_to_learn``.
        successor: Which boards the next edition trains again; empty if none.
        surprises: What people wrote, with its links.
        draws: Of successive halving, where some trials had learned something.
    """

    edges: Sequence[AtEdge] = ()
    races: Sequence[RaceChoice] = ()
    missing: Sequence[ModelSweep] = ()
    lags: Sequence[str] = ()
    steps: Mapping[str, Sequence[float]] = field(default_factory=dict)
    successor: str = ""
    surprises: str = ""
    draws: Sequence[RungDraw] = ()


def write_report(rows: Sequence[Row], findings: Findings, made: Edition, folder: Path, folders: EditionFolders) -> None:
    """Write the report of an edition, and what the README shows of it.

    Args:
        rows: Of all boards, one board after the other.
        findings: What else it says; the surprises are read from their file.
        made: The edition.
        folder: That of the edition.
        folders: Of the edition.
    """
    people = folders.surprises.read_text("utf-8") if folders.surprises.exists() else ""
    text = format_report(rows, replace(findings, surprises=people), made.title, made.id, folders.number)
    (folder / "REPORT.md").write_text(text, encoding="utf-8")
    _update_readme(rows, folders)


def _update_readme(rows: Sequence[Row], folders: EditionFolders) -> None:
    """Write an edition's answer into the README where that marks a place for it, and its heat map if it is there."""
    parts = overviews(rows)
    answer = "\n\n".join(map(over_all, parts))
    pattern, before = ANSWER.format(folders.number), folders.readme.read_text(encoding="utf-8")
    text = re.sub(pattern, lambda match: f"{match[1]}{answer}\n{match[2]}", before)
    folders.readme.write_text(text, encoding="utf-8")
    if folders.heat_map.name in text and (figure := heat_map(parts[0])):
        folders.heat_map.write_text(figure.svg(WIDTH), encoding="utf-8")


def format_report(rows: Sequence[Row], findings: Findings, title: str, edition: str, number: int = FIRST) -> str:
    """Return the report as Markdown; each mention of a row links to it in the edition's page.

    Args:
        rows: Of all boards, one board after the other.
        findings: What else it says.
        title: Of the edition.
        edition: Its short id.
        number: Of the edition in the repository.
    """
    groups = [list(group) for _, group in groupby(rows, key=lambda row: row.place)]
    boards = [_board(*named_rows) for named_rows in zip(distinct_boards([g[0] for g in groups]), groups, strict=True)]
    trained = [row for row in rows if row.kind == "retrained"]
    seeds, hours = sum(row.seed_count for row in trained), sum(row.train_seconds for row in trained) / 3600
    went_on = {WENT_ON.format(row.key[:SHORT]) for row in trained}
    superseded = [row for row in trained if row.superseded in went_on]
    searching = sum_search_seconds(trained) / 3600
    command, share = EditionFolders.of_edition(number).command, verdict_share(rows)
    head = (
        f"Edition `{edition}`: {describe_count(len(trained), 'row')} on "
        f"{describe_count(len(boards), 'board')}"
        f"{f', {len(superseded)} of them superseded by a second search' * bool(superseded)}; their {seeds} retrainings "
        f"took {hours:.1f} hours on one worker, their searches {searching:.1f}. All numbers except those in "
        "the last part are computed from `results`. Names link to rows of `index.html`, with seeds, settings and "
        "the command that trains a row again. That page is not in the repository; "
        f"`{command} WORDS=--publish` writes it beside this file and trains nothing."
    )
    parts = [
        *([("Which model remembers how long", findings.lags)] if findings.lags else []),
        (
            "Which model is best",
            [*chain(*((over_all(one), "") for one in overviews(rows))), *_groups(boards), *_best(boards)],
        ),
        *([("After how many steps models learn", describe_steps(boards, findings.steps))] if findings.steps else []),
        *([("What the next edition replaces", [findings.successor])] if findings.successor else []),
        ("Tasks proposed for removal", _retired(rows)),
        ("Published numbers", [*([share, ""] if share else []), *_verdicts(boards)]),
        ("Published numbers that no row can be compared with", describe_unpaired(boards)),
        ("Undecided", _undecided(boards)),
        ("Winners at the edge of the search range", describe_edges(boards, findings.edges)),
        *([("What the race changed", describe_races(boards, findings.races))] if findings.races else []),
        *([("What the draws of halving stopped", describe_draws(boards, findings.draws))] if findings.draws else []),
        ("What a second search changed", describe_replaced(boards, WENT_ON, OF_A_SECOND_SEARCH)),
        ("What the retrainings changed", describe_replaced(boards, REJECTED, OF_RETRAININGS)),
        ("Cost", _cost(boards)),
        ("Models not trained yet", _missing(findings.missing, number)),
        ("Surprises", findings.surprises.strip().splitlines() or ["None written yet."]),
    ]
    body = [line for part, lines in parts for line in ("", f"## {part}", "", *(lines or ["None."]))]
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


def _groups(boards: Iterable[Board]) -> list[str]:
    """Return into how many groups the models of each separating board part, the most first; empty if there is none."""
    counts = {
        name: chain_length([row.seeds for row in ranked(rows)], rows[0].scale)
        for name, rows, _ in boards
        if separation(rows).word == "separates"
    }
    if not counts:
        return []
    many = sum(count > 2 for count in counts.values())
    by_count = "; ".join(f"{count} on {name}" for name, count in sorted(counts.items(), key=lambda one: -one[1]))
    return [
        f"On {many} of {describe_count(len(counts), 'separating board')} the models form three or more groups, "
        f"each with a model that is significantly better than one of the next. Groups per board: {by_count}.",
        "",
    ]


def _verdicts(boards: Iterable[Board]) -> list[str]:
    lines = []
    for name, rows, links in boards:
        whys = [_why(row, number) for row, number in _printed(rows)]
        shared = [why for why in dict.fromkeys(chain(*whys)) if len(whys) > 1 and all(why in of for of in whys)]
        cells = [
            [links[r.key], result(r), median(r), quote_number(number), number["verdict"], write_ratio(number)]
            + ["; ".join(why for why in of if why not in shared) or (DASH if shared else "no known difference")]
            for (r, number), of in zip(_printed(rows), whys, strict=True)
        ]
        if cells:
            head = ["row", "mean ± std (n)", "median", "published", "verdict", "error, ours / published", "differences"]
            counts = Counter(number["verdict"] for _, number in _printed(rows)).most_common()
            intro = f"{describe_count(len(cells), 'published number')}: "
            intro += f"{', '.join(f'{verdict} {count}' for verdict, count in counts)}."
            intro += f" Differences from the papers in all rows: {'; '.join(shared)}." if shared else ""
            head = [*head[:-1], "further differences"] if shared else head
            lines += ["", f"### {name}", "", intro, "", *table(head, cells).splitlines()]
    return lines[1:]


def _why(row: Row, number: Mapping[str, Any]) -> list[str]:
    """Return the known differences between a row's training and that of a published number."""
    return list(dict.fromkeys([*number["departures"], *row.known]))


def _undecided(boards: Iterable[Board]) -> list[str]:
    return [
        f"- {name}, {links[row.key]} against {number['printed']}: {number['why']}"
        for name, rows, links in boards
        for row, number in _printed(rows)
        if number["verdict"] == "undecided"
    ]


def _printed(rows: Iterable[Row]) -> list[tuple[Row, Mapping[str, Any]]]:
    return [(row, number) for row in rows if row.current for number in row.published]


def _retired(rows: Sequence[Row]) -> list[str]:
    """Return the tasks that are saturated for every model with a score, one a line."""
    lines = [
        f"- **{title}**: {separation.sentence}"
        for one in overviews(rows)
        for board, title, separation in zip(one.tasks, one.titles, one.separations, strict=True)
        if board in one.to_retire
    ]
    single = len(lines) == 1
    these = "this saturated task" if single else f"these {len(lines)} saturated tasks"
    intro = (
        f"On {these} every ranked model has been trained, and none beats the best trivial predictor. The next edition "
        "should make "
        f"{'it harder or leave it' if single else 'them harder or leave them'} out."
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
            for row in rows if row.kind == "retrained"
        ]  # fmt: skip
        head = ["row", "parameters", "search trials", "search", "seeds", "time a retraining", "energy a retraining"]
        lines += board_table(name, head, cells)
    return lines[1:]


def _missing(sweeps: Sequence[ModelSweep], number: int) -> list[str]:
    """Return how many models of each board are still to be trained, and their expected hours."""
    folders = EditionFolders.of_edition(number)
    files = f"`{folders.sweeps.relative_to(ROOT)}`"
    if not sweeps:
        return [f"All models of {files} are trained and published."]
    by_board = {file: [sweep.hours for sweep in of] for file, of in groupby(sweeps, lambda sweep: sweep.file)}
    boards = ", ".join(
        f"`{file.stem}` ({describe_count(len(hours), 'model')}, {round(sum(hours), 1):g} h)"
        for file, hours in by_board.items()
    )
    cells = f"{describe_count(len(sweeps), 'cell')}, each a model on a board,"
    return [
        f"In {files}, {cells} of {describe_count(len(by_board), 'sweep file')} are still to be trained. Their "
        f"expected hours on two cores: {boards}. `{folders.command}` trains them."
    ]
