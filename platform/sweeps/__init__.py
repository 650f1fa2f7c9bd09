"""Sweeps: file, cells, plan, packs, workers on Ray, the loop that runs what is missing, re-runs, the mirror.

May import: training and what is below it; Ray in executor.py, Optuna in space.py, MLflow in tracking.py alone.
To add a sampler: its name and its line in space.py. Where packs go is said in placement.py and fleet.py.
"""
