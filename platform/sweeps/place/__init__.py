"""Where packs of trials go: the devices there are, what fits on each, and how long it will take.

May import: plan/ and file/.
To add what a node may offer: devices.py. To add a way to ask for workers: workers.py.
"""
