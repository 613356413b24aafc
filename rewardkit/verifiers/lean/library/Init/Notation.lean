prelude
import Init.Monad
set_option autoImplicit false
set_option linter.unusedVariables false
set_option quotPrecheck false
universe u v w w'

class Coe (α : semiOutParam (Sort u)) (β : Sort v) where
  coe : α → β
class CoeTC (α : Sort u) (β : Sort v) where
  coe : α → β
class CoeOut (α : Sort u) (β : semiOutParam (Sort v)) where
  coe : α → β
class CoeOTC (α : Sort u) (β : Sort v) where
  coe : α → β
class CoeHead (α : Sort u) (β : semiOutParam (Sort v)) where
  coe : α → β
class CoeHTC (α : Sort u) (β : Sort v) where
  coe : α → β
class CoeTail (α : semiOutParam (Sort u)) (β : Sort v) where
  coe : α → β
class CoeHTCT (α : Sort u) (β : Sort v) where
  coe : α → β
class CoeDep (α : Sort u) (_ : α) (β : Sort v) where
  coe : β
class CoeT (α : Sort u) (_ : α) (β : Sort v) where
  coe : β
attribute [coe_decl] Coe.coe CoeTC.coe CoeOut.coe CoeOTC.coe CoeHead.coe CoeHTC.coe CoeTail.coe CoeHTCT.coe CoeDep.coe CoeT.coe
section
variable {α : Sort u} {β : Sort v} {γ : Sort w}
instance [Coe β γ] [CoeTC α β] : CoeTC α γ := ⟨fun a => Coe.coe (CoeTC.coe a : β)⟩
instance [Coe α β] : CoeTC α β := ⟨fun a => Coe.coe a⟩
instance : CoeTC α α := ⟨fun a => a⟩
instance [CoeOut α β] [CoeOTC β γ] : CoeOTC α γ := ⟨fun a => CoeOTC.coe (CoeOut.coe a : β)⟩
instance [CoeTC α β] : CoeOTC α β := ⟨fun a => CoeTC.coe a⟩
instance : CoeOTC α α := ⟨fun a => a⟩
instance [CoeHead α β] [CoeOTC β γ] : CoeHTC α γ := ⟨fun a => CoeOTC.coe (CoeHead.coe a : β)⟩
instance [CoeOTC α β] : CoeHTC α β := ⟨fun a => CoeOTC.coe a⟩
instance : CoeHTC α α := ⟨fun a => a⟩
instance [CoeTail β γ] [CoeHTC α β] : CoeHTCT α γ := ⟨fun a => CoeTail.coe (CoeHTC.coe a : β)⟩
instance [CoeHTC α β] : CoeHTCT α β := ⟨fun a => CoeHTC.coe a⟩
instance : CoeHTCT α α := ⟨fun a => a⟩
instance {a : α} [CoeDep α a β] : CoeT α a β := ⟨CoeDep.coe a⟩
instance {a : α} [CoeHTCT α β] : CoeT α a β := ⟨CoeHTCT.coe a⟩
instance {a : α} : CoeT α a α := ⟨a⟩
end
namespace Lean
instance : Coe SyntaxNodeKind SyntaxNodeKinds := ⟨fun k => List.cons k List.nil⟩
instance {ks : SyntaxNodeKinds} : CoeOut (TSyntax ks) Syntax := ⟨fun s => s.raw⟩
instance {ks : SyntaxNodeKinds} : CoeOut (TSyntaxArray ks) (Array Syntax) := ⟨fun s => s.raw⟩
instance {ks : SyntaxNodeKinds} : CoeTail Syntax (TSyntax ks) := ⟨fun s => ⟨s⟩⟩
instance {k : SyntaxNodeKind} : CoeTail Syntax (TSyntax (.cons k .nil)) := ⟨fun s => ⟨s⟩⟩
end Lean

macro "max" : prec => `(prec| 1024)
macro "arg" : prec => `(prec| 1023)
macro "lead" : prec => `(prec| 1022)
macro "min" : prec => `(prec| 10)
macro "default" : prio => `(prio| 1000)
macro "low" : prio => `(prio| 100)
macro "mid" : prio => `(prio| 500)
macro "high" : prio => `(prio| 10000)
infixl:65 " + " => HAdd.hAdd
infixl:65 " - " => HSub.hSub
infixl:70 " * " => HMul.hMul
infixl:70 " / " => HDiv.hDiv
infixl:70 " % " => HMod.hMod
infixr:75 " ^ " => HPow.hPow
infixl:65 " ++ " => HAppend.hAppend
prefix:max "-" => Neg.neg
infix:50 " <= " => LE.le
infix:50 " ≤ " => LE.le
infix:50 " < " => LT.lt
infix:50 " >= " => GE.ge
infix:50 " ≥ " => GE.ge
infix:50 " > " => GT.gt
infix:50 " = " => Eq
infix:50 " == " => BEq.beq
infix:50 " ≠ " => Ne
infixr:35 " /\\ " => And
infixr:35 " ∧ " => And
infixr:30 " \\/ " => Or
infixr:30 " ∨ " => Or
notation:max "¬" p:40 => Not p
infixl:35 " && " => and
infixl:30 " || " => or
notation:max "!" b:40 => not b
infix:20 " <-> " => Iff
infix:20 " ↔ " => Iff
infix:50 " ∣ " => Dvd.dvd
infixr:35 " × " => Prod
infixr:67 " :: " => List.cons
infixr:90 " ∘ " => Function.comp
infixl:1 " >>= " => bind
infixr:100 " <$> " => Functor.map

macro_rules | `($x + $y) => `(binop% HAdd.hAdd $x $y)
macro_rules | `($x - $y) => `(binop% HSub.hSub $x $y)
macro_rules | `($x * $y) => `(binop% HMul.hMul $x $y)
macro_rules | `($x / $y) => `(binop% HDiv.hDiv $x $y)
macro_rules | `($x % $y) => `(binop% HMod.hMod $x $y)
macro_rules | `($x ^ $y) => `(rightact% HPow.hPow $x $y)
macro_rules | `($x ++ $y) => `(binop% HAppend.hAppend $x $y)
macro_rules | `($x ≤ $y) => `(binrel% LE.le $x $y)
macro_rules | `($x ≠ $y) => `(binrel% Ne $x $y)
macro_rules | `($x < $y) => `(binrel% LT.lt $x $y)
macro_rules | `($x ≥ $y) => `(binrel% GE.ge $x $y)
macro_rules | `($x > $y) => `(binrel% GT.gt $x $y)
macro_rules | `($x = $y) => `(binrel% Eq $x $y)
macro_rules | `($x == $y) => `(binrel_no_prop% BEq.beq $x $y)

infix:50 " ∈ " => fun x xs => Membership.mem xs x
syntax (name := termIfThenElse) "if " term " then " term " else " term : term
macro_rules | `(if $c then $t else $e) => `(ite $c $t $e)
syntax (name := termDepIfThenElse) "if " ident " : " term " then " term " else " term : term
macro_rules | `(if $h:ident : $c then $t else $e) => `(dite $c (fun $h:ident => $t) (fun $h:ident => $e))

syntax:arg stx:max "+" : stx
syntax:arg stx:max "*" : stx
syntax:arg stx:max "?" : stx
syntax:2 stx:2 " <|> " stx:1 : stx
macro_rules | `(stx| $p +) => `(stx| many1($p))
macro_rules | `(stx| $p *) => `(stx| many($p))
macro_rules | `(stx| $p ?) => `(stx| optional($p))
macro_rules | `(stx| $p₁ <|> $p₂) => `(stx| orelse($p₁, $p₂))
macro:arg x:stx:max ",*" : stx => `(stx| sepBy($x, ",", ", "))
macro:arg x:stx:max ",+" : stx => `(stx| sepBy1($x, ",", ", "))
macro:arg x:stx:max ",*,?" : stx => `(stx| sepBy($x, ",", ", ", allowTrailingSep))
macro:arg x:stx:max ",+,?" : stx => `(stx| sepBy1($x, ",", ", ", allowTrailingSep))

syntax "∃ " ident (" : " term)? ", " term : term
macro_rules
  | `(∃ $x:ident, $b) => `(Exists fun $x:ident => $b)
  | `(∃ $x:ident : $t, $b) => `(Exists fun ($x:ident : $t) => $b)
syntax "∃ " ident ident ", " term : term
macro_rules
  | `(∃ $x:ident $y:ident, $b) => `(Exists fun $x:ident => Exists fun $y:ident => $b)
syntax "∃ " "(" ident " : " term ")" ", " term : term
macro_rules
  | `(∃ ($x:ident : $t), $b) => `(Exists fun ($x:ident : $t) => $b)
