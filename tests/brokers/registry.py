"""A schema registry on a free port: the part of Confluent's REST that readers and writers of Avro use."""

import base64
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

_KIND = "application/vnd.schemaregistry.v1+json"


class Registry:
    """Schemas by id, and the versions of subjects. It may be stopped, and started again on the same port."""

    def __init__(self, user=None, password=""):
        """``user``: who alone may ask, with ``password``."""
        self.schemas, self.subjects, self.requests, self.port = {}, {}, [], 0
        self.closed = set()
        """The subjects that take no other schema."""
        self.status = None
        """The status of every answer, for a registry that is up and cannot answer; None: as it should be."""
        credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.authorization = f"Basic {credentials}" if user else None
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)

    def register(self, subject, schema, kind="AVRO", references=()):
        """Give a schema an id, as ``POST /subjects/SUBJECT/versions`` does; return the id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        record = {"schema": text, "schemaType": kind, "references": list(references)}
        number = next((number for number, other in self.schemas.items() if other == record), len(self.schemas) + 1)
        self.schemas[number] = record
        versions = self.subjects.setdefault(subject, [])
        if number not in versions:
            versions.append(number)
        return number

    def asked_for(self, number):
        """Return how often a schema was asked for."""
        return self.requests.count(f"/schemas/ids/{number}")

    def answer(self, path, authorization):
        """Return (status, answer)."""
        self.requests.append(path)
        if (refusal := self._refusal(authorization)) is not None:
            return refusal
        if (by_id := re.fullmatch(r"/schemas/ids/(\d+)", path)) is not None:
            if int(by_id[1]) not in self.schemas:
                return 404, {"error_code": 40403, "message": f"Schema {by_id[1]} not found"}
            return 200, self._shown(self.schemas[int(by_id[1])])
        if (version := re.fullmatch(r"/subjects/([^/]+)/versions/(\d+|latest)", path)) is not None:
            subject = unquote(version[1])
            versions = self.subjects.get(subject)
            if versions is None:
                return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
            place = len(versions) if version[2] == "latest" else int(version[2])
            if not 1 <= place <= len(versions):
                return 404, {"error_code": 40402, "message": f"Version {version[2]} not found."}
            number = versions[place - 1]
            return 200, {"subject": subject, "version": place, "id": number} | self._shown(self.schemas[number])
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def take(self, path, text, authorization):
        """Return (status, answer) for a schema that a client registers."""
        self.requests.append(f"POST {path}")
        if (refusal := self._refusal(authorization)) is not None:
            return refusal
        subject = unquote(re.fullmatch(r"/subjects/([^/]+)/versions", path)[1])
        if subject in self.closed:
            return 409, {"error_code": 409, "message": "Schema being registered is incompatible with an earlier schema"}
        return 200, {"id": self.register(subject, json.loads(text)["schema"])}

    def _refusal(self, authorization):
        if self.status is not None:
            return self.status, {"error_code": self.status * 100 + 1, "message": "Error in the backend data store"}
        if self.authorization is not None and authorization != self.authorization:
            return 401, {"error_code": 401, "message": "Unauthorized"}
        return None

    def _shown(self, record):
        """Return a schema as the registry shows it: Avro is not named, and no references are none."""
        facts = {"schema": record["schema"]}
        if record["schemaType"] != "AVRO":
            facts["schemaType"] = record["schemaType"]
        return facts | ({"references": record["references"]} if record["references"] else {})

    def _handler(registry):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self._send(*registry.answer(self.path, self.headers.get("Authorization")))

            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"]))
                self._send(*registry.take(self.path, text, self.headers.get("Authorization")))

            def _send(self, status, answer):
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", _KIND)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                """Say nothing."""

        return Handler
