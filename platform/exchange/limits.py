"""How large a file of another machine may be. Honest results of 20,000 runs stay below each limit."""

from __future__ import annotations

BYTES = 128 * 2**20
"""Most bytes of a file, and of what it unpacks to."""
TOGETHER = 2**29
"""Most bytes of all bundles that are imported together, unpacked."""
RATIO = 100
"""Most bytes that a packed one may become; hashes and scores, of which a bundle is full, hardly shrink."""
MEMORY = 2**26
"""Most bytes that unpacking may take beside what it unpacks."""
DEPTH = 24
"""Most objects and lists within each other: a bundle's have nine, a sweep's settings some more."""
VALUES = 8_000_000
"""Most values: four an epoch, and some eighty a run."""
LENGTH = 2**22
"""Most bytes of a text: a patch has at most a quarter of them."""
WIDE = 1000
"""Most entries of an object or a list of which an honest bundle has few: a run's parameters, its facts."""
CELLS = 1000
"""Most cells of a sweep, over those that have their trials in the bundle, that are planned anew to compare them."""
LEARNED = 500
"""Most trials of a cell whose draws are repeated where each draw learns from all before it."""
SECONDS = 900.0
"""Longest time that checks may take."""
