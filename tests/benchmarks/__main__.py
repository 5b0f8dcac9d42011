"""`python -m tests.benchmarks`: client CPU per 1,000 items, side by side, repeats interleaved (docs/performance.md)."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_EC2_METADATA_DISABLED": "true",
}
WRITING = {
    "a": ("boto3 resource: scan, update_item each", 1_000),
    "b": ("boto3 client: BatchExecuteStatement of 25", 5_000),
    "c": ('migrator, transport = "boto3"', 1_000),
    "d": ('migrator, transport = "fast", template', 20_000),
    "d-function": ('migrator, transport = "fast", function', 20_000),
    "e": ("the fast transport in a bare loop", 20_000),
}
READING = {
    "a-read": ("boto3 resource: scan and compare", 10_000),
    "d-read": ('migrator, transport = "fast", nothing to change: template', 50_000),
    "d-function-read": ('migrator, transport = "fast", nothing to change: function', 50_000),
}


class Bench:
    """Servers and clients, each a process; over TLS with a certificate made for the occasion."""

    def __init__(self, folder: Path):
        self.certificate, self.key = folder / "certificate.pem", folder / "key.pem"
        if shutil.which("openssl") is None:
            sys.exit("openssl is needed, to make a certificate for the server")
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
        files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out", self.certificate]
        subprocess.run(["openssl", *words.split(), *files], check=True, capture_output=True)

    @contextmanager
    def server(self, count: int, *, is_right: bool) -> Iterator[str]:
        words = ["-m", "tests.benchmarks.server", str(count), "right" if is_right else "wrong"]
        server = subprocess.Popen(
            [sys.executable, *words, self.certificate, self.key], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            yield f"https://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()
            server.wait()

    def measure(self, variant: str, count: int, *, is_right: bool) -> dict[str, Any]:
        environ = {**os.environ, **_CREDENTIALS, "AWS_CA_BUNDLE": str(self.certificate)}
        with self.server(count, is_right=is_right) as url:
            words = [sys.executable, "-m", "tests.benchmarks.client", variant, url]
            done = subprocess.run(words, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True, check=True)
        found: dict[str, Any] = json.loads(done.stdout)
        assert found["items"] == count, (variant, found)
        return found


def per_thousand(found: dict[str, Any]) -> float:
    return float(1e6 * found["cpu"] / found["items"])


def table(bench: Bench, variants: dict[str, tuple[str, int]], repeats: int, scale: float, *, is_right: bool) -> None:
    costs: dict[str, list[dict[str, Any]]] = {name: [] for name in variants}
    for _ in range(repeats):
        for name, (_, count) in variants.items():
            costs[name].append(bench.measure(name, max(100, int(count * scale)), is_right=is_right))
    median = {name: statistics.median(map(per_thousand, found)) for name, found in costs.items()}
    bases = [name for name in ("a", "a-read", "b") if name in median]
    heads = " | ".join(f"against ({base})" for base in bases)
    print(f"\n| | | CPU ms / 1,000 items | from … to | items/s | {heads} |\n|---|---|---|---|---|{'---|' * len(bases)}")
    for name, (text, _) in variants.items():
        found = list(map(per_thousand, costs[name]))
        rate = statistics.median(one["items"] / one["seconds"] for one in costs[name])
        ratios = " | ".join(f"{median[base] / median[name]:.1f} x" for base in bases)
        print(
            f"| ({name}) | {text} | {median[name]:.1f} | {min(found):.1f} … {max(found):.1f} | {rate:,.0f} | {ratios} |"
        )
    if "e" in median:
        print(f"\nGuards, decisions, checkpoints and pace over the bare loop: {median['d'] / median['e']:.2f} x")


def memory(bench: Bench, counts: list[int]) -> None:
    print("\n| items | peak MB | CPU ms / 1,000 items |\n|---|---|---|")
    for count in counts:
        found = bench.measure("d", count, is_right=False)
        print(f"| {count:,} | {found['peak'] / 1024:.0f} | {per_thousand(found):.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of items")
    parser.add_argument("--only", nargs="*", metavar="VARIANT", help="of (a) … (e)")
    parser.add_argument("--million", action="store_true", help="measure memory at a million items too")
    parser.add_argument("--no-memory", action="store_true")
    options = parser.parse_args()
    print(f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} cores, over TLS, ", end="")
    print(f"{options.repeats} interleaved repeats, medians of the client's user and system time")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        for variants, is_right in ((WRITING, False), (READING, True)):
            chosen = {n: v for n, v in variants.items() if not options.only or n in options.only}
            if chosen:
                table(bench, chosen, options.repeats, options.scale, is_right=is_right)
        if not options.no_memory:
            memory(bench, [10_000, 100_000] + ([1_000_000] if options.million else []))


if __name__ == "__main__":
    main()
