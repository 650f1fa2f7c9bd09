"""One pack of trials, from data to records.

May import: torch, numpy, models, tasks, records, registry; no store, no Ray.
To add a training rule: here, and a new PROTOCOL in records/trial.py if results change.
"""
