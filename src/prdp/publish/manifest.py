"""The manifest of a publication: which files it has, by their digests."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

MANIFEST, SIGNATURE, PUBLIC_KEY = "manifest.json", "manifest.sig", "public_key.pem"
RESEARCH = "research"


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a folder but the manifest and its signature.

    A link, a pipe, and whatever else is not a file of its own has the digest of none.
    """
    files = sorted(one for one in folder.rglob("*") if one.is_symlink() or not one.is_dir())
    names = {one.relative_to(folder).as_posix(): one for one in files}
    return {name: _digest(one) for name, one in names.items() if name not in {MANIFEST, SIGNATURE}}


def _digest(file: Path) -> str:
    if file.is_symlink() or not file.is_file():
        return ""
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""
