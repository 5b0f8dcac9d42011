"""Application items over boto3: consistent reads, and guarded writes that are sent once and judged by their answer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType

from migrator.core.change import Check, Update, Write
from migrator.core.item import Item, Key
from migrator.core.ports import Entropy, Joint, Outcomes, Page, Permit, RecordAction
from migrator.dynamo import writes as requests
from migrator.dynamo.client import Clients
from migrator.dynamo.joint import JointItems
from migrator.dynamo.layout import Layout
from migrator.dynamo.reads import Reads
from migrator.dynamo.retry import Retry
from migrator.dynamo.sending import BotoSender
from migrator.dynamo.singles import Done, Singles
from migrator.dynamo.transactions import Transactions

MOST_WRITES = 100


class DynamoItems:
    """The Items port. Reads are retried here; a guarded write is one request, whose outcome the engine judges.

    `layout` is where the control records of `transact` live. Close it: it owns a pool of `clients.workers` threads.
    """

    most_writes = MOST_WRITES

    def __init__(self, clients: Clients, retry: Retry, entropy: Entropy, layout: Layout):
        sender = BotoSender(clients.items, clients.access.hint, retry)
        self._reads = Reads(sender)
        self._singles = Singles(sender, self._reads)
        self._transactions = Transactions(sender, self._reads, entropy, layout)
        self._joint = JointItems(sender, retry, entropy, layout)
        self._pool = ThreadPoolExecutor(clients.workers, thread_name_prefix="write")

    def close(self) -> None:
        """Waits for the writes under way."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> DynamoItems:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def get(self, table: str, key: Key) -> Item | None:
        return self._reads.get(table, key)

    def scan(
        self,
        table: str,
        *,
        segment: int = 0,
        total: int = 1,
        start: Key | None = None,
        limit: int | None = None,
    ) -> Page:
        return self._reads.scan(table, segment=segment, total=total, start=start, limit=limit)

    def scan_index(self, table: str, index: str, names: Sequence[str], *, start: Key | None = None) -> Page:
        return self._reads.scan_index(table, index, names, start=start)

    def query(self, table: str, partition: Key, *, most: int) -> Sequence[Item]:
        return self._reads.query(table, partition, most=most)

    def write(self, table: str, writes: Sequence[Write], permit: Permit) -> Outcomes:
        """Raises LeaseLost, or an error that ends the run, when no request of these writes is under way any more."""
        refuse_checks(writes)
        return _gathered([self._pool.submit(self._singles.write, table, one, permit) for one in writes])

    def transact(self, table: str, write: Write, records: Sequence[RecordAction], permit: Permit) -> Outcomes:
        """A Delete's `before` stays None: a transaction returns no images."""
        return self._transactions.transact(table, write, records, permit)

    def get_together(self, places: Sequence[tuple[str, Key]]) -> Sequence[Item | None]:
        """Raises ValueError for more than a hundred places, or one that is named twice."""
        return self._joint.get_together(places)

    def together(
        self,
        writes: Sequence[tuple[str, Write]],
        checks: Sequence[Check],
        records: Sequence[RecordAction],
        permit: Permit,
    ) -> Joint:
        return self._joint.together(writes, checks, records, permit)


def refuse_checks(writes: Sequence[Write]) -> None:
    """Raises ValueError for an update that only a transaction can write."""
    for one in writes:
        if isinstance(one, Update) and one.has_checks:
            raise ValueError("an update with checks is a transaction: transact()")


def _gathered(pending: Sequence[Future[Done]]) -> Outcomes:
    """The outcomes in order. On an error nothing more is begun, and what is under way is waited for."""
    try:
        done = [future.result() for future in pending]
    except BaseException:
        for future in pending:
            future.cancel()
        wait(pending)
        raise
    return Outcomes([one.outcome for one in done], requests.added([one.consumed for one in done]))
