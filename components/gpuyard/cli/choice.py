"""A word that must be one of a few."""

from typing import TypeVar

from gpuyard.spec.problems import Problem, SpecError, did_you_mean, one_of

Word = TypeVar("Word", bound=str)


def checked_format(text: str, formats: tuple[Word, ...]) -> Word:
    """The output format that a person named.

    Args:
        text: What was given with ``--format``.
        formats: The formats that there are.

    Returns:
        That format.

    Raises:
        SpecError: There is no such format.
    """
    for name in formats:
        if text == name:
            return name
    hint = f"{did_you_mean(text, formats)} Allowed: {one_of(formats)}.".strip()
    raise SpecError([Problem(("--format",), f"'{text}' is no format.", hint)])
