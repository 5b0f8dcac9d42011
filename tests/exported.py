"""Exports as the service writes them to S3: manifests, checksums and gzipped files of DynamoDB JSON, in a folder."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from migrator.core.item import Item


def write_export(
    folder: Path,
    items: Sequence[Item],
    *,
    table_arn: str,
    table_id: str,
    time: datetime,
    files: int = 3,
    export_id: str = "01700000000000-1234abcd",
    **summary: Any,
) -> Path:
    """Write a full export of these items below `folder`, as `aws s3 sync` leaves it. Returns its own folder."""
    place = folder / "AWSDynamoDB" / export_id
    data = place / "data"
    data.mkdir(parents=True)
    listed = []
    for number in range(files):
        part = items[number::files]
        lines = "".join(json.dumps({"Item": {n: _json(v) for n, v in item.items()}}) + "\n" for item in part)
        # The service leaves a file that is empty for a partition that is.
        content = gzip.compress(lines.encode(), mtime=0) if part else b""
        (data / f"file{number}.json.gz").write_bytes(content)
        listed.append(
            {
                "itemCount": len(part),
                "md5Checksum": _md5(content),
                "etag": f"{hashlib.md5(content).hexdigest()}-1",
                "dataFileS3Key": f"some/prefix/AWSDynamoDB/{export_id}/data/file{number}.json.gz",
            }
        )
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    described = {
        "version": "2020-06-30",
        "exportArn": f"{table_arn}/export/{export_id}",
        "startTime": at,
        "endTime": at,
        "tableArn": table_arn,
        "tableId": table_id,
        "exportTime": at,
        "s3Bucket": "exports",
        "s3Prefix": "some/prefix",
        "s3SseAlgorithm": "AES256",
        "s3SseKmsKeyId": None,
        "manifestFilesS3Key": f"some/prefix/AWSDynamoDB/{export_id}/manifest-files.json",
        "billedSizeBytes": 0,
        "itemCount": len(items),
        "outputFormat": "DYNAMODB_JSON",
        "exportType": "FULL_EXPORT",
        **summary,
    }
    (place / "manifest-files.json").write_text("".join(json.dumps(one) + "\n" for one in listed))
    (place / "manifest-summary.json").write_text(json.dumps(described))
    (place / "_started").write_bytes(b"")
    return place


def _md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content).digest()).decode()


def _json(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """An attribute value as JSON has it: binaries as base64."""
    ((kind, content),) = value.items()
    match kind:
        case "B":
            return {"B": base64.b64encode(content).decode()}
        case "BS":
            return {"BS": [base64.b64encode(one).decode() for one in content]}
        case "L":
            return {"L": [_json(one) for one in content]}
        case "M":
            return {"M": {name: _json(one) for name, one in content.items()}}
        case _:
            return value
