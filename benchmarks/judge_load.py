"""Prints what a judge costs under load: what is lost, what is doubled, and how close to the server.

    python -m benchmarks.judge_load [--rows 1000] [--concurrency 64] [--write-docs]

The server is the scripted one of the tests, in a process of its own; it takes a fixed time for a
reply, as a model does. Its ceiling is measured by a bare client that sends the same rows over as
many connections, reads the replies, looks at none, and repeats at once what failed.
"""

import argparse
import asyncio
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any
from urllib.parse import urlsplit

from benchmarks._tables import Section, Table, describe_machine, write_sections
from rewardkit import Json, JudgeVerifier, Verdict
from rewardkit.verifiers.judge.prompts import build_prompt, draw_nonce
from rewardkit.verifiers.judge.query import Query, answer_schema
from tests.verifiers.judge.scripted import ScriptedServer

PASSING = ("http_429 x1", "http_500 x1", "half x1", "malformed x1", "drop x1")
"""Faults after which a second try succeeds."""
LASTING = ("refused", "cut_content", "wrong_schema", "out_of_set", "two_verdicts")
"""Replies that must be abstentions."""


def rows(count: int) -> list[tuple[str, str, bool | None]]:
    """Returns (completion, reference, passes): every tenth has a fault, None must abstain."""
    made = []
    for n in range(count):
        fault, passes = "", n % 2 == 0
        wanted: bool | None = passes
        if n % 10 == 9:
            turn = n // 10
            lasting = turn % 2 == 1
            kind = (LASTING if lasting else PASSING)[turn // 2 % 5]
            fault, wanted = f" [fault {kind}]", None if lasting else passes
        made.append((f"I get {n if passes else n + 1}. [id r{n}]{fault}", str(n), wanted))
    return made


def _serve(pipe: Connection, delay_s: float) -> None:
    with ScriptedServer(delay_s=delay_s) as server:
        pipe.send(server.url)
        while pipe.recv() == "counts":
            pipe.send((dict(server.answered), sum(server.faults.values()), len(server.calls)))
            server.answered.clear(), server.faults.clear(), server.calls.clear()
            server._tries.clear()


@contextmanager
def served(delay_s: float) -> Iterator[tuple[str, Callable[[], tuple[Any, int, int]]]]:
    """Yields the URL of a server in another process, and what asks it for its counts."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, delay_s))
    process.start()

    def counts() -> tuple[Any, int, int]:
        ours.send("counts")
        found: tuple[Any, int, int] = ours.recv()
        return found

    try:
        yield ours.recv(), counts
    finally:
        ours.send("stop")
        process.join()


def request_of(text: str, reference: str) -> bytes:
    """Returns the bytes that ask about a row, as a judge sends them."""
    data: dict[str, Json] = {"reference": reference, "response": text}
    query = Query("t", data, {"verdict": ("CORRECT", "NO")})
    prompt = build_prompt(query, draw_nonce(query), structured=True, reasoning=True)
    schema = {"json_schema": {"schema": answer_schema(query, reasoning=True)}}
    raw = json.dumps({"messages": prompt.messages, "response_format": schema}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


async def _whole_reply(reader: asyncio.StreamReader) -> bool:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    body = await reader.readexactly(length)
    return head.startswith(b"HTTP/1.1 200") and body.endswith(b"}")


def ceiling(url: str, requests: Sequence[bytes], connections: int) -> float:
    """Returns the seconds in which a bare client gets all replies; it repeats at once what failed.

    The server counts what it was asked, so that a fault of the first try is none of the second.
    """
    parts = urlsplit(url)
    left = iter(requests)

    async def client() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        for request in left:
            done = False
            while not done:
                writer.write(request)
                try:
                    done = await _whole_reply(reader)
                except (asyncio.IncompleteReadError, ConnectionError):
                    writer.close()
                    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.close()

    async def run() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(connections)))
        return time.perf_counter() - began

    return asyncio.run(run())


def judged(judge: JudgeVerifier, asked: list[tuple[str, str, bool | None]]) -> list[Verdict]:
    """Returns the verdicts of the rows."""
    return judge.verify_batch([row[0] for row in asked], [row[1] for row in asked])


def account(
    asked: list[tuple[str, str, bool | None]], verdicts: list[Verdict], answered: Counter[str]
) -> list[tuple[str, str]]:
    """Returns what became of the rows, beside what must have become of them."""
    expected = [None if wanted is None else float(wanted) for _, _, wanted in asked]
    found = [verdict.score for verdict in verdicts]
    decided = [f"r{n}" for n, score in enumerate(expected) if score is not None]
    return [
        ("judgements", f"{len(verdicts):,}"),
        ("lost", str(len(asked) - len(verdicts))),
        ("asked about twice after an answer", str(sum(answered[name] > 1 for name in decided))),
        ("decided and never answered", str(sum(answered[name] == 0 for name in decided))),
        ("wrong scores", str(sum(a != b for a, b in zip(found, expected, strict=True)))),
        ("abstentions that must be", str(expected.count(None))),
        ("abstentions", str(found.count(None))),
    ]


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    faulty, texts = rows(options.rows), []
    clean = [(text.partition(" [fault")[0], ref, wanted) for text, ref, wanted in faulty]
    bare = {
        name: [request_of(text, reference) for text, reference, _ in asked]
        for name, asked in (("clean", clean), ("faulty", faulty))
    }
    speeds: list[tuple[str, ...]] = []
    for delay_s in (1.0, 2.0):
        with served(delay_s) as (url, counts):
            best: dict[str, float] = {}
            for _ in range(options.repeat):
                for name, asked in (("clean", clean), ("faulty", faulty)):
                    counts()
                    took = ceiling(url, bare[name], options.concurrency)
                    best[f"{name} bare"] = min(best.get(f"{name} bare", took), took)
                    judge = JudgeVerifier(
                        base_url=url, concurrency=options.concurrency, backoff_s=0.1
                    )
                    with judge:
                        judge.verify("I get 1.", "1")  # imports, and the first connection
                        counts()
                        began, cpu = time.perf_counter(), time.process_time()
                        verdicts = judged(judge, asked)
                        took, cpu = time.perf_counter() - began, time.process_time() - cpu
                    answered, faults, requests = counts()
                    best[name] = min(best.get(name, took), took)
                    best[f"{name} cpu"] = min(best.get(f"{name} cpu", cpu), cpu)
            best["requests"] = requests
            texts = account(faulty, verdicts, Counter(answered))
            texts += [("faults of the server", f"{faults:,}"), ("requests", f"{requests:,}")]
        clean_s, faulty_s = best["clean"], best["faulty"]
        speeds.append(
            (
                f"{delay_s:g} s",
                f"{options.rows / best['clean bare']:.1f}",
                f"{options.rows / clean_s:.1f}",
                f"{100 * best['clean bare'] / clean_s:.1f} %",
                f"{best['requests'] / best['faulty bare']:.1f}",
                f"{best['requests'] / faulty_s:.1f}",
                f"{100 * best['faulty bare'] / faulty_s:.1f} %",
                f"{1e3 * best['clean cpu'] / options.rows:.2f}",
            )
        )
    columns = (
        "a reply takes", "bare client, requests/s", "judge", "of the ceiling",
        "bare client with faults", "judge with faults", "of the ceiling", "CPU ms a judgement",
    )  # fmt: skip
    title = (
        f"{options.rows:,} judgements, {options.concurrency} in flight; best of {options.repeat}"
    )
    tables = [
        Table(title, columns, tuple(speeds)),
        Table("The same with faults in a tenth of the rows", ("what", "count"), tuple(texts)),
    ]
    for table in tables:
        print(table.to_markdown(), end="\n\n", flush=True)
    if options.write_docs:
        text = "\n\n".join([*(table.to_markdown() for table in tables), describe_machine()])
        write_sections([Section("judge-load", text)])


if __name__ == "__main__":
    main()
