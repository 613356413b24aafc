prelude
import Init.Tactics
set_option autoImplicit false
set_option linter.unusedVariables false
universe u v w

axiom Quot.sound : ∀ {α : Sort u} {r : α → α → Prop} {a b : α}, r a b → Quot.mk r a = Quot.mk r b
theorem funext {α : Sort u} {β : α → Sort v} {f g : (x : α) → β x} (h : ∀ x, f x = g x) : f = g :=
  have app (q : Quot (fun (f g : (x : α) → β x) => ∀ x, f x = g x)) (x : α) : β x :=
    Quot.lift (fun f => f x) (fun _ _ h => h x) q
  congrArg (fun q x => Quot.lift (fun (f : (x : α) → β x) => f x) (fun _ _ h => h x) q)
    (Quot.sound (r := fun (f g : (x : α) → β x) => ∀ x, f x = g x) h)

class Trans.{u₁, u₂, u₃, v₁, v₂, v₃} {α : Sort v₁} {β : Sort v₂} {γ : Sort v₃} (r : α → β → Sort u₁) (s : β → γ → Sort u₂) (t : outParam (α → γ → Sort u₃)) where
  trans {a : α} {b : β} {c : γ} : r a b → s b c → t a c
instance {α : Sort u} {γ : Sort v} (r : α → γ → Prop) : Trans Eq r r := ⟨fun h h' => h ▸ h'⟩
instance {α : Sort u} {β : Sort v} (r : α → β → Prop) : Trans r Eq r := ⟨fun h h' => h' ▸ h⟩
theorem Iff.refl (a : Prop) : a ↔ a := ⟨fun h => h, fun h => h⟩
theorem Iff.rfl {a : Prop} : a ↔ a := Iff.refl a
theorem Iff.symm {a b : Prop} (h : a ↔ b) : b ↔ a := ⟨h.mpr, h.mp⟩
theorem Iff.trans {a b c : Prop} (h : a ↔ b) (h' : b ↔ c) : a ↔ c := ⟨fun x => h'.mp (h.mp x), fun x => h.mpr (h'.mpr x)⟩
instance : Trans Iff Iff Iff := ⟨Iff.trans⟩
macro_rules | `(tactic| rfl) => `(tactic| exact Iff.refl _)
theorem Eq.mp' {α β : Prop} (h : α = β) (a : α) : β := h ▸ a
@[macro_inline] def Eq.mp {α β : Sort u} (h : α = β) (a : α) : β := h ▸ a
@[macro_inline] def Eq.mpr {α β : Sort u} (h : α = β) (b : β) : α := h ▸ b
theorem Eq.propIntro {a b : Prop} (h₁ : a → b) (h₂ : b → a) : a = b := propext ⟨h₁, h₂⟩
theorem eq_comm {α : Sort u} {a b : α} : a = b ↔ b = a := ⟨Eq.symm, Eq.symm⟩
theorem ne_comm {α : Sort u} {a b : α} : a ≠ b ↔ b ≠ a := ⟨Ne.symm, Ne.symm⟩
theorem Ne.elim {α : Sort u} {a b : α} (h : a ≠ b) : a = b → False := h
def Not.elim {a : Prop} {α : Sort u} (h : ¬a) (h' : a) : α := absurd h' h
theorem Not.intro {a : Prop} (h : a → False) : ¬a := h
theorem of_eq_true {p : Prop} (h : p = True) : p := h.symm ▸ trivial
theorem of_eq_false {p : Prop} (h : p = False) : ¬p := fun hp => h ▸ hp
theorem eq_true {p : Prop} (h : p) : p = True := propext ⟨fun _ => trivial, fun _ => h⟩
theorem eq_false {p : Prop} (h : ¬p) : p = False := propext ⟨h, False.elim⟩
theorem eq_false' {p : Prop} (h : p → False) : p = False := eq_false h
theorem eq_true_of_decide {p : Prop} [Decidable p] (h : decide p = true) : p = True := eq_true (of_decide_eq_true h)
theorem eq_false_of_decide {p : Prop} [Decidable p] (h : decide p = false) : p = False := eq_false (of_decide_eq_false h)
theorem eq_self {α : Sort u} (a : α) : (a = a) = True := eq_true rfl
attribute [simp] eq_self id_eq
theorem implies_congr {p₁ p₂ : Sort u} {q₁ q₂ : Sort v} (h₁ : p₁ = p₂) (h₂ : q₁ = q₂) : (p₁ → q₁) = (p₂ → q₂) := h₁ ▸ h₂ ▸ rfl
theorem implies_dep_congr_ctx {p₁ p₂ q₁ : Prop} (h₁ : p₁ = p₂) {q₂ : p₂ → Prop} (h₂ : (h : p₂) → q₁ = q₂ h) : (p₁ → q₁) = ((h : p₂) → q₂ h) :=
  propext ⟨fun h hp₂ => (h₂ hp₂) ▸ h (h₁.symm ▸ hp₂), fun h hp₁ => (h₂ (h₁ ▸ hp₁)).symm ▸ h (h₁ ▸ hp₁)⟩
theorem implies_congr_ctx {p₁ p₂ q₁ q₂ : Prop} (h₁ : p₁ = p₂) (h₂ : p₂ → q₁ = q₂) : (p₁ → q₁) = (p₂ → q₂) := implies_dep_congr_ctx h₁ h₂
theorem forall_congr {α : Sort u} {p q : α → Prop} (h : ∀ a, p a = q a) : (∀ a, p a) = (∀ a, q a) := (funext h : p = q) ▸ rfl
theorem forall_prop_domain_congr {p₁ p₂ : Prop} {q : p₁ → Prop} (h : p₁ = p₂) : ((a : p₁) → q a) = ((a : p₂) → q (h.symm ▸ a)) := by subst h; rfl
theorem exists_congr_eq {α : Sort u} {p q : α → Prop} (h : ∀ a, p a = q a) : Exists p = Exists q := (funext h : p = q) ▸ rfl
theorem let_congr {α : Sort u} {β : Sort v} {a a' : α} {b b' : α → β} (h₁ : a = a') (h₂ : ∀ x, b x = b' x) : (let x := a; b x) = (let x := a'; b' x) := h₁ ▸ (funext h₂ : b = b') ▸ rfl
theorem if_pos {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t e : α} : ite c t e = t :=
  match h with
  | isTrue _ => rfl
  | isFalse hn => absurd hc hn
theorem if_neg {c : Prop} {h : Decidable c} (hn : ¬c) {α : Sort u} {t e : α} : ite c t e = e :=
  match h with
  | isTrue hc => absurd hc hn
  | isFalse _ => rfl
theorem ite_congr {α : Sort u} {b c : Prop} {x y u v : α} {s : Decidable b} [i : Decidable c] (h₁ : b = c) (h₂ : c → x = u) (h₃ : ¬c → y = v) : ite b x y = ite c u v :=
  match i with
  | isTrue hc => (if_pos (h₁.symm ▸ hc)).trans ((h₂ hc).trans (if_pos hc).symm)
  | isFalse hn => (if_neg (fun hb => hn (h₁ ▸ hb))).trans ((h₃ hn).trans (if_neg hn).symm)
theorem ite_cond_eq_true {α : Sort u} {c : Prop} {_ : Decidable c} (a b : α) (h : c = True) : ite c a b = a := if_pos (of_eq_true h)
theorem ite_cond_eq_false {α : Sort u} {c : Prop} {_ : Decidable c} (a b : α) (h : c = False) : ite c a b = b := if_neg (of_eq_false h)
theorem ite_eq_left_of_eq_true {α : Sort u} {c : Prop} {_ : Decidable c} (a b : α) (h : c = True) : ite c a b = a := if_pos (of_eq_true h)
theorem ite_eq_right_of_eq_false {α : Sort u} {c : Prop} {_ : Decidable c} (a b : α) (h : c = False) : ite c a b = b := if_neg (of_eq_false h)
theorem ite_eq_left {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t e : α} : ite c t e = t := if_pos hc
theorem ite_eq_right {c : Prop} {h : Decidable c} (hn : ¬c) {α : Sort u} {t e : α} : ite c t e = e := if_neg hn
theorem dite_eq_left {c : Prop} {h : Decidable c} (hc : c) {α : Sort u} {t : c → α} {e : ¬c → α} : dite c t e = t hc :=
  match h with
  | isTrue _ => rfl
  | isFalse hn => absurd hc hn
theorem dite_eq_right {c : Prop} {h : Decidable c} (hn : ¬c) {α : Sort u} {t : c → α} {e : ¬c → α} : dite c t e = e hn :=
  match h with
  | isTrue hc => absurd hc hn
  | isFalse _ => rfl
theorem dite_eq_left_of_eq_true {α : Sort u} {c : Prop} {_ : Decidable c} {t : c → α} {e : ¬c → α} (h : c = True) : dite c t e = t (of_eq_true h) := dite_eq_left (of_eq_true h)
theorem dite_eq_right_of_eq_false {α : Sort u} {c : Prop} {_ : Decidable c} {t : c → α} {e : ¬c → α} (h : c = False) : dite c t e = e (of_eq_false h) := dite_eq_right (of_eq_false h)
@[simp] theorem ite_true {α : Sort u} (a b : α) : ite True a b = a := rfl
@[simp] theorem ite_false {α : Sort u} (a b : α) : ite False a b = b := rfl
@[simp] theorem ite_self {α : Sort u} {c : Prop} {d : Decidable c} (a : α) : ite c a a = a := match d with
  | isTrue _ => rfl
  | isFalse _ => rfl
@[simp] theorem and_true (p : Prop) : (p ∧ True) = p := propext ⟨fun h => h.1, fun h => ⟨h, trivial⟩⟩
@[simp] theorem true_and (p : Prop) : (True ∧ p) = p := propext ⟨fun h => h.2, fun h => ⟨trivial, h⟩⟩
@[simp] theorem and_false (p : Prop) : (p ∧ False) = False := eq_false fun h => h.2
@[simp] theorem false_and (p : Prop) : (False ∧ p) = False := eq_false fun h => h.1
@[simp] theorem and_self (p : Prop) : (p ∧ p) = p := propext ⟨fun h => h.1, fun h => ⟨h, h⟩⟩
@[simp] theorem or_self (p : Prop) : (p ∨ p) = p := propext ⟨fun h => h.elim id id, Or.inl⟩
@[simp] theorem or_true (p : Prop) : (p ∨ True) = True := eq_true (Or.inr trivial)
@[simp] theorem true_or (p : Prop) : (True ∨ p) = True := eq_true (Or.inl trivial)
@[simp] theorem or_false (p : Prop) : (p ∨ False) = p := propext ⟨fun h => h.elim id False.elim, Or.inl⟩
@[simp] theorem false_or (p : Prop) : (False ∨ p) = p := propext ⟨fun h => h.elim False.elim id, Or.inr⟩
@[simp] theorem iff_self (p : Prop) : (p ↔ p) = True := eq_true Iff.rfl
@[simp] theorem iff_true (p : Prop) : (p ↔ True) = p := propext ⟨fun h => h.mpr trivial, fun h => ⟨fun _ => trivial, fun _ => h⟩⟩
@[simp] theorem true_iff (p : Prop) : (True ↔ p) = p := propext ⟨fun h => h.mp trivial, fun h => ⟨fun _ => h, fun _ => trivial⟩⟩
@[simp] theorem implies_true (α : Sort u) : (α → True) = True := eq_true fun _ => trivial
@[simp] theorem true_implies (p : Prop) : (True → p) = p := propext ⟨fun h => h trivial, fun h _ => h⟩
@[simp] theorem false_implies (p : Prop) : (False → p) = True := eq_true False.elim
@[simp] theorem forall_self_imp (a : Prop) (b : a → Prop) : (∀ h h' : a, b h) = ∀ h : a, b h := propext ⟨fun f h => f h h, fun f h _ => f h⟩
@[simp] theorem not_true_eq_false : (¬True) = False := eq_false fun h => h trivial
@[simp] theorem not_false_eq_true : (¬False) = True := eq_true fun h => h
@[simp] theorem ne_eq {α : Sort u} (a b : α) : (a ≠ b) = ¬(a = b) := rfl
theorem not_not_intro {p : Prop} (h : p) : ¬¬p := fun n => n h
theorem and_comm {a b : Prop} : a ∧ b ↔ b ∧ a := ⟨fun h => ⟨h.2, h.1⟩, fun h => ⟨h.2, h.1⟩⟩
theorem And.comm {a b : Prop} : a ∧ b ↔ b ∧ a := and_comm
theorem And.symm {a b : Prop} (h : a ∧ b) : b ∧ a := ⟨h.2, h.1⟩
theorem And.imp {a b c d : Prop} (f : a → c) (g : b → d) (h : a ∧ b) : c ∧ d := ⟨f h.1, g h.2⟩
def And.elim {a b : Prop} {α : Sort u} (f : a → b → α) (h : a ∧ b) : α := f h.1 h.2
theorem or_comm {a b : Prop} : a ∨ b ↔ b ∨ a := ⟨fun h => h.elim Or.inr Or.inl, fun h => h.elim Or.inr Or.inl⟩
theorem Or.comm {a b : Prop} : a ∨ b ↔ b ∨ a := or_comm
theorem Or.symm {a b : Prop} (h : a ∨ b) : b ∨ a := h.elim Or.inr Or.inl
theorem Or.imp {a b c d : Prop} (f : a → c) (g : b → d) (h : a ∨ b) : c ∨ d := h.elim (fun x => Or.inl (f x)) (fun x => Or.inr (g x))
theorem Or.resolve_left {a b : Prop} (h : a ∨ b) (n : ¬a) : b := h.elim (fun x => absurd x n) id
theorem Or.resolve_right {a b : Prop} (h : a ∨ b) (n : ¬b) : a := h.elim id (fun x => absurd x n)
theorem and_assoc {a b c : Prop} : (a ∧ b) ∧ c ↔ a ∧ b ∧ c := ⟨fun h => ⟨h.1.1, h.1.2, h.2⟩, fun h => ⟨⟨h.1, h.2.1⟩, h.2.2⟩⟩
theorem or_assoc {a b c : Prop} : (a ∨ b) ∨ c ↔ a ∨ b ∨ c :=
  ⟨fun h => h.elim (fun h => h.elim Or.inl (fun h => Or.inr (Or.inl h))) (fun h => Or.inr (Or.inr h)),
   fun h => h.elim (fun h => Or.inl (Or.inl h)) (fun h => h.elim (fun h => Or.inl (Or.inr h)) Or.inr)⟩
theorem not_or {p q : Prop} : ¬(p ∨ q) ↔ ¬p ∧ ¬q := ⟨fun h => ⟨fun x => h (Or.inl x), fun x => h (Or.inr x)⟩, fun h x => x.elim h.1 h.2⟩
theorem Decidable.em (p : Prop) [i : Decidable p] : p ∨ ¬p := match i with
  | isTrue h => Or.inl h
  | isFalse h => Or.inr h
theorem Decidable.byContradiction {p : Prop} [Decidable p] (h : ¬p → False) : p := (Decidable.em p).elim id (fun n => (h n).elim)
@[simp] theorem decide_eq_true_eq {p : Prop} [Decidable p] : (decide p = true) = p := propext ⟨of_decide_eq_true, decide_eq_true⟩
@[simp] theorem Bool.true_and (b : Bool) : (true && b) = b := by cases b <;> rfl
@[simp] theorem Bool.false_and (b : Bool) : (false && b) = false := by cases b <;> rfl
@[simp] theorem Bool.and_true (b : Bool) : (b && true) = b := by cases b <;> rfl
@[simp] theorem Bool.and_false (b : Bool) : (b && false) = false := by cases b <;> rfl
@[simp] theorem Bool.or_true (b : Bool) : (b || true) = true := by cases b <;> rfl
@[simp] theorem Bool.true_or (b : Bool) : (true || b) = true := by cases b <;> rfl
@[simp] theorem Bool.or_false (b : Bool) : (b || false) = b := by cases b <;> rfl
@[simp] theorem Bool.false_or (b : Bool) : (false || b) = b := by cases b <;> rfl
@[simp] theorem Bool.not_not (b : Bool) : (!!b) = b := by cases b <;> rfl
@[simp] theorem Bool.not_true : (!true) = false := rfl
@[simp] theorem Bool.not_false : (!false) = true := rfl
@[simp] theorem Bool.and_self (b : Bool) : (b && b) = b := by cases b <;> rfl
@[simp] theorem Bool.or_self (b : Bool) : (b || b) = b := by cases b <;> rfl
theorem Bool.and_comm (a b : Bool) : (a && b) = (b && a) := by cases a <;> cases b <;> rfl
theorem Bool.or_comm (a b : Bool) : (a || b) = (b || a) := by cases a <;> cases b <;> rfl
theorem Bool.and_assoc (a b c : Bool) : (a && b && c) = (a && (b && c)) := by cases a <;> cases b <;> cases c <;> rfl
theorem Bool.or_assoc (a b c : Bool) : (a || b || c) = (a || (b || c)) := by cases a <;> cases b <;> cases c <;> rfl
theorem Bool.not_and (a b : Bool) : (!(a && b)) = (!a || !b) := by cases a <;> cases b <;> rfl
theorem Bool.not_or (a b : Bool) : (!(a || b)) = (!a && !b) := by cases a <;> cases b <;> rfl
theorem Lean.injEq_helper {P Q R : Prop} : (P → Q → R) → (P ∧ Q → R) := fun h x => h x.1 x.2
theorem of_eq_true' (h : True = False) : False := h ▸ trivial
theorem Classical.em (p : Prop) : p ∨ ¬p :=
  let U (x : Prop) : Prop := x = True ∨ p
  let V (x : Prop) : Prop := x = False ∨ p
  have exU : Nonempty (Subtype U) := ⟨⟨True, Or.inl rfl⟩⟩
  have exV : Nonempty (Subtype V) := ⟨⟨False, Or.inl rfl⟩⟩
  have u_def : U (Classical.choice exU).val := (Classical.choice exU).property
  have v_def : V (Classical.choice exV).val := (Classical.choice exV).property
  have main : p → (Classical.choice exU).val = (Classical.choice exV).val := fun hp =>
    have e : U = V := funext fun x => propext ⟨fun _ => Or.inr hp, fun _ => Or.inr hp⟩
    have key : ∀ (W : Prop → Prop) (a : Nonempty (Subtype U)) (b : Nonempty (Subtype W)), U = W →
        (Classical.choice a).val = (Classical.choice b).val := fun W a b h => by subst h; rfl
    key V exU exV e
  match u_def, v_def with
  | Or.inr h, _ => Or.inl h
  | _, Or.inr h => Or.inl h
  | Or.inl hu, Or.inl hv => Or.inr fun hp => of_eq_true' (hu.symm.trans ((main hp).trans hv))
theorem Classical.byContradiction {p : Prop} (h : ¬p → False) : p := (Classical.em p).elim id (fun n => (h n).elim)
theorem Classical.not_not {p : Prop} : ¬¬p ↔ p := ⟨fun h => Classical.byContradiction h, not_not_intro⟩
noncomputable def Classical.propDecidable (a : Prop) : Decidable a :=
  Classical.choice ((Classical.em a).elim (fun h => ⟨isTrue h⟩) (fun h => ⟨isFalse h⟩))
theorem Classical.byCases {p q : Prop} (hpq : p → q) (hnpq : ¬p → q) : q := (Classical.em p).elim hpq hnpq
