"""Benchmarks of kernels, sweeps, boards and data, which report ratios measured within one run.

May import: everything but render, editions and cli.
To add a benchmark that users ask for: one file here and a command in cli/bench.py. Others: infra/benchmarks/.
"""
