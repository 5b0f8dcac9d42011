"""From a sample to the table: the stated error holds, and what was not seen is not called absent."""

from __future__ import annotations

import random
from collections import Counter

from migrator.runner.estimates.figures import UNKNOWN, Amount
from migrator.runner.estimates.tally import Sample, Tally, ratio


def tally(*counts: int, fixed: int = 0) -> Tally:
    return Tally([Counter({"changed": number}) for number in counts], Counter({"changed": fixed}))


def test_a_complete_look_counts_and_has_no_error() -> None:
    assert Sample((10, 20), 30, True).amount(tally(4, 5, fixed=2), "changed") == Amount(11.0, 0.0)


def test_what_the_migration_itself_brings_does_not_grow_with_the_table() -> None:
    amount = Sample((10, 10), 2_000, False).amount(tally(5, 5, fixed=3), "changed")
    assert amount.value == 1_003


def test_of_a_table_whose_size_nobody_knows_nothing_is_said() -> None:
    assert Sample((10,), None, False).amount(tally(3), "changed") == UNKNOWN


def test_what_was_not_met_may_still_be_there() -> None:
    value, error = ratio([0, 0], [500, 500], 1_000_000)
    assert value == 0
    assert 2_900 < error < 3_000


def test_a_single_block_claims_no_more_than_it_can() -> None:
    assert ratio([5], [10], 1_000) == (500, 500 * 0.99)


def test_the_stated_interval_holds_the_truth_about_nineteen_times_in_twenty() -> None:
    """Items of a partition key are alike, and a block holds few keys: items alone would promise too much."""
    rng = random.Random(3)
    table = [[int(rng.random() < 0.3)] * rng.randint(1, 20) for _ in range(5_000)]
    flat = [item for key in table for item in key]
    truth, held, rounds = sum(flat), 0, 400
    for _ in range(rounds):
        starts = [rng.randrange(len(flat) - 125) for _ in range(8)]
        blocks = [flat[start : start + 125] for start in starts]
        value, error = ratio([sum(block) for block in blocks], [125] * 8, len(flat))
        held += abs(value - truth) <= error
    assert 0.91 <= held / rounds <= 0.99
