"""The fused time loop in C++, compiled at first use for this processor.

``emit`` prints a plan of the compiler as one struct, which ``driver.h`` runs over time; ``build`` compiles it.
``emit_matrix`` prints a step on matrix states for ``matrix.h``, where the lanes of a vector are columns of one state
or one column of several states (``lanes.h``).

May import: torch, numpy, filelock, longwave.models.kernels, longwave.files.
To add an operation: a line in ``emit.FORMS``, and its function in ``vector.h``.
"""
