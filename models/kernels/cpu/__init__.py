"""The fused time loop in C++, compiled at first use for this processor.

May import: torch, numpy, filelock, longwave.models.kernels, longwave.files.
To add a cell: cells/NAME.h, included by scan.cpp, and its line in ../cells.py; what it keeps beside gates in run.py.
"""
