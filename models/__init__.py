"""Every model of the benchmark, one file each; what they share lies in base/, fused loops in kernels/.

May import: torch, longwave.models; of the tasks the kinds of batches alone, tasks.base.batch and tasks.base.sequences.
To add a model: one file here that binds MODEL = ModelSpec(...). The registry finds it; there is no list to edit.
"""
