prelude
import Init.Nat
set_option autoImplicit false
set_option linter.unusedVariables false
universe u v w
syntax (name := «term[_]») "[" withoutPosition(term,*,?) "]" : term
macro_rules
  | `([]) => `(List.nil)
  | `([$a]) => `(List.cons $a List.nil)
  | `([$a, $b]) => `(List.cons $a (List.cons $b List.nil))
  | `([$a, $b, $c]) => `(List.cons $a (List.cons $b (List.cons $c List.nil)))
  | `([$a, $b, $c, $d]) => `(List.cons $a (List.cons $b (List.cons $c (List.cons $d List.nil))))
  | `([$a, $b, $c, $d, $e]) => `(List.cons $a (List.cons $b (List.cons $c (List.cons $d (List.cons $e List.nil)))))
namespace List
variable {α : Type u} {β : Type v} {γ : Type w}
def length : List α → Nat
  | nil => 0
  | cons _ as => length as + 1
protected def append : (xs ys : List α) → List α
  | nil, bs => bs
  | cons a as, bs => cons a (List.append as bs)
instance : Append (List α) := ⟨List.append⟩
def map (f : α → β) : List α → List β
  | nil => nil
  | cons a as => cons (f a) (map f as)
def filter (p : α → Bool) : List α → List α
  | nil => nil
  | cons a as => match p a with
    | true => cons a (filter p as)
    | false => filter p as
def foldr (f : α → β → β) (init : β) : List α → β
  | nil => init
  | cons a as => f a (foldr f init as)
def foldl (f : β → α → β) : (init : β) → List α → β
  | b, nil => b
  | b, cons a as => foldl f (f b a) as
def reverseAux : List α → List α → List α
  | nil, r => r
  | cons a l, r => reverseAux l (cons a r)
def reverse (as : List α) : List α := reverseAux as nil
def replicate : (n : Nat) → (a : α) → List α
  | 0, _ => nil
  | n + 1, a => cons a (replicate n a)
def take : Nat → List α → List α
  | 0, _ => nil
  | _ + 1, nil => nil
  | n + 1, cons a as => cons a (take n as)
def drop : Nat → List α → List α
  | 0, as => as
  | _ + 1, nil => nil
  | n + 1, cons _ as => drop n as
def sum : List Nat → Nat
  | nil => 0
  | cons a as => a + sum as
inductive Mem (a : α) : List α → Prop where
  | head (as : List α) : Mem a (cons a as)
  | tail (b : α) {as : List α} : Mem a as → Mem a (cons b as)
instance : Membership α (List α) := ⟨fun l a => Mem a l⟩
@[simp] theorem length_nil : length (nil : List α) = 0 := rfl
@[simp] theorem length_cons (a : α) (as : List α) : (a :: as).length = as.length + 1 := rfl
@[simp] theorem nil_append (as : List α) : [] ++ as = as := rfl
@[simp] theorem cons_append (a : α) (as bs : List α) : (a :: as) ++ bs = a :: (as ++ bs) := rfl
@[simp] theorem append_nil (as : List α) : as ++ [] = as := by
  induction as with
  | nil => rfl
  | cons a as ih => exact congrArg (cons a) ih
@[simp] theorem append_assoc (as bs cs : List α) : as ++ bs ++ cs = as ++ (bs ++ cs) := by
  induction as with
  | nil => rfl
  | cons a as ih => exact congrArg (cons a) ih
@[simp] theorem length_append (as bs : List α) : (as ++ bs).length = as.length + bs.length := by
  induction as with
  | nil => exact (Nat.zero_add _).symm
  | cons a as ih => exact (congrArg Nat.succ ih).trans (Nat.succ_add as.length bs.length).symm
@[simp] theorem map_nil (f : α → β) : map f [] = [] := rfl
@[simp] theorem map_cons (f : α → β) (a : α) (l : List α) : map f (a :: l) = f a :: map f l := rfl
@[simp] theorem length_map (f : α → β) (as : List α) : (as.map f).length = as.length := by
  induction as with
  | nil => rfl
  | cons a as ih => exact congrArg Nat.succ ih
@[simp] theorem map_append (f : α → β) (as bs : List α) : map f (as ++ bs) = map f as ++ map f bs := by
  induction as with
  | nil => rfl
  | cons a as ih => exact congrArg (cons (f a)) ih
@[simp] theorem map_map (g : β → γ) (f : α → β) (l : List α) : map g (map f l) = map (g ∘ f) l := by
  induction l with
  | nil => rfl
  | cons a as ih => exact congrArg (cons (g (f a))) ih
@[simp] theorem map_id (l : List α) : map id l = l := by
  induction l with
  | nil => rfl
  | cons a as ih => exact congrArg (cons a) ih
theorem reverseAux_eq_append (as bs : List α) : reverseAux as bs = reverseAux as [] ++ bs := by
  induction as generalizing bs with
  | nil => rfl
  | cons a as ih => exact ((ih (a :: bs)).trans (show reverseAux as [] ++ ([a] ++ bs) = reverseAux as [a] ++ bs from by rw [ih [a], append_assoc]))
@[simp] theorem reverse_nil : reverse ([] : List α) = [] := rfl
@[simp] theorem reverse_cons (a : α) (as : List α) : reverse (a :: as) = reverse as ++ [a] := reverseAux_eq_append as [a]
@[simp] theorem reverse_append (as bs : List α) : (as ++ bs).reverse = bs.reverse ++ as.reverse := by
  induction as with
  | nil => exact (append_nil _).symm
  | cons a as ih => rw [cons_append, reverse_cons, reverse_cons, ih, append_assoc]
@[simp] theorem reverse_reverse (as : List α) : as.reverse.reverse = as := by
  induction as with
  | nil => rfl
  | cons a as ih => rw [reverse_cons, reverse_append, ih]; rfl
@[simp] theorem length_reverse (as : List α) : as.reverse.length = as.length := by
  induction as with
  | nil => rfl
  | cons a as ih => rw [reverse_cons, length_append, ih]; rfl
@[simp] theorem length_replicate (n : Nat) (a : α) : (replicate n a).length = n := by
  induction n with
  | zero => rfl
  | succ n ih => exact congrArg Nat.succ ih
theorem cons_ne_nil (a : α) (as : List α) : a :: as ≠ [] := fun h => nomatch h
theorem mem_cons_self {a : α} {as : List α} : a ∈ a :: as := Mem.head as
theorem mem_cons_of_mem (b : α) {a : α} {as : List α} (h : a ∈ as) : a ∈ b :: as := Mem.tail b h
theorem not_mem_nil {a : α} : ¬ a ∈ ([] : List α) := fun h => nomatch h
theorem mem_cons {a b : α} {l : List α} : a ∈ b :: l ↔ a = b ∨ a ∈ l :=
  ⟨fun h => match h with
    | .head _ => Or.inl rfl
    | .tail _ h => Or.inr h,
   fun h => h.elim (fun e => e ▸ Mem.head l) (Mem.tail b)⟩
theorem mem_append {a : α} {s t : List α} : a ∈ s ++ t ↔ a ∈ s ∨ a ∈ t := by
  induction s with
  | nil => exact ⟨Or.inr, fun h => h.elim (fun h => nomatch h) id⟩
  | cons b s ih => rw [cons_append, mem_cons, mem_cons, ih, or_assoc]
end List
namespace Option
@[simp] theorem map_none {α : Type u} {β : Type v} (f : α → β) : Option.map f none = none := rfl
@[simp] theorem map_some {α : Type u} {β : Type v} (f : α → β) (a : α) : Option.map f (some a) = some (f a) := rfl
end Option
