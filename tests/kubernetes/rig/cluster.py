"""A control plane of Kubernetes: etcd, the API server, the controllers and the scheduler, on loopback."""

from __future__ import annotations

import contextlib
import json
import secrets
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.kubernetes.rig.addresses import MOST_NODES, LoopbackNet, loopback_net
from tests.kubernetes.rig.clients import Client, Kubectl
from tests.kubernetes.rig.processes import RigError, RigProcess, plain_variables
from tests.kubernetes.rig.tools import ROOT, Tools

API_PORT, STORE_PORT, STORE_PEER_PORT = 6443, 2379, 2380
START_SECONDS = 120.0
STEP_SECONDS = 0.1
ETCD, API_SERVER, CONTROLLERS, SCHEDULER = "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"


@dataclass(frozen=True)
class Cluster:
    """``start`` makes one. ``processes``: its parts by name, for tests that stop or kill them."""

    folder: Path
    tools: Tools
    net: LoopbackNet
    processes: dict[str, RigProcess] = field(default_factory=dict)
    _nodes: list[str] = field(default_factory=list)

    @classmethod
    @contextlib.contextmanager
    def start(
        cls, folder: Path, tools: Tools, definitions: Iterable[Path] = (), flags: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[Cluster]:
        """One with its files in ``folder``, until this is left.

        ``definitions``: files with definitions of resources, which exist before the controllers look for what there is: those
        learn of later ones only every 30 s, and till then nothing is collected that such a resource owns. ``flags``: more of
        them, by part.
        """
        with loopback_net() as net:
            cluster = cls(folder, tools, net)
            try:
                cluster._start(definitions, flags or {})
                yield cluster
            finally:
                for process in reversed(cluster.processes.values()):
                    process.stop()

    @property
    def kubeconfig(self) -> Path:
        """Of a user who may do everything."""
        return self.folder / "kubeconfig"

    @property
    def certificates(self) -> Path:
        return self.folder / "certificates"

    @property
    def claims(self) -> Path:
        """Where all nodes keep volumes."""
        return self.folder / "claims"

    @property
    def url(self) -> str:
        """Of the API server."""
        return f"https://{self.net.control_plane}:{API_PORT}"

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.tools.kubectl, self._variables)

    @property
    def helm(self) -> Client:
        return Client(self.tools.helm, self._variables)

    def restart(self, part: str) -> None:
        """Kill a part and start it again; returns once the API server answers."""
        self.processes[part].kill()
        self.processes[part].start()
        self._wait_for("/readyz")

    def new_node(self, name: str) -> int:
        """The number of one more node."""
        self._nodes.append(name)
        return len(self._nodes) - 1

    @property
    def _variables(self) -> dict[str, str]:
        # Nobody else's settings and plug-ins are found from that home, and their caches stay here, too.
        return plain_variables(self.folder / "home", KUBECONFIG=str(self.kubeconfig))

    def _start(self, definitions: Iterable[Path], flags: Mapping[str, Sequence[str]]) -> None:
        token = secrets.token_urlsafe(24)
        for folder in (self.certificates, self.claims, self.folder / "home"):
            folder.mkdir(parents=True)
        self._make_certificates()
        self._keep_private("tokens.csv", f'{token},admin,admin,"system:masters"\n')
        self._keep_private("kubeconfig", json.dumps(self._client_settings(token), indent=1))
        commands = {ETCD: self._store_flags(), API_SERVER: self._api_flags()}
        for part, own in commands.items():
            self._run(part, [*own, *flags.get(part, ())])
        self._wait_for("/readyz")
        for file in definitions:
            self.kubectl("apply", "--server-side", f"--filename={file}")
        for part, own in {CONTROLLERS: self._controller_flags(), SCHEDULER: self._scheduler_flags()}.items():
            self._run(part, [*own, *flags.get(part, ())])
        self._wait_for("/api/v1/namespaces/default/serviceaccounts/default")

    def _run(self, part: str, flags: Sequence[str]) -> None:
        command: list[str | Path] = [self.tools.control_plane / part, *flags]
        self.processes[part] = RigProcess(part, command, self.folder, plain_variables(self.folder / "home"))

    def _make_certificates(self) -> None:
        plane = ",".join(("127.0.0.1", self.net.control_plane, self.net.api_service))
        nodes = ",".join(self.net.node(number) for number in range(MOST_NODES))
        program = [str(self.tools.interpreter), "-m", "tests.kubernetes.rig.certificates", str(self.certificates), plane, nodes]
        subprocess.run(program, check=True, cwd=ROOT, env=plain_variables(self.folder / "home"))

    def _keep_private(self, name: str, content: str) -> None:
        file = self.folder / name
        file.touch(mode=0o600)
        file.write_text(content)

    def _client_settings(self, token: str) -> Mapping[str, object]:
        there = {"server": self.url, "certificate-authority": str(self.certificates / "ca.crt")}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "rig",
            "clusters": [{"name": "rig", "cluster": there}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "rig", "context": {"cluster": "rig", "user": "admin"}}],
        }

    @property
    def _store_url(self) -> str:
        return f"http://{self.net.control_plane}:{STORE_PORT}"

    def _store_flags(self) -> list[str]:
        peer = f"http://{self.net.control_plane}:{STORE_PEER_PORT}"
        return [
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={self._store_url}",
            f"--advertise-client-urls={self._store_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # nothing is to outlive the machine
            "--log-level=warn",
        ]

    def _api_flags(self) -> list[str]:
        certificates, address = self.certificates, self.net.control_plane
        return [
            f"--etcd-servers={self._store_url}",
            f"--bind-address={address}",
            f"--secure-port={API_PORT}",
            f"--advertise-address={address}",
            "--endpoint-reconciler-type=none",  # endpoints refuse loopback addresses
            f"--service-cluster-ip-range={self.net.services}",
            f"--tls-cert-file={certificates / 'apiserver.crt'}",
            f"--tls-private-key-file={certificates / 'apiserver.key'}",
            f"--client-ca-file={certificates / 'ca.crt'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            f"--service-account-key-file={certificates / 'accounts.pub'}",
            f"--service-account-signing-key-file={certificates / 'accounts.key'}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged=true",
            f"--kubelet-certificate-authority={certificates / 'ca.crt'}",
            f"--kubelet-client-certificate={certificates / 'node-client.crt'}",
            f"--kubelet-client-key={certificates / 'node-client.key'}",
            "--kubelet-preferred-address-types=InternalIP",
            # One authority signs all certificates, so only this name may say in whose name it asks.
            f"--requestheader-client-ca-file={certificates / 'ca.crt'}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            f"--proxy-client-cert-file={certificates / 'front-proxy-client.crt'}",
            f"--proxy-client-key-file={certificates / 'front-proxy-client.key'}",
            # The node takes the client's WebSocket as it is; else the API server would speak SPDY to it.
            "--feature-gates=TranslateStreamCloseWebsocketRequests=false",
            "--profiling=false",
        ]

    def _controller_flags(self) -> list[str]:
        return [
            *self._client_flags(),
            "--use-service-account-credentials=false",
            f"--service-account-private-key-file={self.certificates / 'accounts.key'}",
            f"--root-ca-file={self.certificates / 'ca.crt'}",
            # They would try for ever to write endpoints with loopback addresses.
            "--controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller",
        ]

    def _scheduler_flags(self) -> list[str]:
        return self._client_flags()

    def _client_flags(self) -> list[str]:
        return [
            f"--kubeconfig={self.kubeconfig}",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]

    def _wait_for(self, path: str) -> None:
        """Until the API server answers that it is so."""
        user = json.loads(self.kubeconfig.read_text())["users"][0]["user"]
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {user['token']}"})
        trusted = ssl.create_default_context(cafile=str(self.certificates / "ca.crt"))
        deadline = time.monotonic() + START_SECONDS
        while True:
            for process in self.processes.values():
                process.check()
            try:
                with urllib.request.urlopen(request, context=trusted, timeout=5):
                    return
            except (urllib.error.URLError, OSError) as error:
                if time.monotonic() > deadline:
                    raise RigError(f"{path} of the cluster is not there after {START_SECONDS:.0f} s: {error}") from error
            time.sleep(STEP_SECONDS)
