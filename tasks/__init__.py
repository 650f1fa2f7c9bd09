"""Every task of the benchmark, one file each.

A file in this folder is a task: it binds one ``TaskSpec`` to ``TASK``, and the registry finds it. There is no list to
edit. Only the files named in ``SHARED`` are not tasks: they hold what all tasks use.
"""

SHARED = (
    "spec",
    "data",
    "losses",
    "baselines",
    "cache",
    "raw",
    "ts_files",
    "audio",
    "images",
    "text",
    "symbols",
    "groups",
    "ode",
)
