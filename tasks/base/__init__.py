"""Shared code of all tasks: declaration, batches, losses and metrics, trivial predictors, caches, raw files.

May import: torch, numpy, longwave.tasks.base, longwave.files; never a task or a format.
To add: a loss or metric in losses.py. A kind of batch for one task goes into that task's file, as a subclass of
batch.Batch; one that our models read goes here.
"""
