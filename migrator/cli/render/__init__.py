"""Results as text for a person and as one JSON document for a program."""
