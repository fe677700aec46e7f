"""The manifest of a publication: which files it has, by their digests."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

MANIFEST, SIGNATURE, PUBLIC_KEY = "manifest.json", "manifest.sig", "public_key.pem"
RESEARCH = "research"


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a folder but the manifest and its signature."""
    files = sorted(one for one in folder.rglob("*") if one.is_file() or one.is_symlink())
    names = {one.relative_to(folder).as_posix(): one for one in files}
    return {
        name: sha256(one.read_bytes()).hexdigest()
        for name, one in names.items()
        if name not in {MANIFEST, SIGNATURE}
    }
