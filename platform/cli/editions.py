"""Commands for readers of a board: publish, methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.about import write_catalogue
from longwave.platform.boards.methods import methods
from longwave.platform.cli.app import StoreOption, TrustOption
from longwave.platform.editions.publish import publish
from longwave.platform.paths import store_url
from longwave.platform.render.terminal import print_markdown, show_waiting
from longwave.platform.storage.store import Store
from longwave.platform.training.environment import describe

COUNTED = {"retrained": "trained rows", "published": "printed numbers", "trivial": "trivial predictors"}
"""Words for the kinds of rows that an edition counts."""


def publish_edition(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    previous: Annotated[Path | None, typer.Option(help="Folder of the previous edition, to list what changed.")] = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Longwave",
    results: Annotated[
        bool | None,
        typer.Option(help="Include all runs, for `longwave import DIR` elsewhere. Default: up to 10,000 trials."),
    ] = None,
    licence: Annotated[
        str | None, typer.Option(metavar="SPDX", help="Licence of the results: MIT, CC-BY-4.0, ...; for Croissant.")
    ] = None,
    hub: Annotated[
        str | None,
        typer.Option(
            metavar="USER/NAME",
            help="Dataset on the Hugging Face Hub in which the edition will be; adds files of scores for model cards.",
        ),
    ] = None,
    note: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A sentence above the boards: what replaces them, say.")
    ] = None,
    trust: TrustOption = None,
    store: StoreOption = None,
) -> None:
    """Write an edition: all boards in one folder that is never changed later. Open its index.html in a browser.

    It contains the page, all rows as JSON with JSON Schema and as Parquet with Croissant, sources as BibTeX, changes,
    hashes of all files, and the runs in `results/`, one bundle per sweep. Bundles of the previous edition are copied
    unchanged. With --hub, `eval_results/` has one file of scores per model, for `.eval_results/` of its repository.

    Example: longwave publish editions/2 --previous editions/1
    """
    lines: list[str] = []
    with Store(store_url(store), create=False) as open_store, show_waiting("Publishing"):
        write_catalogue(open_store)
        edition = publish(
            folder,
            open_store,
            title,
            describe()["commit"],
            previous,
            results,
            lines.append,
            trust or (),
            licence=licence or "",
            hub=hub or "",
            note=note or "",
        )
    counts = ", ".join(f"{COUNTED.get(what, what)} {count}" for what, count in edition.counts.items())
    typer.echo(f"Edition {edition.id} ({counts}): {folder / 'index.html'}")
    for line in lines:
        typer.echo(line)


def print_methods() -> None:
    """Print what the numbers of a board claim, which tests they rest on, and how often these are wrong.

    Example: longwave methods
    """
    print_markdown(methods())
