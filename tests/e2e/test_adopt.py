"""docs/adopt.md as written, against a table with three indexes and 1,000 items.

`python -m tests.e2e.test_adopt` writes what the commands print into the page.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from migrator.sandbox import Sandbox
from tests.docs.console import DOCS, PORT, Command, Desk, File, blocks, loose
from tests.e2e.wire import CONTROL, Sent, Wire

PAGE = DOCS / "adopt.md"
TABLE = "shop-orders"
ACCOUNT = "111122223333"
NEW_REVISION = "20261201090000"
PLAN = "migrator plan --full"
CITIES = ("berlin", "gdansk", "ghent", "lyon", "malmo", "porto", "turin")
SERVICE = "dynamodb.eu-west-1.amazonaws.com"


def make_table(client: Any) -> None:
    """What another tool made years ago, with the application's orders."""
    names = ("PK", "SK", "status", "placedAt", "customerEmail", "warehouse")

    def index(name: str, keys: list[str], **projection: object) -> dict[str, object]:
        roles = zip(keys, ("HASH", "RANGE"), strict=False)
        schema = [{"AttributeName": key, "KeyType": role} for key, role in roles]
        return {"IndexName": name, "KeySchema": schema, "Projection": projection}

    client.create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            index("ByStatus", ["status", "placedAt"], ProjectionType="ALL"),
            index("ByEmail", ["customerEmail"], ProjectionType="INCLUDE", NonKeyAttributes=["total", "status"]),
            index("ByWarehouse", ["warehouse"], ProjectionType="KEYS_ONLY"),
        ],
    )
    for start in range(0, 1_000, 25):
        puts = [{"PutRequest": {"Item": order(number)}} for number in range(start, start + 25)]
        client.batch_write_item(RequestItems={TABLE: puts})


def order(number: int) -> dict[str, Any]:
    return {
        "PK": {"S": f"CUSTOMER#{number % 50:02}"},
        "SK": {"S": f"ORDER#{number:04}"},
        "status": {"S": "open" if number % 4 == 0 else "shipped"},
        "placedAt": {"S": f"2026-{1 + number // 100:02}-{1 + number % 28:02}"},
        "customerEmail": {"S": f"customer{number % 50}@example.com"},
        "warehouse": {"S": CITIES[number % len(CITIES)]},
        "total": {"N": "19.90"},
    }


class Shop:
    """The sandbox with the table in it, and a desk to type at."""

    def __init__(self, sandbox: Sandbox, wire: Wire, folder: Path):
        self.client = sandbox.client(account=ACCOUNT, unseen=True)
        make_table(self.client)
        self._wire = wire
        self.desk = Desk(folder, sandbox.port, [NEW_REVISION])

    def sent(self) -> list[Sent]:
        return self._wire.by(ACCOUNT)

    def orders(self, index: str | None = None) -> list[dict[str, Any]]:
        options = {"IndexName": index} if index else {}
        pages = self.client.get_paginator("scan").paginate(TableName=TABLE, **options)
        return [item for page in pages for item in page["Items"] if not item["PK"]["S"].startswith(CONTROL)]

    def run(self, page: str) -> Iterator[tuple[Command, str]]:
        """Each command of the page, with what it printed now."""
        for block in blocks(page):
            if isinstance(block, File):
                self.desk.write(block.path, block.text)
            else:
                yield block, self.desk.run(block.line).replace(f"http://{PORT}", f"https://{SERVICE}")
            self._hurry()

    def _hurry(self) -> None:
        """The sandbox builds an index in a moment: look for it more often than every ten seconds."""
        path = self.desk.folder / "migrator.toml"
        if "limits" not in path.read_text(encoding="utf-8"):
            with path.open("a", encoding="utf-8") as file:
                file.write('limits = { poll_interval = "200ms" }\n')


@contextmanager
def shop() -> Iterator[Shop]:
    wire = Wire()
    with tempfile.TemporaryDirectory() as folder, Sandbox(faults=[wire]) as sandbox:
        environment = {
            "AWS_ENDPOINT_URL_DYNAMODB": sandbox.endpoint_url,
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "sandbox",
        }
        with patch.dict(os.environ, environment):
            yield Shop(sandbox, wire, Path(folder))


def test_the_page_on_adopting_a_table_holds_as_written() -> None:
    with shop() as here:
        before = {item["SK"]["S"]: item for item in here.orders()}
        codes: dict[str, int] = {}
        for command, printed in here.run(PAGE.read_text(encoding="utf-8")):
            assert loose(printed) == loose(command.printed), command.line
            assert "Traceback" not in here.desk.log
            codes[command.line] = here.desk.codes[-1]
            changed = Counter(
                one.operation for one in here.sent() if one.changes and (one.keys or "Table" in one.operation)
            )
            if command.line == "migrator check" and "migrator upgrade" in codes and PLAN not in codes:
                assert not changed, "up to the stamp neither an item of the application nor an index was touched"
            if command.line == "migrator upgrade" and PLAN in codes:
                assert changed == {"UpdateItem": 250, "UpdateTable": 1}
                found = here.orders("OpenOrders")
                assert len(found) == 250
                assert found[0].keys() == {"PK", "SK", "warehouse", "openSince", "total"}
        assert codes["migrator check"] == 8
        assert {item["SK"]["S"]: item for item in here.orders()} == before
        live = here.client.describe_table(TableName=TABLE)["Table"]
        assert {one["IndexName"] for one in live["GlobalSecondaryIndexes"]} == {"ByStatus", "ByEmail", "ByWarehouse"}


def test_the_page_names_the_files_that_the_commands_make() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"\b20\d{12}\b", page)) == {"20261130172204", NEW_REVISION}


def refresh() -> None:
    page = PAGE.read_text(encoding="utf-8")
    with shop() as here:
        for command, printed in reversed(list(here.run(page))):
            if loose(printed) != loose(command.printed):
                page = page[: command.start] + printed + page[command.end :]
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    refresh()
