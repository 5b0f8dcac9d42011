"""The command line: thin typer commands, rendering of results, progress."""
