"""What botocore raises, translated at the edge into errors with codes. No message carries a secret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from botocore import exceptions as aws
from botocore.parsers import ResponseParserError

from migrator.core.item import Item
from migrator.core.ports import Busy
from migrator.errors import AnswerLost, MigratorError, ServiceError, Throttled

THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
INVALID_CREDENTIALS = frozenset(
    {
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
CONFLICTS = frozenset(
    {"ReplicatedWriteConflictException", "TransactionConflictException", "TransactionInProgressException"}
)
PASSING_LIMITS = ("Only 1 online index", "tags are being updated", "simultaneously", "concurrent")
"""What a LimitExceededException says when waiting mends it (facts §1.4)."""


class NotFound(ServiceError):
    """No such table or index (`table-not-found`, `index-not-found`)."""


class ConditionFailed(ServiceError):
    """The condition of one write did not hold; `item` is what stands there, where the service says so."""

    def __init__(self, message: str, item: Item | None):
        super().__init__("condition-failed", message)
        self.item = item


class Cancelled(ServiceError):
    """A transaction was cancelled; `reasons` are parallel to its actions."""

    def __init__(self, message: str, reasons: Sequence[Mapping[str, Any]]):
        super().__init__("transaction-cancelled", message)
        self.reasons = reasons


class Conflict(ServiceError):
    """Another write to the same item was in flight: not applied, and worth another attempt."""

    def __init__(self, message: str):
        super().__init__("transaction-conflict", message)


class Unreachable(ServiceError):
    """No connection came about: nothing was sent."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__("endpoint-unreachable", message, hint=hint)


@contextmanager
def translated(action: str, resource: str, hint: str | None = None) -> Iterator[None]:
    """Raise MigratorErrors in place of botocore's. `hint` is for an endpoint that cannot be reached."""
    try:
        yield
    except (aws.ClientError, aws.BotoCoreError, ResponseParserError) as exc:
        raise translate(exc, action, resource, hint) from exc
    except RuntimeError as exc:
        # botocore's own way to say that fresh credentials were stale on arrival.
        if "credentials are still expired" not in str(exc):
            raise
        raise expired("the credentials") from exc


def translate(exc: Exception, action: str, resource: str, hint: str | None = None) -> MigratorError:
    """The error of this package that says what `exc` says, about `action` on `resource`."""
    if isinstance(exc, aws.ClientError):
        return _answered(exc, action, resource)
    what = f"{action} on {resource}" if resource else action
    if isinstance(exc, aws.NoCredentialsError | aws.PartialCredentialsError):
        return no_credentials()
    if isinstance(
        exc,
        aws.SSOTokenLoadError | aws.UnauthorizedSSOTokenError | aws.TokenRetrievalError | aws.LoginRefreshRequired,
    ):
        return expired("the single sign-on session")
    if isinstance(exc, aws.CredentialRetrievalError | aws.MetadataRetrievalError | aws.LoginError):
        return MigratorError(
            "credentials-unavailable",
            f"credentials could not be fetched: {first_line(exc)}",
            hint="try `aws sts get-caller-identity` with the same environment",
        )
    if isinstance(exc, aws.ProfileNotFound):
        return MigratorError("no-profile", first_line(exc), hint="see `aws configure list-profiles`")
    if isinstance(exc, aws.NoRegionError):
        return no_region()
    if isinstance(exc, aws.EndpointConnectionError | aws.ConnectTimeoutError | aws.ProxyConnectionError):
        return Unreachable(f"{what}: {without_userinfo(first_line(exc))}", hint)
    # An answer that cannot be read is a lost one.
    if isinstance(
        exc,
        aws.HTTPClientError | aws.ConnectionError | aws.ChecksumError | aws.IncompleteReadError | ResponseParserError,
    ):
        return AnswerLost(f"{what}: {without_userinfo(first_line(exc))}")
    if isinstance(exc, aws.ParamValidationError):
        return ServiceError("validation", f"{what}: {first_line(exc.kwargs['report'])}")
    return ServiceError("client-failed", f"{what}: {type(exc).__name__}: {without_userinfo(first_line(exc))}")


def _answered(exc: aws.ClientError, action: str, resource: str) -> MigratorError:
    response: Mapping[str, Any] = exc.response
    error: Mapping[str, Any] = response.get("Error", {})
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400))
    return answered(str(error.get("Code", "")), str(error.get("Message") or ""), status, action, resource, response)


def answered(
    code: str, message: str, status: int, action: str, resource: str, response: Mapping[str, Any]
) -> MigratorError:
    """The error of an answer that is one. `response` holds its other members, items in botocore's form."""
    text = first_line(message or code)
    message = f"{action} on {resource}: {text}" if resource else f"{action}: {text}"
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(message, response.get("Item") or None)
    if code == "TransactionCanceledException" and response.get("CancellationReasons"):
        return Cancelled(message, response["CancellationReasons"])
    if code in CONFLICTS:
        return Conflict(message)
    if code in THROTTLES:
        return Throttled(message, throttling_reasons(response))
    if code in EXPIRED:
        return expired("the credentials")
    if code in DENIED:
        return access_denied(text, action, resource)
    if code in INVALID_CREDENTIALS:
        return MigratorError(
            "credentials-invalid",
            f"{action}: the service does not accept these credentials ({code})",
            hint="check AWS_PROFILE, AWS_ACCESS_KEY_ID and the clock of this machine",
        )
    if code == "ResourceNotFoundException" or code == "TableNotFoundException":
        return NotFound("index-not-found" if "Index" in text else "table-not-found", message)
    if code in ("ResourceInUseException", "TableInUseException", "ContinuousBackupsUnavailableException"):
        return Busy(message)
    if code == "LimitExceededException":
        return Busy(message) if any(part in text for part in PASSING_LIMITS) else _limit(message)
    if status >= 500 or code in ("InternalServerError", "InternalFailure", "ServiceUnavailable"):
        return AnswerLost(f"{message} (HTTP {status})")
    if code in ("ValidationException", "ValidationError", "SerializationException"):
        return ServiceError("validation", message)
    if code == "ItemCollectionSizeLimitExceededException":
        return ServiceError("item-collection-full", message)
    return ServiceError("service-refused", f"{message} ({code})")


def throttling_reasons(response: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The pairs of reason and resource; the key is spelled in two ways (facts §8)."""
    found = response.get("ThrottlingReasons") or response.get("throttlingReasons") or ()
    return tuple((str(one.get("reason", "")), str(one.get("resource", ""))) for one in found)


def access_denied(text: str, action: str, resource: str) -> ServiceError:
    """Names the IAM action and resource that the policy lacks: those of the answer, where it names them."""
    denied = re.search(r"not authorized to perform: (\S+)(?: on resource: (\S+))?", text)
    named = denied[1] if denied else action
    where = (denied[2] if denied and denied[2] else None) or resource
    return ServiceError(
        "access-denied",
        f"{named} on {where} is denied: {text}",
        hint=f"allow {named} on {where}; `migrator iam COMMAND` prints the whole policy that a command needs",
    )


def expired(what: str) -> MigratorError:
    return MigratorError(
        "credentials-expired",
        f"{what} expired and could not be refreshed",
        hint="log in again and run the same command: it goes on where it stopped",
    )


def no_credentials() -> MigratorError:
    return MigratorError(
        "no-credentials",
        "no AWS credentials were found in the environment, a profile or the instance",
        hint="set AWS_PROFILE, or `profile` in this environment of migrator.toml",
    )


def no_region() -> MigratorError:
    return MigratorError(
        "no-region",
        "no AWS Region is set",
        hint="set `region` in this environment of migrator.toml, or AWS_DEFAULT_REGION",
    )


def _limit(message: str) -> ServiceError:
    return ServiceError("limit-exceeded", message, hint="waiting does not mend this: see Service Quotas")


def first_line(what: object) -> str:
    """Only the first line: a refused signature is followed by the signed headers, session token included."""
    lines = str(what).strip().splitlines()
    return (lines[0] if lines else "no message")[:600]


def without_userinfo(text: str) -> str:
    """`http://user:password@host` without user and password."""
    return re.sub(r"(\w+://)[^/@\s\"']+@", r"\1", text)
