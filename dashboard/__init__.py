"""The Lab: the leaderboard in a browser. The only folder that imports Streamlit.

May import: longwave.platform, pandas, streamlit and starlette, on which it runs; no torch.
To add a page: a file in views/; columns come from boards/columns.py, figures from platform/figures/.
"""
