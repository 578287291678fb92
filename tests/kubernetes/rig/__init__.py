"""A real Kubernetes on one machine, for tests: its own control plane, and nodes that run pods as processes.

``tools`` finds what `make kubernetes-rig` has made. ``Cluster`` runs etcd, the API server, the controllers and the scheduler:
processes of Kubernetes' own code. ``Node`` runs an agent (``agent``) in the place of kubelet, container engine, network and
storage. What a test asks goes through the real kubectl and helm (``clients``).

A pod is its processes in namespaces of their own (of processes, mounts and the host's name), with an address of its own in
127.0.0.0/8, and the files of the machine with whatever it writes to them kept aside. There are no images: a container needs a
command, or an image that the node was told of (``Image``). There is no port-forward, no attach, no terminal, no limit of
resources and no policy of networks. EndpointSlices stay empty, for they refuse such addresses: tests reach Services and pods by
their addresses, pods reach them by their names, too.
"""
