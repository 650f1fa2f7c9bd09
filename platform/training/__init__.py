"""Training of one pack of trials, from data to records.

May import: torch, safetensors, models, tasks, records, registry, longwave.files; no store, no Ray.
To add an optimiser or a schedule: one file in optimisers/ or schedules/. To add a training parameter that all of them
accept: an entry of COMMON in rules.py. Bump PROTOCOL in records/trial.py if a result changes.
"""
