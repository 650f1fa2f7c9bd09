"""Every model of the benchmark, one file each; what they share lies in base/, fused loops in kernels/.

May import: torch, longwave.models.
To add a model: one file here that binds MODEL = ModelSpec(...). The registry finds it; there is no list to edit.
"""
