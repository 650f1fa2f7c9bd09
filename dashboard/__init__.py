"""The Lab: the leaderboard in a browser. The one folder that knows Streamlit.

May import: longwave.platform, pandas, plotly, streamlit; no torch.
To add a page: a file here; columns come from boards/columns.py.
"""
