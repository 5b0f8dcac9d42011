"""The whole way from version 9, on a sandbox."""

RENAME = "20200701090000"


def test_the_rename_waits_until_no_application_reads_the_old_name(migrate):
    shop = migrate("20200601090000", seed="model-v9.json")
    assert shop.upgrade(RENAME).state == "at-gate"
    shipment = shop.get({"PK": "o#12345", "SK": "sh#98765"})
    assert shipment["WarehouseId"] == shipment["GSI2-PK"] == "w#12345"
    assert shop.contract(RENAME).state == "applied"
    assert "WarehouseId" not in shop.get({"PK": "o#12345", "SK": "sh#98765"})


def test_the_indexes_hold_what_the_readme_says(migrate):
    migrate("20200601090000", seed="model-v9.json")
    shop = migrate("head")
    assert (len(shop.items("GSI1")), len(shop.items("GSI2"))) == (5, 8)
    assert shop.status().state == "up-to-date"
