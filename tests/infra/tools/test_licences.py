"""Packages without a licence that we allow are found."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

import licences
import pytest
from licences import RULES, is_allowed, list_refused

ALLOW = frozenset({"MIT", "BSD-3-Clause", "Apache-2.0"})


@pytest.mark.parametrize(
    ("expression", "good"),
    {
        "MIT": True, "MIT AND BSD-3-Clause": True, "MIT AND GPL-3.0-only": False, "GPL-3.0-only OR MIT": True,
        "GPL-3.0-only OR AGPL-3.0-only": False, "(MIT OR GPL-2.0-only) AND Apache-2.0": True, "": False,
    }.items(),
)  # fmt: skip
def test_one_of_several_is_enough_and_all_of_several_are_needed(expression: str, good: bool) -> None:
    assert is_allowed(expression, ALLOW) is good


def package(folder: Path, name: str, *lines: str) -> Iterator[Distribution]:
    target = folder / f"{name}-1.0.dist-info"
    target.mkdir(parents=True)
    (target / "METADATA").write_text("\n".join([f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0", *lines]))
    yield from distributions(path=[str(folder)])


def test_a_package_without_an_allowed_licence_is_named_unless_it_was_reviewed(tmp_path: Path) -> None:
    cases = {"bad": "License-Expression: AGPL-3.0-only", "silent": "Summary: x", "old": "Classifier: License :: Nobody"}
    for name, line in cases.items():
        [refused] = list_refused(package(tmp_path / name, name, line), ALLOW, {})
        assert refused.startswith(f"{name} 1.0: ")
        assert list_refused(package(tmp_path / f"{name}2", name, line), ALLOW, {name: "looked at"}) == []
    assert list_refused(package(tmp_path / "good", "good", "License: MIT"), ALLOW, {}) == []


def test_what_is_installed_here_is_allowed_and_no_review_is_left_over() -> None:
    assert licences.main() == 0
    assert {"longwave"} <= RULES["licences"]["reviewed"].keys()
