"""Results as JSON: the shape that docs/pipeline.md promises."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from migrator.cli.render.document import document, encoded, text
from migrator.core.findings import Severity
from tests.cli import samples


@pytest.mark.parametrize("result", samples.ALL, ids=lambda result: f"{type(result).__name__}-{result.state}")
def test_every_result_is_a_document_that_begins_alike_and_keeps_every_field(result: Any) -> None:
    content = json.loads(text(document(result, "some command")))
    assert list(content)[:6] == ["schema_version", "command", "exit_code", "state", "next", "blocked_by"]
    assert set(content) == {"schema_version", "command"} | {field.name for field in dataclasses.fields(result)}


def test_a_document_has_one_order_whatever_the_order_of_what_it_was_made_from() -> None:
    turned = dataclasses.replace(samples.PLAN, fingerprint_parts=dict(reversed(samples.PLAN.fingerprint_parts.items())))
    assert text(document(turned, "plan")) == text(document(samples.PLAN, "plan"))


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Decimal("12345678901234567890.123456789012345678"), "12345678901234567890.123456789012345678"),
        (b"\x00\xff", "AP8="),
        (bytearray(b"hi"), "aGk="),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2, 1}), [1, 2]),
        ({"b": 1, "a": (1, 2)}, {"a": [1, 2], "b": 1}),
        (Severity.ERROR, "error"),
        (float("nan"), None),
        (0.5, 0.5),
        (None, None),
        (True, True),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (Path("a") / "b", str(Path("a") / "b")),
    ],
)
def test_values_are_encoded_exactly(value: Any, plain: Any) -> None:
    assert encoded(value) == plain


def test_a_value_without_a_json_form_is_refused_not_guessed() -> None:
    with pytest.raises(TypeError, match="no JSON form for object"):
        encoded(object())
