"""The pages of the Lab, one file each: a script that Streamlit runs, which draws from the store.

The folder is not named ``pages``, which has a special meaning for Streamlit next to app.py: a link opened first would
show its scripts without navigation and style.

May import: longwave.dashboard, longwave.platform, streamlit.
To add a page: a file here, and its line in page_frame.PAGES.
"""
