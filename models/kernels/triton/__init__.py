"""The fused time loop in Triton, for NVIDIA GPUs.

May import: torch, triton, longwave.models.kernels.
To add a cell: its arithmetic in a *_kernels.py, its plan in run.py; the tests run both without a GPU.
"""
