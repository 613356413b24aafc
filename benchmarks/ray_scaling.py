"""Prints how rows a second grow with the nodes of a simulated Ray cluster.

    python -m benchmarks.ray_scaling [--rows 600] [--write-docs]

A row waits 20 ms and computes nothing, as one does that waits for another program: so nodes that
share the cores of one machine still show whether the runner keeps all of them at work.
"""

import argparse
import time

import ray
from ray.cluster_utils import Cluster

from benchmarks._tables import Section, Table, describe_machine, format_number, write_sections
from benchmarks._waits import ROW_S, Waits
from rewardkit import RayRunner


def rows_per_s(runner: RayRunner, rows: int) -> float:
    """Returns the rows that a runner grades in a second."""
    started = time.perf_counter()
    runner.verify_batch(Waits(), ["x"] * rows, ["x"] * rows)
    return rows / (time.perf_counter() - started)


def scaling(nodes: tuple[int, ...], rows: int) -> Table:
    """Returns the table of rows a second; each number of nodes is a cluster of its own."""
    told = []
    alone = 0.0
    for count in nodes:
        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
        )
        try:
            for _ in range(count - 1):
                cluster.add_node(num_cpus=1)
            cluster.wait_for_nodes()
            ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
            with RayRunner() as runner:
                rows_per_s(runner, 20 * count)  # starts and warms the actors
                rate = max(rows_per_s(runner, rows) for _ in range(2))
        finally:
            ray.shutdown()
            cluster.shutdown()
        alone = alone or rate / count
        told.append((str(count), format_number(rate), f"{100 * rate / (count * alone):.0f}"))
    return Table(
        f"Rows of {1e3 * ROW_S:.0f} ms on simulated nodes of one CPU",
        ("nodes", "rows a second", "% of nodes × the first"),
        tuple(told),
        note=f"At most {1 / ROW_S:.0f} rows a second are possible on a node.",
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    text = f"{scaling((1, 2), options.rows).to_markdown()}\n\n{describe_machine(['ray'])}"
    print(text)
    if options.write_docs:
        write_sections([Section("ray", text)])


if __name__ == "__main__":
    main()
