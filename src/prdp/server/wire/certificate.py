"""The TLS certificate of the PostgreSQL protocol: loaded, hashed for logins, or made for this machine."""

from __future__ import annotations

import os
import ssl
from datetime import UTC, datetime, timedelta
from hashlib import new
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from prdp.errors import InvalidRequest

_YEARS = 10
_NAMES = ("localhost",)
_ADDRESSES = ("127.0.0.1", "::1")


def context_of(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return a server's TLS settings: version 1.2 or later."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        made.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise InvalidRequest(f"{certificate} and {key} are no certificate and its key: {error}") from None
    return made


def binding_of(certificate: Path) -> bytes:
    """Return the hash that logins are bound to (RFC 5929); empty where the certificate has none."""
    known = x509.load_pem_x509_certificate(certificate.read_bytes())
    algorithm = known.signature_hash_algorithm
    if algorithm is None:
        return b""
    name = "sha256" if algorithm.name in ("md5", "sha1") else algorithm.name
    return new(name, known.public_bytes(Encoding.DER)).digest()


def own_certificate(folder: Path) -> tuple[Path, Path]:
    """Return a certificate for this machine's own names and its key; make them where there are none.

    Nobody has signed it: clients that verify are given the certificate itself (``sslrootcert``).
    """
    certificate, key_file = folder / "prdp.wire.crt", folder / "prdp.wire.key"
    if certificate.exists() and key_file.exists():
        return certificate, key_file
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAMES[0])])
    now = datetime.now(UTC)
    listed: list[x509.GeneralName] = [x509.DNSName(one) for one in _NAMES]
    listed += [x509.IPAddress(ip_address(one)) for one in _ADDRESSES]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365 * _YEARS))
        .add_extension(x509.SubjectAlternativeName(listed), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    key_file.unlink(missing_ok=True)
    with os.fdopen(os.open(key_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(secret)
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    return certificate, key_file
