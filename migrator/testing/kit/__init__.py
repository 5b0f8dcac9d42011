"""The kit behind `migrator.testing` and its pytest plugin."""
