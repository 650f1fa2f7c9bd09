"""Sweeps: plan, packs, workers on Ray, the loop that runs what is missing, re-runs, the MLflow mirror.

May import: everything below boards' readers; Ray in executor.py, Optuna in space.py, MLflow in tracking.py alone.
To add a sampler: one entry in space.py.
"""
