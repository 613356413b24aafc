"""Scores traces by a task of prime-rl's verifiers, and prints what they got.

For an environment of verifiers' own: it asks for other versions than rewardkit's extras do.
"""

import asyncio
import json
import sys
from importlib.metadata import version

import verifiers.v1 as vf
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import AgentInfo, Trace, TraceTask

from rewardkit import Reason, Reward, Verdict, Verifier
from rewardkit_verifiers import reward_method


class Moody(Verifier):
    """Times out on "slow"."""

    name = "moody"

    def verify(self, completion, reference, /, **context):
        if completion == "slow":
            return Verdict(None, Reason.TIMEOUT, detail="2 s ran out")
        return Verdict(float(completion == reference), Reason.MATCH)


class SumData(vf.TaskData):
    answer: str


class SumTask(vf.Task[SumData]):
    correct = reward_method(Reward({"moody": Moody()}), weight=0.5)


async def scored(text):
    task = SumTask(SumData(prompt="2 + 2", answer="4"))
    node = MessageNode(message=vf.AssistantMessage(content=text), sampled=True)
    trace = Trace(
        task=TraceTask(type="SumTask", data=task.data),
        agent=AgentInfo(config=vf.AgentConfig()),
        nodes=[node],
    )
    await task.score(trace)
    rewards = {name: [r.score, r.weight] for name, r in trace.rewards.items()}
    return {"rewards": rewards, "reward": trace.reward, "metrics": trace.metrics}


async def main():
    traces = [await scored(text) for text in ("4", "5", "slow")]
    found = {"version": version("verifiers"), "traces": traces}
    sys.stdout.write(f"RESULT {json.dumps(found)}\n")


if __name__ == "__main__":
    asyncio.run(main())
