"""Mutation testing: breaks lines one at a time in a copy of the tree, and reports which test fails.

``make mutants`` draws mutants of cosmic-ray's operators from each of ``FOLDERS`` with a fixed seed, adds those of C++
that ``infra/mutants/cpp.toml`` lists, and writes ``infra/mutants/result.md``. It exits with 1 if one survives all tests
without a reason in ``infra/mutants/excused.toml``. Results are cached in ``.mutants`` until the mutant's file changes,
so an interrupted run continues. With WORDS:

    platform/boards ...     run only those of these folders
    --survivors             run again those that survived, and those not run yet
    --all                   run all of them again
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tree import ROOT

from mutants.broken_lines import FOLDERS, Mutant, draw_mutants, list_mutants
from mutants.forked_tests import Copy, import_large_libraries
from mutants.mutant_tests import OwnTests

CPP = "models/kernels/cpu"
AGAIN = ("--survivors", "--all")
CACHE, RESULT = ROOT / ".mutants/known.jsonl", ROOT / "infra/mutants/result.md"
LISTED, EXCUSED = ROOT / "infra/mutants/cpp.toml", ROOT / "infra/mutants/excused.toml"
QUICK = "not slow and not integration"


class Tier(NamedTuple):
    """Tests to run for a mutant, and the CPU seconds after which each counts as failed."""

    name: str
    nearest: bool
    marks: str
    longest: int


TIERS = (
    Tier("its own", True, QUICK, 30),
    Tier("the next", False, QUICK, 30),
    Tier("its own long ones", True, "integration", 300),
)
"""Tiers, run in order until a test fails."""
UNNOTICED, NOT_RUN = "unnoticed", "not run"
NONE = ""
"""Tier and test of a mutant that survived."""
HEAD = """# Mutants, and which tests notice them

Made by `make mutants`, which breaks one line at a time; see `infra/tools/mutants`. Each column counts the mutants
that its tests notice and those to its left do not.
"""


class Runner:
    """Runs tests on mutants, in a copy of the tree."""

    def __init__(self, tree: Path, mutants: Sequence[Mutant]) -> None:
        import_large_libraries()
        self.copy = Copy.of_tree(tree)
        files = {folder: {m.file for m in mutants if m.folder == folder} for folder in {m.folder for m in mutants}}
        self.tests = {folder: OwnTests(folder, names) for folder, names in files.items()}
        self.sound: set[str] = set()
        self.unreliable: set[str] = set()

    def noticed_by(self, mutant: Mutant) -> tuple[str, str]:
        """Return the tier that detects a mutant, and its first failing test; ``NONE`` for both if none does.

        A test that also fails without the mutant, or that passes when repeated, as on a busy machine, is left out from
        then on.
        """
        path = self.copy.folder / mutant.file
        source = path.read_text(encoding="utf-8")
        while True:
            self._write(path, mutant.text)
            try:
                tier, test = self._first_failure(mutant)
            finally:
                self._write(path, source)
            if self._is_sound(test):
                return tier, test
            self._leave_out(test)

    def _first_failure(self, mutant: Mutant) -> tuple[str, str]:
        tests = self.tests[mutant.folder]
        generate = mutant.file.startswith("tasks/")  # or data generated before the change would be used
        for tier in TIERS:
            files = tests.nearest(mutant.file, mutant.first) if tier.nearest else tests.others(mutant.file)
            while files and (test := self.copy.first_failure(self._words(files, tier), tier.longest, generate)):
                again = (
                    "::" not in test or tier.marks == QUICK or self.copy.first_failure([test], tier.longest, generate)
                )
                if again:
                    return tier.name, test
                self._leave_out(test)
        return NONE, NONE

    def _words(self, files: Sequence[str], tier: Tier) -> list[str]:
        return [*files, "-m", tier.marks, *(f"--deselect={test}" for test in sorted(self.unreliable))]

    def _is_sound(self, test: str) -> bool:
        """Return whether a test that failed passes without a mutant; a file that cannot be collected counts as one."""
        if "::" in test and test not in self.sound:
            if self.copy.first_failure([test], 300):
                return False
            self.sound.add(test)
        return True

    def _leave_out(self, test: str) -> None:
        print(f"Left out because it fails at random, or without the mutant: {test}", file=sys.stderr, flush=True)
        self.unreliable.add(test)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        for file in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            file.unlink()  # Python detects changed sources by size and modification time in seconds


def read_results() -> dict[str, tuple[str, str]]:
    """Return the tier and test that detected each finished mutant, by id, without a line cut off by a kill."""
    results = {}
    for line in CACHE.read_text(encoding="utf-8", errors="replace").splitlines() if CACHE.exists() else []:
        with suppress(ValueError):
            record = json.loads(line)
            results[record["id"]] = record["tier"], record["test"]
    return results


def run(mutants: Sequence[Mutant]) -> None:
    """Run mutants, and save the result of each as soon as it is known."""
    if not mutants:
        return
    CACHE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="longwave-mutants-") as folder:
        runner = Runner(Path(folder).resolve(), mutants)
        for mutant in mutants:
            tier, test = runner.noticed_by(mutant)
            with CACHE.open("a", encoding="utf-8") as file:
                file.write("\n" + json.dumps({"id": mutant.id, "tier": tier, "test": test}))  # after a line cut off
            print(f"{test or 'SURVIVED'}: {mutant}", flush=True)


def check_excuses(excused: Iterable[Mapping[str, Any]]) -> None:
    """Check that the line of each excuse is in its file, or in one of ``FOLDERS`` if it names none.

    Raises:
        ValueError: One is not.
    """
    for one in excused:
        named = (
            [ROOT / one["file"]] if "file" in one else [p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py")]
        )
        texts = (path.read_text(encoding="utf-8") for path in named if path.exists())
        if not any(one["before"] in " ".join(text.split()) for text in texts):
            file = one.get("file", f"no file of {', '.join(FOLDERS)}")
            raise ValueError(
                f"{EXCUSED.name} excuses {one['before']!r}, which {file} does not contain: change or remove it."
            )


def reason(mutant: Mutant, excused: Iterable[Mapping[str, Any]]) -> str:
    """Return why no test needs to detect a mutant; empty if one must. An excuse without a file applies to all files."""
    for one in excused:
        if (one.get("file", mutant.file), one["before"], one["after"]) == (mutant.file, mutant.before, mutant.after):
            return str(one["reason"])
    return ""


def outcome(mutant: Mutant, noticed: Mapping[str, tuple[str, str]], reasons: Mapping[str, str]) -> str:
    """Return the column of the result in which a mutant counts."""
    if mutant.id in reasons:
        return "excused"
    return (noticed[mutant.id][0] or UNNOTICED) if mutant.id in noticed else NOT_RUN


def result(mutants: Sequence[Mutant], outcomes: Mapping[str, str], reasons: Mapping[str, str]) -> str:
    """Return the number of mutants per folder that each tier detected, and the survivors, with reasons."""
    columns = [*(tier.name for tier in TIERS), "excused", UNNOTICED, NOT_RUN]
    counts = Counter((folder, outcomes[m.id]) for m in mutants for folder in (m.folder, "all"))
    lines = [HEAD, f"| folder | mutants | {' | '.join(columns)} |", "|---|" + "---:|" * (len(columns) + 1)]
    for folder in [*dict.fromkeys(m.folder for m in mutants), "all"]:
        numbers = [counts[folder, column] for column in columns]
        lines.append(f"| {folder} | {sum(numbers)} | {' | '.join(map(str, numbers))} |")
    survivors = sorted((m for m in mutants if outcomes[m.id] in ("excused", UNNOTICED)), key=lambda m: (m.file, m.line))
    lines += ["", *(f"- {m.file}: `{m.before}` → `{m.after}`: {reasons.get(m.id, UNNOTICED)}" for m in survivors)]
    return "\n".join([*lines, ""])


def main(words: list[str]) -> int:
    """Run the command line, and return the exit status."""
    if unknown := [word for word in words if word not in (*FOLDERS, CPP, *AGAIN)]:
        print(f"make mutants has no {unknown[0]!r}; it has {', '.join((*FOLDERS, CPP, *AGAIN))}.", file=sys.stderr)
        return 2
    folders = [word for word in words if word not in AGAIN]
    mutants = [*(m for folder in FOLDERS for m in draw_mutants(folder)), *list_mutants(CPP, LISTED)]
    selected = [m for m in mutants if m.folder in folders or not folders]
    excused = tomllib.loads(EXCUSED.read_text(encoding="utf-8")).get("excused", [])
    check_excuses(excused)
    reasons = {m.id: text for m in mutants if (text := reason(m, excused))}
    known = read_results() if "--all" not in words else {}
    before = {i for i, (_, test) in known.items() if test or "--survivors" not in words}
    run([m for m in selected if m.id not in before and m.id not in reasons])
    outcomes = {m.id: outcome(m, read_results(), reasons) for m in mutants}
    RESULT.write_text(result(mutants, outcomes, reasons), encoding="utf-8")
    unnoticed = [m for m in selected if outcomes[m.id] == UNNOTICED]
    print("\n".join(f"No test notices: {m}" for m in unnoticed), file=sys.stderr)
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
