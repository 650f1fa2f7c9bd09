"""Every model of the benchmark, one file each; shared code is in base/, fused loops in kernels/.

May import: torch, longwave.models; of the tasks only the kinds of batches, tasks.base.batch and tasks.base.sequences.
To add a model: one file here that binds MODEL = ModelSpec(...). The registry finds it; there is no list to edit.
"""
