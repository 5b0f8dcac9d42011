"""What the application finds by the two indexes."""

ESCALATED = {"DeviceID": "d#9", "State#Date": "WARNING3#2020-05-01T08:00:00", "Operator": "Sue", "EscalatedTo": "Sara"}


def test_each_index_answers_its_question(migrate):
    log = migrate(seed="model-v7.json")
    assert len(log.items("GSI1")) == len(log.items()) == 11
    assert [item["EscalatedTo"] for item in log.items("GSI2")] == ["Sara"]


def test_an_item_that_is_escalated_later_enters_the_sparse_index(migrated_table):
    plain = {name: value for name, value in ESCALATED.items() if name != "EscalatedTo"}
    migrated_table.put({**plain, "Date": "2020-05-01"})
    assert migrated_table.items("GSI2") == []
    migrated_table.put({**ESCALATED, "Date": "2020-05-01"})
    assert migrated_table.items("GSI2") == migrated_table.items()


def test_the_way_back_takes_the_index_and_leaves_the_items(migrate):
    log = migrate(seed="model-v7.json")
    before = log.items()
    assert log.downgrade("-1").state == "downgraded"
    indexes = log.client.describe_table(TableName=log.name)["Table"]["GlobalSecondaryIndexes"]
    assert [index["IndexName"] for index in indexes] == ["GSI1"]
    assert log.items() == before
