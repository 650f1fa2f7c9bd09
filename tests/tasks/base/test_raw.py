"""Files of data: what tells that one is another."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from longwave.tasks.base.raw import DataError, check_md5, fingerprint


def test_a_fingerprint_is_of_each_files_size_and_bytes_in_their_order(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"abc")
    second.write_bytes(b"x" * (2**20 + 1))
    whole = b"3:abc" + b"1048577:" + b"x" * (2**20 + 1)
    assert fingerprint([first, second]) == hashlib.sha256(whole).hexdigest()[:12]
    before = fingerprint([first])
    first.write_bytes(b"abd")
    assert fingerprint([first]) != before


def test_a_file_with_another_md5_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    check_md5(path, "900150983cd24fb0d6963f7d28e17f72")  # of RFC 1321
    with pytest.raises(DataError, match=r"its MD5 must be 0+, got 900150983cd24fb0d6963f7d28e17f72\. Fetch it again"):
        check_md5(path, "0" * 32)
