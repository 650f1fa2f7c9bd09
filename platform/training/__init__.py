"""One pack of trials, from data to records.

May import: torch, safetensors, models, tasks, records, registry, longwave.files; no store, no Ray.
To add a training rule: here, and a new PROTOCOL in records/trial.py if results change.
"""
