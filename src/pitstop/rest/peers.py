"""The peer of a request, by which limits count: the kernel knows it, whatever the client says about itself."""

from __future__ import annotations

import ipaddress

from fastapi import Request

from pitstop.machine.tcp import user_of
from pitstop.rest.access import Access, Role
from pitstop.rest.threads import reading

ENDS = "connection_ends"
"""The name in a request's state of both ends of its connection, the client's first: (host, port) each, or None."""
NETWORK_BITS = 64
"""The bits of an IPv6 address that name a network. A machine may take any address of its network."""


async def viewer_of(access: Access, request: Request) -> str | None:
    """Return the viewer for whom a request counts: a user of this machine, or another machine. None for an operator.

    Sessions and names make no other viewer: with the token, a client gets as many of these as it likes.
    """
    identity = access.identity(request.headers)
    if identity is not None and identity.role is Role.OPERATOR:
        return None
    there, here = getattr(request.state, ENDS, (request.client, None))
    # It reads tables of the kernel, and looks again if one misses the connection.
    return await reading(_peer, there, here)


def _peer(there: tuple[str, int] | None, here: tuple[str, int] | None) -> str:
    user = user_of(there, here) if there is not None and here is not None else None
    if user is not None:
        return f"user {user} of the server's machine"
    try:
        address = ipaddress.ip_address(there[0].partition("%")[0] if there is not None else "")
    except ValueError:
        return "an unknown machine"
    address = (address.ipv4_mapped if address.version == 6 else None) or address
    if address.is_loopback:  # it has hung up; else the kernel would know its user
        return "the server's machine"
    return str(address if address.version == 4 else ipaddress.ip_network((address, NETWORK_BITS), strict=False))
