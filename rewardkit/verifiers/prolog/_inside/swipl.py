"""SWI-Prolog in this process, through its C interface: started once, then forked.

Only the standard library is imported, because the sandbox's fork server loads this file by path.
"""

import ctypes
import json
import re
from collections.abc import Callable, Iterator

__all__ = ["Atom", "Prolog"]

_ATOM, _STRING = 2, 6
_MEANS_NODEBUG, _CATCH = 0x0004, 0x0008
_OPTIONS = (
    "--quiet",
    "--no-signals",
    "--no-tty",
    "--no-packs",
    "--no-debug",
    "-f",
    "none",
    "-F",
    "none",
)
_PRELOADED = (
    *("lists", "apply", "aggregate", "assoc", "pairs", "ugraphs", "ordsets", "option", "strings"),
    *("yall", "solution_sequences", "nb_set", "rbtrees", "random", "gensym", "readutil", "date"),
    *("dcg/basics", "dcg/high_order", "error", "debug", "dicts", "occurs", "terms", "heaps"),
    *("varnumbers", "when", "dif", "time", "backcomp", "charsio", "codesio", "ctypes", "edinburgh"),
    *("clpq", "clpr", "clpfd", "clpb", "simplex", "nb_rbtrees", "tables", "wfs", "oset", "sort"),
    *("sandbox", "prolog_stack", "quintus", "prolog_code", "thread", "statistics"),
)
_REHEARSAL = """
:- use_module(library(clpfd)).
:- use_module(library(lists)).
:- dynamic seen/1.
word --> "a", word.
word --> [].
solve("ä", X, Y) :- X #> 3, phrase(word, `aa`), forall(member(Y, [1, 2]), seen(Y)).
solve(X) :- X in 1..3, findall(Y, member(Y, [1, 1.5, a, f(X)]), L), format(atom(_), "~w", [L]).
solve(X) :- catch(X is foo + 1, _, fail).
broken(.
"""
_SOLVER = """
:- use_module(library({name})).
five(5).
solve(X) :- five(F), {{2*X = F, Y > X, Y >= 3}}, minimize(Y).
"""
_LIBRARY = re.compile(r"library\s*\(\s*([a-z][a-z0-9_/]{0,40})\s*\)")
_HEAD = re.compile(r"^([a-z]\w*)\(", re.MULTILINE)
_CALL = re.compile(r"\b([a-z]\w*)\(")
_MAX_LIBRARIES = 16
_Term = int
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t)
_CALLBACK2 = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)


class Atom(str):
    """Text that becomes an atom and not a string."""

    __slots__ = ()


class Prolog:
    """The engine of this process. There is one at most; a forked child has its own copy."""

    def __init__(self, library: str, engine: str, *, stack_bytes: int) -> None:
        """Starts the engine, loads the libraries that programs use, and locks what may do harm.

        Args:
            library: path of the shared library.
            engine: path of `engine.pl`.
            stack_bytes: the stack limit of every query.

        Raises:
            OSError: it does not start.
        """
        self.note: Callable[[str, str], None] = lambda kind, text: None
        self.stop: Callable[[str], None] = lambda what: None
        self._library = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        self._declare()
        words = ["swipl", *_OPTIONS, f"--stack-limit={stack_bytes // 1024}k"]
        self._arguments = (ctypes.c_char_p * len(words))(*(w.encode() for w in words))
        if not self._library.PL_initialise(len(words), self._arguments):
            raise OSError("SWI-Prolog does not start")
        self._register()
        self._run("set_prolog_gc_thread(false)")
        # What libraries load at first use they load now: later nothing can be opened.
        self._run("set_prolog_flag(autoload, false)")
        # The same choices in every run: a verdict does not hang on chance.
        self._run("set_random(seed(20251207))")
        self._run(f"load_files('{engine}', [silent(true)])")
        for name in _PRELOADED:
            # Empty import lists: clpq and clpr would clash in module user.
            self._run(f"catch(use_module(library({name}), []), _, true)")
        self._loaded = set(_PRELOADED)
        self._run("set_prolog_flag(autoload, true)")
        # Nobody reads them, and a write for each line would cost more than the program.
        for stream in ("user_output", "user_error"):
            self._run(f"set_stream({stream}, buffer(full))")
        # What is loaded or looked up at first use is so now: a runner can open no file.
        self.rehearse(("clpq", "clpr"), first=_REHEARSAL)
        self._run("'$rewardkit':install_guards")
        listed = json.loads(self.once("autoloadable")[1] or "[]")
        self._library_of: dict[str, str] = dict(listed)

    def flush(self) -> None:
        """Writes out what the program has printed."""
        self._run("(flush_output(user_output), flush_output(user_error))", required=False)

    def load_for(self, program: str) -> None:
        """Loads the harmless libraries that a program names, or whose predicates it calls."""
        named = _LIBRARY.findall(program)
        defined = set(_HEAD.findall(program))
        called = set(_CALL.findall(program)) - defined
        named += [self._library_of[name] for name in sorted(called & self._library_of.keys())]
        for name in list(dict.fromkeys(named))[:_MAX_LIBRARIES]:
            self._load_library(name)

    def _load_library(self, name: str) -> None:
        if name in self._loaded:
            return
        load = f"('$rewardkit':may_preload({name}), use_module(library({name}), []))"
        self._run("set_prolog_flag(autoload, false)")
        self._run(f"catch({load}, _, true)", required=False)
        self._run("set_prolog_flag(autoload, true)")

    def solutions(
        self, predicate: str, *arguments: str | int | list[str]
    ) -> Iterator[tuple[str, str]]:
        """Yields the two last arguments of a predicate of `engine.pl` for each solution.

        Args:
            predicate: its name.
            arguments: its first arguments; text becomes a string, a list one of atoms.
        """
        library = self._library
        count = len(arguments) + 2
        first = library.PL_new_term_refs(count)
        for index, argument in enumerate(arguments):
            self._put(first + index, argument)
        found = library.PL_predicate(predicate.encode(), count, b"$rewardkit")
        query = library.PL_open_query(None, _MEANS_NODEBUG | _CATCH, found, first)
        try:
            while library.PL_next_solution(query):
                yield self._text(first + count - 2), self._text(first + count - 1)
            if library.PL_exception(query):
                # What no catch/3 stops, such as abort/0.
                yield "error", '{"class":"aborted","text":"aborted"}'
        finally:
            library.PL_cut_query(query)

    def once(self, predicate: str, *arguments: str | int | list[str]) -> tuple[str, str]:
        """Returns the two last arguments for the first solution; "failed" without one."""
        for answer in self.solutions(predicate, *arguments):
            return answer
        return "failed", ""

    def rehearse(self, solvers: tuple[str, ...], *, first: str = "") -> None:
        """Loads, asks and looks at a small program for each solver, and forgets them again."""
        texts = [text for text in (first, *(_SOLVER.format(name=name) for name in solvers)) if text]
        for number, text in enumerate(texts):
            # In modules of their own: the solvers both define {}/1.
            module, file = Atom(f"rehearsal{number}"), Atom(f"/rehearsal{number}.pl")
            self.once("try_load", text, module, file, 1_000_000)
            list(self.solutions("answer", "solve(X)", module, -1, 1_000_000))
            self.once("try_structure", "solve(X)", module)
            self.once("try_literals", text, module)
            self._run(f"unload_file('/rehearsal{number}.pl')")

    def _put(self, term: _Term, argument: str | int | list[str]) -> None:
        library = self._library
        if isinstance(argument, int):
            library.PL_put_int64(term, argument)
        elif isinstance(argument, list):
            head, tail = library.PL_new_term_refs(1), library.PL_new_term_refs(1)
            library.PL_put_nil(tail)
            for name in reversed(argument):
                self._put(head, Atom(name))
                library.PL_cons_list(tail, head, tail)
            library.PL_put_term(term, tail)
        else:
            # As wide characters: no quoting that a flag of the program's could change.
            kind = _ATOM if isinstance(argument, Atom) else _STRING
            wide = argument.encode("utf-32-le", "surrogatepass")
            fresh = library.PL_new_term_refs(1)
            library.PL_unify_wchars(fresh, kind, len(argument), wide)
            library.PL_put_term(term, fresh)

    def _text(self, term: _Term) -> str:
        data, size = ctypes.c_char_p(), ctypes.c_size_t()
        library = self._library
        if library.PL_get_atom_nchars(term, ctypes.byref(size), ctypes.byref(data)):
            return ctypes.string_at(data, size.value).decode("latin-1")
        if library.PL_get_string(term, ctypes.byref(data), ctypes.byref(size)):
            return ctypes.string_at(data, size.value).decode("latin-1")
        return ""

    def _run(self, goal: str, *, required: bool = True) -> None:
        term = self._library.PL_new_term_refs(1)
        read = self._library.PL_chars_to_term(goal.encode(), term)
        if not (read and self._library.PL_call(term, None)) and required:
            raise OSError(f"SWI-Prolog refuses {goal[:60]}")

    def _register(self) -> None:
        def stop(what: int) -> int:
            self.stop(self._text(what))
            return 1

        def note(kind: int, what: int) -> int:
            self.note(self._text(kind), self._text(what))
            return 1

        self._kept = (_CALLBACK(stop), _CALLBACK2(note))
        register = self._library.PL_register_foreign_in_module
        register(b"system", b"$rk_stop", 1, ctypes.cast(self._kept[0], ctypes.c_void_p), 0)
        register(b"system", b"$rk_note", 2, ctypes.cast(self._kept[1], ctypes.c_void_p), 0)

    def _declare(self) -> None:
        library = self._library
        term, size, text, pointer = (
            ctypes.c_size_t,
            ctypes.c_size_t,
            ctypes.c_char_p,
            ctypes.c_void_p,
        )
        by_ref = ctypes.c_void_p
        library.PL_initialise.argtypes = [ctypes.c_int, pointer]
        library.PL_new_term_refs.restype = term
        library.PL_new_term_refs.argtypes = [ctypes.c_int]
        library.PL_predicate.restype = pointer
        library.PL_predicate.argtypes = [text, ctypes.c_int, text]
        library.PL_open_query.restype = size
        library.PL_open_query.argtypes = [pointer, ctypes.c_int, pointer, term]
        library.PL_next_solution.argtypes = [size]
        library.PL_cut_query.argtypes = [size]
        library.PL_exception.restype = term
        library.PL_exception.argtypes = [size]
        library.PL_put_int64.argtypes = [term, ctypes.c_int64]
        library.PL_put_nil.argtypes = [term]
        library.PL_put_term.argtypes = [term, term]
        library.PL_cons_list.argtypes = [term, term, term]
        library.PL_unify_wchars.argtypes = [term, ctypes.c_int, size, text]
        library.PL_get_atom_nchars.argtypes = [term, by_ref, by_ref]
        library.PL_get_string.argtypes = [term, by_ref, by_ref]
        library.PL_chars_to_term.argtypes = [text, term]
        library.PL_call.argtypes = [term, pointer]
        number = ctypes.c_int
        library.PL_register_foreign_in_module.argtypes = [text, text, number, pointer, number]
