"""Fault injection: sweeps in which something fails, and the audit of what they stored."""
