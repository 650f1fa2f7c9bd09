"""Runs a sweep: leases trials, trains them in packs and records every epoch, until no trial is missing.

May import: every other folder of sweeps; Ray through on_ray/ alone.
To add to the view of a running sweep: progress.py or status.py. To add a metric for Prometheus: metrics.py.
"""
