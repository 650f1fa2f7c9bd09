"""One pack of trials, from data to records.

May import: torch, safetensors, models, tasks, records, registry, longwave.files; no store, no Ray.
To add an optimiser or a schedule: one file in optimisers/ or schedules/. To add a training number that is valid under
all of them: an entry of COMMON in rules.py. Bump PROTOCOL in records/trial.py if a result changes.
"""
