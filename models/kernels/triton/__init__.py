"""The fused time loop in Triton, for NVIDIA GPUs.

A plan of the compiler is printed (``emit``) as functions in a file of Triton's cache (``printed``), which the schedules
call: ``row`` runs a sequence through all steps in one program, ``graph`` launches block by block, for wide layers. For
steps whose state has two axes ``emit_matrix`` prints whole kernels, which ``run_matrix`` launches. ``gathered`` puts
the weights together before a loop, and divides their gradients after it. If several threads of a program write and read
the same memory in one launch, there is a barrier in between, or the sum is stored once.

May import: torch, triton, longwave.models.kernels.
To add an operation: a line in ``printer.FORMS``, and its function in ``functions`` if Triton has none.
"""
