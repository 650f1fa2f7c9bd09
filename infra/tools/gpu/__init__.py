"""Correctness, known faults and speed on this machine's GPU."""
