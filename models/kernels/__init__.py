"""Fused time loops: a whole sequence, forward and backward, in one call, for the cells that have one.

``cells`` lists the cells, ``dispatch`` chooses how a loop runs and says why, ``op`` is the operator that torch sees,
and each folder is one way to compute it. A layer's own ``step`` stays the definition.
"""

from longwave.models.kernels.dispatch import Operands, Route, advance, choose, using

__all__ = ["Route", "Operands", "advance", "choose", "using"]
