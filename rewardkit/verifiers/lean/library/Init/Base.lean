prelude
set_option autoImplicit false
set_option bootstrap.inductiveCheckResultingUniverse false
set_option linter.defProp false
set_option linter.unusedVariables false
universe u v w
unsafe axiom lcErased : Type
unsafe axiom lcAny : Type
unsafe axiom lcVoid : Type
unsafe axiom lcProof {α : Prop} : α
unsafe axiom lcUnreachable {α : Sort u} : α
unsafe axiom lcCast {α : Sort u} {β : Sort v} (a : α) : β

inductive PUnit : Sort u where
  | unit : PUnit
inductive Eq {α : Sort u} : α → α → Prop where
  | refl (a : α) : Eq a a
abbrev Eq.ndrec.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α} (h : Eq a b) : motive b :=
  h.rec m
inductive HEq : {α : Sort u} → α → {β : Sort u} → β → Prop where
  | refl {α : Sort u} (a : α) : HEq a a
inductive Bool : Type where
  | false : Bool
  | true : Bool
export Bool (false true)
@[inline] def id {α : Sort u} (a : α) : α := a
abbrev Function.comp {α : Sort u} {β : Sort v} {δ : Sort w} (f : β → δ) (g : α → β) : α → δ :=
  fun x => f (g x)
abbrev Function.const {α : Sort u} (β : Sort v) (a : α) : β → α := fun _ => a
set_option checkBinderAnnotations false in
@[reducible] def inferInstance {α : Sort u} [i : α] : α := i
abbrev outParam (α : Sort u) : Sort u := α
abbrev semiOutParam (α : Sort u) : Sort u := α
abbrev optParam (α : Sort u) (default : α) : Sort u := α
abbrev namedPattern {α : Sort u} (x a : α) (h : α → Prop) : α := a
set_option checkBinderAnnotations false in
abbrev autoParam (α : Sort u) (tactic : α) : Sort u := α

abbrev Unit : Type := PUnit
@[match_pattern] abbrev Unit.unit : Unit := PUnit.unit
inductive True : Prop where
  | intro : True
inductive False : Prop
def Not (a : Prop) : Prop := a → False
@[macro_inline] def False.elim {C : Sort u} (h : False) : C := h.rec
@[macro_inline] def absurd {a : Prop} {b : Sort v} (h₁ : a) (h₂ : Not a) : b := (h₂ h₁).rec
theorem trivial : True := True.intro
theorem mt {a b : Prop} (h : a → b) (n : Not b) : Not a := fun x => n (h x)

@[match_pattern] def rfl {α : Sort u} {a : α} : Eq a a := Eq.refl a
theorem id_eq {α : Sort u} (a : α) : Eq (id a) a := rfl
theorem Eq.subst {α : Sort u} {motive : α → Prop} {a b : α} (h₁ : Eq a b) (h₂ : motive a) : motive b :=
  Eq.ndrec h₂ h₁
theorem Eq.symm {α : Sort u} {a b : α} (h : Eq a b) : Eq b a := h.rec rfl
theorem Eq.trans {α : Sort u} {a b c : α} (h₁ : Eq a b) (h₂ : Eq b c) : Eq a c := h₂.rec h₁
@[macro_inline] def cast {α β : Sort u} (h : Eq α β) (a : α) : β := h.rec a
theorem eq_of_heq {α : Sort u} {a a' : α} (h : HEq a a') : Eq a a' :=
  have aux : (α β : Sort u) → (a : α) → (b : β) → HEq a b → (h : Eq α β) → Eq (cast h a) b :=
    fun α _ a _ h₁ => h₁.rec (fun _ => rfl)
  aux α α a a' h rfl
theorem heq_of_eq {α : Sort u} {a a' : α} (h : Eq a a') : HEq a a' := h.rec (HEq.refl a)
class CoeFun (α : Sort u) (γ : outParam (α → Sort v)) where
  coe : (f : α) → γ f
class CoeSort (α : Sort u) (β : outParam (Sort v)) where
  coe : α → β
attribute [coe_decl] CoeFun.coe CoeSort.coe
@[unbox] structure Prod (α : Type u) (β : Type v) where
  mk ::
  fst : α
  snd : β
structure PProd (α : Sort u) (β : Sort v) where
  fst : α
  snd : β
structure MProd (α β : Type u) where
  fst : α
  snd : β
structure PULift.{r, s} (α : Sort s) : Sort (max s r 1) where
  up ::
  down : α
inductive PEmpty : Sort u where
inductive Empty : Type where
theorem congrArg {α : Sort u} {β : Sort v} {a₁ a₂ : α} (f : α → β) (h : Eq a₁ a₂) : Eq (f a₁) (f a₂) := h.rec rfl
theorem congr {α : Sort u} {β : Sort v} {f₁ f₂ : α → β} {a₁ a₂ : α} (h₁ : Eq f₁ f₂) (h₂ : Eq a₁ a₂) : Eq (f₁ a₁) (f₂ a₂) :=
  h₁.rec (h₂.rec rfl)
theorem congrFun {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : Eq f g) (a : α) : Eq (f a) (g a) := h.rec rfl
theorem congrFun' {α : Sort u} {β : Sort v} {f g : α → β} (h : Eq f g) (a : α) : Eq (f a) (g a) := h.rec rfl

init_quot

@[pp_using_anonymous_constructor] structure And (a b : Prop) : Prop where
  intro ::
  left : a
  right : b
inductive Or (a b : Prop) : Prop where
  | inl (h : a) : Or a b
  | inr (h : b) : Or a b
theorem Or.intro_left {a : Prop} (b : Prop) (h : a) : Or a b := Or.inl h
theorem Or.intro_right {b : Prop} (a : Prop) (h : b) : Or a b := Or.inr h
theorem Or.elim {a b c : Prop} (h : Or a b) (left : a → c) (right : b → c) : c := h.rec left right
theorem Bool.ff_ne_tt (h : Eq false true) : False :=
  Eq.ndrec (a := false) (motive := fun b => Bool.rec (motive := fun _ => Prop) True False b) True.intro h
theorem Bool.tt_ne_ff (h : Eq true false) : False := Bool.ff_ne_tt h.symm
set_option checkBinderAnnotations true
abbrev Bool.Reflects : Bool → Prop → Prop
  | false, p => Not p
  | true, p => p
class Decidable (p : Prop) where
  intro ::
  decide : Bool
  reflects_decide (p) : decide.Reflects p
@[match_pattern] abbrev Decidable.isFalse {p : Prop} (h : Not p) : Decidable p := Decidable.intro false h
@[match_pattern] abbrev Decidable.isTrue {p : Prop} (h : p) : Decidable p := Decidable.intro true h
@[cases_eliminator, induction_eliminator, elab_as_elim]
abbrev Decidable.falseTrueCases {p : Prop} {motive : Decidable p → Sort u}
    (isFalse : (h : Not p) → motive (isFalse h)) (isTrue : (h : p) → motive (isTrue h)) (t : Decidable p) : motive t :=
  t.casesOn fun x => x.casesOn isFalse isTrue
export Decidable (isTrue isFalse decide)
abbrev DecidablePred {α : Sort u} (r : α → Prop) := (a : α) → Decidable (r a)
abbrev DecidableRel {α : Sort u} {β : Sort v} (r : α → β → Prop) := (a : α) → (b : β) → Decidable (r a b)
abbrev DecidableEq (α : Sort u) := (a b : α) → Decidable (Eq a b)
def decEq {α : Sort u} [inst : DecidableEq α] (a b : α) : Decidable (Eq a b) := inst a b
theorem decide_eq_true {p : Prop} [inst : Decidable p] : p → Eq (decide p) true := fun h =>
  match (generalizing := false) inst with
  | isTrue _ => rfl
  | isFalse n => absurd h n
theorem decide_eq_false {p : Prop} [inst : Decidable p] : Not p → Eq (decide p) false := fun n =>
  match (generalizing := false) inst with
  | isTrue h => absurd h n
  | isFalse _ => rfl
theorem of_decide_eq_true {p : Prop} [inst : Decidable p] : Eq (decide p) true → p := fun h =>
  match (generalizing := false) inst with
  | isTrue p => p
  | isFalse n => absurd (h.symm.trans (decide_eq_false n)) Bool.tt_ne_ff
theorem of_decide_eq_false {p : Prop} [inst : Decidable p] : Eq (decide p) false → Not p := fun h =>
  match (generalizing := false) inst with
  | isTrue p => absurd ((decide_eq_true p).symm.trans h) Bool.tt_ne_ff
  | isFalse n => n
theorem of_decide_eq_self_eq_true {α : Sort u} [inst : DecidableEq α] (a : α) : Eq (decide (Eq a a)) true := decide_eq_true rfl
theorem ne_true_of_eq_false : {b : Bool} → Eq b false → Not (Eq b true)
  | true, h => absurd h Bool.tt_ne_ff
  | false, _ => Bool.ff_ne_tt
theorem eq_false_of_ne_true : {b : Bool} → Not (Eq b true) → Eq b false
  | true, h => absurd rfl h
  | false, _ => rfl
@[macro_inline] def cond {α : Sort u} (c : Bool) (x y : α) : α :=
  match c with
  | true => x
  | false => y
@[macro_inline] def Bool.dcond {α : Sort u} (c : Bool) (x : Eq c true → α) (y : Eq c false → α) : α :=
  match c with
  | true => x rfl
  | false => y rfl
@[macro_inline] def Bool.or (x y : Bool) : Bool := match x with
  | true => true
  | false => y
@[macro_inline] def Bool.and (x y : Bool) : Bool := match x with
  | false => false
  | true => y
@[inline] def Bool.not : Bool → Bool
  | true => false
  | false => true
export Bool (or and not)
def Bool.decEq (a b : Bool) : Decidable (Eq a b) :=
  match a, b with
  | false, false => isTrue rfl
  | false, true => isFalse Bool.ff_ne_tt
  | true, false => isFalse Bool.tt_ne_ff
  | true, true => isTrue rfl
instance : DecidableEq Bool := Bool.decEq
@[macro_inline, implicit_reducible] def dite {α : Sort u} (c : Prop) [h : Decidable c] (t : c → α) (e : Not c → α) : α :=
  h.decide.casesOn e t h.reflects_decide
@[macro_inline, implicit_reducible] def ite {α : Sort u} (c : Prop) [h : Decidable c] (t e : α) : α :=
  dite c (fun _ => t) (fun _ => e)
set_option genCtorIdx false in
inductive Nat where
  | zero : Nat
  | succ (n : Nat) : Nat
set_option bootstrap.genMatcherCode false
@[extern "lean_nat_dec_eq"] def Nat.beq : Nat → Nat → Bool
  | zero, zero => true
  | zero, succ _ => false
  | succ _, zero => false
  | succ n, succ m => beq n m
theorem Nat.beq_refl' (n : Nat) : Eq (Nat.beq n n) true :=
  Nat.rec (motive := fun n => Eq (Nat.beq n n) true) rfl (fun _ ih => ih) n
theorem Bool.prop_of_eq_true (b : Bool) (h : Eq b true) : Bool.rec (motive := fun _ => Prop) False True b :=
  Eq.subst (motive := fun t => Bool.rec (motive := fun _ => Prop) False True t) h.symm True.intro
theorem noConfusion_of_Nat {α : Sort u} (f : α → Nat) {a b : α} (h : Eq a b) :
    Bool.rec (motive := fun _ => Prop) False True (Nat.beq (f a) (f b)) :=
  Eq.subst (motive := fun b => Bool.rec (motive := fun _ => Prop) False True (Nat.beq (f a) (f b))) h
    (Bool.prop_of_eq_true _ (Nat.beq_refl' (f a)))
theorem Nat.eq_of_beq_eq_true : (n m : Nat) → Eq (beq n m) true → Eq n m
  | zero, zero, _ => rfl
  | zero, succ _, h => absurd h Bool.ff_ne_tt
  | succ _, zero, h => absurd h Bool.ff_ne_tt
  | succ n, succ m, h => congrArg succ (eq_of_beq_eq_true n m h)
theorem Nat.ne_of_beq_eq_false (n m : Nat) (h : Eq (beq n m) false) (e : Eq n m) : False :=
  Bool.tt_ne_ff ((Nat.beq_refl' n).symm.trans ((congrArg (beq n) e).trans h))
@[extern "lean_nat_dec_eq"] def Nat.decEq (n m : Nat) : Decidable (Eq n m) :=
  Bool.rec (motive := fun b => Eq (beq n m) b → Decidable (Eq n m)) (fun h => isFalse (ne_of_beq_eq_false n m h)) (fun h => isTrue (eq_of_beq_eq_true n m h)) (beq n m) rfl
instance : DecidableEq Nat := Nat.decEq
@[match_pattern] protected def HEq.rfl {α : Sort u} {a : α} : HEq a a := HEq.refl a
theorem HEq.symm {α β : Sort u} {a : α} {b : β} (h : HEq a b) : HEq b a := h.rec (HEq.refl a)
theorem HEq.trans {α β φ : Sort u} {a : α} {b : β} {c : φ} (h₁ : HEq a b) (h₂ : HEq b c) : HEq a c := h₂.rec h₁
theorem heq_of_eq_of_heq {α β : Sort u} {a a' : α} {b : β} (h₁ : Eq a a') (h₂ : HEq a' b) : HEq a b := HEq.trans (heq_of_eq h₁) h₂
theorem type_eq_of_heq {α β : Sort u} {a : α} {b : β} (h : HEq a b) : Eq α β := h.rec (Eq.refl α)

@[extern "lean_nat_add"] def Nat.add (n : @& Nat) : (@& Nat) → Nat
  | zero => n
  | succ m => succ (Nat.add n m)
@[extern "lean_nat_pred"] def Nat.pred : (@& Nat) → Nat
  | zero => zero
  | succ n => n
@[extern "lean_nat_sub"] def Nat.sub (n : @& Nat) : (@& Nat) → Nat
  | zero => n
  | succ m => pred (Nat.sub n m)
@[extern "lean_nat_mul"] def Nat.mul (n : @& Nat) : (@& Nat) → Nat
  | zero => zero
  | succ m => Nat.add (Nat.mul n m) n
@[extern "lean_nat_pow"] def Nat.pow (n : @& Nat) : (@& Nat) → Nat
  | zero => succ zero
  | succ m => Nat.mul (Nat.pow n m) n
def Nat.ble : Nat → Nat → Bool
  | zero, _ => true
  | succ _, zero => false
  | succ n, succ m => ble n m
attribute [extern "lean_nat_dec_le"] Nat.ble
structure Subtype {α : Sort u} (p : α → Prop) where
  val : α
  property : p val
structure Sigma {α : Type u} (β : α → Type v) where
  fst : α
  snd : β fst
structure PSigma {α : Sort u} (β : α → Sort v) where
  fst : α
  snd : β fst
inductive Sum (α : Type u) (β : Type v) where
  | inl (val : α) : Sum α β
  | inr (val : β) : Sum α β
inductive PSum (α : Sort u) (β : Sort v) where
  | inl (val : α) : PSum α β
  | inr (val : β) : PSum α β
inductive Exists {α : Sort u} (p : α → Prop) : Prop where
  | intro (w : α) (h : p w) : Exists p
theorem Exists.elim {α : Sort u} {p : α → Prop} {b : Prop} (h₁ : Exists p) (h₂ : (a : α) → p a → b) : b := h₁.rec h₂
structure Iff (a b : Prop) : Prop where
  intro ::
  mp : a → b
  mpr : b → a
@[never_extract, extern "lean_sorry"] axiom sorryAx (α : Sort u) (synthetic : Bool) : α
axiom propext {a b : Prop} : Iff a b → Eq a b
class inductive Nonempty (α : Sort u) : Prop where
  | intro (val : α) : Nonempty α
axiom Classical.choice {α : Sort u} : Nonempty α → α
class Inhabited (α : Sort u) where
  default : α
export Inhabited (default)
instance : Inhabited (Sort u) := ⟨PUnit⟩
instance : Inhabited Bool := ⟨false⟩
instance : Inhabited Unit := ⟨PUnit.unit⟩
instance (α : Sort u) {β : Sort v} [Inhabited β] : Inhabited (α → β) := ⟨fun _ => default⟩
instance {α : Sort u} [Inhabited α] : Nonempty α := ⟨default⟩
structure PLift (α : Sort u) : Type u where
  up ::
  down : α
structure ULift.{r, s} (α : Type s) : Type (max s r) where
  up ::
  down : α

instance : Decidable True := isTrue True.intro
instance : Decidable False := isFalse (fun h => h)
section
variable {p q : Prop}
@[macro_inline] instance [dp : Decidable p] [dq : Decidable q] : Decidable (And p q) :=
  match dp with
  | isTrue hp => match dq with
    | isTrue hq => isTrue ⟨hp, hq⟩
    | isFalse hq => isFalse (fun h => hq h.right)
  | isFalse hp => isFalse (fun h => hp h.left)
@[macro_inline] instance [dp : Decidable p] [dq : Decidable q] : Decidable (Or p q) :=
  match dp with
  | isTrue hp => isTrue (Or.inl hp)
  | isFalse hp => match dq with
    | isTrue hq => isTrue (Or.inr hq)
    | isFalse hq => isFalse (fun h => h.rec hp hq)
instance [dp : Decidable p] : Decidable (Not p) :=
  match dp with
  | isTrue hp => isFalse (absurd hp)
  | isFalse hp => isTrue hp
@[macro_inline] instance [dp : Decidable p] [dq : Decidable q] : Decidable (p → q) :=
  match dp with
  | isTrue hp => match dq with
    | isTrue hq => isTrue (fun _ => hq)
    | isFalse hq => isFalse (fun h => hq (h hp))
  | isFalse hp => isTrue (fun h => absurd h hp)
instance [dp : Decidable p] [dq : Decidable q] : Decidable (Iff p q) :=
  match dp with
  | isTrue hp => match dq with
    | isTrue hq => isTrue ⟨fun _ => hq, fun _ => hp⟩
    | isFalse hq => isFalse (fun h => hq (h.mp hp))
  | isFalse hp => match dq with
    | isTrue hq => isFalse (fun h => hp (h.mpr hq))
    | isFalse hq => isTrue ⟨fun h => absurd h hp, fun h => absurd h hq⟩
end

@[reducible] def Ne {α : Sort u} (a b : α) : Prop := Not (Eq a b)
theorem Ne.intro {α : Sort u} {a b : α} (h : Eq a b → False) : Ne a b := h
theorem Ne.symm {α : Sort u} {a b : α} (h : Ne a b) : Ne b a := fun e => h e.symm
class BEq (α : Type u) where
  beq : α → α → Bool
instance instBEqOfDecidableEq {α : Type u} [DecidableEq α] : BEq α := ⟨fun a b => decide (Eq a b)⟩
class Add (α : Type u) where
  add : α → α → α
class Sub (α : Type u) where
  sub : α → α → α
class Mul (α : Type u) where
  mul : α → α → α
class Neg (α : Type u) where
  neg : α → α
class Div (α : Type u) where
  div : α → α → α
class Mod (α : Type u) where
  mod : α → α → α
class Pow (α : Type u) (β : Type v) where
  pow : α → β → α
class NatPow (α : Type u) where
  protected pow : α → Nat → α
class Append (α : Type u) where
  append : α → α → α
class AndOp (α : Type u) where
  and : α → α → α
class OrOp (α : Type u) where
  or : α → α → α
class XorOp (α : Type u) where
  xor : α → α → α
class Dvd (α : Type u) where
  dvd : α → α → Prop
class LE (α : Type u) where
  le : α → α → Prop
class LT (α : Type u) where
  lt : α → α → Prop
@[reducible] def GE.ge {α : Type u} [LE α] (a b : α) : Prop := LE.le b a
@[reducible] def GT.gt {α : Type u} [LT α] (a b : α) : Prop := LT.lt b a
abbrev DecidableLT (α : Type u) [LT α] := DecidableRel (LT.lt : α → α → Prop)
abbrev DecidableLE (α : Type u) [LE α] := DecidableRel (LE.le : α → α → Prop)
class Max (α : Type u) where
  max : α → α → α
class Min (α : Type u) where
  min : α → α → α
export Max (max)
export Min (min)
class HAdd (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAdd : α → β → γ
class HSub (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hSub : α → β → γ
class HMul (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hMul : α → β → γ
class HDiv (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hDiv : α → β → γ
class HMod (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hMod : α → β → γ
class HPow (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hPow : α → β → γ
class HAppend (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAppend : α → β → γ
class HOrElse (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hOrElse : α → (Unit → β) → γ
class HAndThen (α : Type u) (β : Type v) (γ : outParam (Type w)) where
  hAndThen : α → (Unit → β) → γ
@[default_instance] instance instHAdd {α : Type u} [Add α] : HAdd α α α := ⟨fun a b => Add.add a b⟩
@[default_instance] instance instHSub {α : Type u} [Sub α] : HSub α α α := ⟨fun a b => Sub.sub a b⟩
@[default_instance] instance instHMul {α : Type u} [Mul α] : HMul α α α := ⟨fun a b => Mul.mul a b⟩
@[default_instance] instance instHDiv {α : Type u} [Div α] : HDiv α α α := ⟨fun a b => Div.div a b⟩
@[default_instance] instance instHMod {α : Type u} [Mod α] : HMod α α α := ⟨fun a b => Mod.mod a b⟩
@[default_instance] instance instHPow {α : Type u} {β : Type v} [Pow α β] : HPow α β α := ⟨fun a b => Pow.pow a b⟩
@[default_instance] instance instPowNat {α : Type u} [NatPow α] : Pow α Nat := ⟨fun x n => NatPow.pow x n⟩
@[default_instance] instance instHAppendOfAppend {α : Type u} [Append α] : HAppend α α α := ⟨fun a b => Append.append a b⟩
class Membership (α : outParam (Type u)) (γ : Type v) where
  mem : γ → α → Prop
class OfNat (α : Type u) (_ : Nat) where
  ofNat : α
@[default_instance 100] instance instOfNatNat (n : Nat) : OfNat Nat n := ⟨n⟩
class EmptyCollection (α : Type u) where
  emptyCollection : α
class Insert (α : outParam (Type u)) (γ : Type v) where
  insert : α → γ → γ
class Singleton (α : outParam (Type u)) (β : Type v) where
  singleton : α → β
class GetElem (coll : Type u) (idx : Type v) (elem : outParam (Type w)) (valid : outParam (coll → idx → Prop)) where
  getElem (xs : coll) (i : idx) (h : valid xs i) : elem
attribute [match_pattern] Nat.add Add.add HAdd.hAdd Neg.neg
