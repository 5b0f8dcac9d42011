"""Applications that write while a backfill runs: nothing of theirs is lost, nothing deleted comes back."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from migrator.sandbox import Drop, Request, Response
from tests.e2e.project import Item, Project, tasks
from tests.e2e.wire import updated

OWNERS = 'Backfill(where={"entity": "Task"}, set={"GSI1PK": "OWNER#{owner}"}),'
COUNTED = """
def counted(item):
    return {"total": item["amount"] * 2}
"""

GREET = 'Backfill(set={"greeting": "hello"}),'
SHOUT = """
def shout(item):
    return {"name": item["name"] + "!"}
"""


@pytest.fixture(params=["boto3", "fast"])
def transport(request: pytest.FixtureRequest) -> str:
    """Both: what other writers do between a read and a write is what a batch must not lose either."""
    return str(request.param)


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param(OWNERS, id="guarded by what was read"),
        # Nothing of the item is read but that an attribute is absent, which it also is on an item that is gone.
        pytest.param(GREET, id="guarded by existence alone"),
    ],
)
def test_an_item_deleted_after_the_scan_read_it_is_not_brought_back(project: Project, operations: str) -> None:
    project.migration("0001", operations)
    project.put(tasks(50))
    deleted: list[dict[str, Item]] = []

    def delete_it(request: Request) -> None:
        # Just before the guarded write of every tenth item arrives, the application deletes that item.
        for key in updated(request):
            if int(key["SK"]["S"][-6:]) % 10 == 0:
                project.client.delete_item(TableName=project.table, Key=key)
                deleted.append(key)

    with project.sandbox.intercept(delete_it):
        done = project.ok("upgrade", "--from-base", "-o", "json")
    assert len(deleted) == 5
    left = {item["SK"]["S"] for item in project.items()}
    assert not left & {key["SK"]["S"] for key in deleted}
    assert len(left) == 45
    assert done.document["outcomes"][0]["counts"]["gone"] == 5


def test_a_write_between_scan_and_update_is_decided_on_again(project: Project) -> None:
    project.migration("0001", OWNERS)
    project.put(tasks(20))
    changed: set[str] = set()

    def give_away(request: Request) -> None:
        for key in updated(request):
            if key["SK"]["S"] in changed:
                continue
            changed.add(key["SK"]["S"])
            project.client.update_item(
                TableName=project.table,
                Key=key,
                UpdateExpression="SET #o = :new",
                ExpressionAttributeNames={"#o": "owner"},
                ExpressionAttributeValues={":new": {"S": "heir"}},
            )

    with project.sandbox.intercept(give_away):
        done = project.ok("upgrade", "--from-base", "-o", "json")
    assert len(changed) == 20
    assert {item["GSI1PK"]["S"] for item in project.items()} == {"OWNER#heir"}
    assert done.document["outcomes"][0]["counts"]["conflicts"] == 20


def test_no_write_of_live_applications_is_lost_and_nothing_they_delete_comes_back(project: Project) -> None:
    count = 400
    project.migration("0001", "Backfill(where={'entity': 'Task'}, transform=counted),", code=COUNTED)
    project.put(tasks(count))
    ledger = Ledger(project, count)
    with ledger.working():
        running = project.start("upgrade", "--from-base", "-o", "json")
        project.until(lambda: not running.is_alive or project.written() >= count - 50, 60)
    done = running.wait()
    # The writers are old ones: they change `amount` and know nothing of `total`. So the run may be incomplete.
    assert done.code in (0, 6), done
    project.ok("upgrade")
    by_key = {item["SK"]["S"]: item for item in project.items()}
    assert not by_key.keys() & ledger.deleted
    assert by_key.keys() == {f"TASK#{number:06}" for number in range(count)} - ledger.deleted
    assert len(ledger.amounts) > 20
    assert len(ledger.deleted) > 5
    for key, amount in ledger.amounts.items():
        if key not in ledger.deleted:
            assert by_key[key]["amount"] == {"N": str(amount)}
            assert by_key[key]["total"] == {"N": str(2 * amount)}


class Ledger:
    """An application of two threads, and what it wrote last."""

    def __init__(self, project: Project, count: int):
        self._project = project
        self._count = count
        self.amounts: dict[str, int] = {}
        self.deleted: set[str] = set()

    @contextmanager
    def working(self) -> Iterator[None]:
        end = threading.Event()
        halves = [range(0, self._count, 2), range(1, self._count, 2)]
        threads = [threading.Thread(target=self._work, args=(end, half, seed)) for seed, half in enumerate(halves)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            end.set()
            for thread in threads:
                thread.join()

    def _work(self, end: threading.Event, numbers: range, seed: int) -> None:
        chance = random.Random(seed)
        actions: list[Callable[[Item, str], None]] = [self._raise, self._raise, self._raise, self._delete]
        while not end.wait(0.02):
            number = chance.choice(numbers)
            sort = f"TASK#{number:06}"
            if sort not in self.deleted:
                # A refused write was not made: an application may meet the transaction of the tool, and tries again.
                with suppress(self._project.client.exceptions.TransactionConflictException):
                    chance.choice(actions)({"PK": {"S": f"TENANT#{number % 97:02}"}, "SK": {"S": sort}}, sort)

    def _raise(self, key: Item, sort: str) -> None:
        answer = self._project.client.update_item(
            TableName=self._project.table,
            Key=key,
            UpdateExpression="SET amount = amount + :one",
            ExpressionAttributeValues={":one": {"N": "2.5" if sort not in self.amounts else "1"}},
            ReturnValues="UPDATED_NEW",
        )
        self.amounts[sort] = int(answer["Attributes"]["amount"]["N"])

    def _delete(self, key: Item, sort: str) -> None:
        self._project.client.delete_item(TableName=self._project.table, Key=key)
        self.deleted.add(sort)


def test_items_that_an_old_writer_adds_behind_the_cursor_make_the_revision_incomplete(project: Project) -> None:
    project.configure(segments=1)
    project.migration("0001", OWNERS)
    project.put(tasks(30))
    added: list[str] = []

    def add(request: Request) -> None:
        # As the check pass begins: all of the write pass is over.
        if request.body.get("Segment") is not None and not added and _written(project) == 30:
            added.append("TASK#999999")
            project.put([{**next(tasks(1)), "SK": {"S": "TASK#999999"}}])

    with project.sandbox.intercept(add, operation="Scan"):
        done = project.ok("upgrade", "--from-base", "-o", "json", code=6)
    assert added
    assert "TASK#999999" in str(done.document["outcomes"][0]["examples"])
    assert "writer" in done.document["next"]
    assert project.ok("status", "-o", "json").document["state"] == "incomplete"
    project.ok("upgrade")
    assert all("GSI1PK" in item for item in project.items())


def test_an_empty_page_with_more_behind_it_is_not_the_end(project: Project) -> None:
    project.configure(segments=1)
    project.put(
        {
            "PK": {"S": "P"},
            "SK": {"S": f"{n:02}"},
            "entity": {"S": "Task" if n == 29 else "Note"},
            "fat": {"S": "x" * 90_000},
        }
        for n in range(30)
    )
    project.migration("0001", 'Backfill(where={"entity": "Task"}, set={"seen": "yes"}),')
    with project.recording() as sent:
        project.ok("upgrade", "--from-base")
    assert [item["SK"]["S"] for item in project.items() if "seen" in item] == ["29"]
    assert len([one for one in sent if one.operation == "Scan" and one.body.get("ExclusiveStartKey")]) >= 2


def _written(project: Project) -> int:
    return project.written()


@pytest.mark.parametrize("once", [False, True])
def test_a_write_whose_answer_is_lost_is_read_before_it_is_judged(project: Project, once: bool) -> None:
    project.migration("0001", "Backfill(transform=shout, once=True)," if once else GREET, code=SHOUT if once else "")
    project.put(tasks(12))
    lost: list[str] = []

    def lose(request: Request, _: Response) -> Drop | None:
        # Every third data write is applied, and its answer is lost.
        if request.operation in operations and "TASK#" in str(request.body):
            lost.append(request.operation)
            return Drop() if len(lost) % 3 == 1 else None
        return None

    operations = ("TransactWriteItems",) if once else ("UpdateItem", "BatchExecuteStatement")
    with project.sandbox.intercept(after=lose):
        done = project.ok("upgrade", "--from-base", "-o", "json")
    assert lost
    if once:
        assert {item["name"]["S"].count("!") for item in project.items()} == {1}
    else:
        assert {item["greeting"]["S"] for item in project.items()} == {"hello"}
    assert done.document["outcomes"][0]["counts"]["failed"] == 0
