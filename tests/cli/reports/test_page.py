"""A plan as one HTML file: self-contained, escaped, and good to look at in a browser."""

from __future__ import annotations

import dataclasses
import re
import shutil
import struct
import subprocess
import zlib
from collections import Counter
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from migrator.cli.reports import charts, page
from migrator.errors import UsageError
from migrator.runner.results import PlannedStage, PlanResult
from tests.cli import samples
from tests.cli.conftest import Call

pytest.importorskip("jinja2")

NOW = datetime(2026, 11, 30, 17, 22, 4, tzinfo=UTC)
HOSTILE = '<script>alert("x")</script><img src=//evil onerror=alert(1)>\'"&{{ 7 * 7 }}'
BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)


def hostile() -> PlanResult:
    """The sample with an attacker's text wherever text may come from items, files or the service."""
    revision = samples.PLAN.revisions[0]
    item: Any = {"key": {"PK": {"S": HOSTILE}}, "before": {HOSTILE: {"S": HOSTILE}}, "after": {"b": {"S": HOSTILE}}}
    index = revision.steps[1]
    assert index.estimate is not None
    spread = index.estimate.keys[0]
    top = tuple(dataclasses.replace(one, key=HOSTILE) for one in spread.top)
    estimate = dataclasses.replace(index.estimate, keys=(dataclasses.replace(spread, top=top, index=HOSTILE),))
    steps = (
        dataclasses.replace(revision.steps[0], samples=(item,), title=HOSTILE),
        dataclasses.replace(index, estimate=estimate),
    )
    stage = PlannedStage("complete", HOSTILE, HOSTILE, (), HOSTILE)
    changed = dataclasses.replace(
        revision, serves=(HOSTILE,), breaks=(HOSTILE,), steps=steps, message=HOSTILE, stages=(stage,), notes=(HOSTILE,)
    )
    return dataclasses.replace(samples.PLAN, revisions=(changed,), unknown=(HOSTILE,), next=HOSTILE, blocked_by=HOSTILE)


class Parsed(HTMLParser):
    """Tags, attributes and text of a page; every tag is closed."""

    VOID = frozenset({"meta", "rect", "line"})

    def __init__(self, text: str):
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_is_whole_and_has_the_figures_the_samples_and_the_charts() -> None:
    parsed = Parsed(page.html(samples.PLAN, NOW))
    assert parsed.open == []
    assert parsed.tags["svg"] == 4
    for said in (
        "835,000 ± 48,000",
        "USD 1.69",
        "hot key",
        "TENANT#t1#USER#ana",
        "2026-11-30 17:22 UTC",
        "longer than",
    ):
        assert said in " ".join(parsed.words.split())


def test_nothing_is_loaded_from_anywhere_and_nothing_runs() -> None:
    text = page.html(hostile(), NOW)
    parsed = Parsed(text)
    assert not parsed.tags.keys() & {"script", "img", "link", "iframe", "object", "embed", "form", "base", "a"}
    assert not [
        name for name, _ in parsed.attributes if name in ("src", "href", "srcset", "action") or name.startswith("on")
    ]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert not re.search(r"url\(|@import|https?:", style[1])
    assert "default-src 'none'" in text


def test_content_of_items_is_text_whatever_it_is() -> None:
    parsed = Parsed(page.html(hostile(), NOW))
    calm = Parsed(page.html(samples.PLAN, NOW))
    assert set(parsed.tags) <= set(calm.tags) | {"div"}
    assert HOSTILE in parsed.words
    assert "{{ 7 * 7 }}" in parsed.words


@pytest.mark.parametrize("width", [charts.WIDE, charts.HALF])
def test_labels_and_figures_of_a_chart_have_room(width: int) -> None:
    rows = [charts.Bar("x" * letters, 1.0, "9" * digits) for letters, digits in ((3, 2), (90, 24), (400, 1))]
    drawn = charts.bars(rows, "title", width=width)
    for x, anchor, text in re.findall(r'<text class="\w+" x="([\d.]+)" y="\d+"( text-anchor="end")?>([^<]*)<', drawn):
        room = float(x) if anchor else width - float(x)
        assert len(text) * charts.LETTER <= room + charts.LETTER
    bars = [float(length) for length in re.findall(r'class="track" x="[\d.]+" y="\d+" width="([\d.-]+)"', drawn)]
    assert min(bars) > 50


def test_the_same_plan_gives_the_same_page() -> None:
    assert page.html(samples.PLAN, NOW) == page.html(samples.PLAN, NOW)


def test_it_is_written_to_a_file_and_to_stdout(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    assert call(f"plan --html {path}", plan=samples.PLAN).code == 0
    said = call("plan -o html", plan=samples.PLAN)
    assert said.out.startswith("<!doctype html>")
    assert path.read_text().startswith("<!doctype html>")
    assert [one.name for one in tmp_path.iterdir()] == ["plan.html"]


def test_without_the_extra_it_is_refused_before_anything_is_read(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "find_spec", lambda _name: None)
    said = call("plan --html plan.html", plan=samples.PLAN)
    assert (said.code, "dynamodb-migrations[report]" in said.err) == (2, True)
    with pytest.raises(UsageError):
        page.html(samples.PLAN, NOW)


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(BROWSER is None, reason="no chromium here")
@pytest.mark.parametrize(("theme", "flags"), [("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))])
def test_a_browser_draws_it_to_its_edges_in_both_themes(theme: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "plan.html").write_text(page.html(samples.PLAN, NOW), encoding="utf-8")
    shot = tmp_path / "plan.png"
    subprocess.run(
        [
            str(BROWSER),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
            *("--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path / 'user'}"),
            *flags,
            *("--hide-scrollbars", "--window-size=1100,1600", f"--screenshot={shot}"),
            (tmp_path / "plan.html").as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    width, height, rows = pixels(shot.read_bytes())
    assert (width, height) == (1100, 1600)
    colours = Counter(row[x : x + 3] for row in rows[::4] for x in range(0, len(row), 12))
    paper = {"light": bytes.fromhex("f6f7f9"), "dark": bytes.fromhex("0f141a")}[theme]
    # The main column keeps its margins: nothing runs over an edge.
    assert {bytes(row[-3:]) for row in rows} | {bytes(row[:3]) for row in rows} == {paper}
    # Neither empty nor a wall: cards, text and charts on calm paper.
    assert 0.1 < colours[paper] / sum(colours.values()) < 0.9
    assert len(colours) > 100


def pixels(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and the RGB rows of a PNG of 8 bits a channel."""
    at, parts, header = 8, [], b""
    while at < len(png):
        (length,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        body = png[at + 8 : at + 8 + length]
        header = body if kind == b"IHDR" else header
        parts += [body] if kind == b"IDAT" else []
        at += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    assert depth == 8
    channels = {2: 3, 6: 4}[colour]
    raw, stride, rows = zlib.decompress(b"".join(parts)), width * channels, []
    before = bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        line = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + stride]), before, channels)
        rows.append(bytes(line) if channels == 3 else bytes(b for n, b in enumerate(line) if n % 4 != 3))
        before = line
    return width, height, rows


def _unfiltered(kind: int, line: bytearray, above: bytearray, step: int) -> bytearray:
    for n in range(len(line)):
        left = line[n - step] if n >= step else 0
        up, corner = above[n], above[n - step] if n >= step else 0
        if kind == 1:
            more = left
        elif kind == 2:
            more = up
        elif kind == 3:
            more = (left + up) // 2
        elif kind == 4:
            guess = left + up - corner
            more = min((left, up, corner), key=lambda one: (abs(guess - one), (left, up, corner).index(one)))
        else:
            return line
        line[n] = (line[n] + more) & 255
    return line


def test_commands_in_prose_are_code_and_nothing_else_is_markup() -> None:
    text = page.html(samples.REWRITE_PLAN, NOW)
    assert f"<code>migrator rollback {samples.ESCALATIONS}</code> takes it back until" in text
    odd = dataclasses.replace(samples.REWRITE_PLAN, unknown=("`<b>` and `one that is never closed",))
    assert "<li>`&lt;b&gt;` and `one that is never closed</li>" in page.html(odd, NOW)


def test_a_page_has_every_gate_before_its_steps_and_the_access_patterns_that_change() -> None:
    parsed = Parsed(page.html(samples.REWRITE_PLAN, NOW))
    words = " ".join(parsed.words.split())
    said = (
        "1. look for what could not be rewritten",
        "Gate: Does every writer take part? If so: migrator upgrade --app-ready",
        "2. copy items of app",
        "Gate: May the readers move? If so: migrator cutover 20261130172204",
        "3. enter phase cutover",
        "If so: migrator contract 20261130172204 --yes",
        "no way back from here on the old items of app are deleted",
        "4. delete the old items of app",
        "Way back:",
        "serves access pattern AP3, AP4",
        "breaks access pattern AP1",
    )
    places = [words.find(one) for one in said]
    assert -1 not in places, words
    assert places == sorted(places)
