"""Fused time loops: a whole sequence, forward and backward, in one call, for the cells that have one.

``cells`` lists the cells, ``dispatch`` chooses how a loop runs and says why, ``op`` is the operator that torch sees,
and each folder is one way to compute it. A layer's own ``step`` stays the definition.

May import: torch, longwave.models.kernels, longwave.files; a folder imports its own compiler, and only when called.
To add a cell: a line in ``cells``, its loop in cpu/ or triton/, and ``cell`` and ``operands`` of its layer; a way to
compute loops: a folder here whose run.py has cpu/run.py's functions, and its name in ``dispatch`` and ``op``.
"""

from longwave.models.kernels.dispatch import Operands, Route, advance, choose, using

__all__ = ["Route", "Operands", "advance", "choose", "using"]
