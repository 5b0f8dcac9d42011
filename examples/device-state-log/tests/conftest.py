"""What the ready-made test finds in the table: the items of the model, from the first revision on."""

import pytest


@pytest.fixture
def migrator_seeds():
    return {"20200401090000": "model-v7.json"}
