prelude
import Init.Data
set_option autoImplicit false
set_option linter.unusedVariables false
universe u v w
class Bind (m : Type u → Type v) where
  bind : {α β : Type u} → m α → (α → m β) → m β
export Bind (bind)
class Pure (f : Type u → Type v) where
  pure {α : Type u} : α → f α
export Pure (pure)
class Functor (f : Type u → Type v) : Type (max (u+1) v) where
  map : {α β : Type u} → (α → β) → f α → f β
  mapConst : {α β : Type u} → α → f β → f α := fun {α β} a => map (fun _ => a)
class Seq (f : Type u → Type v) : Type (max (u+1) v) where
  seq : {α β : Type u} → f (α → β) → (Unit → f α) → f β
class SeqLeft (f : Type u → Type v) : Type (max (u+1) v) where
  seqLeft : {α β : Type u} → f α → (Unit → f β) → f α
class SeqRight (f : Type u → Type v) : Type (max (u+1) v) where
  seqRight : {α β : Type u} → f α → (Unit → f β) → f β
class Applicative (f : Type u → Type v) extends Functor f, Pure f, Seq f, SeqLeft f, SeqRight f where
  map := fun x y => Seq.seq (pure x) fun _ => y
  seqLeft := fun a b => Seq.seq (Functor.map (Function.const _) a) b
  seqRight := fun a b => Seq.seq (Functor.map (Function.const _ id) a) b
class Monad (m : Type u → Type v) : Type (max (u+1) v) extends Applicative m, Bind m where
  map f x := bind x fun a => pure (f a)
  seq f x := bind f fun y => Functor.map y (x ())
  seqLeft x y := bind x fun a => bind (y ()) (fun _ => pure a)
  seqRight x y := bind x fun _ => y ()
class MonadLift (m : semiOutParam (Type u → Type v)) (n : Type u → Type w) where
  monadLift : {α : Type u} → m α → n α
class MonadLiftT (m : Type u → Type v) (n : Type u → Type w) where
  monadLift : {α : Type u} → m α → n α
export MonadLiftT (monadLift)
instance (m n o) [MonadLift n o] [MonadLiftT m n] : MonadLiftT m o where
  monadLift x := MonadLift.monadLift (m := n) (monadLift x)
instance (m) : MonadLiftT m m where
  monadLift x := x
class MonadExceptOf (ε : semiOutParam (Type u)) (m : Type v → Type w) where
  throw {α : Type v} : ε → m α
  tryCatch {α : Type v} (body : m α) (handler : ε → m α) : m α
class MonadExcept (ε : outParam (Type u)) (m : Type v → Type w) where
  throw {α : Type v} : ε → m α
  tryCatch {α : Type v} : (body : m α) → (handler : ε → m α) → m α
export MonadExcept (throw tryCatch)
instance (ε : Type u) (m : Type v → Type w) [MonadExceptOf ε m] : MonadExcept ε m where
  throw := MonadExceptOf.throw
  tryCatch := MonadExceptOf.tryCatch
@[implicit_reducible] def ReaderT (ρ : Type u) (m : Type u → Type v) (α : Type u) : Type (max u v) := (a : @&ρ) → m α
instance {ρ : Type u} {m : Type u → Type v} : MonadLift m (ReaderT ρ m) where
  monadLift x := fun _ => x
instance {ρ : Type u} {m : Type u → Type v} (ε) [MonadExceptOf ε m] : MonadExceptOf ε (ReaderT ρ m) where
  throw e := fun _ => MonadExceptOf.throw e
  tryCatch := fun x c r => MonadExceptOf.tryCatch (x r) (fun e => (c e) r)
instance {ρ : Type u} {m : Type u → Type v} [Monad m] : Monad (ReaderT ρ m) where
  pure a := fun _ => pure a
  bind x f := fun r => bind (x r) fun a => f a r
inductive EStateM.Result (ε σ α : Type u) where
  | ok : α → σ → EStateM.Result ε σ α
  | error : ε → σ → EStateM.Result ε σ α
def EStateM (ε σ α : Type u) := σ → EStateM.Result ε σ α
instance {ε σ : Type u} : Monad (EStateM ε σ) where
  pure a := fun s => .ok a s
  bind x f := fun s => match x s with
    | .ok a s => f a s
    | .error e s => .error e s
instance {ε σ : Type u} : MonadExceptOf ε (EStateM ε σ) where
  throw e := fun s => .error e s
  tryCatch x h := fun s => match x s with
    | .ok a s => .ok a s
    | .error e s => h e s

namespace Lean
set_option genCtorIdx false
inductive Name where
  | anonymous : Name
  | str (pre : Name) (str : String)
  | num (pre : Name) (i : Nat)
attribute [extern "lean_name_mk_string"] Name.str
attribute [extern "lean_name_mk_numeral"] Name.num
instance : Inhabited Name := ⟨.anonymous⟩
@[extern "lean_name_mk_string"] opaque Name.str._override (p : Name) (s : String) : Name
@[extern "lean_name_mk_numeral"] opaque Name.num._override (p : Name) (v : Nat) : Name
def Name.mkStr (p : Name) (s : String) : Name := Name.str._override p s
def Name.mkNum (p : Name) (v : Nat) : Name := Name.num._override p v
@[extern "l_Lean_Name_mkSimple"] opaque Name.mkSimple (s : String) : Name
@[extern "l_Lean_Name_mkStr1"] opaque Name.mkStr1 (a : String) : Name
@[extern "l_Lean_Name_mkStr2"] opaque Name.mkStr2 (a b : String) : Name
@[extern "l_Lean_Name_mkStr3"] opaque Name.mkStr3 (a b c : String) : Name
@[extern "l_Lean_Name_mkStr4"] opaque Name.mkStr4 (a b c d : String) : Name
@[extern "l_Lean_Name_mkStr5"] opaque Name.mkStr5 (a b c d e : String) : Name
@[extern "l_Lean_Name_mkStr6"] opaque Name.mkStr6 (a b c d e f : String) : Name
@[extern "l_Lean_Name_mkStr7"] opaque Name.mkStr7 (a b c d e f g : String) : Name
@[extern "l_Lean_Name_mkStr8"] opaque Name.mkStr8 (a b c d e f g h : String) : Name
end Lean
structure String.Pos.Raw where
  byteIdx : Nat := 0
structure Substring.Raw where
  str : String
  startPos : String.Pos.Raw
  stopPos : String.Pos.Raw
instance : Inhabited Substring.Raw := ⟨⟨default, ⟨0⟩, ⟨0⟩⟩⟩
@[extern "l_String_toRawSubstring_x27"] opaque String.toRawSubstring' (s : String) : Substring.Raw
namespace Lean
inductive SourceInfo where
  | original (leading : Substring.Raw) (pos : String.Pos.Raw) (trailing : Substring.Raw) (endPos : String.Pos.Raw)
  | synthetic (pos : String.Pos.Raw) (endPos : String.Pos.Raw) (canonical : Bool := false)
  | protected none
instance : Inhabited SourceInfo := ⟨.none⟩
abbrev SyntaxNodeKind := Name
inductive Syntax.Preresolved where
  | namespace (ns : Name)
  | decl (n : Name) (fields : List String)
inductive Syntax where
  | missing : Syntax
  | node (info : SourceInfo) (kind : SyntaxNodeKind) (args : Array Syntax) : Syntax
  | atom (info : SourceInfo) (val : String) : Syntax
  | ident (info : SourceInfo) (rawVal : Substring.Raw) (val : Name) (preresolved : List Syntax.Preresolved) : Syntax
instance : Inhabited Syntax := ⟨.missing⟩
def Syntax.node1 (info : SourceInfo) (kind : SyntaxNodeKind) (a : Syntax) : Syntax := .node info kind (Array.mkArray1 a)
def Syntax.node2 (info : SourceInfo) (kind : SyntaxNodeKind) (a b : Syntax) : Syntax := .node info kind (Array.mkArray2 a b)
def Syntax.node3 (info : SourceInfo) (kind : SyntaxNodeKind) (a b c : Syntax) : Syntax := .node info kind (Array.mkArray3 a b c)
def Syntax.node4 (info : SourceInfo) (kind : SyntaxNodeKind) (a b c d : Syntax) : Syntax := .node info kind (Array.mkArray4 a b c d)
def Syntax.node5 (info : SourceInfo) (kind : SyntaxNodeKind) (a b c d e : Syntax) : Syntax := .node info kind (Array.mkArray5 a b c d e)
def Syntax.node6 (info : SourceInfo) (kind : SyntaxNodeKind) (a b c d e f : Syntax) : Syntax := .node info kind (Array.mkArray6 a b c d e f)
def Syntax.node7 (info : SourceInfo) (kind : SyntaxNodeKind) (a b c d e f g : Syntax) : Syntax := .node info kind (Array.mkArray7 a b c d e f g)
def Syntax.node8 (info : SourceInfo) (kind : SyntaxNodeKind) (a b c d e f g h : Syntax) : Syntax := .node info kind (Array.mkArray8 a b c d e f g h)
@[implicit_reducible] def SyntaxNodeKinds := List SyntaxNodeKind
structure TSyntax (ks : SyntaxNodeKinds) where
  raw : Syntax
instance {ks : SyntaxNodeKinds} : Inhabited (TSyntax ks) := ⟨⟨default⟩⟩
structure Syntax.SepArray (sep : String) where
  elemsAndSeps : Array Syntax
structure Syntax.TSepArray (ks : SyntaxNodeKinds) (sep : String) where
  elemsAndSeps : Array Syntax
abbrev TSyntaxArray (ks : SyntaxNodeKinds) := Array (TSyntax ks)
@[extern "l_Lean_TSyntaxArray_raw"] opaque TSyntaxArray.raw {ks : SyntaxNodeKinds} (as : TSyntaxArray ks) : Array Syntax
@[extern "l_Lean_TSyntaxArray_mk"] opaque TSyntaxArray.mk {ks : SyntaxNodeKinds} (as : Array Syntax) : TSyntaxArray ks
abbrev choiceKind : SyntaxNodeKind := .mkSimple "choice"
abbrev nullKind : SyntaxNodeKind := .mkSimple "null"
abbrev groupKind : SyntaxNodeKind := .mkSimple "group"
abbrev identKind : SyntaxNodeKind := .mkSimple "ident"
abbrev strLitKind : SyntaxNodeKind := .mkSimple "str"
abbrev numLitKind : SyntaxNodeKind := .mkSimple "num"
abbrev hygieneInfoKind : SyntaxNodeKind := .mkSimple "hygieneInfo"
namespace Syntax
@[extern "l_Lean_Syntax_getKind"] opaque getKind (stx : @& Syntax) : SyntaxNodeKind
@[extern "l_Lean_Syntax_isOfKind"] opaque isOfKind (stx : @& Syntax) (k : @& SyntaxNodeKind) : Bool
@[extern "l_Lean_Syntax_getArg"] opaque getArg (stx : @& Syntax) (i : @& Nat) : Syntax
@[extern "l_Lean_Syntax_getArgs"] opaque getArgs (stx : @& Syntax) : Array Syntax
@[extern "l_Lean_Syntax_getNumArgs"] opaque getNumArgs (stx : @& Syntax) : Nat
@[extern "l_Lean_Syntax_getOptional_x3f"] opaque getOptional? (stx : @& Syntax) : Option Syntax
@[extern "l_Lean_Syntax_isNodeOf"] opaque isNodeOf (stx : @& Syntax) (k : @& SyntaxNodeKind) (n : @& Nat) : Bool
@[extern "l_Lean_Syntax_matchesNull"] opaque matchesNull (stx : @& Syntax) (n : @& Nat) : Bool
@[extern "l_Lean_Syntax_matchesIdent"] opaque matchesIdent (stx : @& Syntax) (id : @& Name) : Bool
@[extern "l_Lean_Syntax_matchesLit"] opaque matchesLit (stx : @& Syntax) (k : @& SyntaxNodeKind) (val : @& String) : Bool
@[extern "l_Lean_Syntax_getId"] opaque getId (stx : @& Syntax) : Name
end Syntax
@[extern "l_Lean_SourceInfo_fromRef"] opaque SourceInfo.fromRef (ref : @& Syntax) (canonical : Bool := false) : SourceInfo
@[extern "l_Lean_addMacroScope"] opaque addMacroScope (ctx : Name) (n : Name) (scp : Nat) : Name
@[extern "l_Lean_replaceRef"] opaque replaceRef (ref : @& Syntax) (oldRef : @& Syntax) : Syntax
@[inline] def mkNode (k : SyntaxNodeKind) (args : Array Syntax) : TSyntax (.cons k .nil) := ⟨.node .none k args⟩
@[inline] def mkNullNode (args : Array Syntax := Array.empty) : Syntax := (mkNode nullKind args).raw
def mkAtom (val : String) : Syntax := .atom .none val

inductive ParserDescr where
  | const (name : Name)
  | unary (name : Name) (p : ParserDescr)
  | binary (name : Name) (p₁ p₂ : ParserDescr)
  | node (kind : SyntaxNodeKind) (prec : Nat) (p : ParserDescr)
  | trailingNode (kind : SyntaxNodeKind) (prec lhsPrec : Nat) (p : ParserDescr)
  | symbol (val : String)
  | nonReservedSymbol (val : String) (includeIdent : Bool)
  | cat (catName : Name) (rbp : Nat)
  | parser (declName : Name)
  | nodeWithAntiquot (name : String) (kind : SyntaxNodeKind) (p : ParserDescr)
  | sepBy (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool := false)
  | sepBy1 (p : ParserDescr) (sep : String) (psep : ParserDescr) (allowTrailingSep : Bool := false)
  | unicodeSymbol (val asciiVal : String) (preserveForPP : Bool)
instance : Inhabited ParserDescr := ⟨.symbol ""⟩
abbrev TrailingParserDescr := ParserDescr
abbrev MacroScope := Nat
class MonadRef (m : Type → Type) where
  getRef : m Syntax
  withRef {α : Type} : Syntax → m α → m α
export MonadRef (getRef)
@[inline] def withRef {m : Type → Type} [Monad m] [MonadRef m] {α : Type} (ref : Syntax) (x : m α) : m α :=
  bind getRef fun old => MonadRef.withRef (replaceRef ref old) x
class MonadQuotation (m : Type → Type) extends MonadRef m where
  getCurrMacroScope : m MacroScope
  getContext : m Name
  withFreshMacroScope {α : Type} : m α → m α
export MonadQuotation (getCurrMacroScope withFreshMacroScope)
@[inline] def MonadRef.mkInfoFromRefPos {m : Type → Type} [Monad m] [MonadRef m] : m SourceInfo :=
  bind getRef fun ref => pure (SourceInfo.fromRef ref)
namespace Macro
structure Context where
  methods : PUnit.{1}
  quotContext : Name
  currMacroScope : MacroScope
  currRecDepth : Nat := 0
  maxRecDepth : Nat := 512
  ref : Syntax
inductive Exception where
  | error : Syntax → String → Exception
  | unsupportedSyntax : Exception
structure State where
  macroScope : MacroScope
  traceMsgs : List (Prod Name String) := List.nil
  expandedMacroDecls : List Name := List.nil
end Macro
abbrev MacroM := ReaderT Macro.Context (EStateM Macro.Exception Macro.State)
abbrev Macro := Syntax → MacroM Syntax
instance : MonadQuotation MacroM where
  getRef := fun ctx => pure ctx.ref
  withRef ref x := fun ctx => x { ctx with ref := ref }
  getCurrMacroScope := fun ctx => pure ctx.currMacroScope
  getContext := fun ctx => pure ctx.quotContext
  withFreshMacroScope x := fun ctx s => x { ctx with currMacroScope := s.macroScope } { s with macroScope := Nat.succ s.macroScope }
namespace PrettyPrinter
abbrev UnexpandM := ReaderT Syntax (EStateM Unit Unit)
abbrev Unexpander := Syntax → UnexpandM Syntax
instance : MonadQuotation UnexpandM where
  getRef := fun r => pure r
  withRef ref x := fun _ => x ref
  getCurrMacroScope := fun _ => pure 0
  getContext := fun _ => pure (Name.mkSimple "_fakeMod")
  withFreshMacroScope x := x
end PrettyPrinter
end Lean
structure Lean.Parser.Category where
  mk ::
