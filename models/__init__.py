"""Every model of the benchmark, one file each.

A file in this folder is a model: it binds one ``ModelSpec`` to ``MODEL``, and the registry finds it. There is no list
to edit. Only the files named in ``SHARED`` are not models: they hold what all models use.
"""

SHARED = ("spec", "algebra", "call", "recurrence", "stack", "delay", "network")
