"""Two sketches of how entries spread over keys: exact up to their capacity, bounded and honest above it."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from migrator.core.sketch import Bucket, KeySketch


def filled(keys: list[str], capacity: int = 4096) -> KeySketch:
    sketch = KeySketch(capacity)
    for key in keys:
        sketch.add(key, 1)
    return sketch


def test_up_to_its_capacity_everything_is_exact() -> None:
    sketch = filled(["a"] * 12 + ["b"] * 3 + ["c", "d"])
    assert sketch.is_exact
    assert sketch.distinct == 4
    assert [(one.key, one.units, one.error) for one in sketch.heaviest(2)] == [("a", 12, 0), ("b", 3, 0)]
    assert list(sketch.histogram()) == [Bucket(1, 1, 2), Bucket(2, 9, 1), Bucket(10, 99, 1)]


def test_a_sketch_of_nothing_says_nothing() -> None:
    sketch = KeySketch()
    assert (sketch.heaviest(3), list(sketch.histogram()), sketch.distinct, sketch.is_exact) == ([], [], 0, True)


@given(st.lists(st.sampled_from([f"k{n}" for n in range(40)]), max_size=400), st.integers(2, 20))
def test_a_heavy_key_is_always_found_and_its_figure_is_off_by_no_more_than_its_error(
    keys: list[str], capacity: int
) -> None:
    sketch = filled(keys, capacity)
    found = {one.key: one for one in sketch.heaviest(capacity)}
    for key in set(keys):
        if keys.count(key) > len(keys) / capacity:
            assert key in found
    for key, one in found.items():
        assert one.units - one.error <= keys.count(key) <= one.units


def test_memory_is_bounded_and_the_number_of_keys_about_right() -> None:
    random.seed(7)
    keys = [f"user-{n}" for n in range(60_000)]
    random.shuffle(keys)
    sketch = filled(keys + ["hot"] * 20_000, 1000)
    assert len(sketch._heavy) <= 1000
    assert len(sketch._sampled) <= 1000
    assert len(sketch._lightest) <= 1000
    assert not sketch.is_exact
    assert abs(sketch.distinct - 60_001) < 9_000
    hottest = sketch.heaviest(1)[0]
    assert hottest.key == "hot"
    assert hottest.units - hottest.error <= 20_000 <= hottest.units


def test_kept_keys_have_exact_counts_so_the_histogram_of_many_keys_keeps_its_shape() -> None:
    sketch = KeySketch(200)
    for round_number in range(3):
        for key in range(5_000):
            if round_number == 0 or key % 2 == 0:
                sketch.add(f"k{key}", 1)
    once, often = list(sketch.histogram())
    assert (once.least, often.least) == (1, 2)
    assert abs(once.keys / often.keys - 1) < 0.4
