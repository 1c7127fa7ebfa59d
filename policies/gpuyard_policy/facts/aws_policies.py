"""Policy documents of AWS: statements, principals, actions and conditions, whatever shape they have."""

from collections.abc import Mapping
from typing import Any

from gpuyard_policy.facts.model import Unknown
from gpuyard_policy.facts.reading import first_unknown, items_of, parsed, read

_EVERYBODY = "*"


def statements_of(document: Any) -> list[Any] | Unknown:
    """The statements of a document that is JSON text or plain data."""
    found = read(parsed(document), "Statement")
    return found if isinstance(found, Unknown) else items_of(found)


def texts_of(value: Any) -> list[str]:
    """The texts of a value that is one text or a list of them."""
    return [item for item in items_of(value) if isinstance(item, str)]


def is_for_everybody(statement: Any) -> bool | Unknown:
    """Whether a statement allows something to everybody, with no condition that narrows it."""
    if read(statement, "Effect") != "Allow" or read(statement, "Condition"):
        return first_unknown(read(statement, "Effect"), read(statement, "Condition")) or False
    principal = read(statement, "Principal")
    named = read(principal, "AWS") if isinstance(principal, Mapping) else principal
    return first_unknown(principal, named, *items_of(named)) or _EVERYBODY in texts_of(named)


def refuses_plain_http(statement: Any) -> bool:
    """Whether a statement denies what comes without TLS.

    Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/security-best-practices.html
    """
    secure = items_of(read(statement, "Condition", "Bool", "aws:SecureTransport"))
    return read(statement, "Effect") == "Deny" and any(str(value).lower() == "false" for value in secure)


def wildcards_of(document: Any) -> tuple[str, ...] | Unknown:
    """Rights that a document gives by a bare wildcard: all actions, all of a service, or all but some."""
    statements = statements_of(document)
    if isinstance(statements, Unknown):
        return statements
    found: list[str] = []
    open_questions: list[Any] = []
    for statement in statements:
        if read(statement, "Effect") != "Allow":
            open_questions += [statement, read(statement, "Effect")]
            continue
        actions, others = read(statement, "Action"), read(statement, "NotAction")
        open_questions += [actions, others, *items_of(actions)]
        found += [action for action in texts_of(actions) if action == "*" or action.endswith(":*")]
        if texts_of(others):
            found.append(f"everything but {', '.join(texts_of(others))}")
    return tuple(dict.fromkeys(found)) or first_unknown(*open_questions) or ()
