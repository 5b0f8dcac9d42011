"""What runs steps: convergence of indexes and settings, segments of items, pace, undo."""
