"""From the text of a document to what it declares: the format is told by what stands in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from migrator.core.declared import Source
from migrator.errors import UsageError
from migrator.sources import cloudformation, pulumi, terraform, workbench
from migrator.sources.unknown import bad_source, is_mapping


def read_source(name: str, text: str, parameters: Mapping[str, str]) -> Source:
    """The tables that `text` declares; `name` is for messages.

    `parameters` are those of a template, by name; `AWS::Region` and the like may be among them. Raises UsageError
    `bad-source`, `yaml-missing`.
    """
    try:
        document = _parsed(name, text)
        source = _read(name, document, parameters)
    except RecursionError as exc:
        raise bad_source(name, "it refers to itself, or is nested too deeply") from exc
    if not source.tables and not source.unknown:
        raise bad_source(name, f"{_article(source.format)} without a DynamoDB table")
    return source


def _read(name: str, document: Any, parameters: Mapping[str, str]) -> Source:
    if is_mapping(document):
        if is_mapping(document.get("Resources")):
            return cloudformation.read(name, document, parameters)
        if "planned_values" in document or ("terraform_version" in document and "values" in document):
            return terraform.read(document)
        if is_mapping(document.get("deployment")) or is_mapping(document.get("latest")):
            return pulumi.read(document)
        if isinstance(document.get("DataModel"), list):
            return workbench.read(document)
        if "lineage" in document and "serial" in document:
            raise bad_source(
                name, "a state file of Terraform, whose form is its own affair", "give `terraform show -json` of it"
            )
        if "service" in document and "provider" in document:
            raise bad_source(
                name,
                "a serverless.yml, with variables that only the framework fills in",
                "`serverless package`, then give .serverless/cloudformation-template-update-stack.json",
            )
    raise bad_source(
        name,
        "no document that is known here",
        "a CloudFormation or SAM template, `terraform show -json` of a plan, `pulumi stack export`, a NoSQL Workbench "
        "model, or table:NAME",
    )


def _article(kind: str) -> str:
    return f"a {kind}"


def _parsed(name: str, text: str) -> Any:
    """JSON, else YAML with CloudFormation's short forms."""
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError as exc:
            # YAML may begin with a brace too.
            json_error = exc
        try:
            return _yaml(name, text)
        except UsageError:
            raise bad_source(name, f"no JSON: {json_error}") from json_error
    return _yaml(name, text)


def _yaml(name: str, text: str) -> Any:
    try:
        import yaml
    except ImportError as exc:
        raise UsageError(
            "yaml-missing",
            f"{name} is no JSON, and the reader of YAML is not installed",
            hint="pip install 'dynamodb-migrations[autogenerate]', or give the document as JSON",
        ) from exc

    class Loader(yaml.SafeLoader):  # the library has no types
        """Nothing but plain values, and CloudFormation's tags."""

    def function(loader: Any, suffix: str, node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            argument: Any = loader.construct_scalar(node)
        elif isinstance(node, yaml.SequenceNode):
            argument = loader.construct_sequence(node, deep=True)
        else:
            argument = loader.construct_mapping(node, deep=True)
        if suffix == "GetAtt" and isinstance(argument, str):
            argument = argument.split(".")
        return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": argument}

    Loader.add_multi_constructor("!", function)
    try:
        return yaml.load(text, Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as exc:
        where = " ".join(str(exc).split())
        raise bad_source(name, f"neither JSON nor YAML: {where}") from exc
    except (ValueError, TypeError, AttributeError, OverflowError) as exc:
        # A date or a number that Python has no form for, a key that is a list.
        raise bad_source(name, f"its YAML holds a value that cannot be read: {exc}") from exc
