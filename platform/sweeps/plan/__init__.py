"""Which trials a sweep needs: its cells, the draws of each round, retrainings, and the plan in the store.

May import: file/, boards, contracts, plugins, search, statistics and storage, and models and tasks through registry.
To add a rule by which trials follow from others: trials.py; what a search draws: rounds.py.
"""
