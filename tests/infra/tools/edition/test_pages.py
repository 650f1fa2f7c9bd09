"""Pages of an edition are replaced without losing one of its bundles."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from edition.pages import replace_pages


def write_files(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o444)
    return folder


def read_files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


OLD = {"index.html": "old", "gone.json": "old", "figures/gone.svg": "old", "manifest.json": "old", "results/a.xz": "A"}
NEW = {"index.html": "new", "manifest.json": "new", "a/deep.svg": "new", "results/a.xz": "A"}


def test_old_pages_go_and_a_bundle_that_was_finished_meanwhile_stays(tmp_path: Path) -> None:
    edition = write_files(tmp_path / "edition", {**OLD, "results/b.xz": "B"})
    replace_pages(write_files(tmp_path / "new", NEW), edition)
    assert read_files(edition) == {**NEW, "results/b.xz": "B"}


@pytest.mark.parametrize("moves", range(len(NEW)))
def test_if_it_is_interrupted_no_bundle_is_lost_the_manifest_is_old_and_the_next_one_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: int
) -> None:
    edition = write_files(tmp_path / "edition", OLD)
    left = iter(range(moves))

    def move_or_stop(source: Path, target: Path) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt("by a signal")
        source.replace(target)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt, match="by a signal"):
        patched.setattr(shutil, "move", move_or_stop)
        replace_pages(write_files(tmp_path / "new", NEW), edition)
    interrupted = read_files(edition)
    assert interrupted["results/a.xz"] == "A" and interrupted["manifest.json"] == "old"
    replace_pages(write_files(tmp_path / "again", NEW), edition)
    assert read_files(edition) == NEW
