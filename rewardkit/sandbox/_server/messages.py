"""Packets between host and fork server: one JSON object, descriptors beside it."""

import json
import socket
from typing import Any

__all__ = ["MAX_MESSAGE_BYTES", "receive", "send"]

MAX_MESSAGE_BYTES = 64 * 1024
_MAX_DESCRIPTORS = 16


def send(channel: socket.socket, message: dict[str, Any], descriptors: list[int]) -> None:
    """Sends one packet on a SOCK_SEQPACKET socket."""
    data = json.dumps(message).encode()
    if len(data) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {len(data)} bytes; at most {MAX_MESSAGE_BYTES} fit")
    socket.send_fds(channel, [data], descriptors)


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Returns the next packet and its descriptors, or None when the other side is gone."""
    try:
        data, descriptors, _flags, _address = socket.recv_fds(
            channel, MAX_MESSAGE_BYTES, _MAX_DESCRIPTORS
        )
    except ConnectionResetError:
        return None
    if not data:
        return None
    return json.loads(data), list(descriptors)
