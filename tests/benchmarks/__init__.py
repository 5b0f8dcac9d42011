"""What a run costs its client: `python -m tests.benchmarks` (docs/performance.md)."""
