"""Fused time loops: a whole sequence, forward and backward, in one call.

``compiler`` makes a plan from a layer's ``step``, which remains the definition; ``cells`` lists the plans and the cell
hand-written in Triton; ``dispatch`` chooses how a loop runs and says why, ``op`` is the operator that torch sees,
``cpu`` and ``triton`` compute it, and ``adjoints`` says what their backward passes refuse. ``matrix`` does the same for
steps whose state has two axes.

May import: torch, longwave.models.kernels, longwave.files; a folder imports its own compiler, and only when called.
To add a fused model: nothing besides its ``drive`` and ``step``. To add a backend: a folder here whose run.py has the
functions of cpu/run.py, and its name in ``dispatch`` and ``op``.
"""

from longwave.models.kernels.compiler.loop import Operands
from longwave.models.kernels.dispatch import MatrixAdvance, Route, advance, advance_from, choose, choose_matrix, using

__all__ = ["MatrixAdvance", "Route", "Operands", "advance", "advance_from", "choose", "choose_matrix", "using"]
