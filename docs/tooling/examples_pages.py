"""The READMEs of the examples as pages of the site."""

from pathlib import Path


def example_pages(repository: Path) -> dict[str, str]:
    """Pages of the site by their name, each with the file in the repository.

    Args:
        repository: The repository.

    Returns:
        ``examples/aws/vision-p4de.md`` and its README, and so on, in the order of their names.
    """
    readmes = sorted(
        path.relative_to(repository)
        for path in (repository / "examples").rglob("README.md")
        if not any(part.startswith(".") for part in path.relative_to(repository).parts)
    )
    return {f"{path.parent.as_posix()}.md": path.as_posix() for path in readmes}
