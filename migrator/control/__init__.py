"""What a run keeps: lock, history, identity, checkpoints, failed items, journal. All over the Records port."""
