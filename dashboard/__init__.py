"""The Lab: the leaderboard in a browser. The one folder that knows Streamlit.

May import: longwave.platform, pandas, streamlit; no torch.
To add a page: a file in views/; columns come from boards/columns.py, figures from platform/figures/.
"""
