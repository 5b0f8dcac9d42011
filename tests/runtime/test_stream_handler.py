"""The mirror as a Lambda function: real records of a stream, in the shape that Lambda gives them."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import boto3
import pytest
from botocore.config import Config

from migrator.control.layout import mirror_partition, phase
from migrator.control.mirrors import met_at
from migrator.control.phases import PhaseRecord
from migrator.core.item import Item, same_item
from migrator.core.ports import Record
from migrator.core.rewrite.hints import PROBE
from migrator.core.rewrite.phases import Phase
from migrator.core.rewrite.record import to_json
from migrator.core.rewrite.rewrite import Rewrite
from migrator.core.rewrite.route import Image
from migrator.core.rewrite.steps import PrepareRewrite
from migrator.core.schema import KeyAttribute, Schema, Table
from migrator.dynamo.layout import Layout
from migrator.engine.rewriting.physical import physical
from migrator.errors import MigratorError, Throttled
from migrator.operations import RewriteKeys
from migrator.runtime import stream_handler
from migrator.runtime.events import StreamEvent
from migrator.sandbox import Drop, Request, Response, Sandbox
from tests.runtime.situation import Numbers, StillClock

_made = count(1)
AWKWARD: dict[str, Any] = {
    "M": {"M": {"N": {"B": b"\x00\xff"}, "L": {"L": [{"B": b"in a list"}, {"NULL": True}]}}},
    "a.b": {"BS": [b"\x01", b"\x02"]},
    "a-b c": {"N": "12345678901234567890123456789012345678"},
    "naïve ключ": {"NS": ["1", "2.5"]},
}


@dataclass
class Cloud:
    """Two tables with streams, a phase record, and the batches that Lambda makes of them."""

    sandbox: Sandbox
    client: Any
    number: int = field(default_factory=lambda: next(_made))
    read: dict[str, str | None] = field(default_factory=dict)

    @property
    def old(self) -> str:
        return f"lambda-old-{self.number}"

    @property
    def new(self) -> str:
        return f"lambda-new-{self.number}"

    @property
    def layout(self) -> Layout:
        return Layout(f"lambda-control-{self.number}", "PK", "SK")

    def make(self, view: str = "NEW_AND_OLD_IMAGES") -> Cloud:
        for name in (self.old, self.new, self.layout.table):
            stream = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}
            self.client.create_table(
                TableName=name,
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("PK", "SK")],
                KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
                BillingMode="PAY_PER_REQUEST",
                **({} if name == self.layout.table else stream),
            )
        self.enter("dual-write")
        return self

    @property
    def rewrite(self) -> Rewrite:
        shapes = {name: Table(name, KeyAttribute("PK"), KeyAttribute("SK")) for name in ("old", "new")}
        operation = RewriteKeys(
            key={"PK": "{PK}", "SK": "{state}#{date}"}, old={"SK": "{date}"}, to="new", application="mirror"
        )
        plan = operation.plan(Schema(shapes, "old"))
        (step,) = [one for one in plan.apply if isinstance(one, PrepareRewrite)]
        return physical(step.rewrite, lambda alias: getattr(self, alias))

    def enter(self, wanted: Phase, generation: int = 2) -> None:
        document = to_json(self.rewrite, {table: table for table in self.rewrite.tables})
        record = PhaseRecord("001", "0", wanted, generation, "", generation, rewrite=document)
        stored = Record(phase("001", "0"), 1, record.body())
        self.client.put_item(TableName=self.layout.table, Item=self.layout.item(stored, f"v{next(_made)}"))

    # --- the application

    def put(self, number: int, state: str = "a", **more: Any) -> Item:
        item = {"PK": {"S": f"p{number}"}, "SK": {"S": f"d{number}"}, "state": {"S": state}, **more}
        self.client.put_item(TableName=self.old, Item=item)
        return item

    def twin(self, item: Item) -> Item:
        image = self.rewrite.routes[0].twin_of(item)
        assert isinstance(image, Image)
        return image.item

    def items(self, table: str) -> list[Item]:
        found: list[Item] = self.client.scan(TableName=table, ConsistentRead=True)["Items"]
        return sorted(found, key=lambda item: item["PK"]["S"] + item["SK"]["S"])

    def assert_twins(self, *items: Item) -> None:
        wanted = sorted((self.twin(item) for item in items), key=lambda item: item["PK"]["S"] + item["SK"]["S"])
        found = self.items(self.new)
        for _ in range(20):
            if len(found) == len(wanted) and all(map(same_item, found, wanted)):
                break
            # The engine's streams may be a moment behind its tables: then Lambda would be called once more.
            time.sleep(0.05)
            self.mirror()
            found = self.items(self.new)
        assert len(found) == len(wanted), found
        assert [one for one, other in zip(found, wanted, strict=True) if not same_item(one, other)] == []

    # --- Lambda

    def event(self, table: str) -> dict[str, Any]:
        """The records since the last one, as Lambda would give them."""
        streams = self.sandbox.client("dynamodbstreams", unseen=True)
        arn = self.client.describe_table(TableName=table)["Table"]["LatestStreamArn"]
        if table not in self.read:
            shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
            self.read[table] = streams.get_shard_iterator(
                StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
            )["ShardIterator"]
        page = streams.get_records(ShardIterator=self.read[table])
        self.read[table] = page["NextShardIterator"]
        return {"Records": [shown(record, arn) for record in page["Records"]]}

    def handler(self, **options: Any) -> Callable[..., dict[str, Any]]:
        return stream_handler(
            client=self.client,
            table=self.layout.table,
            revision="001",
            clock=StillClock(),
            entropy=Numbers(str(next(_made))),
            **options,
        )

    def mirror(self, **options: Any) -> None:
        """All records of both tables, once."""
        for table in (self.old, self.new):
            assert self.handler(**options)(self.event(table), None) == {"batchItemFailures": []}

    def met(self, nonce: str, table: str) -> int | None:
        key = self.layout.key(met_at("001", "0", nonce, table))
        found = self.client.get_item(TableName=self.layout.table, Key=key).get("Item")
        return None if found is None else int(str(self.layout.record(found).body["generation"]))


def shown(record: Mapping[str, Any], arn: str) -> dict[str, Any]:
    """A record of GetRecords as Lambda writes it in JSON: bytes in base64, the moment in seconds."""
    content = dict(record["dynamodb"])
    for name in ("Keys", "OldImage", "NewImage"):
        if name in content:
            content[name] = _json(content[name])
    content["ApproximateCreationDateTime"] = float(content["ApproximateCreationDateTime"].timestamp())
    identity = record.get("userIdentity")
    more = {"userIdentity": {name[0].lower() + name[1:]: one for name, one in identity.items()}} if identity else {}
    return {
        "eventID": record["eventID"],
        "eventName": record["eventName"],
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-west-1",
        "dynamodb": content,
        "eventSourceARN": arn,
        **more,
    }


def _json(value: Any) -> Any:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {name: _json(one) for name, one in value.items()}
        case list() | set():
            return [_json(one) for one in value]
    return value


@pytest.fixture(scope="module")
def client(sandbox: Sandbox) -> Iterator[Any]:
    """A function's client: it tries once, and leaves the rest to the handler, whose clock stands still here."""
    config = Config(connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 1})
    found = boto3.client(
        "dynamodb",
        endpoint_url=sandbox.endpoint_url,
        region_name="eu-west-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=config,
    )
    yield found
    found.close()


@pytest.fixture
def cloud(sandbox: Sandbox, client: Any) -> Cloud:
    return Cloud(sandbox, client).make()


def test_twins_follow_awkward_items_that_are_made_changed_moved_and_deleted(cloud: Cloud) -> None:
    first, second, third = cloud.put(1, **AWKWARD), cloud.put(2), cloud.put(3)
    cloud.mirror()
    cloud.assert_twins(first, second, third)
    first = cloud.put(1, state="moved", **AWKWARD)
    second = cloud.put(2, more={"S": "later"})
    cloud.client.delete_item(TableName=cloud.old, Key={name: third[name] for name in ("PK", "SK")})
    cloud.mirror()
    cloud.assert_twins(first, second)
    cloud.mirror()
    cloud.assert_twins(first, second)


def test_what_time_to_live_deletes_is_deleted_on_the_other_side_too(cloud: Cloud) -> None:
    specification = {"Enabled": True, "AttributeName": "expires"}
    cloud.client.update_time_to_live(TableName=cloud.old, TimeToLiveSpecification=specification)
    cloud.put(1, expires={"N": "1700000000"})
    left = cloud.put(2)
    cloud.mirror()
    cloud.sandbox.faults.add("ttl-delete", table=cloud.old)
    event = cloud.event(cloud.old)
    for _ in range(40):
        if event["Records"]:
            break
        time.sleep(0.05)
        event = cloud.event(cloud.old)
    (record,) = event["Records"]
    assert record["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    cloud.handler()(event, None)
    cloud.assert_twins(left)


def test_a_batch_that_comes_twice_or_backwards_does_no_harm(cloud: Cloud) -> None:
    cloud.put(1)
    cloud.put(1, state="b")
    last = cloud.put(1, state="c")
    event = cloud.event(cloud.old)
    handler = cloud.handler()
    handler({"Records": event["Records"][::-1]}, None)
    cloud.assert_twins(last)
    later = cloud.put(1, state="d")
    handler(event, None)
    handler(cloud.event(cloud.old), None)
    handler(event, None)
    cloud.assert_twins(later)


def test_after_cutover_the_old_side_follows(cloud: Cloud) -> None:
    item = cloud.put(1)
    cloud.mirror()
    cloud.enter("cutover", 3)
    twin = cloud.twin(item)
    cloud.client.put_item(TableName=cloud.new, Item={**twin, "by": {"S": "the new side"}})
    cloud.mirror()
    assert cloud.items(cloud.old) == [{**item, "by": {"S": "the new side"}}]


@pytest.mark.parametrize("wanted", ["expand", "done"])
def test_nothing_is_mirrored_outside_the_phases_that_have_twins(cloud: Cloud, wanted: Phase) -> None:
    cloud.enter(wanted)
    cloud.put(1)
    cloud.mirror()
    assert cloud.items(cloud.new) == []


def test_a_rewrite_that_was_taken_back_is_no_error(cloud: Cloud) -> None:
    cloud.put(1)
    cloud.client.delete_item(TableName=cloud.layout.table, Key=cloud.layout.key(phase("001", "0")))
    cloud.mirror()
    assert cloud.items(cloud.new) == []


def test_a_phase_that_changes_within_a_batch_is_followed_from_there_on(cloud: Cloud) -> None:
    item = cloud.put(1)
    event = cloud.event(cloud.old)
    changed: list[Request] = []

    def before(request: Request) -> None:
        if request.operation == "TransactWriteItems" and not changed:
            changed.append(request)
            cloud.enter("cutover", 3)

    with cloud.sandbox.intercept(before=before):
        cloud.handler()(event, None)
    assert changed
    # By the rules of cutover, nothing stands on the new side: nor does it on the old one.
    assert cloud.items(cloud.new) == []
    assert item in cloud.items(cloud.old) or cloud.items(cloud.old) == []


def test_a_probe_is_acknowledged_with_the_generation_of_its_phase(cloud: Cloud) -> None:
    probe = {"PK": {"S": f"{cloud.layout.prefix}{PROBE}n1"}, "SK": {"S": "probe"}}
    cloud.client.put_item(TableName=cloud.old, Item=probe)
    item = cloud.put(1)
    cloud.mirror()
    assert cloud.met("n1", cloud.old) == 2
    assert cloud.met("n1", cloud.new) is None
    cloud.assert_twins(item)
    assert mirror_partition("001", "0") in met_at("001", "0", "n1", cloud.old).partition


def refused(operation: str, times: int) -> Callable[[Request], Response | None]:
    left = [times]

    def before(request: Request) -> Response | None:
        if request.operation != operation or left[0] == 0 or "p3" not in str(request.body):
            return None
        left[0] -= 1
        return Response.error("ThrottlingException", "slow down")

    return before


def test_of_a_batch_that_could_not_be_mirrored_whole_the_rest_is_asked_for_again(cloud: Cloud) -> None:
    items = [cloud.put(number) for number in range(1, 6)]
    probe = {"PK": {"S": f"{cloud.layout.prefix}{PROBE}n2"}, "SK": {"S": "probe"}}
    cloud.client.put_item(TableName=cloud.old, Item=probe)
    event = cloud.event(cloud.old)
    sequence = event["Records"][2]["dynamodb"]["SequenceNumber"]
    handler = cloud.handler(partial_failures=True)
    with cloud.sandbox.intercept(before=refused("TransactGetItems", -1)):
        assert handler(event, None) == {"batchItemFailures": [{"itemIdentifier": sequence}]}
    cloud.assert_twins(*items[:2])
    assert cloud.met("n2", cloud.old) is None, "a probe after what failed is not met"
    assert handler({"Records": event["Records"][2:]}, None) == {"batchItemFailures": []}
    cloud.assert_twins(*items)
    assert cloud.met("n2", cloud.old) == 2


def test_without_partial_failures_the_batch_is_raised_for(cloud: Cloud) -> None:
    cloud.put(3)
    event = cloud.event(cloud.old)
    with cloud.sandbox.intercept(before=refused("TransactGetItems", -1)), pytest.raises(Throttled):
        cloud.handler()(event, None)
    cloud.handler()(event, None)
    assert len(cloud.items(cloud.new)) == 1


def test_an_answer_that_is_lost_is_found_to_have_been_applied(cloud: Cloud) -> None:
    item = cloud.put(1)
    lost: list[Request] = []

    def after(request: Request, _: Response) -> Drop | None:
        if request.operation != "TransactWriteItems" or lost:
            return None
        lost.append(request)
        return Drop()

    with cloud.sandbox.intercept(after=after):
        cloud.mirror()
    assert lost
    cloud.assert_twins(item)


def test_an_invocation_that_is_about_to_end_begins_nothing_more(cloud: Cloud) -> None:
    @dataclass
    class Context:
        left: int

        def get_remaining_time_in_millis(self) -> int:
            self.left -= 1500
            return self.left

    items = [cloud.put(number) for number in range(1, 6)]
    event = cloud.event(cloud.old)
    (failure,) = cloud.handler(partial_failures=True)(event, Context(6000))["batchItemFailures"]
    numbers = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
    cloud.assert_twins(*items[: numbers.index(failure["itemIdentifier"])])
    assert numbers.index(failure["itemIdentifier"]) == 2


def test_a_stream_without_old_images_is_refused_for_keys_that_may_change(sandbox: Sandbox, client: Any) -> None:
    cloud = Cloud(sandbox, client).make("KEYS_ONLY")
    cloud.put(1)
    with pytest.raises(MigratorError) as caught:
        cloud.mirror()
    assert caught.value.code == "mirror-stream"


def test_attributes_that_are_named_as_types_are_taken_for_names() -> None:
    image = {
        "PK": {"S": "a"},
        "B": {"S": "bm8gYmluYXJ5"},
        "M": {"M": {"B": {"B": "AP8="}, "BS": {"L": [{"BS": ["AQ==", "Ag=="]}]}}},
    }
    record = {
        "eventSource": "aws:dynamodb",
        "eventName": "INSERT",
        "dynamodb": {
            "Keys": {"PK": {"S": "a"}},
            "NewImage": image,
            "SequenceNumber": "111",
            "StreamViewType": "NEW_AND_OLD_IMAGES",
            "ApproximateCreationDateTime": 1767225600,
        },
        "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/my.table-1/stream/2026-01-01T00:00:00.000",
    }
    event = StreamEvent.of(record)
    assert event.table == "my.table-1"
    assert (event.change.old, event.change.at, event.change.sequence) == (None, 1767225600.0, "111")
    assert event.change.new == {
        "PK": {"S": "a"},
        "B": {"S": "bm8gYmluYXJ5"},
        "M": {"M": {"B": {"B": b"\x00\xff"}, "BS": {"L": [{"BS": [b"\x01", b"\x02"]}]}}},
    }


@pytest.mark.parametrize(
    "record", [{"eventSource": "aws:kinesis"}, {"eventSource": "aws:dynamodb"}, {}], ids=["kinesis", "empty", "none"]
)
def test_what_is_no_record_of_a_stream_is_refused(cloud: Cloud, record: dict[str, Any]) -> None:
    with pytest.raises(MigratorError) as caught:
        cloud.handler()({"Records": [record]}, None)
    assert caught.value.code == "bad-event"
