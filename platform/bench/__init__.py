"""Measuring: kernels, sweeps, boards, data, as ratios in one run.

May import: everything but render, editions and cli.
To add a benchmark: one file here and a command in cli/tools.py.
"""
