"""An authority for tests, and what it has signed: a broker's certificate and a client's, as PEM files in a folder."""

import subprocess


def make_certificates(folder):
    """Make ca.crt, server.crt and .key (for 127.0.0.1), client.crt and .key."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    folder.mkdir(parents=True, exist_ok=True)
    new = ("-newkey", "rsa:2048", "-nodes", "-subj")
    openssl("req", "-x509", *new, "/CN=authority", "-days", "2", "-keyout", "ca.key", "-out", "ca.crt")
    for name in ("server", "client"):
        openssl("req", *new, f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (folder / "names").write_text("subjectAltName = IP:127.0.0.1, DNS:localhost\n")
        signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.crt")
    return folder
