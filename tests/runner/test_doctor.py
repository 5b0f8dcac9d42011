"""doctor: each question has its answer, and what nobody answers is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from migrator.config import Units
from migrator.core.ports import Replica
from migrator.core.schema import Throughput
from migrator.core.settings import BillingMode
from migrator.core.surroundings import Limits, Scaled, Verdict
from migrator.errors import MigratorError, ServiceError
from migrator.operations import AddIndex, Backfill, RemoveAttributes, RenameAttribute
from migrator.runner.permitted import principal_of
from migrator.runner.results import DoctorResult
from tests.simulation.world import TABLE, Effects, Site, chain, migration, person

ROLE = "arn:aws:iam::222222222222:role/migrator"
FILL = migration("001", Backfill(set={"label": "L#{name}"}))
INDEX = migration("001", AddIndex("by-team", partition_key="team"))


@dataclass
class Account:
    """Surroundings in memory; a member that is an error is raised."""

    quota: Any = 20
    targets: Any = ()
    consumers: Any = ()
    denied: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    simulator: MigratorError | None = None
    asked: list[tuple[str, Sequence[str], Sequence[str], Mapping[str, Sequence[str]]]] = field(default_factory=list)

    def limits(self) -> Limits:
        return Limits(80_000, 80_000, 40_000, 40_000)

    def most_indexes(self) -> int:
        return int(_told(self.quota))

    def scaled(self, table: str) -> Sequence[Scaled]:
        return tuple(_told(self.targets))

    def stream_consumers(self, table: str) -> Sequence[str]:
        return tuple(_told(self.consumers))

    def simulate(
        self, principal: str, actions: Sequence[str], resources: Sequence[str], context: Mapping[str, Sequence[str]]
    ) -> Sequence[Verdict]:
        self.asked.append((principal, actions, resources, context))
        if self.simulator is not None:
            raise self.simulator
        return [
            Verdict(one, resource, None if one in self.open else one not in self.denied)
            for one in actions
            for resource in resources
        ]


def _told(value: Any) -> Any:
    if isinstance(value, MigratorError):
        raise value
    return value


DENIED = ServiceError("access-denied", "not for you")


def examined(site: Site, account: Account | None = None, *, arn: str = ROLE, **settings: Any) -> DoctorResult:
    effects = Effects(site)
    runner = site.runner(effects)
    session = runner.session
    session.ports = replace(session.ports, surroundings=account or Account())
    session.caller = replace(session.caller, arn=arn)
    session.settings = replace(session.settings, **settings)
    before = site.standing()
    result = runner.doctor()
    assert (effects.changed, effects.accepted) == ({}, {})
    assert site.standing() == before
    return result


def answers(result: DoctorResult, check: str) -> list[tuple[str, str]]:
    return [(one.verdict, one.says) for one in result.checks if one.check == check]


def table(*migrations: Any) -> Site:
    return Site(chain(*migrations)).with_table(*(person(number) for number in range(3)))


def test_where_all_is_there_it_is_ready_and_says_what_comes_next() -> None:
    result = examined(table(INDEX), expected_account="222222222222")
    assert [one.check for one in result.checks if one.verdict != "ok"] == []
    assert (result.state, result.exit_code, result.next, result.pending) == ("ready", 0, "migrator plan", ("001",))
    assert {"credentials", "account", "region", "table", "control", "plan", "recovery", "stream", "indexes"} < {
        one.check for one in result.checks
    }


def test_what_is_pending_is_simulated_and_a_denial_is_a_problem_by_name() -> None:
    account = Account(denied=frozenset({"dynamodb:UpdateTable"}))
    result = examined(table(INDEX), account)
    assert result.exit_code == 3
    assert answers(result, "permissions") == [("problem", f"{ROLE} is denied dynamodb:UpdateTable")]
    principals, actions, *_ = zip(*account.asked, strict=True)
    assert set(principals) == {ROLE}
    assert "dynamodb:UpdateTable" in {one for group in actions for one in group}
    keys = [context for *_, context in account.asked if context]
    assert keys == [{"dynamodb:LeadingKeys": ["__migrator__lock"]}]


def test_a_simulator_that_is_closed_to_the_role_leaves_permissions_unknown() -> None:
    result = examined(table(INDEX), Account(simulator=DENIED))
    ((verdict, says),) = answers(result, "permissions")
    assert verdict == "unknown"
    assert "does not answer" in says
    assert (result.state, result.exit_code) == ("unknown", 0)


def test_a_denial_that_hangs_on_an_untold_condition_is_no_denial() -> None:
    result = examined(table(INDEX), Account(open=frozenset({"dynamodb:Scan"})))
    ((verdict, says),) = answers(result, "permissions")
    assert verdict == "unknown"
    assert "dynamodb:Scan" in says


def test_the_root_of_an_account_cannot_be_simulated() -> None:
    account = Account()
    result = examined(table(INDEX), account, arn="arn:aws:iam::222222222222:root")
    assert answers(result, "permissions")[0][0] == "unknown"
    assert account.asked == []


@pytest.mark.parametrize(
    ("arn", "principal"),
    [
        ("arn:aws:sts::222222222222:assumed-role/deploy/run-7", "arn:aws:iam::222222222222:role/deploy"),
        ("arn:aws-cn:sts::222222222222:assumed-role/deploy/x", "arn:aws-cn:iam::222222222222:role/deploy"),
        ("arn:aws:iam::222222222222:user/team/ada", "arn:aws:iam::222222222222:user/team/ada"),
        ("arn:aws:iam::222222222222:root", None),
        ("arn:aws:sts::222222222222:federated-user/ada", None),
        ("", None),
    ],
)
def test_of_a_session_the_policies_of_its_role_decide(arn: str, principal: str | None) -> None:
    assert principal_of(arn) == principal


def test_recovery_that_is_off_is_a_warning_only_where_items_are_written() -> None:
    assert answers(examined(table(INDEX)), "recovery") == [("ok", "point-in-time recovery is off")]
    ((verdict, _),) = answers(examined(table(FILL)), "recovery")
    assert verdict == "warning"
    ((verdict, says),) = answers(examined(table(migration("001", RemoveAttributes("nick")))), "recovery")
    assert verdict == "warning"
    assert "takes something away" in says


def test_consumers_of_a_stream_are_named_where_items_are_written() -> None:
    account = Account(consumers=["function indexer (Enabled)"])
    ((verdict, says),) = answers(examined(table(FILL), account), "stream")
    assert verdict == "warning"
    assert "function indexer (Enabled); each written item will reach them" in says
    assert answers(examined(table(INDEX), account), "stream")[0][0] == "ok"
    assert answers(examined(table(FILL), Account(consumers=DENIED)), "stream")[0][0] == "unknown"


def test_an_index_beyond_the_quota_is_a_problem_and_a_quota_that_nobody_tells_is_the_usual_one() -> None:
    ((verdict, says),) = answers(examined(table(INDEX), Account(quota=0)), "indexes")
    assert (verdict, says) == ("problem", "0 indexes, 1 more pending, of 0")
    ((verdict, says),) = answers(examined(table(INDEX), Account(quota=DENIED)), "indexes")
    assert verdict == "ok"
    assert "20 unless raised" in says


def provisioned(*migrations: Any) -> Site:
    site = table(*migrations)
    state = site.world.tables.as_another()
    state.change_setting(TABLE, BillingMode("PROVISIONED", Throughput(10, 20), ()))
    site.world.clock.advance(600)
    return site


def test_a_new_index_beside_autoscaled_units_is_a_warning() -> None:
    target = Scaled(f"table/{TABLE}", "dynamodb:table:WriteCapacityUnits", 5, 50)
    more = migration("001", AddIndex("by-team", partition_key="team", provisioned=(5, 5)))
    ((verdict, says),) = answers(examined(provisioned(more), Account(targets=[target])), "autoscaling")
    assert (verdict, says) == ("warning", "write units of the table 5 to 50; by-team will have fixed units")
    ((verdict, _),) = answers(examined(provisioned(more), Account(targets=DENIED)), "autoscaling")
    assert verdict == "unknown"
    assert answers(examined(table(INDEX)), "autoscaling") == []


def test_provisioned_units_without_a_budget_are_a_warning_where_items_are_written() -> None:
    site = provisioned(FILL)
    ((verdict, says),) = answers(examined(site), "capacity")
    assert verdict == "warning"
    assert says.startswith("20 write units are provisioned")
    limits = replace(site.runner().session.settings.limits, write_units=Units(5))
    assert answers(examined(site, limits=limits), "capacity")[0][0] == "ok"
    assert answers(examined(provisioned(INDEX)), "capacity") == []


def test_replicas_are_named_and_one_that_is_not_active_is_a_problem() -> None:
    site = table(INDEX)
    site.world.tables.alter(TABLE, replicas=(Replica("us-east-1", "CREATING"),))
    ((verdict, says),) = answers(examined(site), "replicas")
    assert (verdict, says) == ("problem", "global table, eventually consistent: us-east-1 CREATING")


def test_what_would_refuse_the_upgrade_is_told_before_it() -> None:
    site = table(FILL)
    site.runner().upgrade(from_base=True)
    site.migrations = chain(migration("001", Backfill(set={"label": "other"}), content="2"))
    result = examined(site)
    assert result.exit_code == 3
    assert any("checksum-mismatch" in says for _, says in answers(result, "plan"))


def test_a_role_that_may_not_look_at_a_table_is_told_so_and_nothing_else_is_guessed() -> None:
    site = table(INDEX)
    runner = site.runner()

    class Closed:
        def __getattr__(self, name: str) -> Any:
            def refuse(*_: Any, **__: Any) -> Any:
                raise DENIED

            return refuse

    runner.session.ports = replace(runner.session.ports, tables=Closed(), surroundings=Account())  # type: ignore[arg-type]
    result = runner.doctor()
    assert result.exit_code == 3
    assert [one.check for one in result.checks if one.verdict == "problem"] == ["tables", "control"]
    assert answers(result, "permissions") == []


def test_a_gated_step_counts_what_comes_after_its_gate() -> None:
    gated = migration("001", RenameAttribute("nick", "alias"))
    assert answers(examined(table(gated)), "recovery")[0][0] == "warning"
