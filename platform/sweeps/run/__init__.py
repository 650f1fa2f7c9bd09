"""Runs a sweep: leases trials, trains them in packs, records every epoch, until nothing is missing.

May import: every other folder of sweeps; Ray through on_ray/ alone.
To add what a running sweep shows: progress.py or status.py. To add what it counts for Prometheus: metrics.py.
"""
