"""Segments on more than one process: the job that travels, the worker, and the crew that hands segments out."""
