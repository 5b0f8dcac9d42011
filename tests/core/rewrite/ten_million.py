"""Ten million keys through both looks; prints the largest resident size in MB and the number of suspects."""

from __future__ import annotations

import random
import resource
import sys

from migrator.core.rewrite.collisions import Collisions, Groups

COUNT = 10_000_000


def main(kind: str) -> None:
    chance = random.Random(0)
    bits = chance.getrandbits
    first = Collisions()
    if kind == "apart":
        for _ in range(COUNT):
            first.add_hashes(bits(64), bits(64))
    elif kind == "pairs":
        for _ in range(COUNT // 2):
            place = bits(64)
            first.add_hashes(place, bits(64))
            first.add_hashes(place, bits(64))
    else:
        for _ in range(COUNT):
            first.add_hashes(7, bits(64))
    suspects = first.suspects()
    Groups(suspects)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(largest // (1024 * 1024 if sys.platform == "darwin" else 1024), len(suspects))


if __name__ == "__main__":
    main(sys.argv[1])
