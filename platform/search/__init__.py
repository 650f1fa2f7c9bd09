"""What knows Optuna: search spaces, draws by its samplers, pruners that stop trials, studies, parameter importance.

May import: names and errors, and parameters of models.
To add: one of Optuna's classes needs nothing, sweep files name it; a short name for a sampler is its line in space.py.
"""
