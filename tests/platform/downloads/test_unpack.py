"""Archives that nobody should unpack, and addresses that nobody should ask."""

from __future__ import annotations

import contextlib
import gzip
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from file_server import tar, zipped
from hostile import NAMES

from longwave.platform.downloads import fetch, unpack
from longwave.platform.registry import all_tasks
from longwave.tasks.base.raw import DataError
from longwave.tasks.formats import geom_gcn, planetoid

ANIMALS = ("chameleon", "squirrel")
GRAPHS = ("texas", "wisconsin", "cornell", "film", *ANIMALS)
NO_SUM = {"UCI HAR Dataset.zip", "EigenWorms.zip"}
NO_SUM |= {f"BIDMC32{what}_{part}.ts" for what in ("HR", "RR", "SpO2") for part in ("TRAIN", "TEST")}
NO_SUM |= {f"ind.{name}.{part}" for name in ("cora", "citeseer", "pubmed") for part in planetoid.PARTS}
NO_SUM |= {geom_gcn.NODES, geom_gcn.EDGES, "molecules.zip", "train.index", "val.index", "test.index"}
NO_SUM |= {split for name in GRAPHS for split in geom_gcn.split_files(name)}
NO_SUM |= {f"{name}_{part}" for name in ANIMALS for part in ("edges.csv", "target.csv", "features.json")}
"""Files of which no publisher prints a checksum: their MD5 is noted when they come first."""


def refused(folder: Path, name: str, content: bytes, message: str) -> None:
    """Unpack what must not be, and look at what came out of it."""
    (folder / "in").mkdir(parents=True)
    (folder / "in" / name).write_bytes(content)
    (folder / "out").mkdir()
    with pytest.raises(DataError, match=message) as caught:
        unpack.unpack(folder / "in" / name, folder / "out")
    assert "\n" not in str(caught.value)
    assert {p.name for p in folder.iterdir()} == {"in", "out"}


def deflated(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", content)
    return out.getvalue()


def test_no_name_of_a_member_leads_out_of_the_folder(tmp_path: Path) -> None:
    assert len(NAMES) >= 200
    for k, name in enumerate(name for name in NAMES if not {"\0", "\udcff"} & {*name}):  # archives cut the one at it
        for kind, content in (("a.tar.gz", tar((name, b"evil"))), ("a.zip", zipped((name, b"evil")))):
            folder = tmp_path / f"{k}{kind}"
            (folder / "out").mkdir(parents=True)
            (folder / kind).write_bytes(content)
            with contextlib.suppress(DataError, OSError):
                unpack.unpack(folder / kind, folder / "out")
            assert {p.name for p in folder.iterdir()} == {"out", kind}, name
    evil = [p for p in tmp_path.rglob("*") if p.is_file() and p.read_bytes() == b"evil"]
    assert {p.relative_to(tmp_path).parts[1] for p in evil} <= {"out"}


@pytest.mark.parametrize("name", ["../a", "/a", "a/../../b", "..\\a", "C:/a", "C:a", ".."])
def test_a_member_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    message = "every member must be a plain file inside"
    refused(tmp_path / "t", "a.tar.gz", tar((name, b"evil")), message)
    refused(tmp_path / "z", "a.zip", zipped((name, b"evil")), message)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_tar_of_links_and_devices_is_refused(tmp_path: Path, kind: bytes) -> None:
    content = tar(("evil", {"type": kind, "linkname": "/etc"}), ("evil/x", b"x"))
    refused(tmp_path, "a.tar.gz", content, "every member must be a plain file inside")


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_a_zip_of_links_and_devices_is_refused(tmp_path: Path, kind: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("evil")
        info.external_attr = (kind | 0o666) << 16
        archive.writestr(info, "/etc")
    refused(tmp_path, "a.zip", out.getvalue(), "every member must be a plain file inside")


def test_archives_that_become_too_large_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "SLACK", 2**20)
    large = b"\0" * 2**23
    for name, content in {
        "a.gz": gzip.compress(large),
        "a.zip": deflated(large),
        "a.tgz": tar(("a", large)),
    }.items():
        refused(tmp_path / name, name, content, "has more than .* bytes unpacked, more than any data set")


def test_a_header_that_would_fill_the_memory_is_refused(tmp_path: Path) -> None:
    out = io.BytesIO()
    with gzip.open(out, "wb") as packed:
        member = tarfile.TarInfo("x")
        member.type, member.size = tarfile.XHDTYPE, 2**30
        packed.write(member.tobuf(tarfile.GNU_FORMAT))
    refused(tmp_path, "a.tar.gz", out.getvalue(), "bytes in a header")


def test_every_download_comes_by_https_with_a_checksum_or_is_listed_here() -> None:
    remotes = {remote for task in all_tasks().values() if task.files for remote in task.files.remotes}
    assert len(remotes) >= 14
    assert [r.url for r in remotes if not r.url.startswith("https://")] == []
    assert {r.name for r in remotes if len(r.md5) != 32} == NO_SUM


@pytest.mark.parametrize(
    "url", ["http://example.org/a", "ftp://127.0.0.1/a", "file:///etc/passwd", "http://127.0.0.1.evil.org/"]
)
def test_nothing_is_asked_of_an_address_that_others_could_read(url: str) -> None:
    with pytest.raises(OSError, match="files are downloaded only by https"):
        fetch._HttpsSession().get_adapter(url)
