"""Where packs of trials go: which devices there are, how trials are divided into packs, and what fits on each device.

May import: plan/ and file/.
To add a kind of resource of a node: devices.py. To add an option of workers: workers.py.
"""
