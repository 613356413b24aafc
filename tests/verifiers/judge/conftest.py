"""A judge on a scripted server, with short pauses."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from rewardkit import JudgeVerifier
from tests._needs import needs
from tests.verifiers.judge.scripted import ScriptedServer

QUICK = {"backoff_s": 0.01, "request_timeout_s": 5.0, "timeout_s": 20.0}


@pytest.fixture
def judge_on() -> Iterator[Callable[..., JudgeVerifier]]:
    """Makes judges that are closed at the end."""
    needs("httpx"), needs("tenacity")
    with ExitStack() as stack:

        def make(server: ScriptedServer, **options: Any) -> JudgeVerifier:
            made = JudgeVerifier(base_url=server.url, **{**QUICK, **options})
            return stack.enter_context(made)

        yield make


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made
