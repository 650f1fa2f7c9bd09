"""Steps whose state has two axes, (I, J): from a layer's ``step`` to the plan of a loop over time.

``form`` names the axes; ``trace`` runs the step once on tensors whose sizes identify the axes; ``backward`` computes
its adjoints, ``plan`` splits both directions into passes over the rows, ``listing`` prints them. A step sums only over
rows, so that columns are independent: a tile of them runs through a whole chunk of steps. Only the state before each
chunk is saved for the backward pass; the states inside are recomputed. ``cpu`` and ``triton`` print the plan as code,
in an ``emit_matrix`` each.

May import: torch, longwave.models.kernels.compiler.
To add an operation: its formula in ``compiler.lowering`` or, if it moves axes, ``MOVES`` in trace.py.
"""
