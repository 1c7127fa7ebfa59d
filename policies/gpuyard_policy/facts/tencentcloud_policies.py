"""Policy documents of Tencent Cloud: statements, their elements, and actions, whatever shape they have."""

import re
from typing import Any

from gpuyard_policy.facts.model import Unknown
from gpuyard_policy.facts.reading import first_unknown, items_of, parsed, read

# All actions, or all of a service; an action may have the prefix of an API in front of it.
# Source: https://www.tencentcloud.com/document/product/598/10603 (action) and
# https://www.tencentcloud.com/document/product/1100/40914 (name/ctsdb:*)
_WILDCARD = re.compile(r"(?:name/)?(?:\*|[\w-]+:\*|\*:\*)")
NO_STATEMENT = Unknown("its document holds no statement that can be read")


def statements_of(document: Any) -> list[Any] | Unknown:
    """The statements of a document that is JSON text or plain data."""
    found = element(parsed(document), "statement")
    return found if isinstance(found, Unknown) else items_of(found)


def element(value: Any, name: str) -> Any:
    """An element of a policy, whose name starts with a small letter or, in older documents, with a capital."""
    found = read(value, name)
    return read(value, name.capitalize()) if found is None else found


def wildcards_of(document: Any) -> tuple[str, ...] | Unknown:
    """Actions that a document gives by a bare wildcard; resources are not looked at, as many actions take all only.

    Source: https://www.tencentcloud.com/document/product/598/10603, Element Reference
    """
    statements = statements_of(document)
    if isinstance(statements, Unknown) or not statements:
        return statements if isinstance(statements, Unknown) else NO_STATEMENT
    found: list[str] = []
    open_questions: list[Any] = []
    for statement in statements:
        effect, actions = element(statement, "effect"), element(statement, "action")
        allows = isinstance(effect, str) and effect.lower() == "allow"
        open_questions += [effect, actions, *items_of(actions)] if allows else [effect]
        found += [one for one in items_of(actions) if allows and isinstance(one, str) and _WILDCARD.fullmatch(one)]
    return tuple(dict.fromkeys(found)) or first_unknown(*open_questions) or ()
