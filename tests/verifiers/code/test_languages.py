"""Every language of the table that is installed here: right, wrong, and hostile programs."""

from collections.abc import Iterator

import pytest

from rewardkit.errors import EngineMissingError, InvalidReferenceError
from rewardkit.verdict import Reason
from rewardkit.verifiers.code import CodeVerifier
from rewardkit.verifiers.code.languages import LANGUAGES, find_toolchain
from rewardkit.verifiers.code.outcome import _message

CASES = [{"input": "3 4\n", "output": "7\n"}, {"input": "-1 1\n", "output": "0\n"}]
RIGHT = {
    "python": "a, b = map(int, input().split())\nprint(a + b)",
    "javascript": (
        "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\n"
        "console.log(a + b);"
    ),
    "bash": "read a b\necho $((a + b))",
    "c": '#include <stdio.h>\nint main(){int a,b;scanf("%d %d",&a,&b);printf("%d\\n",a+b);}',
    "cpp": "#include <bits/stdc++.h>\nint main(){int a,b;std::cin>>a>>b;std::cout<<a+b<<'\\n';}",
    "rust": (
        "use std::io;\nfn main(){let mut s=String::new();io::stdin().read_line(&mut s).unwrap();\n"
        "let t:i64=s.split_whitespace().map(|x|x.parse::<i64>().unwrap()).sum();"
        'println!("{}",t);}'
    ),
    "go": 'package main\nimport "fmt"\nfunc main(){var a,b int;fmt.Scan(&a,&b);fmt.Println(a+b)}',
    "java": (
        "import java.util.*;\npublic class Main{public static void main(String[] x){\n"
        "Scanner s=new Scanner(System.in);System.out.println(s.nextInt()+s.nextInt());}}"
    ),
}
COMPILED = ("c", "cpp", "rust", "go", "java")


@pytest.fixture(scope="module")
def verifier() -> Iterator[CodeVerifier]:
    with CodeVerifier(policy="fraction") as made:
        yield made


def test_the_table_is_tested_whole() -> None:
    assert RIGHT.keys() == LANGUAGES.keys()


def require(language: str) -> None:
    if find_toolchain(language) is None:
        pytest.skip(f"{LANGUAGES[language].tool} is not installed here")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_right_program_passes(verifier: CodeVerifier, language: str) -> None:
    require(language)
    reference = {"format": "stdio", "language": language, "cases": CASES}
    tag = LANGUAGES[language].tags[0]
    verdict = verifier.verify(f"```{tag}\n{RIGHT[language]}\n```", reference)
    assert verdict.passed, verdict


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_wrong_program_fails(verifier: CodeVerifier, language: str) -> None:
    require(language)
    reference = {"format": "stdio", "language": language, "cases": CASES}
    program = RIGHT[language].replace("+", "-", 1) if language != "rust" else RIGHT[language]
    program = program.replace("sum()", "product()")
    verdict = verifier.verify(f"```{LANGUAGES[language].tags[0]}\n{program}\n```", reference)
    assert verdict.score is not None
    assert verdict.score < 1, verdict


@pytest.mark.parametrize("language", COMPILED)
def test_what_does_not_compile_is_unparsable(verifier: CodeVerifier, language: str) -> None:
    require(language)
    reference = {"format": "stdio", "language": language, "cases": CASES}
    verdict = verifier.verify(f"```{LANGUAGES[language].tags[0]}\nnonsense {{\n```", reference)
    assert (verdict.score, verdict.reason) == (0.0, Reason.UNPARSABLE)
    assert "compile error" in verdict.detail


def test_a_compiler_reads_no_file_of_the_host(verifier: CodeVerifier) -> None:
    require("c")
    source = '#include "/etc/shadow"\nint main(){}'
    reference = {"format": "stdio", "language": "c", "cases": CASES}
    verdict = verifier.verify(f"```c\n{source}\n```", reference)
    assert verdict.reason is Reason.UNPARSABLE
    assert "No such file" in verdict.detail


def test_a_hostile_c_program_is_contained(verifier: CodeVerifier) -> None:
    require("c")
    source = """
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
int main(){ printf("%d %d\\n", socket(AF_INET, SOCK_STREAM, 0), access("/root/.ssh", F_OK)); }
"""
    cases = [{"input": "", "output": "-1 -1\n"}]
    reference = {"format": "stdio", "language": "c", "cases": cases}
    verdict = verifier.verify(f"```c\n{source}\n```", reference)
    assert verdict.passed, verdict
    assert verdict.evidence["denied_calls"] == ["socket"]


def test_an_unknown_language_is_the_callers_mistake(verifier: CodeVerifier) -> None:
    with pytest.raises(InvalidReferenceError, match="language"):
        verifier.verify("x", {"format": "stdio", "language": "cobol", "cases": CASES})


def test_a_missing_tool_says_what_to_install(
    verifier: CodeVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_toolchain.cache_clear()
    monkeypatch.setenv("PATH", "")
    try:
        with pytest.raises(EngineMissingError, match="apt-get install"):
            verifier.verify("x", {"format": "stdio", "language": "go", "cases": CASES})
    finally:
        find_toolchain.cache_clear()


TRACES = {
    "javascript": (
        "/box/main.js:2\nthrow new RangeError('too far');\n^\n\nRangeError: too far\n"
        "    at Object.<anonymous> (/box/main.js:2:7)\n    at new Promise (<anonymous>)\n"
        "    at node:internal/main/run_main_module:23:47 {\n  code: 'E'\n}\n\nNode.js v20.1.0\n",
        "RangeError: too far",
    ),
    "javascript, not read": (
        "/box/main.js:1\nlet x = ;\n        ^\n\nSyntaxError: Unexpected token ';'\n"
        "    at wrapSafe (node:internal/modules/cjs/loader:1:1)\n\nNode.js v18.19.0\n",
        "SyntaxError: Unexpected token ';'",
    ),
    "java": (
        'Exception in thread "main" java.lang.IllegalStateException: bad\n'
        "\tat Main.main(Main.java:3)\nCaused by: java.lang.RuntimeException: boom\n"
        "\tat Main.g(Main.java:9)\n\tat java.base/x.Y.invoke0(Native Method)\n\t... 1 more\n",
        "Caused by: java.lang.RuntimeException: boom",
    ),
    "go": (
        "panic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 [running]:\n"
        "main.main()\n\t/box/main.go:4 +0x1d\nexit status 2\n",
        "panic: runtime error: index out of range [5] with length 3",
    ),
    "rust": (
        "thread 'main' panicked at main.rs:2:5:\nboom\n"
        "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
        "boom",
    ),
    "python": (
        'Traceback (most recent call last):\n  File "main.py", line 1, in <module>\n'
        "    at = d[1:2]\nKeyError: 'x'\n",
        "KeyError: 'x'",
    ),
    "text": ("it went wrong\n", "it went wrong"),
    "one indented line": ("   at all\n", "at all"),
    "nothing": ("\n \n", ""),
}


@pytest.mark.parametrize("name", TRACES)
def test_the_line_that_says_what_went_wrong_is_found(name: str) -> None:
    stderr, said = TRACES[name]
    assert _message(stderr.encode()) == said


@pytest.mark.parametrize(
    ("language", "program", "said"),
    [
        ("javascript", "throw new RangeError('too far');", "RangeError: too far"),
        ("javascript", "let x = ;", "SyntaxError"),
        ("python", "raise KeyError('x')", "KeyError: 'x'"),
    ],
)
def test_the_detail_shows_the_message(
    verifier: CodeVerifier, language: str, program: str, said: str
) -> None:
    require(language)
    reference = {"format": "stdio", "language": language, "cases": CASES}
    verdict = verifier.verify(f"```{language}\n{program}\n```", reference)
    assert verdict.reason is Reason.CRASH
    assert f"exit status 1; {said}" in verdict.detail
