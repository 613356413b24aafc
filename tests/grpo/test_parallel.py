"""Two processes train one model."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests._needs import needs

needs("torch")
needs("transformers")

from tests.grpo import ranks

ROOT = Path(__file__).resolve().parents[2]


def test_two_ranks_share_the_prompts_and_end_with_the_same_weights(tmp_path):
    shared = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'adapters'}",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(ranks.free_port()),
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.grpo.runs", str(tmp_path), "2"],
            cwd=ROOT,
            env={**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=600)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    weights = [text.splitlines()[-1] for text in said]
    assert weights[0].startswith("weights ")
    assert weights[0] == weights[1]
    groups = set()
    for name in ("rollouts.jsonl", "rollouts-1.jsonl"):
        lines = (tmp_path / name).read_text("utf-8").splitlines()
        assert len(lines) == 2 * 2 * 4
        groups |= {(row["step"], row["group"]) for row in map(json.loads, lines)}
    assert groups == {(step, group) for step in (1, 2) for group in range(4)}
