"""The Lab: the leaderboard in a browser. The one folder that knows Streamlit.

May import: longwave.platform, pandas, streamlit and what it serves with, starlette; no torch.
To add a page: a file in views/; columns come from boards/columns.py, figures from platform/figures/.
"""
