"""What botocore raises becomes an error with a code, an action, a resource, and no secret."""

from __future__ import annotations

from typing import Any

import pytest
from botocore import exceptions as aws
from botocore.exceptions import ClientError

from migrator.core.ports import Busy
from migrator.dynamo.errors import NotFound, translate
from migrator.errors import AnswerLost, MigratorError, Throttled


def answered(code: str, message: str = "no", status: int = 400, **members: Any) -> MigratorError:
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return translate(ClientError(response | members, "UpdateTable"), "dynamodb:UpdateTable", "app")


def test_access_denied_names_the_action_and_resource_that_the_service_names() -> None:
    error = answered(
        "AccessDeniedException",
        "User: arn:aws:sts::1:assumed-role/a/b is not authorized to perform: dynamodb:ConditionCheckItem on resource:"
        " arn:aws:dynamodb:eu-west-1:1:table/app because no identity-based policy allows it",
    )
    assert error.code == "access-denied"
    assert error.message.startswith("dynamodb:ConditionCheckItem on arn:aws:dynamodb:eu-west-1:1:table/app is denied")
    assert "migrator iam" in (error.hint or "")


def test_access_denied_without_words_names_what_was_asked() -> None:
    assert answered("AccessDeniedException", "").message.startswith("dynamodb:UpdateTable on app is denied")


def test_a_refused_signature_shows_no_header_that_was_signed() -> None:
    error = answered(
        "InvalidSignatureException",
        "The request signature we calculated does not match the signature you provided.\n\nThe Canonical String for"
        " this request should have been\n'POST\n/\n\nx-amz-security-token:SECRETTOKEN'",
    )
    assert error.code == "credentials-invalid"
    assert "SECRETTOKEN" not in f"{error} {error.hint}"
    assert "SECRETTOKEN" not in str(answered("SomethingElse", "first line\nx-amz-security-token:SECRETTOKEN"))


def test_a_password_in_an_endpoint_is_not_shown() -> None:
    exc = aws.EndpointConnectionError(endpoint_url="https://me:hunter2@proxy.example.com/")
    error = translate(exc, "dynamodb:Scan", "app")
    assert "hunter2" not in str(error)
    assert "proxy.example.com" in str(error)


@pytest.mark.parametrize("code", ["ExpiredToken", "ExpiredTokenException", "RequestExpired"])
def test_expired_credentials_are_said_to_be(code: str) -> None:
    assert answered(code).code == "credentials-expired"


@pytest.mark.parametrize(
    ("code", "member"),
    [("ProvisionedThroughputExceededException", "ThrottlingReasons"), ("ThrottlingException", "throttlingReasons")],
)
def test_throttling_reasons_are_read_in_both_spellings(code: str, member: str) -> None:
    reasons = [{"reason": "IndexWriteProvisionedThroughputExceeded", "resource": "arn:i"}, {"reason": "Other"}]
    error = answered(code, **{member: reasons})
    assert isinstance(error, Throttled)
    assert error.reasons == (("IndexWriteProvisionedThroughputExceeded", "arn:i"), ("Other", ""))
    assert answered(code).exit_code == 7


@pytest.mark.parametrize(
    "message",
    [
        "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        "Table tags are being updated",
        "Subscriber limit exceeded: There is a limit of 500 concurrent control plane operations",
    ],
)
def test_a_limit_that_passes_is_a_wait(message: str) -> None:
    assert isinstance(answered("LimitExceededException", message), Busy)


@pytest.mark.parametrize(
    "message",
    [
        "Number of global secondary indexes exceeds per-table limit of 20",
        "Provisioned throughput decreases are limited within a given UTC day",
    ],
)
def test_a_limit_that_stays_is_an_error(message: str) -> None:
    error = answered("LimitExceededException", message)
    assert error.code == "limit-exceeded"
    assert not isinstance(error, Busy)


def test_a_resource_in_use_is_a_wait() -> None:
    assert isinstance(answered("ResourceInUseException", "Attempt to change a resource which is still in use"), Busy)


def test_a_missing_index_and_a_missing_table_are_told_apart() -> None:
    index = answered("ResourceNotFoundException", "Requested resource not found: Index X for table T")
    table = answered("ResourceNotFoundException", "Requested resource not found: Table: T not found")
    assert isinstance(index, NotFound)
    assert (index.code, table.code) == ("index-not-found", "table-not-found")


@pytest.mark.parametrize(
    "exc",
    [
        aws.ReadTimeoutError(endpoint_url="http://x"),
        aws.ConnectionClosedError(endpoint_url="http://x"),
        aws.HTTPClientError(error="broken pipe"),
    ],
)
def test_what_breaks_after_sending_is_a_lost_answer(exc: Exception) -> None:
    assert isinstance(translate(exc, "dynamodb:PutItem", "app"), AnswerLost)


@pytest.mark.parametrize(
    "exc",
    [
        aws.EndpointConnectionError(endpoint_url="http://x"),
        aws.ConnectTimeoutError(endpoint_url="http://x"),
        aws.ProxyConnectionError(proxy_url="http://x"),
    ],
)
def test_what_breaks_before_sending_is_an_endpoint_that_cannot_be_reached(exc: Exception) -> None:
    error = translate(exc, "dynamodb:PutItem", "app", "start it")
    assert error.code == "endpoint-unreachable"
    assert error.hint == "start it"


@pytest.mark.parametrize(
    ("exc", "code"),
    [
        (aws.NoCredentialsError(), "no-credentials"),
        (aws.PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY"), "no-credentials"),
        (aws.UnauthorizedSSOTokenError(), "credentials-expired"),
        (aws.TokenRetrievalError(provider="sso", error_msg="Token has expired"), "credentials-expired"),
        (aws.CredentialRetrievalError(provider="process", error_msg="exit 1"), "credentials-unavailable"),
        (aws.NoRegionError(), "no-region"),
        (aws.ProfileNotFound(profile="ops"), "no-profile"),
        (aws.ParamValidationError(report="Invalid length for parameter TableName"), "validation"),
        (aws.UnknownServiceError(service_name="x", known_service_names="y"), "client-failed"),
    ],
)
def test_what_never_reached_the_service_has_a_code(exc: Exception, code: str) -> None:
    assert translate(exc, "dynamodb:Scan", "app").code == code
