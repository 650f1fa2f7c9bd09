"""What all tasks share: declaration, splits, losses and metrics, trivial predictors, caches, raw files.

May import: torch, numpy, longwave.tasks.base, longwave.files; never a task or a format.
To add: a loss or metric in losses.py, a trivial predictor in baselines.py.
"""
