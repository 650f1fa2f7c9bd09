"""``longwave bench``: what this machine does, measured. ``kernels`` and ``sweep`` need torch and numpy alone."""
