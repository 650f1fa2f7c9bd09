"""The fused time loop in C++, compiled at first use for this processor.

May import: torch, longwave.models.kernels.
To add a cell: cells/NAME.h, its name in ../cells.py, and nothing else here.
"""
