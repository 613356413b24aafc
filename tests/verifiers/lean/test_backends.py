import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rewardkit.errors import ConfigError, EngineMissingError
from rewardkit.verifiers.formal.scan import LEAN, read_code
from rewardkit.verifiers.lean import KiminaLean, LeanVerifier, ReplLean
from rewardkit.verifiers.lean._inside import elpi
from rewardkit.verifiers.lean.ban import find_banned

STATEMENT = {"statement": "def two := 2\ntheorem t (n : Nat) : n + two = two + n := by sorry\n"}
PROOF = "def two := 2\ntheorem t (n : Nat) : n + two = two + n := Nat.add_comm n two\n"
ATTACKS = {
    "hole": PROOF.replace("Nat.add_comm n two", "by sorry"),
    "axiom": "axiom a {p : Prop} : p\n" + PROOF.replace("Nat.add_comm n two", "a"),
    "definition": PROOF.replace("two := 2", "two := 0"),
    "statement": PROOF.replace("n + two = two + n", "n = n").replace("Nat.add_comm n two", "rfl"),
    "macro": "local macro_rules | `($_ = $_) => `(True)\n" + PROOF,
    "missing": PROOF.replace("theorem t", "theorem u"),
}


def answers(messages, header_lines=0):
    """Returns Lean's messages as the REPL and Kimina write them."""
    return {
        "env": 0,
        "messages": [
            {
                "severity": "info" if m.severity == "information" else m.severity,
                "pos": {"line": m.line - header_lines, "column": m.column},
                "endPos": {"line": m.end_line - header_lines, "column": m.end_column},
                "data": m.text,
            }
            for m in messages
        ],
    }


@pytest.fixture(scope="module")
def kimina(lean):
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, self.headers.get("Authorization"), body))
            if self.headers.get("Authorization") == "Bearer another":
                self.send_error(401)
                return
            code = body["snippets"][0]["code"]
            result = {"id": "rewardkit", "time": 0.1, "error": None}
            lines = code.splitlines()
            ends = [i for i, x in enumerate(lines) if x.strip() and not x.startswith("import ")]
            if "HANG" in code:
                result["error"] = "Lean REPL command timed out in 60 seconds"
            elif "SLOW" in code:
                result["error"] = "Lean REPL header command timed out in 60 seconds"
            elif "BROKEN" in code:
                result["error"] = "no REPL"
            else:
                # The server gives imports and body to the REPL one after the other, and its
                # lines count from the body's first.
                result["response"] = answers(lean.check(code).messages, ends[0])
            data = json.dumps({"results": [result]}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", seen
    server.shutdown()
    server.server_close()


def test_kimina_proves_and_refuses(kimina):
    url, seen = kimina
    verifier = LeanVerifier(backend=KiminaLean(url=url, api_key="k"))
    assert verifier.verify(PROOF, STATEMENT).passed
    assert seen[0][:2] == ("/api/check", "Bearer k")
    for name, attack in ATTACKS.items():
        assert verifier.verify(attack, STATEMENT).score == 0.0, name
    assert verifier.verify(PROOF + "-- HANG", STATEMENT).reason.value == "timeout"
    assert verifier.verify(PROOF + "-- BROKEN", STATEMENT).abstained
    assert verifier.verify(PROOF + "-- SLOW", STATEMENT).abstained


def test_a_key_that_the_server_refuses_is_the_callers_mistake(kimina):
    verifier = LeanVerifier(backend=KiminaLean(url=kimina[0], api_key="another"))
    with pytest.raises(ConfigError, match="api_key"):
        verifier.verify(PROOF, STATEMENT)


def test_kimina_is_asked_for_a_fresh_repl_where_a_file_has_no_imports(kimina):
    backend = KiminaLean(url=kimina[0])
    for text, reuse in (("#check Nat", False), ("import Init\n#check Nat", True)):
        backend.check(text)
        assert kimina[1][-1][2]["reuse"] is reuse


def test_kimina_counts_lines_behind_the_imports(kimina):
    verifier = LeanVerifier(backend=KiminaLean(url=kimina[0]))
    reference = {**STATEMENT, "header": "import Init\nimport Init.List\n"}
    wrong = "def two := 2\ntheorem t (n : Nat) : n + two = two + n := by\n  skip\n  exact rfl\n"
    verdict = verifier.verify(wrong, reference)
    assert wrong[verdict.evidence["position"] :].startswith("exact rfl")
    assert [step.score for step in verdict.steps] == [1.0, 0.0]


def test_only_a_late_file_beside_others_is_tried_once_more(kimina):
    backend = KiminaLean(url=kimina[0])
    for others, requests in ((0, 1), (1, 2)):
        kimina[1].clear()
        backend._load.add(others)
        assert backend.check("import Init\n-- HANG\n#check Nat").ended == "timeout"
        assert [body["reuse"] for _, _, body in kimina[1]] == [True, False][:requests]


def test_kiminas_own_client_and_models_agree_with_ours(kimina):
    if sys.version_info < (3, 12):
        pytest.skip("kimina-client's models need Python 3.12 where pydantic is new")
    client = pytest.importorskip("kimina_client", reason="pip install kimina-client")
    url, seen = kimina
    snippet = client.Snippet(id="rewardkit", code=PROOF)
    theirs = client.KiminaClient(api_url=url, api_key="k").api_check([snippet], timeout=60)
    (result,) = theirs.results
    assert result.analyze().status.value == "valid"
    KiminaLean(url=url, api_key="k").check(PROOF)
    (path, key, sent), (_, _, ours) = seen[-2:]
    assert (path, key) == ("/api/check", "Bearer k")
    assert client.CheckRequest.model_validate(ours) == client.CheckRequest.model_validate(sent)


def test_a_server_that_is_not_there_is_an_abstention():
    backend = KiminaLean(url="http://127.0.0.1:9", retries=1)
    assert LeanVerifier(backend=backend).verify(PROOF, STATEMENT).abstained


REPL = """
import json, subprocess, sys, tempfile
buffer = ""
for line in sys.stdin:
    if line.strip():
        buffer += line
        continue
    if not buffer.strip():
        continue
    command, buffer = json.loads(buffer), ""
    if "HANG" in command["cmd"]:
        import time; time.sleep(60)
    with open("Repl.lean", "w") as file:
        file.write(command["cmd"])
    done = subprocess.run([sys.executable, ELPI, FOLDER, "--json", "-s65536", "Repl.lean"],
                          capture_output=True, text=True)
    messages = [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]
    for m in messages:
        m["severity"] = "info" if m["severity"] == "information" else m["severity"]
    print(json.dumps({"env": 0, "messages": messages}, indent=1))
    print(flush=True)
"""


def test_the_repl_protocol_proves_refuses_and_recovers(lean, tmp_path):
    tmp_path.chmod(0o755)
    script = tmp_path / "repl.py"
    script.write_text(
        REPL.replace("ELPI", repr(elpi.__file__)).replace("FOLDER", repr(elpi.find_elpi()))
    )
    backend = ReplLean(
        command=(os.path.realpath(sys._base_executable), str(script)),
        binds=(str(tmp_path), elpi.__file__.rpartition("/")[0], *lean.toolchain.binds),
        environment={"LEAN_PATH": ":".join(lean.toolchain.path)},
        timeout_s=8.0,
    )
    with LeanVerifier(backend=backend) as verifier:
        assert verifier.verify(PROOF, STATEMENT).passed
        for name in ("hole", "definition"):
            assert verifier.verify(ATTACKS[name], STATEMENT).score == 0.0, name
        assert verifier.verify(PROOF + "-- HANG", STATEMENT).reason.value == "timeout"
        assert verifier.verify(PROOF + "\n", STATEMENT).passed


def test_options_are_checked():
    with pytest.raises(ConfigError, match="http"):
        KiminaLean(url="ftp://x")
    with pytest.raises(ConfigError, match="absolute"):
        ReplLean(command=("repl",))
    with pytest.raises(EngineMissingError, match="lean"):
        LeanVerifier(lean="/no/such/lean")
    with pytest.raises(ConfigError, match="lakefile"):
        LeanVerifier(project="/tmp", lean="/bin/true")


@pytest.mark.parametrize(
    ("text", "banned"),
    [
        ("theorem t : a := by simp -- run_cmd", False),
        ("/- #eval 1 -/ theorem t : a := h", False),
        ("open Lean in #eval 1", True),
        ("set_option debug.skipKernelTC true", True),
        ("set_option «debug».skipKernelTC true", True),
        ("set_option maxHeartbeats 400000 in theorem t : a := h", False),
        ("@[implemented_by g] def f := 1", True),
        ('attribute [extern "x"] f', True),
        ("@[simp, export foo] def f := 1", True),
        ("@[simp] theorem a : b := c", False),
        ('macro "x" : tactic => `(tactic| simp)', False),
        ('macro "x" : tactic => `(tactic| exact fun h => ⟨h.2, h.1⟩)', False),
        ('macro "x" : tactic => if (`(a) == `(b)) then c else d', True),
        ('macro "x" : command => do return mkIdent `a', True),
        ('local notation "a -- b" => 1', True),
        ('elab "x" : tactic => skip', True),
        ("theorem unsafe_thing : a := elaborate", False),
        ("simproc foo (x) := fun e => e", True),
        ('def x := include_str "/etc/passwd"', True),
    ],
)
def test_what_is_banned(text, banned):
    assert bool(find_banned(read_code(text, LEAN))) is banned
