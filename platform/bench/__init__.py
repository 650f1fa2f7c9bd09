"""Measuring: kernels, sweeps, boards, data, as ratios in one run.

May import: everything but render, editions and cli.
To add a benchmark that users ask for: one file here and a command in cli/tools.py. Others: infra/benchmarks/.
"""
