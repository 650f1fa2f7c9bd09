"""Limits on imported files. Honest results of 20,000 runs stay below each of them."""

from __future__ import annotations

BYTES = 128 * 2**20
"""Maximal bytes of a file, packed and unpacked."""
TOGETHER = 2**29
"""Maximal bytes of all bundles imported together, unpacked."""
RATIO = 100
"""Maximal ratio of unpacked to packed bytes; a bundle consists mostly of hashes and scores, which hardly compress."""
MEMORY = 2**26
"""Maximal working memory of unpacking, in bytes."""
DEPTH = 24
"""Maximal nesting of objects and lists: a bundle has nine levels, and settings of sweeps a few more."""
VALUES = 8_000_000
"""Maximal number of values: there are four per epoch and some eighty per run."""
LENGTH = 2**22
"""Maximal bytes of a text: a patch has at most a quarter of that."""
WIDE = 1000
"""Maximal entries of objects and lists that are short in honest bundles, such as parameters or facts."""
CELLS = 1000
"""Maximal cells of a sweep, beyond those with trials in the bundle, that are planned again for comparison."""
LEARNED = 500
"""Maximal trials of a cell that are sampled again if the sampler learns from earlier trials."""
SECONDS = 900.0
"""Time limit of all checks."""
