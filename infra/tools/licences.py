"""Check that the licences of all installed packages are allowed; as a program it prints those that are not.

pyproject.toml lists them: ``allow``, as SPDX or by the packages' names for them, and ``reviewed``, packages without
licence metadata or with a reason.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distributions
from typing import Any

from tree import ROOT

RULES: Mapping[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["longwave"]
TROVE = "License :: "


def read_licences(package: Distribution) -> list[str]:
    """Return the licences of a package from its metadata, all of which apply."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return [expression]
    trove = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier", []) if line.startswith(TROVE)]
    text = (metadata.get("License") or "").strip()
    return [name for name in trove if name != "OSI Approved"] or [line for line in text.splitlines()[:1] if line]


def is_allowed(expression: str, allow: frozenset[str]) -> bool:
    """Return whether a licence is allowed: any one joined by OR, all of those joined by AND."""
    if expression in allow:
        return True
    plain = expression.replace("(", " ").replace(")", " ")
    either = re.split(r"\s+OR\s+", plain)
    return any(all(one.strip() in allow for one in re.split(r"\s+AND\s+", part)) for part in either)


def list_refused(packages: Iterator[Distribution], allow: frozenset[str], reviewed: Mapping[str, str]) -> list[str]:
    """Return a line for each package that may not be used."""
    refused = []
    for package in packages:
        name, stated = package.metadata["Name"], read_licences(package)
        if name.lower() not in reviewed and not (stated and all(is_allowed(one, allow) for one in stated)):
            refused.append(f"{name} {package.version}: {'; '.join(stated) or 'no licence is stated'}")
    return sorted(refused)


def main() -> int:
    """Print packages that are not allowed and return the exit status."""
    rules = RULES["licences"]
    refused = list_refused(distributions(), frozenset(rules["allow"]), rules["reviewed"])
    for line in refused:
        print(f"{line}. Allow it in pyproject.toml, or leave the package out.", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
