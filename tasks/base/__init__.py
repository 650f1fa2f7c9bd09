"""What all tasks share: declaration, batches, losses and metrics, trivial predictors, caches, raw files.

May import: torch, numpy, longwave.tasks.base, longwave.files; never a task or a format.
To add: a loss or metric in losses.py. A kind of batch that one task needs stands in its file, as a subclass of
batch.Batch; one that models of ours read stands here.
"""
