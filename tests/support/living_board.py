"""Builds the living board's edition: trains what is missing of its sweeps, keeps each table, publishes what is whole.

``make edition`` runs the files of ``infra/sweeps/edition1`` in the order of their names, from a store of its own in
``.edition``. Once a sweep is over, all rows of its task lie as a bundle under ``infra/board/partial``, whose hash is
listed in ``platform/boards/trust.txt``; commit both. A checkout without ``.edition`` begins with these bundles (where
they were deleted, with the edition), so nothing in them is trained again. The edition is published from them alone.

    python tests/support/living_board.py [WORD ...]       sweeps whose names hold a word; by default all
    python tests/support/living_board.py --publish        train nothing
    python tests/support/living_board.py --widen WORD     write a second search, NAME-widened.toml, of each that is over
                                                          and has a winner at the edge of a range; train nothing
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edition_report import tell
from tree import ROOT

from longwave.files import whole
from longwave.platform.editions.publish import read as edition_in
from longwave.platform.exchange import bundle
from longwave.platform.records.group import Pool
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.config import read_sweep
from longwave.platform.sweeps.edges import AtEdge, at_edges
from longwave.platform.sweeps.sweep import looked_up, stored_sweep

LONGWAVE = [sys.executable, "-m", "longwave.platform.cli.main"]
EXPECTED = re.compile(r"^# Expected: ([\d.]+) hours", re.MULTILINE)
TITLE = "Longwave, edition 1"


@dataclass(frozen=True)
class LivingBoard:
    """Where the parts of an edition lie.

    Attributes:
        sweeps: Folder of the sweep files.
        board: Folder of the partial bundles and the edition.
        home: Data folder of the training, with its store.
        trust: List of hashes that ship.
        readme: Shows the edition's table.
    """

    sweeps: Path = ROOT / "infra/sweeps/edition1"
    board: Path = ROOT / "infra/board"
    home: Path = ROOT / ".edition"
    trust: Path = ROOT / "platform/boards/trust.txt"
    readme: Path = ROOT / "README.md"

    @property
    def edition(self) -> Path:
        """The edition's folder."""
        return self.board / "edition-1"

    @property
    def partial(self) -> list[Path]:
        """The bundles of finished tables, one a task."""
        return sorted((self.board / "partial").glob("*.json.xz"))

    @property
    def store(self) -> str:
        """URL of the store."""
        return f"sqlite:///{self.home / 'longwave.db'}"

    def files(self, words: Sequence[str] = ()) -> list[Path]:
        """Return the sweep files whose names hold any of ``words``, in order."""
        found = sorted(self.sweeps.glob("*.toml"), key=lambda file: file.stem)
        return [file for file in found if not words or any(word in file.stem for word in words)]

    def here(self) -> dict[str, str]:
        """Return the names of the bundles that the store's trials came in or went out in, with their files' names."""
        listed = self.home / "bundles.json"
        return dict(json.loads(listed.read_text())) if listed.exists() else {}

    def note(self, name: str, file: str) -> None:
        """Write that the store holds a bundle."""
        with whole(self.home / "bundles.json") as listed:
            listed.write_text(json.dumps(self.here() | {name: file}))


def take_up(board: LivingBoard) -> None:
    """Import the bundles of which the store knows nothing yet; where there is none, the edition."""
    for file in board.partial or board.edition.glob("results.json.xz"):
        name = bundle.read(file).name
        if name not in board.here():
            longwave(board, "import", file if file in board.partial else board.edition)
            board.note(name, file.name)


def train(board: LivingBoard, file: Path) -> None:
    """Run a sweep until it is over, and keep the rows of its task.

    Raises:
        SystemExit: It was interrupted, or failed.
    """
    settings = read_sweep(file)
    hours = expected(file)
    print(f"{file.stem}: expected {hours:.1f} h", flush=True)
    if state(board, settings.name).get("state") != "over":
        longwave(board, "sweep", "run", file, "--mlflow", "off")
    found = state(board, settings.name)
    told = f"{found['ok']} ok, {found['stopped']} stopped, {found['diverged']} diverged, {found['failed']} failed"
    print(asked(board, "sweep", "edges", settings.name).stdout, end="", flush=True)
    print(f"{file.stem}: took {found['spent']['ran'] / 3600:.2f} h of {hours:.1f} h expected: {told}", flush=True)
    if found["state"] != "over":
        sys.exit(f"{file.stem} is {found['state']}. Go on with: make edition")
    for task in settings.places:
        keep(board, task)


def keep(board: LivingBoard, task: str) -> None:
    """Write the rows of a task as a partial bundle, and list its hash, unless they lie there as they are."""
    made, file = board.home / f"{task}.json.xz", board.board / "partial" / f"{task}.json.xz"
    longwave(board, "submit", made, "--task", task)
    name = bundle.read(made).name
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole(file) as written:
        shutil.copyfile(made, written)
    board.note(name, file.name)
    list_hashes(board.trust, f"edition 1, {task}", name)


def list_hashes(trust: Path, why: str, *hashes: str) -> None:
    """Write the hashes that are trusted for a reason, in place of those before."""
    lines = [line for line in trust.read_text(encoding="utf-8").splitlines() if not line.endswith(f"  # {why}")]
    with whole(trust) as written:
        written.write_text("\n".join([*lines, f"{' '.join(hashes)}  # {why}", ""]), encoding="utf-8")


def widen(board: LivingBoard, file: Path) -> None:
    """Write a second search of a sweep that is over, with wider ranges and other draws, if a winner sits at an edge."""
    name, wide = read_sweep(file).name, file.with_stem(f"{file.stem}-widened")
    if state(board, name).get("state") != "over" or file.stem.endswith("-widened"):
        return
    ranges = asked(board, "sweep", "edges", name, "--widened").stdout
    if ranges and not wide.exists():
        text = file.read_text(encoding="utf-8").replace(f'name = "{name}"', f'name = "{name}-widened"')
        head = f"# The second search of {file.name}, once, since winners sat at an edge: wider for all models alike.\n"
        wide.write_text(head + text.replace("\nseed = 0\n", "\nseed = 1\n") + ranges, encoding="utf-8")
        print(f"{wide.name}: run it with: make edition")


def publish(board: LivingBoard) -> None:
    """Publish the edition from the partial bundles alone, in empty stores: whoever has these has the edition.

    It is made of one bundle of them all, as who imports it has it.
    """
    with tempfile.TemporaryDirectory(dir=board.home) as folder:
        homes = [Path(tempfile.mkdtemp(dir=folder)) for _ in range(2)]
        parts, one = (replace(board, home=home) for home in homes)
        made, results = Path(folder) / "edition", Path(folder) / "results.json.xz"
        for file in board.partial:
            longwave(parts, "import", file)
        longwave(parts, "submit", results)
        longwave(one, "import", results)
        name = bundle.read(results).name
        longwave(one, "publish", made, "--results", "--title", TITLE, "--trust", name)
        with Store(one.store, create=False, reads=True) as store:
            rows = read_board(store, pool=Pool(trust=(name,)))
            tell(rows, edges(store), edition_in(made), made, board.board, board.readme)
        shutil.rmtree(board.edition, ignore_errors=True)
        shutil.move(made, board.edition)
    board.note(name, board.edition.name)
    list_hashes(board.trust, "edition 1", edition_in(board.edition).sha256, name)
    size = sum(file.stat().st_size for file in board.edition.iterdir())
    print(f"{board.edition}: {size / 1e6:.1f} MB")


def edges(store: Store) -> list[AtEdge]:
    """Return what of the winners of a store's sweeps sits at an edge of its range."""
    names = store.sweeps()
    return [edge for name in names for edge in at_edges(looked_up(stored_sweep(store, name)), store, name)[0]]


def longwave(board: LivingBoard, *arguments: object) -> None:
    """Run a command of Longwave; a signal that ends this process ends it in order first.

    Raises:
        SystemExit: It did not end well; with its status.
    """
    command = [*LONGWAVE, *map(str, arguments), "--store", board.store]
    child = subprocess.Popen(command, env={**os.environ, "LONGWAVE_HOME": str(board.home)})
    before = {n: signal.signal(n, lambda number, _: child.send_signal(number)) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        status = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if status:
        sys.exit(status)


def state(board: LivingBoard, name: str) -> dict[str, Any]:
    """Return how a sweep stands; nothing for one that the store does not know."""
    done = asked(board, "sweep", "status", name, "--format", "json")
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}


def asked(board: LivingBoard, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return what a command says that only reads the store."""
    return subprocess.run([*LONGWAVE, *arguments, "--store", board.store], capture_output=True, text=True)


def expected(file: Path) -> float:
    """Return the hours that a sweep file says it takes; 0 where it says none."""
    found = EXPECTED.search(file.read_text(encoding="utf-8"))
    return float(found[1]) if found else 0.0


def main(arguments: Sequence[str], board: LivingBoard) -> None:
    """Do what the arguments say; see the module."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="parts of names of sweep files")
    parser.add_argument("--publish", action="store_true", help="train nothing; publish the tables that are whole")
    parser.add_argument("--widen", action="store_true", help="train nothing; write second searches over wider ranges")
    told = parser.parse_args(arguments)
    board.home.mkdir(parents=True, exist_ok=True)
    begun, files = time.monotonic(), [] if told.publish else board.files(told.words)
    take_up(board)
    if told.widen:
        for file in files:
            widen(board, file)
        return
    print(f"{len(files)} sweeps, expected {sum(map(expected, files)):.1f} h of two cores", flush=True)
    for file in files:
        train(board, file)
    publish(board)
    print(f"took {(time.monotonic() - begun) / 3600:.2f} h")


if __name__ == "__main__":
    main(sys.argv[1:], LivingBoard())
