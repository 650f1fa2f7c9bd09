"""Which names stand in a function's code, and which libraries give equal results for equal arguments."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

LAYERS, KERNELS = (__name__.replace("kernels.compiler.names", folder) for folder in ("base", "kernels"))
"""Where the layers' own classes are, and the compiler: nobody changes them while they run."""
PURE = frozenset(
    "abc builtins cmath collections contextlib copy dataclasses enum fractions functools itertools math "
    "numbers numpy operator torch types typing".split()
)
"""Libraries whose functions give equal results for equal arguments, and change nothing."""
MOVING = ("numpy.random", "torch.backends", "torch.cuda", "torch.distributed", "torch.jit", "torch.mps", "torch.random")
"""Their modules of which that is not so."""
STATEFUL = frozenset(
    "__import__ breakpoint compile eval exec globals hash id initial_seed input locals manual_seed open print seed "
    "lru_cache cache".split()
)
"""Their functions of which it is not so; nor is it of those whose names begin or end as here."""
STATEFUL_NAMES = (("get_", "set_"), ("_enabled",))
COMPUTED = frozenset("__getattr__ __getattribute__ dir getattr hasattr vars".split())
"""Their functions that read attributes by names that the code does not spell out."""


class Names(NamedTuple):
    """What stands in a function's code, and in that of the functions inside it.

    Attributes:
        globals: Names of the module, or of Python.
        all: All names, and all texts.
        imports: Modules that it imports when it runs.
        codes: Its own code, and that of the functions inside it.
    """

    globals: frozenset[str]
    all: frozenset[str]
    imports: frozenset[str]
    codes: frozenset[CodeType]


@dataclass(frozen=True)
class Reads:
    """What the code that ran can name.

    Attributes:
        codes: The functions' code.
        names: All names and texts in it.
        computed: Whether it reads attributes by names that it computes.
        ignored: Labels of what is left out: what the code itself changes.
    """

    codes: frozenset[CodeType] = frozenset()
    names: frozenset[str] = frozenset()
    computed: bool = False
    ignored: frozenset[str] = frozenset()


@cache
def names_of(code: CodeType) -> Names:
    """Return the names in a function's code."""
    steps = [*dis.get_instructions(code)]
    own = frozenset(str(s.argval) for s in steps if s.opname.endswith(("_GLOBAL", "_NAME", "_GLOBALS")))
    imported = frozenset(str(s.argval) for s in steps if s.opname == "IMPORT_NAME")
    inner = [names_of(c) for c in code.co_consts if isinstance(c, CodeType)]
    return Names(
        own.union(*(n.globals for n in inner)) - imported,
        frozenset((*code.co_names, *_texts(code.co_consts))).union(*(n.all for n in inner)),
        imported.union(*(n.imports for n in inner)),
        frozenset((code,)).union(*(n.codes for n in inner)),
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, frozenset)):
        for inner in value:
            yield from _texts(inner)


def is_ours(home: str) -> bool:
    """Return whether a module is of the layers' own classes, or of the compiler."""
    return home.startswith((LAYERS, KERNELS))


def is_fixed(home: str) -> bool:
    """Return whether nothing in a module depends on what happened before."""
    pure = home.partition(".")[0].removeprefix("_") in PURE  # what is made in C has an underscore
    return is_ours(home) or (pure and not home.startswith(MOVING))


def is_library(home: str) -> bool:
    """Return whether a module is Python's own, torch's, numpy's or the compiler's: its code is not followed."""
    root = home.partition(".")[0]
    return root in PURE or root in sys.stdlib_module_names or home.startswith(KERNELS)


def is_stateful(home: str, name: str) -> bool:
    """Return whether what a library's function returns may depend on what happened before, or whether it changes it."""
    starts, ends = STATEFUL_NAMES
    named = name in STATEFUL or (home.startswith("torch") and (name.startswith(starts) or name.endswith(ends)))
    return is_library(home) and (named or not is_fixed(home))
