"""Delta and Iceberg folders: known by their logs, since their files alone hold deleted rows too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prdp.errors import InvalidRequest

METADATA = ".metadata.json"
"""How the files end that say what an Iceberg table is."""


def is_delta(folder: Path) -> bool:
    """Say whether a folder is a Delta table."""
    return (folder / "_delta_log").is_dir()


def is_iceberg(folder: Path) -> bool:
    """Say whether a folder is an Iceberg table."""
    return next((folder / "metadata").glob(f"*{METADATA}"), None) is not None


def lake_folder(path: Path) -> Path | None:
    """Return the folder of the Delta or Iceberg table that a path names; None where it names none."""
    try:
        path = path.expanduser()
        if path.name.endswith(METADATA) and path.is_file():
            return path.parent.parent
        return path if path.is_dir() and (is_delta(path) or is_iceberg(path)) else None
    except (OSError, ValueError, RuntimeError):  # what can be no path, such as one that is too long
        return None


def refuse_lake_files(files: Sequence[str]) -> None:
    """Refuse files of a Delta or Iceberg table: rows that were deleted may still be in them."""
    seen: dict[Path, str] = {}
    for file in files:
        path = Path(file)
        for folder in {*path.absolute().parents, *path.resolve().parents}:
            if folder not in seen:
                seen[folder] = _kind(folder)
            if seen[folder]:
                raise InvalidRequest(
                    f"{file!r} is a file of {seen[folder]} table, and rows that were deleted from that may "
                    f"still be in it. Give the table's folder: prdp.open({str(folder)!r}, ...)."
                )


def _kind(folder: Path) -> str:
    return "a Delta" if is_delta(folder) else "an Iceberg" if is_iceberg(folder) else ""
