"""The pool in the places where users put it: bare scripts, forks, daemons, and parents that die."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.processes import (
    descendants,
    environment,
    is_gone_soon,
    is_running,
    run_script,
)
from tests.runtime.tasks import wait_for

UNGUARDED = """
import sys
from rewardkit.runtime import WorkerPool

sys.stdout.write("body\\n")
pool = WorkerPool(workers=2)
sys.stdout.write(str(pool.call(divmod, 7, 2, timeout_s=60).value) + "\\n")
sys.stdout.write(pool.call(pow, 9, 9**9, timeout_s=0.2).status + "\\n")
sys.stdout.write(str(sum(o.value for o in pool.map(abs, range(-5, 5), timeout_s=60))) + "\\n")
"""
SAID = "body\n(3, 1)\ntimeout\n25\n"


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    done = run_script(UNGUARDED, tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == (SAID, "", 0)


def test_a_module_run_by_name_runs_once(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "job.py").write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, "-m", "package.job"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment(),
    )
    assert (done.stdout, done.stderr, done.returncode) == (SAID, "", 0)


def test_a_program_on_the_command_line_runs_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", UNGUARDED],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment(),
    )
    assert (done.stdout, done.stderr, done.returncode) == (SAID, "", 0)


def test_a_program_from_the_standard_input_runs_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable],
        input=UNGUARDED,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment(),
    )
    assert (done.stdout, done.stderr, done.returncode) == (SAID, "", 0)


def test_a_notebook_runs_each_cell_once(tmp_path: Path) -> None:
    script = f"""
import code
console = code.InteractiveConsole({{"__name__": "__main__"}})
console.runcode(compile({UNGUARDED!r}, "<cell 1>", "exec"))
console.runcode(compile({UNGUARDED.replace("body", "again")!r}, "<cell 2>", "exec"))
"""
    done = run_script(script, tmp_path)
    assert (done.stdout, done.stderr) == (SAID + SAID.replace("body", "again"), "")


def test_a_function_of_the_script_is_a_clear_error(tmp_path: Path) -> None:
    script = """
from rewardkit.errors import ConfigError
from rewardkit.runtime import WorkerPool

def grade(x):
    return x

try:
    WorkerPool().call(grade, 1, timeout_s=60)
except ConfigError as error:
    import sys
    sys.stdout.write(str(error))
"""
    done = run_script(script, tmp_path)
    assert done.stdout.startswith("'grade' is defined in the script that is running")
    assert done.stderr == ""


def test_the_import_path_of_an_unlucky_folder_travels(tmp_path: Path) -> None:
    folder = tmp_path / "a 'b' \"c\" é"
    folder.mkdir()
    (folder / "neighbour.py").write_text("def f(x): return x + 1\n")
    script = """
import sys
from rewardkit.runtime import WorkerPool
import neighbour
sys.stdout.write(str(WorkerPool(workers=1).call(neighbour.f, 1, timeout_s=60).value))
"""
    done = run_script(script, folder)
    assert (done.stdout, done.stderr) == ("2", "")


def test_the_interpreter_ends_though_a_task_hangs(tmp_path: Path) -> None:
    script = """
import os, sys, threading
from rewardkit.runtime import WorkerPool
from tests.runtime import tasks

pool = WorkerPool(workers=2)
path = os.path.abspath("pid")
threading.Thread(
    target=pool.call, args=(tasks.announce_and_hang, path), kwargs={"timeout_s": 1e6}, daemon=True
).start()
sys.stdout.write(tasks.wait_for(path))
"""
    done = run_script(script, tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert is_gone_soon(int(done.stdout))


def test_ctrl_c_ends_a_call_and_leaves_the_pool_usable(tmp_path: Path) -> None:
    script = """
import os, signal, sys, threading
from rewardkit.runtime import WorkerPool
from tests.runtime import tasks

pool = WorkerPool(workers=2)
for run in (
    lambda path: pool.call(tasks.announce_and_hang, path, timeout_s=1e6),
    lambda path: pool.map(tasks.announce_and_hang, [path + "1", path], timeout_s=1e6),
):
    path = os.path.abspath("pid")
    def interrupt():
        tasks.wait_for(path)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        run(path)
    except KeyboardInterrupt:
        sys.stdout.write(str(pool.call(abs, -4, timeout_s=60).value) + "\\n")
    thread.join()
    os.unlink(path)
pool.close()
"""
    done = run_script(script, tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("4\n4\n", "", 0)


@pytest.mark.parametrize("task", ["announce_and_hang", "start_child_and_hang"])
def test_nothing_outlives_a_parent_that_is_killed(tmp_path: Path, task: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"""
import sys
from rewardkit.runtime import WorkerPool
from tests.runtime import tasks
WorkerPool(workers=1).call(tasks.{task}, sys.argv[1], timeout_s=1e6)
"""
    )
    path = str(tmp_path / "pid")
    with subprocess.Popen([sys.executable, str(script), path], env=environment()) as parent:
        wait_for(path)
        below = descendants(parent.pid)
        assert len(below) >= 2  # the fork server and a worker, and perhaps its child
        parent.kill()
    assert [pid for pid in below if not is_gone_soon(pid)] == []


def test_nothing_outlives_a_fork_server_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        """
import sys
from rewardkit.runtime import WorkerPool
from tests.runtime import tasks
outcome = WorkerPool(workers=1).call(tasks.announce_and_hang, sys.argv[1], timeout_s=1e6)
sys.stdout.write(outcome.status)
"""
    )
    path = str(tmp_path / "pid")
    with subprocess.Popen(
        [sys.executable, str(script), path], env=environment(), stdout=subprocess.PIPE, text=True
    ) as parent:
        worker = int(wait_for(path))
        server = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(server, signal.SIGKILL)
        assert is_gone_soon(worker)
        assert parent.communicate(timeout=60)[0] == "crash"


def test_a_forked_child_makes_its_own_workers_and_leaves_its_parents_alone(tmp_path: Path) -> None:
    # The threads keep the pool's locks busy, so that some forks happen while one is held.
    script = """
import os, sys, threading
from rewardkit.runtime import WorkerPool
from tests.runtime import tasks

pool = WorkerPool(workers=2)
pool.call(abs, -1, timeout_s=60)
stop, wrong = threading.Event(), []
threads = [threading.Thread(target=tasks.hammer, args=(pool, stop, wrong)) for _ in range(3)]
for thread in threads:
    thread.start()
for i in range(8):
    child = os.fork()
    if child == 0:
        value = pool.call(tasks.double, i, timeout_s=60).value
        if i % 2:
            sys.exit(value)   # with exit handlers
        os._exit(value)       # without
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2 * i
stop.set()
for thread in threads:
    thread.join()
assert wrong == [], wrong
assert pool.call(tasks.double, 4, timeout_s=60).value == 8
sys.stdout.write("done")
"""
    folder = tmp_path
    (folder / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", "script.py"],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env=environment(),
    )
    assert (done.stdout, done.stderr, done.returncode) == ("done", "", 0)


def test_a_forked_child_keeps_no_socket_of_its_parents_pool(tmp_path: Path) -> None:
    script = """
import os, stat
from rewardkit.runtime import WorkerPool

pool = WorkerPool(workers=1)
pool.call(abs, -1, timeout_s=60)
child = os.fork()
if child == 0:
    sockets = 0
    for fd in range(100):
        try:
            sockets += stat.S_ISSOCK(os.fstat(fd).st_mode)
        except OSError:
            pass
    os._exit(sockets)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    done = run_script(script, tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("fork", ["os.fork()", "ctypes.PyDLL(None).fork()"])
def test_workers_end_with_the_parent_though_a_forked_child_lives_on(
    tmp_path: Path, fork: str
) -> None:
    # The C library's fork tells Python nothing, so that child holds the pool's sockets open.
    script = f"""
import ctypes, os, sys, time
from rewardkit.runtime import WorkerPool
from tests.runtime import processes, tasks

pool = WorkerPool(workers=2)
pool.call(tasks.worker_pid, timeout_s=60)
child = {fork}
if child == 0:
    os.close(1)
    os.close(2)
    time.sleep(1000)
path = os.path.abspath("pid")
assert pool.call(tasks.announce_and_hang, path, timeout_s=1).status == "timeout"
assert processes.is_gone_soon(int(tasks.wait_for(path)))
worker = pool.call(tasks.worker_pid, timeout_s=60).value
sys.stdout.write(f"{{worker}} {{child}}")
sys.stdout.flush()
os._exit(0)
"""
    worker, child = map(int, run_script(script, tmp_path).stdout.split())
    try:
        assert is_gone_soon(worker)
        assert is_running(child)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_it_works_in_daemonic_workers_of_another_pool(tmp_path: Path, method: str) -> None:
    # multiprocessing forbids its daemonic workers to have multiprocessing children.
    script = f"""
import multiprocessing, sys
from tests.runtime import tasks

if __name__ == "__main__":
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        sys.stdout.write(str(pool.map(tasks.use_a_pool, [1, 2, 3])))
        pool.close()
        pool.join()
"""
    done = run_script(script, tmp_path)
    expected = str([(2, "timeout"), (4, "timeout"), (6, "timeout")])
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)


def test_it_works_inside_a_worker_of_its_own_kind(tmp_path: Path) -> None:
    script = """
import sys
from rewardkit.runtime import WorkerPool
from tests.runtime import tasks
sys.stdout.write(str(WorkerPool(workers=1).call(tasks.use_a_pool, 2, timeout_s=60).value))
"""
    done = run_script(script, tmp_path)
    assert (done.stdout, done.stderr) == ("(4, 'timeout')", "")


def test_an_interpreter_without_a_path_is_a_clear_error(tmp_path: Path) -> None:
    script = """
import sys
from rewardkit.errors import ConfigError
from rewardkit.runtime import WorkerPool
sys.executable = ""
try:
    WorkerPool().call(abs, 1, timeout_s=60)
except ConfigError as error:
    sys.stdout.write(str(error))
"""
    assert run_script(script, tmp_path).stdout.startswith("sys.executable is empty")
