"""What the ready-made test finds in the table: the items of version 9, from the first revision on."""

import pytest


@pytest.fixture
def migrator_seeds():
    return {"20200601090000": "model-v9.json"}
