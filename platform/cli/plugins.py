"""The command ``check``, which checks plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.contracts.check import check_file
from longwave.platform.render.plugins import print_outcomes


def check_plugin(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER|CELL",
            help="A model or task of your own, a data card, or a cell of torchrecurrent: torchrecurrent-lem.",
        ),
    ],
) -> int:
    """Check a model or task of your own, rule by rule, and say what is wrong. Exit status 1 where a rule is broken.

    Example: longwave check my_model.py
    """
    broken = 0
    for subject, outcomes in check_file(file):
        broken += print_outcomes(subject, outcomes)
    return 1 if broken else 0
