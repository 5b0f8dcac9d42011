"""From a template to the table that it declares: written, applied on the sandbox, and then the same on both sides."""

from __future__ import annotations

import json

from tests.e2e.project import Project, tasks

TEMPLATE = """\
Parameters:
  Stage: {Type: String}
Resources:
  Tasks:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub "${Stage}-app"
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: PK, AttributeType: S}
        - {AttributeName: SK, AttributeType: S}
        - {AttributeName: owner, AttributeType: S}
        - {AttributeName: entity, AttributeType: S}
      KeySchema:
        - {AttributeName: PK, KeyType: HASH}
        - {AttributeName: SK, KeyType: RANGE}
      GlobalSecondaryIndexes:
        - IndexName: ByOwner
          KeySchema: [{AttributeName: owner, KeyType: HASH}, {AttributeName: SK, KeyType: RANGE}]
          Projection: {ProjectionType: ALL}
        - IndexName: ByEntity
          KeySchema: [{AttributeName: entity, KeyType: HASH}]
          Projection: {ProjectionType: INCLUDE, NonKeyAttributes: [owner]}
      TimeToLiveSpecification: {AttributeName: expiresAt, Enabled: true}
      PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}
"""


def test_a_template_becomes_a_chain_that_leads_to_it_and_export_says_the_same_of_the_table(project: Project) -> None:
    project.put(tasks(10))
    (project.folder / "template.yaml").write_text(TEMPLATE)
    words = ("revision", "--autogenerate", "--from", "template.yaml", "-x", "Stage=local", "--live", "-o", "json")
    with project.changing_nothing():
        drafted = project.ok(*words).document
    assert [path.partition("_")[2] for path in drafted["created"]] == [
        "settings_of_app.py",
        "add_index_byentity_to_app.py",
        "add_index_byowner_to_app.py",
    ]
    project.ok("lint")
    project.ok("upgrade", "--from-base")
    assert len(project.items(index="ByOwner")) == 10
    with project.changing_nothing():
        assert project.ok(*words).document["state"] == "unchanged"
        assert project.ok("diff", "-o", "json").document["state"] == "same"
        exported = project.ok("export", "--live", "--format", "cloudformation", "-o", "json").document["document"]
    (project.folder / "exported.json").write_text(exported)
    properties = json.loads(exported)["Resources"]["App"]["Properties"]
    assert {index["IndexName"] for index in properties["GlobalSecondaryIndexes"]} == {"ByEntity", "ByOwner"}
    with project.changing_nothing():
        again = project.ok("revision", "--autogenerate", "--from", "exported.json", "--live", "-o", "json")
    assert again.document["state"] == "unchanged"


def test_another_table_of_the_account_is_a_source(project: Project) -> None:
    project.make_table(
        "other",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "owner")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "ByOwner",
                "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )
    words = ("revision", "--autogenerate", "--from", "table:other", "--table", "app", "--live", "-o", "json")
    (created,) = project.ok(*words).document["created"]
    assert (
        'AddIndex("ByOwner", partition_key="owner", projection="KEYS_ONLY")' in (project.folder / created).read_text()
    )
    project.refused(
        "table-missing", "revision", "--autogenerate", "--from", "table:nobody", "--table", "app", exit_code=1
    )
