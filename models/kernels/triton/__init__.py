"""The fused time loop in Triton, for NVIDIA GPUs.

A plan of the compiler is printed (``emit``) as functions in a file of Triton's cache (``printed``), which the schedules
call: ``row`` takes a sequence through all steps in one program, ``graph`` launches block by block, for wide layers. For
steps whose state has two axes ``emit_matrix`` prints whole kernels, which ``run_matrix`` launches. No GPU has run any
of them yet.

May import: torch, triton, longwave.models.kernels.
To add an operation: a line in ``printer.FORMS``, and its function in ``functions`` if Triton has none.
"""
