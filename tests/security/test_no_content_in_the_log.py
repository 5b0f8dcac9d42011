"""What a run prints holds keys and names, never what else an item holds, and never a credential."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from migrator import wiring
from migrator.core.schema import N
from migrator.operations import AddIndex, Backfill, DeleteItems, PutItems, RemoveAttributes, RenameAttribute, RunPython
from migrator.sandbox import Sandbox
from migrator.testing.hooks import Call
from tests.fuzz.edge import Answer, SiteHouse, typed
from tests.simulation.world import Site, chain, migration, person

SECRET = "s3cr3t"
NUMBER = 907_070_709
"""What no output may hold."""


def secretive(number: int, **more: Any) -> dict[str, Any]:
    inner = {"card": SECRET, "list": [SECRET, {"deep": SECRET}]}
    return person(number, nick=SECRET, phone=NUMBER, card=inner, tags={SECRET}, raw=SECRET.encode(), **more)


def parse(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"age": int(item["nick"])}


def look_up(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"age": {"a": 1}[item["nick"]]}


def tell(item: Mapping[str, Any]) -> Mapping[str, Any]:
    raise ValueError(f"not good: {item['nick']}")


def wrong_type(item: Mapping[str, Any]) -> Any:
    return item["nick"]


def wrong_value(item: Mapping[str, Any]) -> Any:
    return {"age": float(item["phone"])}


def wrong_name(item: Mapping[str, Any]) -> Any:
    return {("a", item["nick"]): 1}


def growing(item: Mapping[str, Any]) -> Any:
    return {"nick": item["nick"] + item["nick"]}


def whole(item: Mapping[str, Any]) -> Any:
    return {"copy": dict(item)}


def program(table: Any) -> None:
    for item in table.scan():
        raise ValueError(f"cannot go on with {item['nick']}")


def meddling(table: Any) -> None:
    for item in table.scan():
        table.update({"PK": item["PK"], "SK": item["SK"]}, expected={"nick": "other"}, set={"a": 1})


CASES: dict[str, tuple[Any, ...]] = {
    "a template of another type": (Backfill(set={"label": "L#{card}"}),),
    "a template that lacks its attribute": (Backfill(set={"label": "{missing}{nick}"}),),
    "a value that is no index key": (AddIndex("by-card", partition_key=N("key")), Backfill(set={"key": "{nick}"})),
    "an index over values of another type": (AddIndex("by-card", partition_key=N("nick")),),
    "an exception of Python's own": (Backfill(transform=parse),),
    "an exception that names a key of a dict": (Backfill(transform=look_up),),
    "an exception of the function's own words": (Backfill(transform=tell),),
    "a result of another type": (Backfill(transform=wrong_type),),
    "a result without an exact form": (Backfill(transform=wrong_value),),
    "a result with another name": (Backfill(transform=wrong_name),),
    "a result that grows": (Backfill(transform=growing),),
    "a whole item": (Backfill(transform=whole),),
    "a version that is none": (Backfill(set={"a": "{name}"}, version="nick"),),
    "a rename onto another": (RenameAttribute("nick", "name"),),
    "a change of the key": (Backfill(set={"SK": "{nick}"}),),
    "a seed that is there and differs": (PutItems([{"PK": "P#1", "SK": "person", "nick": "x"}]),),
    "a program that fails": (RunPython(program),),
    "a program whose guard fails": (RunPython(meddling),),
    "a removal with a journal": (RemoveAttributes(["card", "nick"]),),
    "a deletion": (DeleteItems({"team": "t1"}),),
    "all well": (Backfill(set={"label": "L#{nick}"}, undo="journal"),),
}
COMMANDS = (
    "upgrade --from-base --yes",
    "failed list",
    "failed retry",
    "status",
    "check",
    "current",
    "history",
    "lock show",
    "failed skip 001 --because old",
    "rollback",
    "downgrade base",
)


def clean(answer: Answer, *but: str) -> None:
    for stream in (answer.out, answer.log):
        for secret in (SECRET, str(NUMBER), "czNjcjN0", SECRET.encode().hex()):
            if secret not in but:
                assert secret not in stream, f"{answer.words}\n{answer.out}\n{answer.log}"


def writer(site: Site) -> Callable[[Call], None]:
    """An application that changes every item under the run's hands."""
    seen = 0

    def hook(call: Call) -> None:
        nonlocal seen
        if call.moment == "before" and call.operation in ("items.write", "items.transact") and seen < 40:
            seen += 1
            number = seen % 3
            site.put(secretive(number, nonce=seen))

    return hook


@pytest.mark.parametrize("is_live", [False, True], ids=["alone", "beside a writer"])
@pytest.mark.parametrize("case", CASES)
def test_no_command_prints_what_items_hold(case: str, is_live: bool) -> None:
    site = Site(chain(migration("001", *CASES[case]))).with_table(*(secretive(number) for number in range(3)))
    house = SiteHouse(site)
    if is_live:
        site.world.on_call.append(writer(site))
    for command in COMMANDS:
        for form in ((), ("-o", "text")):
            answer = typed(house, *command.split(), "--verbose", *form)
            assert "error[internal]" not in answer.log, answer
            clean(answer)


def test_plan_shows_items_because_it_is_asked_to_and_none_when_told_so() -> None:
    site = Site(chain(migration("001", Backfill(set={"label": "L#{nick}"})))).with_table(secretive(1))
    assert SECRET in typed(SiteHouse(site), "plan", "--from-base").out
    clean(typed(SiteHouse(site), "plan", "--from-base", "--samples", "0", "--verbose"))


CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "123456789012",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIsecretKEY",
    "AWS_SESSION_TOKEN": "FwoGZXIvYXdzEsessionTOKEN",
}


def test_credentials_get_into_no_output_no_plan_and_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "1.py").write_text(
        "from migrator import Backfill, CreateTable\nrevision, down_revision = '1', None\n"
        "operations = [CreateTable(partition_key='PK', sort_key='SK'), Backfill(set={'a': '{b}'})]\n"
    )
    with Sandbox() as sandbox:
        config = tmp_path / "migrator.toml"
        config.write_text(
            f'default_env = "a"\ndefault_table = "app"\n[tables.app]\nname = "local-app"\n'
            f'[env.a]\nregion = "eu-west-1"\nendpoint_url = "{sandbox.endpoint_url}"\n'
        )
        client = sandbox.client(account=CREDENTIALS["AWS_ACCESS_KEY_ID"], unseen=True)
        printed = []
        for command in (
            "plan --out " + str(tmp_path / "plan.json"),
            "upgrade",
            "status",
            "check",
            "failed list",
            "lock show",
        ):
            answer = typed(None, *command.split(), "--verbose", "-c", str(config))
            printed += [answer.out, answer.log]
        with sandbox.intercept(before=lambda _: _refused(), operation="DescribeTable"):
            answer = typed(None, "upgrade", "--verbose", "-c", str(config))
            assert answer.code != 0
            printed += [answer.out, answer.log]
        printed.append((tmp_path / "plan.json").read_text())
        printed.append(repr(client.scan(TableName="local-app")["Items"]))
    for text in printed:
        for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            assert CREDENTIALS[name] not in text


def _refused() -> Any:
    from migrator.sandbox import Response

    return Response.error("UnrecognizedClientException", "The security token included in the request is invalid.")


def test_a_connection_shows_no_credential() -> None:
    assert not {"secret", "token"} & {name.lower() for name in wiring.Connection.__dataclass_fields__}
