"""The service as a process: one port, a deadline for the head of a request, an orderly end."""

import asyncio
import ipaddress
import socket
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rewardkit.errors import ConfigError
from rewardkit.serve.service.limits import ServiceLimits

__all__ = ["listen", "serve"]

_LEAST_TAKEN = 2**16
"""Bytes of an answer that a caller must take between two looks."""


def listen(host: str, port: int, *, token: str | None) -> socket.socket:
    """Returns a listening socket.

    Args:
        host: an address, or a name of this machine.
        port: 0 for any that is free.
        token: of the service.

    Raises:
        ConfigError: others could reach the service and there is no token, or the port cannot be
            used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host or "0.0.0.0", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--host {host} --port {port} cannot be used: {error}") from None
    if token is None and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise ConfigError(
            f"{host} can be reached from other machines: give a token, as in --token-file FILE, or "
            "leave --host away"
        )
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(1024)  # who comes before the server is up waits, and is not refused
    except (OSError, OverflowError) as error:
        listener.close()
        raise ConfigError(f"port {port} cannot be used: {error}") from None
    return listener


def serve(app: Starlette, listener: socket.socket, *, limits: ServiceLimits) -> None:
    """Serves until SIGTERM or SIGINT; what is being graded then is still answered.

    Args:
        app: of `make_service`.
        listener: of `listen`.
        limits: of the service.
    """
    config = uvicorn.Config(
        app,
        http=_guarded(limits.head_timeout_s, limits.send_timeout_s),
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=limits.max_connections,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=max(1, round(limits.drain_s)),
    )
    try:
        _Server(config, app).run(sockets=[listener])
    finally:
        app.state.work.close()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, app: Starlette) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.draining = True
        super().handle_exit(sig, frame)


def _guarded(head_timeout_s: float, send_timeout_s: float) -> type[asyncio.Protocol]:
    """Returns uvicorn's protocol, with an end to connections that never finish a head.

    And to those that never take their answer.
    """

    class Guarded(H11Protocol):
        _head_timer: asyncio.TimerHandle | None = None
        _send_timer: asyncio.TimerHandle | None = None

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch_send()

        def resume_writing(self) -> None:
            self._unwatch_send()
            super().resume_writing()

        def _watch_send(self) -> None:
            left = self.transport.get_write_buffer_size()
            self._send_timer = self.loop.call_later(send_timeout_s, self._check_send, left)

        def _check_send(self, before: int) -> None:
            if self.transport.get_write_buffer_size() > before - _LEAST_TAKEN:
                self.transport.abort()
            else:
                self._watch_send()

        def _unwatch_send(self) -> None:
            if self._send_timer is not None:
                self._send_timer.cancel()
                self._send_timer = None

        def connection_made(self, transport: Any) -> None:  # noqa: ANN401 # as asyncio types it
            super().connection_made(transport)
            self._watch_head()

        def data_received(self, data: bytes) -> None:
            if self._idle() and self._head_timer is None:
                self._watch_head()
            super().data_received(data)
            if not self._idle():
                self._unwatch_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch_head()
            self._unwatch_send()
            super().connection_lost(exc)

        def _idle(self) -> bool:
            cycle: RequestResponseCycle | None = self.cycle
            return cycle is None or cycle.response_complete

        def _watch_head(self) -> None:
            self._head_timer = self.loop.call_later(head_timeout_s, self._end)

        def _unwatch_head(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

        def _end(self) -> None:
            self._head_timer = None
            if self._idle() and not self.transport.is_closing():
                self.transport.close()

    return Guarded
