"""The fused time loop in Triton, for NVIDIA GPUs.

May import: torch, triton, longwave.models.kernels.
To add a cell: its step in steps.py and in pieces in pointwise.py, its line in anatomy.py; tests run them without a GPU.
"""
