"""How many items of the application each index of an example's table holds: `python ../entries.py [FILE]`.

Run it in the folder of an example; FILE is its configuration, migrator.toml by default. What migrator keeps in the
table for itself (history, lock, checkpoints) is not counted: an index made of the table's own keys contains it too.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import boto3

RESERVED = "__migrator__"


def main(file: str = "migrator.toml") -> None:
    config = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    env = config["env"][config["default_env"]]
    table = config["tables"][config["default_table"]]["name"].format(**env["vars"])
    client: Any = boto3.client(
        "dynamodb",
        endpoint_url=env["endpoint_url"],
        region_name=env["region"],
        aws_access_key_id="sandbox",
        aws_secret_access_key="sandbox",
    )
    described = client.describe_table(TableName=table)["Table"]
    partition_key = described["KeySchema"][0]["AttributeName"]
    indexes = sorted(index["IndexName"] for index in described.get("GlobalSecondaryIndexes", []))
    for index in (None, *indexes):
        pages = client.get_paginator("scan").paginate(TableName=table, **({"IndexName": index} if index else {}))
        keys = [item[partition_key]["S"] for page in pages for item in page["Items"]]
        items = sum(not key.startswith(RESERVED) for key in keys)
        more = ", and records of migrator" if index and items < len(keys) else ""
        print(f"{index or table}: {items} items{more}")
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
