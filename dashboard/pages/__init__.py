"""The pages of the Lab, one file each: a script that Streamlit runs, which draws from the store.

May import: longwave.dashboard, longwave.platform, streamlit.
To add a page: a file here, and its line in app.py.
"""
