"""All use of Optuna: search spaces, samplers, pruners, studies and parameter importance.

May import: names, paths, errors and redaction, and parameters of models.
To add: classes of Optuna need nothing, since sweep files name them; a short name for a sampler is a line in space.py.
"""
