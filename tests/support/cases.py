"""The cases that contract tests run on: all models, each with each of its choices."""

from __future__ import annotations

from typing import Any

import pytest

from longwave.models.base.param import OptionValue
from longwave.platform.registry import all_models

Options = dict[str, OptionValue]


def every_case() -> list[Any]:
    """Return all models, each with its defaults and then with each other choice alone; of a number two others."""
    cases = []
    for spec in all_models().values():
        cases.append(pytest.param(spec, {}, id=spec.name))
        for name, (default, *others) in spec.options.items():
            some = others[:2] if type(default) is int else others
            cases += [pytest.param(spec, {name: other}, id=f"{spec.name}-{name}={other}") for other in some]
    return cases
