"""Public data sets: fetched, checked, unpacked."""
