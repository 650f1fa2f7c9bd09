"""``longwave data fetch`` against a real server, real archives, real processes and a full disk."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from file_server import Server, tar, tree, zipped

from longwave.platform import registry
from longwave.platform.cli.main import main
from longwave.platform.downloads import fetch as module
from longwave.tasks.base import raw
from longwave.tasks.base.raw import DataError, Remote, Source
from longwave.tasks.base.spec import TaskSpec
from longwave.tasks.digits import TASK as DIGITS

CONTENT = b"good" + bytes(range(256)) * 4000  # a megabyte: several blocks
SUM = hashlib.md5(CONTENT).hexdigest()
NOISE = random.Random(0)
BY_HAND = "put the files into a folder by hand and run: longwave data fetch toy --path FOLDER. Its author sends it."
TOY = """
from dataclasses import replace
from longwave.tasks.digits import TASK as DIGITS
from longwave.tasks.base.raw import DataError, Remote, Source

def load(variant):
    place = TASK.files.locate("toy")
    for name in TASK.files.needs:
        if (place / name).is_file() and (place / name).read_bytes()[:4] != b"good":
            raise DataError(f"{place / name}: it must begin with good.")
    return DIGITS.load("")

TASK = replace(DIGITS, name="toy", load=load, files=%r)
"""
"""A task file whose data set is filled in."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield running
        running.released.set()
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("LONGWAVE_CACHE", str(folder))
    raw._check_sums.cache_clear()
    return folder


def source(server: Server, *names: str, md5: str = "", unpack: bool = False, needs: tuple[str, ...] = ()) -> Source:
    remotes = tuple(Remote(server.url(name), name, md5, unpack) for name in names)
    return Source("toys", "the toy set", "CC0.", needs or names, remotes, "Its author sends it.")


def task_of(files: Source) -> TaskSpec:
    space: dict[str, Any] = {}
    exec(TOY % files, space)
    task: TaskSpec = space["TASK"]
    return task


def fetch(files: Source) -> None:
    module.fetch(task_of(files), files, lambda *_: None)


def refused(files: Source) -> str:
    """Fetch what must not succeed; return the one line."""
    with pytest.raises(DataError, match="toys") as caught:
        fetch(files)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_set_of_all_kinds_is_downloaded_checked_and_unpacked(server: Server, cache: Path) -> None:
    server.files = {
        "plain.bin": CONTENT,
        "one.txt.gz": gzip.compress(b"good one"),
        "many.tar.gz": tar(("box/deep/x.txt", b"good x"), ("box/y.txt", b"good y")),
        "more.zip": zipped(("box/z.txt", b"good z"), ("other/w.txt", b"good w")),
    }
    needs = ("plain.bin", "one.txt", "box/deep/x.txt", "box/y.txt", "box/z.txt", "other/")
    remotes = tuple(
        Remote(server.url(n), n, hashlib.md5(c).hexdigest(), n != "plain.bin") for n, c in server.files.items()
    )
    files = Source("toys", "the toy set", "CC0.", needs, remotes)
    fetch(files)
    folder = cache / "raw/toys"
    contents = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    sums = contents.pop("MD5SUMS").decode()
    texts = {"one.txt": b"good one", "box/deep/x.txt": b"good x", "box/y.txt": b"good y"}
    assert contents == {"plain.bin": CONTENT, **texts, "box/z.txt": b"good z", "other/w.txt": b"good w"}
    assert [line.split("  ")[1] for line in sums.splitlines()] == list(needs[:-1])
    subprocess.run(["md5sum", "--check", "--strict", "--quiet", "MD5SUMS"], cwd=folder, check=True)
    assert {p.name for p in (cache / "raw").iterdir()} - {".toys.lock"} == {"toys"}
    sent = len(server.sent)
    fetch(files)
    assert len(server.sent) == sent == 4, "what is there must not be sent again"


def test_a_download_that_broke_off_leaves_nothing_and_comes_whole_the_next_time(server: Server, cache: Path) -> None:
    server.files, server.breaks_after = {"a.bin": CONTENT}, 300_000
    files, folder = source(server, "a.bin"), cache / "raw/toys"  # there is no checksum that would tell
    line = refused(files)
    tried = f"cannot be downloaded from {server.url('a.bin')} ("
    assert line.startswith(f"toy needs the toy set: a.bin is not in {folder} and {tried}")
    assert "300000 bytes read, 724004 more expected" in line and line.endswith("Try again, or " + BY_HAND)
    assert {p.name for p in folder.parent.rglob("*")} == {".toys.lock", "toys"}
    server.breaks_after = None
    fetch(files)
    assert (folder / "a.bin").read_bytes() == CONTENT and {p.name for p in folder.iterdir()} == {"a.bin", "MD5SUMS"}


def test_what_a_killed_download_left_is_removed_by_the_next(server: Server, cache: Path) -> None:
    left = cache / "raw/.toys.partial/tmp123"
    left.parent.mkdir(parents=True)
    left.write_bytes(CONTENT[:1000])
    server.files = {"a.bin": CONTENT}
    fetch(source(server, "a.bin", md5=SUM))
    assert not left.parent.exists() and (cache / "raw/toys/a.bin").read_bytes() == CONTENT


def test_a_download_is_reported_and_one_that_is_too_large_ends_at_once(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files, reports = {"a.bin": CONTENT}, list[tuple[str, int, int | None]]()
    files = source(server, "a.bin")
    module.fetch(task_of(files), files, lambda *words: reports.append(words))
    assert reports[-2] == ("a.bin", len(CONTENT), len(CONTENT)) and len(reports) > 4
    (cache / "raw/toys/a.bin").unlink()
    monkeypatch.setattr(module, "LARGEST", len(CONTENT) - 1)
    assert f"(it has more than {len(CONTENT) - 1} bytes)" in refused(files)
    assert list((cache / "raw/toys").iterdir()) == []


def test_a_server_that_leads_to_an_address_without_encryption_is_not_followed(server: Server) -> None:
    server.files, server.leads = (
        {"a.bin": CONTENT},
        {"moved.bin": server.url("a.bin"), "away.bin": "http://example.org/"},
    )
    assert "only by https, not by http from example.org" in refused(source(server, "away.bin"))
    remote = Remote(server.url("moved.bin"), "a.bin", SUM)
    fetch(Source("toys", "the toy set", "CC0.", ("a.bin",), (remote,)))
    assert [name for name, _ in server.sent] == ["a.bin"]


def test_the_parts_of_a_set_that_came_whole_are_not_sent_again(server: Server) -> None:
    server.files = {"a.bin": CONTENT, "b.bin": b"good b"}
    files = source(server, "a.bin", "b.bin", "c.bin")
    assert "c.bin is not in" in refused(files)
    server.files["c.bin"] = b"good"
    fetch(files)
    assert [name for name, _ in server.sent] == ["a.bin", "b.bin", "c.bin"]


def test_a_wrong_checksum_leaves_nothing(server: Server, cache: Path) -> None:
    server.files = {"a.bin": CONTENT}
    line = refused(source(server, "a.bin", md5="0" * 32))
    assert f"expected md5:{'0' * 32} but got {SUM}" in line and server.url("a.bin") in line
    assert list((cache / "raw/toys").iterdir()) == []


def test_each_way_a_server_fails_is_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", (1.0, 0.3))
    assert "(404 Client Error: Not Found for url: " in refused(source(server, "absent"))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        remote = Remote(f"http://127.0.0.1:{closed.getsockname()[1]}/a", "a")
        assert "(Connection refused)" in refused(Source("toys", "toys", "CC0.", ("a",), (remote,)))
    assert "only by https" in refused(Source("toys", "toys", "CC0.", ("a",), (Remote("gopher://x/a", "a"),)))
    server.files, server.stalls, server.breaks_after = {"a.bin": CONTENT}, True, 1000
    before = time.monotonic()
    assert "(timed out)" in refused(source(server, "a.bin"))
    assert time.monotonic() - before < 5


def test_a_disk_that_takes_no_more_is_one_line(server: Server, cache: Path) -> None:
    server.files = {"a.bin": CONTENT}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
    try:
        assert "(File too large)" in refused(source(server, "a.bin"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert {p.name for p in (cache / "raw").rglob("*")} == {".toys.lock", "toys"}
    blocked = replace(source(server, "a.bin"), name="toys2")
    (cache / "raw/toys2").write_text("a file where the folder should be")
    assert "raw/toys2 cannot be filled or read (" in refused(blocked)


def test_of_an_archive_with_a_member_outside_nothing_is_left(server: Server, cache: Path) -> None:
    server.files = {"up.tar.gz": tar(("good", b"good"), ("../evil", b"good"))}
    line = refused(source(server, "up.tar.gz", unpack=True, needs=("good",)))
    assert "/up.tar.gz: every member must be a plain file inside" in line and "'../evil'" in line
    assert {p.name for p in cache.parent.rglob("*")} == {"cache", "raw", ".toys.lock", "toys"}


@pytest.mark.parametrize(
    ("name", "whole"),
    {
        "a.tar.gz": tar(("a", b"good" + NOISE.randbytes(50_000)), ("b", NOISE.randbytes(50_000))),
        "a.zip": zipped(("a", b"good" + NOISE.randbytes(50_000))),
        "a.gz": gzip.compress(b"good" + NOISE.randbytes(50_000)),
    }.items(),
)
@pytest.mark.parametrize("damage", ["cut", "flipped", "text"])
def test_a_broken_archive_is_named_and_fetched_anew(server: Server, name: str, whole: bytes, damage: str) -> None:
    part = len(whole) // 4
    flipped = whole[:part] + bytes(255 - b for b in whole[part : part + 99]) + whole[part + 99 :]
    server.files = {name: {"cut": whole[:-part], "flipped": flipped, "text": b"<html>Sorry</html>"}[damage]}
    files = source(server, name, unpack=True, needs=("a",))
    assert f"{name} must be a complete archive, got: " in refused(files)
    server.files = {name: whole}
    fetch(files)
    assert files.missing() == []


def test_a_file_that_changed_since_is_noticed_and_fetched_again(server: Server, cache: Path) -> None:
    server.files = {"a.bin": CONTENT, "b.bin": b"good b"}
    files, victim = source(server, "a.bin", "b.bin", md5=""), cache / "raw/toys/a.bin"
    fetch(files)
    victim.write_bytes(CONTENT[:-1] + b"!")
    assert files.locate("toy") == cache / "raw/toys", "once a process is enough"
    raw._check_sums.cache_clear()
    with pytest.raises(DataError, match=rf"{victim}: its MD5 must be {SUM}, got .*Fetch it again"):
        files.locate("toy")
    server.files["a.bin"] = CONTENT + b"and what its publisher added"
    fetch(files)
    assert victim.read_bytes() == server.files["a.bin"]


def test_files_of_ones_own_are_linked_to_and_never_touched(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "share"
    (folder / "deep").mkdir(parents=True)
    for name in ("a.bin", "deep/b.bin"):
        (folder / name).write_bytes(CONTENT)
        (folder / name).chmod(0o444)
    for part in (folder / "deep", folder):
        part.chmod(0o555)
    before = tree(folder)
    files = Source("toys", "the toy set", "CC0.", ("a.bin", "deep/b.bin"))
    with contextlib.chdir(tmp_path):
        module.link(task_of(files), files, Path("share"), lambda *_: None)
    fetch(files)
    module.link(task_of(files), files, folder, lambda *_: None)
    assert (cache / "raw/toys").readlink() == folder and files.locate("toy") / "a.bin" == cache / "raw/toys/a.bin"
    assert tree(folder) == before


def test_after_a_download_that_failed_a_folder_can_be_linked_to(server: Server, tmp_path: Path, cache: Path) -> None:
    server.files, server.breaks_after = {"a.bin": CONTENT}, 300_000
    files = source(server, "a.bin")
    refused(files)
    (tmp_path / "a.bin").write_bytes(CONTENT)
    module.link(task_of(files), files, tmp_path, lambda *_: None)
    assert (cache / "raw/toys").readlink() == tmp_path and files.locate("toy") == cache / "raw/toys"


def test_a_folder_that_does_not_serve_changes_nothing(server: Server, tmp_path: Path, cache: Path) -> None:
    server.files = {"a.bin": CONTENT}
    files, good, bad = source(server, "a.bin"), tmp_path / "good", tmp_path / "bad"
    for folder, content in ((good, CONTENT), (bad, b"not what it must be")):
        folder.mkdir()
        (folder / "a.bin").write_bytes(content)

    def unlinkable(folder: Path, message: str) -> None:
        with pytest.raises(DataError, match=message):
            module.link(task_of(files), files, folder, lambda *_: None)

    unlinkable(tmp_path / "none", f"a.bin is not in {tmp_path}/none. Try again, or {BY_HAND}")
    unlinkable(bad, "it must begin with good")
    assert not (cache / "raw/toys").is_symlink()
    module.link(task_of(files), files, good, lambda *_: None)
    unlinkable(bad, "it must begin with good")
    assert (cache / "raw/toys").readlink() == good
    (good / "a.bin").unlink()
    assert "is a link; remove it to download the files" in refused(files) and list(good.iterdir()) == []
    (cache / "raw/toys").unlink()
    fetch(files)
    unlinkable(bad, r"toys holds (a.bin|MD5SUMS) already; remove that folder")
    assert (cache / "raw/toys/a.bin").read_bytes() == CONTENT


def command(files: Source, folder: Path, *arguments: str) -> list[str]:
    """Return the command line of ``longwave`` in a process that knows the toy task."""
    folder.mkdir(exist_ok=True)
    (folder / "toy.py").write_text(TOY % files)
    signals = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # what nohup starts ignores it
    known = f"import sys, longwave.tasks; longwave.tasks.__path__.append({str(folder)!r})"
    called = f"from longwave.platform.cli.main import main; sys.exit(main({list(arguments)}))"
    return [sys.executable, "-c", "\n".join([signals, known, called])]


def run(files: Source, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(files, folder, *arguments), capture_output=True, text=True, timeout=120)


@pytest.mark.integration
def test_two_processes_fetch_each_file_once_and_both_succeed(server: Server, tmp_path: Path, cache: Path) -> None:
    server.files = {"a.bin": CONTENT, "b.tar.gz": tar(("b", b"good b"))}
    remotes = tuple(Remote(server.url(name), name, unpack=name != "a.bin") for name in server.files)
    files = Source("toys", "the toy set", "CC0.", ("a.bin", "b"), remotes)
    line = command(files, tmp_path / "tasks", "data", "fetch", "toy")
    both = [subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    for process in both:
        out, _ = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, f"toy: the toy set is in {cache}/raw/toys. Licence: CC0.\n")
    assert sorted(name for name, _ in server.sent) == ["a.bin", "b.tar.gz"]


@pytest.mark.integration
def test_a_command_that_fails_or_is_interrupted_says_so_in_a_line(server: Server, tmp_path: Path, cache: Path) -> None:
    files = source(server, "a.bin")
    failed = run(files, tmp_path / "tasks", "data", "fetch", "toy")
    assert (failed.returncode, failed.stdout) == (2, "") and failed.stderr.count("\n") == 1
    assert failed.stderr.startswith(f"longwave: toy needs the toy set: a.bin is not in {cache}/raw/toys and cannot be")
    server.files, server.stalls, server.breaks_after = {"a.bin": CONTENT}, True, 600_000
    line = command(files, tmp_path / "tasks", "data", "fetch", "toy")
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        staging = cache / "raw/.toys.partial"
        while process.poll() is None and not any(path.stat().st_size for path in staging.glob("tmp*")):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "Interrupted. Finished work is kept; run the same command to continue.\n"
    assert not staging.exists() and list((cache / "raw/toys").iterdir()) == []


@pytest.mark.integration
def test_a_sweep_without_its_data_says_how_to_get_them(server: Server, tmp_path: Path, cache: Path) -> None:
    sweep = tmp_path / "toy.toml"
    sweep.write_text('name = "t"\ntask = "toy"\nmodels = ["gru"]\ntrials = 1\nretrain = 1\n')
    done = run(source(server, "a.bin"), tmp_path / "tasks", "sweep", "plan", str(sweep))
    missing = f"longwave: toy needs the toy set: a.bin is not in {cache}/raw/toys."
    assert done.stderr == f"{missing} Get it with: longwave data fetch toy. Its author sends it.\n"
    assert done.returncode == 2


def test_a_generated_task_needs_no_fetch(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "fetch", "digits"]) == 0
    assert capsys.readouterr().out == "digits: nothing to fetch; its data are ready. Licence: CC BY 4.0\n"
    assert main(["data", "fetch", "digits", "--path", "x"]) == 2
    assert capsys.readouterr().err == "longwave: digits needs no files, so --path x would not be used.\n"


def test_the_command_links_to_a_folder(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT)
    toy = task_of(Source("toys", "the toy set", "CC0.", ("a.bin",)))
    monkeypatch.setattr(registry, "shipped_tasks", lambda: {"toy": toy})
    assert main(["data", "fetch", "toy", "--path", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"toy: the toy set is in {cache}/raw/toys -> {tmp_path}. Licence: CC0.\n"
    assert main(["data", "fetch", "toy", "--path", str(cache)]) == 2
    assert capsys.readouterr().err.startswith(f"longwave: toy needs the toy set: a.bin is not in {cache}. ")


def test_the_list_says_where_data_lie_and_what_is_missing(
    server: Server, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, server.files = source(server, "a.bin"), {"a.bin": CONTENT}
    monkeypatch.setattr(registry, "shipped_tasks", lambda: {"digits": DIGITS, "toy": task_of(files)})
    for state in ("missing a.bin", "present"):
        assert main(["data", "list", "--format", "json"]) == 0
        digits, toy = json.loads(capsys.readouterr().out)
        assert digits["state"] == "ready"
        assert toy == {
            "task": "toy",
            "data": "the toy set",
            "state": state,
            "licence": "CC0.",
            "place": f"{cache}/raw/toys",
        }
        fetch(files)
    assert main(["data", "list"]) == 0 and f"{cache}/raw/toys" in capsys.readouterr().out
