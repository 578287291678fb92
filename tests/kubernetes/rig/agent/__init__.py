"""A node's agent: does for its pods what kubelet, a container engine, kube-proxy, DNS and a provisioner of volumes do elsewhere.

It is a process of its own, with an interpreter of its own (``Tools.interpreter``). ``settings`` alone is imported by tests, too.
"""
