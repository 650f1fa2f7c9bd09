"""The records that travel through Longwave: what was planned, what happened, what a board is made of.

May import: the standard library alone.
To add a field of a trial: one line with a default in trial.py; no id changes.
"""
