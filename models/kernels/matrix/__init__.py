"""Steps whose state has two axes, (I, J): from a layer's own ``step`` to the plan of a loop over them.

``form`` names the axes; ``trace`` runs the step once on tensors whose sizes tell the axes apart; ``way_back`` makes
its adjoints, ``plan`` cuts both directions into passes over the rows, ``listing`` prints them. A step sums over rows
alone, so that columns are independent: a tile of them runs a whole chunk of steps by itself. Kept for the way back is
the state before each chunk; the states inside are computed again. ``cpu`` and ``triton`` print the plan as code, in an
``emit_matrix`` each.

May import: torch, longwave.models.kernels.compiler.
To add an operation: its formula in ``compiler.lowering``, or, where it moves axes, ``MOVES`` in trace.py.
"""
