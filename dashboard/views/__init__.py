"""The pages of the Lab, one file each: a script that Streamlit runs, which draws from the store.

A folder named ``pages`` next to app.py would have a special meaning to Streamlit: a link opened first would show its
scripts without navigation and style.

May import: longwave.dashboard, longwave.platform, streamlit.
To add a page: a file here, and its line in app.py.
"""
