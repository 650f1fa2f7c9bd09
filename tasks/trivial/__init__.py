"""Trivial predictors, measured alongside the models: a task is informative only as far as they fail.

Fits are on the training split, in float64; lags, degrees, penalties and neighbours are chosen on the validation split.
May import: torch, numpy, scipy, scikit-learn, aeon, longwave.tasks.base, longwave.tasks.trivial; never a task or a
format. All but torch and numpy are imported where they are used.
To add one: a frozen dataclass derived from base.predictor.Predictor, and its name in the ``baselines`` of its tasks.
"""
