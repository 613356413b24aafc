"""Runs lighteval's own pipeline with a rewardkit metric, and prints what it made of it.

For an environment of lighteval's own: it asks for other versions than rewardkit's extras do.
"""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig
from lighteval.models.model_output import ModelResponse
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.registry import Registry
from lighteval.tasks.requests import Doc

from rewardkit import MathVerifier, Reason, Reward, Verdict, Verifier
from rewardkit_lighteval import metric

ANSWERS = {"2 + 2": "So it is \\boxed{4}.", "3 + 1": "So it is \\boxed{5}.", "1 + 3": "slow"}


class Moody(MathVerifier):
    """Times out on "slow"."""

    def verify(self, completion, reference, /, **context):
        if completion == "slow":
            return Verdict(None, Reason.TIMEOUT, detail="2 s ran out")
        return super().verify(completion, reference, **context)

    verify_batch = Verifier.verify_batch


class Written(DummyModel):
    """A model that answers as it is written above."""

    def greedy_until(self, docs):
        return [ModelResponse(text=[ANSWERS[doc.query]]) for doc in docs]


def ask(line, task_name=None):
    return Doc(task_name=task_name, query=line["question"], choices=[line["answer"]], gold_index=0)


def only_ours():
    """Leaves out the tasks that come with lighteval: one of them downloads when it is imported."""
    Registry._load_from_files = staticmethod(lambda files, prefix: {})
    Registry._load_from_subdirs = staticmethod(lambda folders: {})


def main():
    only_ours()
    folder = Path(tempfile.mkdtemp())
    (folder / "data").mkdir()
    rows = [{"question": question, "answer": "4"} for question in ANSWERS]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "data" / "test.jsonl").write_text(text)
    tasks = ModuleType("sums_tasks")
    tasks.TASKS_TABLE = [
        LightevalTaskConfig(
            name="sums",
            prompt_function=ask,
            hf_repo=str(folder / "data"),
            hf_subset="default",
            metrics=[metric(Reward({"math": Moody()}))],
            hf_avail_splits=["test"],
            evaluation_splits=["test"],
            generation_size=8,
        )
    ]
    pipeline = Pipeline(
        tasks="sums|0",
        pipeline_parameters=PipelineParameters(
            launcher_type=ParallelismManager.NONE,
            custom_tasks_directory=tasks,
            bootstrap_iters=0,
        ),
        evaluation_tracker=EvaluationTracker(output_dir=str(folder / "out")),
        model=Written(DummyModelConfig()),
    )
    pipeline.evaluate()
    logger = pipeline.evaluation_tracker.metrics_logger
    values = logger.metrics_values["sums|0"]["rewardkit"]
    found = {
        "version": version("lighteval"),
        "values": ["nan" if value != value else float(value) for value in values],
        "mean": float(logger.metric_aggregated["sums|0"]["rewardkit"]),
    }
    sys.stdout.write(f"RESULT {json.dumps(found)}\n")


if __name__ == "__main__":
    main()
