"""The pages of the Lab, one file each: a script that Streamlit runs, which draws from the store.

A folder named ``pages`` beside app.py would be taken for the pages of an older form of app: a link opened before
anything else would show those, without navigation and style.

May import: longwave.dashboard, longwave.platform, streamlit.
To add a page: a file here, and its line in app.py.
"""
