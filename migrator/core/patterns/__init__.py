"""Access patterns: what the application asks of a table, and whether a shape of the table can answer it.

`pattern` is what a file declares, `judge` holds one to a table, `course` follows all of them over the revisions. Pure.
"""
