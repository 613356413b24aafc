% Loaded once into the fork server, before any submission exists. What a submission calls lives in
% module user; what is here is locked, and its answers leave through the calling process alone.
:- module('$rewardkit', []).

:- use_module(library(lists), [member/2, append/3, max_list/2, nth1/3, reverse/2,
                                list_to_set/2]).
:- use_module(library(apply), [maplist/2, maplist/3]).

% --- refusing side effects -------------------------------------------------------------------

% '$rk_stop'(+What) is foreign: it reports and ends the process, so that nothing can catch it.

refused(shell(_)).
refused(shell(_, _)).
refused(shell).
refused(halt).
refused(halt(_)).
refused(see(_)).
refused(tell(_)).
refused(append(_)).
refused(prolog).
refused(break).
refused(qcompile(_)).
refused(qcompile(_, _)).
refused(setenv(_, _)).
refused(unsetenv(_)).
refused(chdir(_)).
refused(delete_file(_)).
refused(delete_directory(_)).
refused(rename_file(_, _)).
refused(make_directory(_)).
refused(tmp_file(_, _)).
refused(tmp_file_stream(_, _, _)).
refused(protocol(_)).
refused(protocola(_)).
refused(open_xterm(_, _, _, _, _)).
refused(open_resource(_, _, _)).
refused(redefine_system_predicate(_)).
refused(copy_predicate_clauses(_, _)).
refused(unwrap_predicate(_, _)).
refused(open_shared_object(_, _)).
refused(open_shared_object(_, _, _)).
refused(call_shared_object_function(_, _)).
refused(set_system_IO(_, _, _)).
refused(format_predicate(_, _)).

% Others depend on what they are asked for.
guarded(open(File, Mode, _), '$rewardkit':may_open(File, Mode)).
guarded(open(File, Mode, _, _), '$rewardkit':may_open(File, Mode)).
guarded(load_files(Files, Options), '$rewardkit':may_load(Files, Options)).
guarded(set_prolog_flag(Flag, _), '$rewardkit':may_set(Flag)).
guarded(create_prolog_flag(Flag, _, _), '$rewardkit':may_set(Flag)).
guarded('$c_wrap_predicate'(Head, _, _, _, _), '$rewardkit':may_wrap(Head)).
guarded('$record_clause'(Clause, _, _), '$rewardkit':may_define(Clause)).
guarded('$record_clause'(Clause, _, _, _), '$rewardkit':may_define(Clause)).
guarded(abolish(Indicator), '$rewardkit':may_abolish(Indicator)).
guarded(abolish(Name, _), '$rewardkit':may_abolish(Name)).
guarded('$set_predicate_attribute'(Head, _, _), '$rewardkit':may_change(Head)).
guarded(erase(Reference), '$rewardkit':may_erase(Reference)).

% And some would only waste time, or write where nobody reads.
replaced(sleep(_), true).
replaced(print_message(Kind, Term), '$rewardkit':note(Kind, Term)).
replaced(prolog_alert_signal(_, _), true).

may_open(File, read) :-
    own_file(File), !,
    throw(error(existence_error(source_sink, File), _)).
may_open(File, read) :-
    catch(absolute_file_name(File, Path, [file_errors(fail)]), _, fail),
    in_library(Path), !.
may_open(File, Mode) :-
    stop(open(File, Mode)).

% What a program is loaded as; portray_clause/1 and its kin look for the names of variables there.
own_file(File) :-
    atom(File),
    ( File == '/program.pl' -> true ; sub_atom(File, 0, _, _, '/variant') ).

in_library(Path) :-
    current_prolog_flag(home, Home),
    atom_concat(Home, '/', Prefix),
    sub_atom(Path, 0, _, _, Prefix).

may_load(Files, Options) :-
    strip_module(Files, _, Plain),
    may_load_(Plain, Options), !.
may_load(Files, _) :-
    stop(load_files(Files)).

may_load_(Files, _) :-
    is_list(Files), !,
    forall(member(File, Files), ( strip_module(File, _, F), may_load_(F, []) )).
may_load_(_, Options) :-
    is_list(Options),
    memberchk(stream(_), Options), !.
may_load_(library(Name), _) :-
    \+ unsafe_library(Name), !.
may_load_(File, _) :-
    % Libraries name each other by other aliases, and the autoloader by path.
    catch(absolute_file_name(File, Path, [file_type(prolog), file_errors(fail)]), _, fail),
    in_library(Path),
    file_base_name(Path, Base), file_name_extension(Name, _, Base),
    \+ unsafe_library(Name).

% autoloadable(row, -Json): [name, library] of what is loaded at first use in an ordinary session,
% and has to be loaded beforehand here.
autoloadable(row, Json) :-
    findall(Name-Library,
            ( '$in_library'(Name, _, Path),
              file_base_name(Path, Library),
              file_directory_name(Path, Directory),
              current_prolog_flag(home, Home), atom_concat(Home, '/library', Directory),
              \+ ( atom_concat(Path, '.pl', File), source_file_property(File, module(_)) ),
              may_preload(Library) ),
            Pairs0),
    sort(Pairs0, Pairs),
    with_output_to(string(Json), write_pairs(Pairs)).

write_pairs(Pairs) :-
    put_char('['),
    write_pairs_(Pairs),
    put_char(']').

write_pairs_([]).
write_pairs_([Name-Library|Rest]) :-
    put_text('["', Name, '","', Library, '"]'),
    ( Rest == [] -> true ; put_char(','), write_pairs_(Rest) ).

may_preload(Name) :-
    \+ unsafe_library(Name).

unsafe_library(Name) :-
    ( atom(Name) -> Base = Name ; Name =.. [Base|_] ),
    unsafe_library_(Base).

unsafe_library_(archive).
unsafe_library_(crypto).
unsafe_library_(edit).
unsafe_library_(editline).
unsafe_library_(files).
unsafe_library_(filesex).
unsafe_library_(git).
unsafe_library_(http).
unsafe_library_(make).
unsafe_library_(mqi).
unsafe_library_(pengines).
unsafe_library_(persistency).
unsafe_library_(process).
unsafe_library_(prolog_pack).
unsafe_library_(prolog_server).
unsafe_library_(prolog_wrap).
unsafe_library_(qsave).
unsafe_library_(readline).
unsafe_library_(redis).
unsafe_library_(rlimit).
unsafe_library_(shell).
unsafe_library_(shlib).
unsafe_library_(socket).
unsafe_library_(stomp).
unsafe_library_(streampool).
unsafe_library_(syslog).
unsafe_library_(system).
unsafe_library_(udp_broadcast).
unsafe_library_(uid).
unsafe_library_(unix).
unsafe_library_(www_browser).

may_set(Flag) :-
    ( nonvar(Flag), memberchk(Flag, [access_level, protect_static_code, home, pid, executable])
    ->  stop(set_prolog_flag(Flag))
    ;   true
    ).

% Consulting a clause for a locked predicate replaces the predicate, except in module system.
may_define(Clause) :-
    '$current_source_module'(Source),
    strip_module(Source:Clause, M0, Plain0),
    ( nonvar(Plain0), Plain0 = (Head0 :- _) -> true ; Head0 = Plain0 ),
    strip_module(M0:Head0, M, Head),
    may_touch(M, Head).

may_abolish(Indicator) :-
    strip_module(Indicator, M, _),
    may_touch(M, _).

may_change(Head) :-
    strip_module(Head, M, _),
    ( memberchk(M, ['$rewardkit', '$messages', '$syspreds']) -> stop(change(M)) ; true ).

may_erase(Reference) :-
    (   catch(clause(M:Head, _, Reference), _, fail),
        predicate_property(M:Head, static)
    ->  may_touch(M, Head)
    ;   true
    ).

may_touch(M, _) :- \+ module_property(M, class(system)), !.
may_touch(system, _) :- !.
may_touch(M, Head) :- callable(Head), predicate_property(M:Head, multifile), !.
may_touch(M, _) :- stop(change(M)).

may_wrap(Head) :-
    (   strip_module(Head, M, Plain), callable(Plain),
        predicate_property(M:Plain, built_in)
    ->  stop(wrap_predicate(Plain))
    ;   true
    ).

stop(What) :-
    format(string(Text), '~W', [What, [quoted(true), max_depth(6), portray(false)]]),
    '$rk_stop'(Text).

definition(Head, M) :-
    predicate_property(system:Head, defined),
    ( predicate_property(system:Head, imported_from(M0)) -> M = M0 ; M = system ).

install_guards :-
    set_module('$rewardkit':class(system)),
    set_prolog_flag(access_level, system),
    as_without(arithmetic),
    forall(( refused(H), definition(H, M) ),
           wrap(M:H, _, '$rewardkit':stop(H))),
    forall(( guarded(H, Check), definition(H, M) ),
           ( H =.. [_|_], wrap(M:H, Original, (Check, Original)) )),
    forall(( replaced(H, Instead), definition(H, M) ),
           wrap(M:H, _, Instead)),
    lock,
    set_prolog_flag(access_level, user).

% A library that changes how every program is compiled acts only in an ordinary session that loads
% it, and here it is always loaded.
as_without(Library) :-
    forall(( clause(system:goal_expansion(A, B), Library:Body, Clause),
             callable(Body), A \== B ),
           erase(Clause)).

wrap(Head, Original, Body) :-
    catch('$wrap_predicate'(Head, rewardkit, _, Original, Body), Error,
          '$rk_note'(guard, Error)).

lock :-
    forall(( current_predicate('$rewardkit':Name/Arity),
             functor(H, Name, Arity),
             \+ predicate_property('$rewardkit':H, imported_from(_)) ),
           catch('$set_predicate_attribute'('$rewardkit':Name/Arity, system, true), _, true)).

% --- messages --------------------------------------------------------------------------------

note(error, error(syntax_error(What), _)) :- !,
    format(string(Text), '~w', [What]),
    '$rk_note'(syntax, Text).
note(Kind, Term) :-
    ( Kind == error ; Kind == warning ),
    noted(Term, Formal), !,
    format(string(Text), '~W', [Formal, [quoted(true), max_depth(6), portray(false)]]),
    '$rk_note'(load, Text).
note(_, _).

noted(error(Formal, _), Formal).
noted(init_goal(failed, Goal, _), failed(Goal)).
noted(init_goal(_, error(Formal, _)), Formal).
noted(initialization_exception(error(Formal, _)), Formal).

% --- loading and asking ----------------------------------------------------------------------

% load(+Text, +Module, +File, +Limit): consults the text; how that went is in the notes.
load(Text, Module, File, Limit) :-
    setup_call_cleanup(
        open_string(Text, Stream),
        call_with_inference_limit(
            load_files(Module:File, [stream(Stream), silent(true)]), Limit, Result),
        close(Stream)),
    ( Result == inference_limit_exceeded -> throw(rewardkit_limit) ; true ).

% describe(+Error, -Json)
describe(Error, Json) :-
    class(Error, Class),
    (   catch(format(string(Text0), '~W',
                     [Error, [quoted(true), max_depth(8), portray(false)]]), _, fail)
    ->  true
    ;   Text0 = ""
    ),
    ( string_length(Text0, N), N > 300 -> sub_string(Text0, 0, 300, _, Text) ; Text = Text0 ),
    with_output_to(string(Json),
                   put_text('{"class":"', Class, '","text":"', Text, '"}')).

class(Error, other) :- var(Error), !.
class(rewardkit_limit, limit) :- !.
class(rewardkit_size, size) :- !.
class(rewardkit_no_variable(_), no_variable) :- !.
class(error(Formal, _), Class) :- !, formal_class(Formal, Class).
class('$aborted', aborted) :- !.
class(_, uncaught).

formal_class(Formal, other) :- var(Formal), !.
formal_class(existence_error(Kind, _), undefined) :- Kind == procedure, !.
formal_class(resource_error(What), Class) :- !,
    ( What == max_files -> Class = files ; Class = resource ).
formal_class(syntax_error(_), query_syntax) :- !.
formal_class(Formal, Class) :- callable(Formal), !, functor(Formal, Class, _).
formal_class(_, other).

% The module in which queries run: the one that the file declared, if it did.
query_module(Module, File, row, Query) :-
    (   source_file_property(File, module(Declared))
    ->  Query = Declared
    ;   Query = Module
    ).

% inferences(row, -Text): how many this process has made.
inferences(row, Text) :-
    statistics(inferences, N),
    format(string(Text), '~d', [N]).

% answer(..., -Kind, -Json): as ask/5, where an error is one more answer.
answer(Text, Module, Wanted, Limit, Kind, Json) :-
    catch(( ask(Text, Module, Wanted, Limit, Json), Kind = row ),
          Error,
          ( describe(Error, Json), Kind = error )).

% try(:Goal, -Kind, -Json): Goal binds Json, or the error does.
try(Goal, Json, Kind) :-
    catch(( call(Goal) -> Kind = row ; Kind = failed ),
          Error,
          ( describe(Error, Json), Kind = error )).

try_load(Text, Module, File, Limit, Kind, Json) :-
    try(( '$rewardkit':load(Text, Module, File, Limit), Json = "" ), Json, Kind).
try_structure(Text, Module, Kind, Json) :-
    try('$rewardkit':structure(Text, Module, Json), Json, Kind).
try_hidden(Text, Module, Kind, Json) :-
    try('$rewardkit':hidden(Text, Module, Json), Json, Kind).
try_shape(Text, Kind, Json) :-
    try('$rewardkit':shape(Text, Json), Json, Kind).
try_sandbox(Text, Module, Kind, Json) :-
    try('$rewardkit':sandbox_signal(Text, Module, Json), Json, Kind).
try_variant(Text, Source, Module, EditsText, Kind, Json) :-
    try(( term_string(Edits, EditsText), '$rewardkit':variant(Text, Source, Module, Edits),
          Json = "" ), Json, Kind).
try_literals(Text, Module, Kind, Json) :-
    try('$rewardkit':literals(Text, Module, Json), Json, Kind).

% ask(+Text, +Module, +Wanted, +Limit, -Row): on backtracking each solution, as JSON of the values
% of the first Wanted named variables (of all of them if Wanted is -1), or of those listed.
ask(Text, Module, Wanted, Limit, Row) :-
    term_string(Goal, Text, [variable_names(Named), module(Module)]),
    ( Wanted == -2 -> true ; wanted(Wanted, Named, Values) ),
    call_with_inference_limit(Module:Goal, Limit, Result),
    ( Result == inference_limit_exceeded -> throw(rewardkit_limit) ; true ),
    ( Wanted == -2 -> shown(Named, Module, Values) ; true ),
    encode(Values, Row).

% shown(+Named, +Module, -Texts): the bindings as a toplevel shows them, and what still constrains
% them.
shown(Named, Module, Texts) :-
    copy_term(Named, Copy, Goals),
    findall(Text,
            ( member(Name=Value, Copy), nonvar(Value), \+ sub_atom(Name, 0, _, _, '_'),
              written(Value, Copy, Module, Text0),
              format(string(Text), '~w = ~s', [Name, Text0]) ),
            Bound),
    findall(Text,
            ( member(Goal0, Goals), ( Goal0 = _:Goal -> true ; Goal = Goal0 ),
              written(Goal, Copy, Module, Text) ),
            Residual),
    append(Bound, Residual, Texts).

written(Term, Named, Module, Text) :-
    copy_term(Term-Named, Copy-Named1),
    names_of(Named1),
    format(string(Text), '~W', [Copy, [ quoted(true), numbervars(true), portray(false),
                                        max_depth(100), module(Module) ]]).

names_of([]).
names_of([Name=V|Rest]) :-
    ( var(V) -> V = '$VAR'(Name) ; true ),
    names_of(Rest).

wanted(Names, Named, Variables) :-
    is_list(Names), !,
    findall(Name, ( member(Name, Names), \+ memberchk(Name=_, Named) ), Missing),
    ( Missing == [] -> true ; throw(rewardkit_no_variable(Missing)) ),
    named(Names, Named, Variables).
wanted(Count, Named, Variables) :-
    visible(Named, All),
    (   Count < 0
    ->  Variables = All
    ;   length(Variables, Count), append(Variables, _, All)
    ->  true
    ;   throw(rewardkit_no_variable(Count))
    ).

named([], _, []).
named([Name|Names], Named, [V|Vs]) :-
    memberchk(Name=V, Named),
    named(Names, Named, Vs).

visible([], []).
visible([Name=V|Rest], Vs) :-
    (   sub_atom(Name, 0, _, _, '_') -> visible(Rest, Vs)
    ;   Vs = [V|Vs1], visible(Rest, Vs1)
    ).

% --- terms as JSON in ASCII ------------------------------------------------------------------

encode(Terms, Text) :-
    (   acyclic_term(Terms)
    ->  copy_term_nat(Terms, Copy),
        term_variables(Copy, Vars),
        number_variables(Vars, 0),
        State = left(20000),
        with_output_to(string(Text), encode_list(Copy, State, 0))
    ;   Text = "[{\"b\":\"cyclic\"}]"
    ).

number_variables([], _).
number_variables(['$rk_v'(N)|Vs], N) :-
    N1 is N+1,
    number_variables(Vs, N1).

encode_list(Terms, State, Depth) :-
    put_char('['),
    encode_items(Terms, State, Depth),
    put_char(']').

encode_items([], _, _).
encode_items([T|Ts], State, Depth) :-
    encode_term(T, State, Depth),
    ( Ts == [] -> true ; put_char(','), encode_items(Ts, State, Depth) ).

encode_term(T, State, Depth) :-
    arg(1, State, Left),
    ( Left =< 0 -> throw(rewardkit_size) ; true ),
    ( Depth > 150 -> throw(rewardkit_size) ; true ),
    Left1 is Left-1,
    nb_setarg(1, State, Left1),
    D is Depth+1,
    encode_(T, State, D).

encode_(T, _, _) :- integer(T), !,
    ( bit_length(T, Bits), Bits > 4000000 -> throw(rewardkit_size) ; true ),
    format('{"i":"~16r"}', [T]).
encode_(T, _, _) :- rational(T, N, D), !,
    bit_length(N, BN), bit_length(D, BD),
    ( max(BN, BD) > 4000000 -> throw(rewardkit_size) ; true ),
    format('{"r":["~16r","~16r"]}', [N, D]).
encode_(T, _, _) :- float(T), !,
    format('{"f":"~17g"}', [T]).
encode_(T, _, _) :- string(T), !, put_text('{"s":"', T).
encode_([], _, _) :- !, format('{"l":[]}').
encode_(T, _, _) :- blob(T, Kind), Kind \== text, Kind \== ucs_text, !, format('{"b":"~w"}', [Kind]).
encode_(T, _, _) :- atom(T), !, put_text('{"a":"', T).
encode_('$rk_v'(N), _, _) :- !, format('{"v":~d}', [N]).
encode_([H|T], State, D) :- !,
    format('{"l":['),
    encode_tail([H|T], State, D).
encode_(T, State, D) :- compound(T), !,
    compound_name_arguments(T, Name, Arguments),
    ( atom(Name) -> Functor = Name ; Functor = dict ),
    put_compound(Functor, State, Arguments, D).
encode_(_, _, _) :- format('{"b":"other"}').

bit_length(N, Bits) :- ( N =:= 0 -> Bits = 0 ; Bits is msb(abs(N)) ).

encode_tail([H|T], State, D) :-
    encode_term(H, State, D),
    (   T == [] -> format(']}')
    ;   T = [_|_] -> put_char(','), encode_tail(T, State, D)
    ;   format('],"t":'), encode_term(T, State, D), put_char('}')
    ).

put_text(Before, Text) :-
    format('~w', [Before]),
    text_escaped(Text),
    format('"}').
put_text(Before, Text, Between, More, After) :-
    format('~w', [Before]),
    text_escaped(Text),
    format('~w', [Between]),
    text_escaped(More),
    format('~w', [After]).

put_compound(Name, State, Arguments, D) :-
    format('{"c":"'),
    text_escaped(Name),
    format('","x":'),
    encode_list(Arguments, State, D),
    put_char('}').

text_escaped(Text) :-
    string_length(Text, Length),
    ( Length > 100000 -> throw(rewardkit_size) ; true ),
    string_codes(Text, Codes),
    put_codes(Codes).

put_codes([]).
put_codes([C|Cs]) :-
    (   C >= 0'\s, C < 127, C =\= 0'", C =\= 0'\\ -> put_char_code(C)
    ;   C > 0xFFFF
    ->  C1 is C - 0x10000,
        High is 0xD800 + (C1 >> 10), Low is 0xDC00 + (C1 /\ 0x3FF),
        format('\\u~|~`0t~16r~4+\\u~|~`0t~16r~4+', [High, Low])
    ;   format('\\u~|~`0t~16r~4+', [C])
    ),
    put_codes(Cs).

put_char_code(C) :- char_code(Char, C), put_char(Char).

% --- structure -------------------------------------------------------------------------------

% structure(+Text, +Module, -Json): what of the program the query can reach, and how deep the proof
% of its first solution is; -1 where that could not be found out.
structure(Text, Module, Json) :-
    term_string(Goal, Text, [module(Module)]),
    program_predicates(Module, Predicates),
    reach(Goal, Module, Predicates, Reached),
    count_clauses(Module, Predicates, All, _),
    count_clauses(Module, Reached, Reachable, Rules),
    (   catch(call_with_inference_limit(depth(Goal, Module, Depth0), 300000, Result), _, fail),
        Result \== inference_limit_exceeded
    ->  Depth = Depth0
    ;   Depth = -1
    ),
    format(string(Json), '{"clauses":~d,"reachable":~d,"rules":~d,"depth":~d}',
           [All, Reachable, Rules, Depth]).

program_predicates(Module, Predicates) :-
    findall(Name/Arity,
            ( source_file(Module:H, '/program.pl'),
              functor(H, Name, Arity),
              \+ predicate_property(Module:H, multifile) ),
            Predicates).

count_clauses(Module, Predicates, Clauses, Rules) :-
    findall(N-R,
            ( member(Name/Arity, Predicates),
              functor(H, Name, Arity),
              ( predicate_property(Module:H, number_of_clauses(N)) -> true ; N = 0 ),
              ( predicate_property(Module:H, number_of_rules(R)) -> true ; R = 0 ) ),
            Counts),
    sum(Counts, 0, 0, Clauses, Rules).

sum([], C, R, C, R).
sum([N-M|Rest], C0, R0, C, R) :-
    C1 is C0+N, R1 is R0+M,
    sum(Rest, C1, R1, C, R).

% A predicate counts as reached if its name occurs in a reached body: closures and data that is
% called later are never called unreachable.
reach(Goal, Module, Predicates, Reached) :-
    names_in(Goal, Names),
    reach_(Names, Module, Predicates, [], Reached).

reach_([], _, _, Reached, Reached).
reach_([Name|Names], Module, Predicates, Reached0, Reached) :-
    findall(Name/Arity,
            ( member(Name/Arity, Predicates), \+ memberchk(Name/Arity, Reached0) ),
            New),
    findall(Called,
            ( member(N/A, New), functor(H, N, A),
              catch(clause(Module:H, Body), _, fail),
              names_in(H-Body, In), member(Called, In) ),
            More0),
    sort(More0, More),
    append(New, Reached0, Reached1),
    append(More, Names, Names1),
    ( New == [] -> reach_(Names, Module, Predicates, Reached0, Reached)
    ; reach_(Names1, Module, Predicates, Reached1, Reached) ).

names_in(Term, Names) :-
    findall(Name, name_in(Term, Name), Names0),
    sort(Names0, Names).

name_in(Term, Name) :- atom(Term), !, Name = Term.
name_in(Term, Name) :- compound(Term),
    compound_name_arguments(Term, Functor, Arguments),
    ( atom(Functor), Name = Functor
    ; member(Argument, Arguments), name_in(Argument, Name) ).

% depth(+Goal, +Module, -Depth): solves by the clauses; a fact is 1 deep, a rule one more than its
% body, and what the system defines is 0.
depth(Goal, Module, Depth) :-
    prolog_current_choice(Choice),
    body(Goal, Module, Choice, Depth).

body(G, _, _, _) :- var(G), !, throw(error(instantiation_error, _)).
body(true, _, _, 0) :- !.
body(!, _, Choice, 0) :- !, prolog_cut_to(Choice).
body((A, B), M, C, D) :- !, body(A, M, C, DA), body(B, M, C, DB), D is max(DA, DB).
body((A -> B ; E), M, C, D) :- !,
    (   depth(A, M, DA) -> body(B, M, C, DB), D is max(DA, DB)
    ;   body(E, M, C, D)
    ).
body((A *-> B ; E), M, C, D) :- !,
    (   depth(A, M, DA) *-> body(B, M, C, DB), D is max(DA, DB)
    ;   body(E, M, C, D)
    ).
body((A ; B), M, C, D) :- !, ( body(A, M, C, D) ; body(B, M, C, D) ).
body((A -> B), M, C, D) :- !, ( depth(A, M, DA) -> body(B, M, C, DB), D is max(DA, DB) ).
body(\+ A, M, _, 0) :- !, \+ depth(A, M, _).
body(M:A, _, C, D) :- !, body(A, M, C, D).
body(findall(T, G, L), M, _, D) :- !,
    findall(T-D0, depth(G, M, D0), Pairs),
    findall(T0, member(T0-_, Pairs), L),
    findall(D0, member(_-D0, Pairs), Ds),
    ( Ds == [] -> D = 0 ; max_list(Ds, D) ).
body(forall(A, B), M, _, 0) :- !, \+ ( depth(A, M, _), \+ depth(B, M, _) ).
body(once(A), M, _, D) :- !, ( depth(A, M, D) -> true ).
body(G, M, _, D) :-
    own(M:G), !,
    prolog_current_choice(Choice),
    clause(M:G, Body),
    body(Body, M, Choice, D0),
    D is D0+1.
body(G, M, _, 1) :- predicate_property(M:G, tabled), !, call(M:G).
body(G, M, _, 0) :- call(M:G).

own(M:G) :-
    \+ predicate_property(M:G, imported_from(_)),
    \+ predicate_property(M:G, built_in),
    \+ predicate_property(M:G, tabled),
    predicate_property(M:G, number_of_clauses(_)).

% hidden(+Text, +Module, -Json): queries like this one with other arguments, for a program that is
% a reference: atoms become other atoms of its facts, numbers their neighbours, lists are reversed
% and shortened.
hidden(Text, Module, Json) :-
    term_string(Goal, Text, [variable_names(Named), module(Module)]),
    (   callable(Goal), compound(Goal), own(Module:Goal)
    ->  findall(Other,
                ( other_goal(Goal, Module, Changed),
                  format(string(Other), '~W', [Changed, [quoted(true), variable_names(Named),
                                                         portray(false), module(Module)]]) ),
                Others)
    ;   Others = []
    ),
    ( length(First, 24), append(First, _, Others) -> true ; First = Others ),
    encode([First], Json).

other_goal(Goal, Module, Changed) :-
    compound_name_arguments(Goal, Name, Arguments),
    nth1(I, Arguments, Argument),
    ground(Argument),
    other_argument(Argument, Name, I, Module, Other),
    Other \== Argument,
    replace(I, Arguments, Other, New),
    compound_name_arguments(Changed, Name, New).

replace(1, [_|T], X, [X|T]) :- !.
replace(I, [H|T], X, [H|R]) :- I1 is I-1, replace(I1, T, X, R).

other_argument(Atom, _, _, Module, Other) :- atom(Atom), Atom \== [], !,
    findall(A, ( program_predicates(Module, Ps), member(N/Ar, Ps), functor(H, N, Ar),
                 catch(clause(Module:H, true), _, fail), H =.. [_|As], member(A, As),
                 atom(A), A \== [], A \== Atom ), Others0),
    list_to_set(Others0, Others),
    member(Other, Others).
other_argument(N, _, _, _, Other) :- integer(N), N >= 0, !,
    ( Other is N+1 ; Other is N+2 ; N > 1, Other is N-1 ).
other_argument(L, _, _, _, Other) :- is_list(L), L = [_, _|_], !,
    ( reverse(L, Other) ; L = [_|Other] ; append(L, L, Other) ).

% --- literals --------------------------------------------------------------------------------

% literals(+Text, +Module, -Json): numbers, and texts with digits, of the program's clauses, as
% [from, to, value] in characters. Directives are left out.
literals(Text, Module, Json) :-
    setup_call_cleanup(
        open_string(Text, Stream),
        findall(L, clause_literal(Stream, Module, L), Literals0),
        close(Stream)),
    length(Literals0, Found),
    ( Found > 400 -> length(Literals, 400), append(Literals, _, Literals0)
    ; Literals = Literals0 ),
    with_output_to(string(Json), write_literals(Literals)).

write_literals(Literals) :-
    put_char('['),
    write_literals_(Literals),
    put_char(']').

write_literals_([]).
write_literals_([literal(From, To, Value)|Rest]) :-
    encode([Value], Text),
    format('[~d,~d,~s]', [From, To, Text]),
    ( Rest == [] -> true ; put_char(','), write_literals_(Rest) ).

clause_literal(Stream, Module, Literal) :-
    repeat,
    read_term(Stream, Term, [ subterm_positions(Positions), module(Module),
                              syntax_errors(quiet) ]),
    (   Term == end_of_file
    ->  !, fail
    ;   Term = (:- _)
    ->  fail
    ;   Term = (?- _)
    ->  fail
    ;   literal(Term, Positions, Literal)
    ).

literal(Term, _, _) :- var(Term), !, fail.
literal(Term, parentheses_term_position(_, _, P), L) :- !, literal(Term, P, L).
literal(Term, From-To, literal(From, To, Term)) :- number(Term), !.
literal(Term, From-To, literal(From, To, Term)) :- atom(Term), !, has_digit(Term).
literal(Term, string_position(From, To), literal(From, To, Term)) :- string(Term), !,
    has_digit(Term).
literal(_, string_position(_, _), _) :- !, fail.
literal({Term}, brace_term_position(_, _, P), L) :- !, literal(Term, P, L).
literal(List, list_position(_, _, Ps, Tail), L) :- !,
    list_literal(List, Ps, Tail, L).
literal(Term, term_position(_, _, _, _, Ps), L) :-
    compound(Term),
    compound_name_arguments(Term, _, Arguments),
    nth1(I, Arguments, Argument),
    nth1(I, Ps, P),
    literal(Argument, P, L).

list_literal([H|_], [P|_], _, L) :- literal(H, P, L).
list_literal([_|T], [_|Ps], Tail, L) :- Ps \== [], list_literal(T, Ps, Tail, L).
list_literal([_|T], [_], Tail, L) :- Tail \== none, literal(T, Tail, L).

% variant(+Text, +Source, +Module, +Edits): defines the program's clauses in a module, some literals
% changed, without loading it again. Fails for a program whose directives do more than declare.
% Edits are edit(From, To, NewText).
variant(Text, Source, Module, Edits) :-
    % Read anew each time: what is kept between runs a program could change.
    read_clauses(Text, Source, Clauses),
    forall(member(clause(Term, Positions), Clauses),
           define_variant(Term, Positions, Source, Module, Edits)).

read_clauses(Text, Module, Clauses) :-
    setup_call_cleanup(
        open_string(Text, Stream),
        read_clauses_(Stream, Module, Clauses),
        close(Stream)).

read_clauses_(Stream, Module, Clauses) :-
    read_term(Stream, Term, [subterm_positions(Ps), module(Module), syntax_errors(quiet)]),
    (   Term == end_of_file
    ->  Clauses = []
    ;   nonvar(Term), Term = (:- Directive)
    ->  declares(Directive, Kept),
        ( Kept == [] -> Clauses = Rest ; Clauses = [clause((:- Kept), none)|Rest] ),
        read_clauses_(Stream, Module, Rest)
    ;   nonvar(Term), Term \= (?- _),
        Clauses = [clause(Term, Ps)|Rest],
        read_clauses_(Stream, Module, Rest)
    ).

declares(use_module(library(_)), []).
declares(use_module(library(_), _), []).
declares(op(_, _, _), []).
declares(discontiguous(_), []).
declares(style_check(_), []).
declares(dynamic(What), dynamic(What)).

define_variant((:- dynamic(What)), none, _, Module, _) :- !,
    Module:dynamic(What).
define_variant(Term0, Positions, Source, Module, Edits) :-
    change_literals(Edits, Term0, Positions, Term),
    Source:expand_term(Term, Expanded),
    ( is_list(Expanded) -> List = Expanded ; List = [Expanded] ),
    forall(member(Clause, List), ( Clause \= (:- _), assertz(Module:Clause) )).

change_literals([], Term, _, Term).
change_literals([edit(From, To, New)|Edits], Term0, Positions, Term) :-
    (   change_literal(Term0, Positions, From-To, New, Term1) -> true ; Term1 = Term0 ),
    change_literals(Edits, Term1, Positions, Term).

change_literal(Old, Place, Place, New, Term) :- !,
    atomic(Old), term_string(Term, New).
change_literal(Old, string_position(From, To), From-To, New, Term) :- !,
    string(Old), term_string(Term, New).
change_literal(Old, parentheses_term_position(_, _, P), Place, New, Term) :- !,
    change_literal(Old, P, Place, New, Term).
change_literal({Old}, brace_term_position(_, _, P), Place, New, {Term}) :- !,
    change_literal(Old, P, Place, New, Term).
change_literal([H|T], list_position(F, E, [P|Ps], Tail), Place, New, Term) :- !,
    (   change_literal(H, P, Place, New, H1)
    ->  Term = [H1|T]
    ;   Ps == []
    ->  Tail \== none, change_literal(T, Tail, Place, New, T1), Term = [H|T1]
    ;   change_literal(T, list_position(F, E, Ps, Tail), Place, New, T1), Term = [H|T1]
    ).
change_literal(Old, term_position(_, _, _, _, Ps), Place, New, Term) :-
    compound(Old),
    compound_name_arguments(Old, Name, Arguments),
    nth1(I, Ps, P), nth1(I, Arguments, Argument),
    change_literal(Argument, P, Place, New, Changed), !,
    replace(I, Arguments, Changed, Arguments1),
    compound_name_arguments(Term, Name, Arguments1).

has_digit(Text) :-
    once(( sub_atom(Text, _, 1, _, Char), char_type(Char, digit(_)) )).

% shape(+Text, -Json): how many clauses are not for solve, and how many terms have braces, read
% without loading anything.
shape(Text, Json) :-
    setup_call_cleanup(open_string(Text, Stream), read_shape(Stream, 0, 0, Clauses, Braces),
                       close(Stream)),
    format(string(Json), '{"clauses":~d,"braces":~d}', [Clauses, Braces]).

read_shape(Stream, C0, B0, C, B) :-
    read_term(Stream, Term, [syntax_errors(error), module('$rewardkit')]),
    (   Term == end_of_file
    ->  C = C0, B = B0
    ;   ( counts_as_clause(Term) -> C1 is C0+1 ; C1 = C0 ),
        ( has_braces(Term) -> B1 is B0+1 ; B1 = B0 ),
        read_shape(Stream, C1, B1, C, B)
    ).

counts_as_clause(Term) :-
    nonvar(Term),
    Term \= (:- _),
    ( Term = (Head :- _) -> true ; Head = Term ),
    nonvar(Head),
    functor(Head, Name, _),
    Name \== solve.

has_braces(Term) :- compound(Term), Term = {_}, !.
has_braces(Term) :- compound(Term), arg(_, Term, Argument), has_braces(Argument), !.

% --- the static sandbox as a signal ----------------------------------------------------------

sandbox_signal(Text, Module, Json) :-
    term_string(Goal, Text, [module(Module)]),
    (   catch(call_with_inference_limit(sandbox:safe_goal(Module:Goal), 300000, R), Error, true)
    ->  (   nonvar(Error) -> describe(Error, Json)
        ;   R == inference_limit_exceeded -> Json = "\"undecided\""
        ;   Json = "\"safe\""
        )
    ;   Json = "\"undecided\""
    ).
