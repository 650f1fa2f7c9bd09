"""Pages of an edition: computed from its bundles alone, in a fresh store."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from edition.draws import list_draws
from edition.folders import EditionFolders, longwave
from edition.lags import draw_lags
from edition.report import Findings, write_report
from edition.searches import list_choices
from edition.steps import steps_to_learn
from edition.successor import describe_successor
from edition.sweeps import list_missing, list_sweeps
from longwave.platform.about import write_catalogue
from longwave.platform.editions.folder import FOLDER
from longwave.platform.editions.publish import publish as write_edition
from longwave.platform.editions.shipped import write_shipped
from longwave.platform.exchange import bundle
from longwave.platform.plugins.known import add_plugin
from longwave.platform.records.group import Pool
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.range_edges import find_edges
from longwave.platform.sweeps.plan.stored import read_searched
from longwave.platform.training.environment import describe

TITLE = "Longwave, edition {}"


def publish(folders: EditionFolders) -> None:
    """Publish the pages of the edition from its bundles and those of trusted submissions, which do not change.

    They are computed in a fresh store, so that whoever imports the edition gets the same.
    """
    with tempfile.TemporaryDirectory(dir=folders.home) as folder:
        fresh = replace(folders, home=Path(tempfile.mkdtemp(dir=folder)))
        pages = Path(folder) / "edition"
        trust = [file.name for path in folders.carried if (file := bundle.read(path)).content.rows]
        longwave(fresh, "import", *folders.carried, *folders.plugins)
        for path in folders.submitted:
            add_plugin(path.parent)
        with Store(fresh.store) as store:
            write_catalogue(store)
            commit = describe()["commit"]
            rows = read_board(store, pool=Pool(trust=trust))
            successor, title = describe_successor(rows, folders), TITLE.format(folders.number)
            made = write_edition(
                pages, store, title, commit, None, True, print, trust, folders.carried, "MIT", note=successor
            )
            searches = [*last_searches(store)]
            findings = Findings(
                [edge for name, sweep in searches for edge in find_edges(sweep, store, name)[0]],
                [choice for name, sweep in searches for choice in list_choices(sweep, store, name)],
                list_missing(folders, list_sweeps(folders.sweep_files())),
                draw_lags(rows, store.trials_by_id([trial for row in rows for trial in row.trials]), folders),
                steps_to_learn(rows, store),
                successor,
                draws=[draw for name, sweep in searches for draw in list_draws(sweep, store, name)],
            )
            write_report(rows, findings, made, pages, folders)
        write_shipped(made, folders.shipped)
        replace_pages(pages, folders.edition)
    size = sum(file.stat().st_size for file in folders.edition.rglob("*") if file.is_file())
    print(f"{folders.edition}: {size / 1e6:.1f} MB")


def replace_pages(pages: Path, edition: Path) -> None:
    """Move new pages into an edition's folder, file by file, and remove those that are gone; never a bundle.

    A bundle that was finished meanwhile stays, and all of them do if this is interrupted. The manifest comes last, so
    that readers refuse a mixture of old and new pages.
    """
    new = [path.relative_to(pages) for path in pages.rglob("*") if path.is_file()]
    for name in sorted(new, key=lambda name: (name.name == "manifest.json", name)):
        (edition / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(pages / name, edition / name)
    for path in [path for path in edition.rglob("*") if path.is_file()]:
        name = path.relative_to(edition)
        if name not in new and name.parts[0] != FOLDER:
            path.unlink()


def last_searches(store: Store) -> Iterator[tuple[str, Sweep]]:
    """Yield name and plan of each sweep of a store whose search no other one continues."""
    trials = {name: {a.id for a in store.planned(name) if a.phase == "search"} for name in store.sweeps()}
    for name, own_trials in trials.items():
        if not any(own_trials < others for others in trials.values()):
            yield name, read_searched(store, name)
