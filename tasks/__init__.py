"""Every task of the benchmark, one file each; shared code is in base/, data readers in formats/.

May import: torch, numpy, scipy, scikit-learn, longwave.tasks, longwave.files, longwave.rules.
To add a task: one file here that binds TASK = TaskSpec(...). The registry finds it; there is no list to edit.
"""
