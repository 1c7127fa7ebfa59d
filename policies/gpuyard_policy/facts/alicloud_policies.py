"""Policy documents of Alibaba Cloud, of RAM and of buckets: statements, principals, actions and conditions."""

from typing import Any

from gpuyard_policy.facts.model import Unknown
from gpuyard_policy.facts.reading import first_unknown, items_of, parsed, read

_EVERYBODY = "*"


def statements_of(document: Any) -> list[Any] | Unknown:
    """The statements of a document that is JSON text or plain data."""
    found = read(parsed(document), "Statement")
    return found if isinstance(found, Unknown) else items_of(found)


def is_for_everybody(statement: Any) -> bool | Unknown:
    """Whether a statement allows something to everybody, with no condition that narrows it.

    Source: https://www.alibabacloud.com/help/en/oss/user-guide/oss-bucket-policy/
    """
    effect, condition = read(statement, "Effect"), read(statement, "Condition")
    if effect != "Allow" or condition:
        return first_unknown(effect, condition) or False
    return is_of_everybody(read(statement, "Principal"))


def is_of_everybody(principal: Any) -> bool | Unknown:
    """Whether a principal is everybody: of a bucket's policy a list of accounts, of a role's one by kind."""
    named = items_of(principal) if read(principal, "RAM") is None else items_of(read(principal, "RAM"))
    return _EVERYBODY in named or first_unknown(principal, read(principal, "RAM"), *named) or False


def refuses_plain_http(statement: Any) -> bool:
    """Whether a statement denies everybody what comes without TLS.

    Source: https://www.alibabacloud.com/help/en/oss/tutorial-example-using-the-bucket-policy-to-access-oss-resources
    """
    secure = items_of(read(statement, "Condition", "Bool", "acs:SecureTransport"))
    principal = read(statement, "Principal")
    meant = principal is None or is_of_everybody(principal) is True
    return read(statement, "Effect") == "Deny" and meant and any(str(value).lower() == "false" for value in secure)


def wildcards_of(document: Any) -> tuple[str, ...] | Unknown:
    """Actions that a document gives by a bare wildcard: all, all of a service, or all but some.

    Resources are not looked at, as many actions take all only.

    Source: https://www.alibabacloud.com/help/en/ram/developer-reference/poweruseraccess (NotAction)
    """
    statements = statements_of(document)
    if isinstance(statements, Unknown):
        return statements
    found: list[str] = []
    open_questions: list[Any] = []
    for statement in statements:
        if read(statement, "Effect") != "Allow":
            open_questions += [statement, read(statement, "Effect")]
            continue
        actions, others = items_of(read(statement, "Action")), items_of(read(statement, "NotAction"))
        open_questions += [read(statement, "Action"), read(statement, "NotAction"), *actions, *others]
        found += [action for action in actions if isinstance(action, str) and is_wildcard(action)]
        excepted = [action for action in others if isinstance(action, str)]
        if excepted:
            found.append(f"everything but {', '.join(excepted)}")
    return tuple(dict.fromkeys(found)) or first_unknown(*open_questions) or ()


def is_wildcard(action: str) -> bool:
    """Whether an action is all, or all of a service."""
    return action == "*" or action.endswith(":*")
