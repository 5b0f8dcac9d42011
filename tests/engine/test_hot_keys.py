"""Hot keys by themselves: what is held, how fast it recovers, and that memory stays bounded."""

from __future__ import annotations

import pytest

from migrator.engine.pacing.hot_keys import FORGET_SECONDS, MOST_KEYS, HotKeys


def sent(keys: HotKeys, key: str, seconds: float, begin: float) -> float:
    """Units a second that go out for a key."""
    now, units = begin, 0.0
    while now < begin + seconds:
        held = keys.take([("t", key)], 1.0, now)
        units += not held
        now += held or 0.0005
    return units / seconds


def test_a_key_that_was_not_refused_is_not_held() -> None:
    keys = HotKeys()
    keys.throttled("t", "a", 0.0)
    assert [keys.take([("t", "b")], 1e6, 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]
    assert [keys.take([("u", "a")], 1e6, 0.0) for _ in range(3)] == [0.0, 0.0, 0.0]


def test_each_refusal_halves_the_rate_of_its_key_at_most_once_a_second() -> None:
    keys = HotKeys()
    first = keys.throttled("t", "a", 0.0)
    assert keys.throttled("t", "a", 0.5) == pytest.approx(first)
    assert keys.throttled("t", "a", 1.6) == pytest.approx(first / 2, rel=0.2)


def test_a_hot_key_recovers_steadily_up_to_what_a_partition_takes() -> None:
    keys = HotKeys()
    first = keys.throttled("t", "a", 0.0)
    early, late = sent(keys, "a", 10, 0.0), sent(keys, "a", 10, 60.0)
    assert first <= early < 2 * first < late <= 1_000


def test_an_item_waits_for_the_slowest_of_its_keys_and_then_counts_for_all() -> None:
    keys = HotKeys()
    keys.throttled("t", "a", 0.0)
    keys.throttled("t/i", "x", 0.0)
    both = [("t", "a"), ("t/i", "x")]
    assert keys.take(both, 50.0, 0.0) == 0.0
    assert keys.take([("t/i", "x")], 1.0, 0.0) > 0
    assert keys.take([("t", "a")], 1.0, 0.0) > 0
    assert keys.resources == {"t", "t/i"}


def test_a_key_that_was_not_refused_for_long_is_forgotten() -> None:
    keys = HotKeys()
    keys.throttled("t", "a", 0.0)
    keys.take([("t", "a")], 1e6, FORGET_SECONDS + 1)
    assert not keys


def test_no_more_than_so_many_keys_are_remembered() -> None:
    keys = HotKeys()
    for number in range(MOST_KEYS + 10):
        keys.throttled("t", str(number), 0.0)
    assert keys.take([("t", "0")], 1e6, 0.0) == 0.0
    assert keys.take([("t", "0")], 1e6, 0.0) == 0.0
    assert len(keys) == MOST_KEYS
