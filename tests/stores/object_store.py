"""A store that speaks S3 on a free port: moto's server, and a wire before it that can stall, break, or answer 503."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from obstore import delete, get, list_with_delimiter, put
from obstore import list as list_all
from obstore.store import S3Store

import pitstop as ps
from pitstop.kit.waiting import wait_until
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "moto"
SECONDS = 60


class Wire:
    """The port of a store as jobs reach it (tests/stores/wire.py)."""

    def __init__(self, port):
        command = [sys.executable, "-m", "tests.stores.wire", str(port)]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())

    def be(self, state):
        """Let it be in a state; return the connections that it has not passed on so far."""
        self._process.stdin.write(f"{state}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self):
        self._process.kill()
        self._process.wait(SECONDS)
        self._process.stdin.close()
        self._process.stdout.close()


class ObjectStore:
    """A store with its buckets in memory; whoever asks may do anything until :meth:`ask_for_keys`."""

    def __init__(self, folder: Path):
        made = subprocess.run([SCRIPT], capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(made.stderr.strip() or "moto cannot be installed here")
        self._port = free_port()
        self._log = (folder / "moto.log").open("wb")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        command = [made.stdout.strip(), "-m", "moto.server", "--host", "127.0.0.1", "--port", str(self._port)]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, env=environment)
        self.direct = f"http://127.0.0.1:{self._port}"
        assert wait_until(self._answers, SECONDS), (folder / "moto.log").read_text()
        self.wire = Wire(self._port)
        self.url = f"http://127.0.0.1:{self.wire.port}"
        self._rights = ("test", "test")

    def reached(self, key="S3_KEY", secret="S3_SECRET"):
        """How a job reaches it, by secrets of these names."""
        return ps.s3_store(endpoint=self.url, access_key=f"secret:{key}", secret_key=f"secret:{secret}")

    def make(self, bucket):
        httpx2.put(f"{self.direct}/{bucket}").raise_for_status()

    def user(self, name, *buckets):
        """Make a user who may do anything with these buckets; return the key and its secret."""
        self._ask_iam("CreateUser", UserName=name)
        resources = ", ".join(f'"arn:aws:s3:::{bucket}", "arn:aws:s3:::{bucket}/*"' for bucket in buckets)
        statement = f'{{"Effect": "Allow", "Action": "s3:*", "Resource": [{resources}]}}'
        if buckets:
            policy = f'{{"Version": "2012-10-17", "Statement": [{statement}]}}'
            self._ask_iam("PutUserPolicy", UserName=name, PolicyName="own", PolicyDocument=policy)
        answer = self._ask_iam("CreateAccessKey", UserName=name)
        return tuple(re.search(f"<{part}>(.*?)</{part}>", answer)[1] for part in ("AccessKeyId", "SecretAccessKey"))

    def ask_for_keys(self, key, secret):
        """Serve nobody from now on who has no right; the tests' own requests come with this key."""
        self._rights = (key, secret)
        httpx2.post(f"{self.direct}/moto-api/reset-auth", content="0").raise_for_status()

    def ask_nobody(self):
        httpx2.post(f"{self.direct}/moto-api/reset-auth", content="inf").raise_for_status()
        self._rights = ("test", "test")

    def put(self, bucket, name, content):
        put(self._bucket(bucket), name, content.encode() if isinstance(content, str) else content)

    def get(self, bucket, name):
        return bytes(get(self._bucket(bucket), name).bytes())

    def remove(self, bucket, name):
        delete(self._bucket(bucket), name)

    def names(self, bucket, folder=""):
        return sorted(each["path"] for batch in list_all(self._bucket(bucket), folder or None) for each in batch)

    def folders(self, bucket):
        return sorted(list_with_delimiter(self._bucket(bucket))["common_prefixes"])

    def stop(self):
        self.wire.close()
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(SECONDS)
        self._log.close()

    def _bucket(self, bucket):
        key, secret = self._rights
        config = {"endpoint": self.direct, "region": "us-east-1", "access_key_id": key, "secret_access_key": secret}
        return S3Store(bucket, config=config, client_options={"allow_http": True})

    def _ask_iam(self, action, **arguments):
        head = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=none"
        form = {"Action": action, "Version": "2010-05-08", **arguments}
        answer = httpx2.post(self.direct, data=form, headers={"Authorization": head})
        assert answer.is_success, answer.text
        return answer.text

    def _answers(self):
        try:
            return httpx2.get(self.direct).is_success
        except httpx2.HTTPError:
            return False
