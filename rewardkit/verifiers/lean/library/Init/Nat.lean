prelude
import Init.Core
set_option autoImplicit false
set_option linter.unusedVariables false
instance : Coe Nat Nat := ⟨id⟩
namespace Nat
@[simp] theorem add_zero (n : Nat) : n + 0 = n := rfl
@[simp] theorem add_eq (n m : Nat) : Nat.add n m = n + m := rfl
@[simp] theorem mul_eq (n m : Nat) : Nat.mul n m = n * m := rfl
@[simp] theorem sub_eq (n m : Nat) : Nat.sub n m = n - m := rfl
@[simp] theorem le_eq (n m : Nat) : Nat.le n m = (n ≤ m) := rfl
@[simp] theorem lt_eq (n m : Nat) : Nat.lt n m = (n < m) := rfl
theorem add_succ (n m : Nat) : n + succ m = succ (n + m) := rfl
theorem add_one (n : Nat) : n + 1 = succ n := rfl
theorem succ_eq_add_one (n : Nat) : succ n = n + 1 := rfl
@[simp] theorem zero_eq : Nat.zero = 0 := rfl
theorem add_one_ne_zero (n : Nat) : n + 1 ≠ 0 := succ_ne_zero n
@[simp] theorem zero_add (n : Nat) : 0 + n = n := by
  induction n with
  | zero => rfl
  | succ n ih => exact congrArg succ ih
theorem succ_add (n m : Nat) : succ n + m = succ (n + m) := by
  induction m with
  | zero => rfl
  | succ m ih => exact congrArg succ ih
protected theorem add_comm (n m : Nat) : n + m = m + n := by
  induction m with
  | zero => exact (Nat.zero_add n).symm
  | succ m ih => exact (congrArg succ ih).trans (succ_add m n).symm
protected theorem add_assoc (n m k : Nat) : n + m + k = n + (m + k) := by
  induction k with
  | zero => rfl
  | succ k ih => exact congrArg succ ih
protected theorem add_left_comm (n m k : Nat) : n + (m + k) = m + (n + k) := by
  rw [← Nat.add_assoc, Nat.add_comm n m, Nat.add_assoc]
protected theorem add_right_comm (n m k : Nat) : n + m + k = n + k + m := by
  rw [Nat.add_assoc, Nat.add_comm m k, ← Nat.add_assoc]
theorem succ_add_eq_add_succ (a b : Nat) : succ a + b = a + succ b := succ_add a b
theorem one_add (n : Nat) : 1 + n = succ n := Nat.add_comm 1 n
@[simp] theorem mul_zero (n : Nat) : n * 0 = 0 := rfl
theorem mul_succ (n m : Nat) : n * succ m = n * m + n := rfl
theorem mul_add_one (n m : Nat) : n * (m + 1) = n * m + n := rfl
@[simp] theorem zero_mul (n : Nat) : 0 * n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => exact ih
theorem succ_mul (n m : Nat) : succ n * m = n * m + m := by
  induction m with
  | zero => rfl
  | succ m ih => exact (show succ n * m + succ n = n * m + n + succ m from by
      rw [ih, add_succ, add_succ, Nat.add_right_comm])
theorem add_one_mul (n m : Nat) : (n + 1) * m = n * m + m := succ_mul n m
@[simp] protected theorem mul_one (n : Nat) : n * 1 = n := Nat.zero_add n
@[simp] protected theorem one_mul (n : Nat) : 1 * n = n := by
  rw [show (1 : Nat) = succ 0 from rfl, succ_mul, zero_mul, zero_add]
protected theorem mul_comm (n m : Nat) : n * m = m * n := by
  induction m with
  | zero => exact (zero_mul n).symm
  | succ m ih => rw [succ_mul, mul_succ, ih]
protected theorem left_distrib (n m k : Nat) : n * (m + k) = n * m + n * k := by
  induction k with
  | zero => rfl
  | succ k ih => rw [add_succ, mul_succ, mul_succ, ih, Nat.add_assoc]
protected theorem mul_add (n m k : Nat) : n * (m + k) = n * m + n * k := Nat.left_distrib n m k
protected theorem right_distrib (n m k : Nat) : (n + m) * k = n * k + m * k := by
  rw [Nat.mul_comm, Nat.left_distrib, Nat.mul_comm k n, Nat.mul_comm k m]
protected theorem add_mul (n m k : Nat) : (n + m) * k = n * k + m * k := Nat.right_distrib n m k
protected theorem mul_assoc (n m k : Nat) : n * m * k = n * (m * k) := by
  induction k with
  | zero => rfl
  | succ k ih => rw [mul_succ, mul_succ, ih, Nat.left_distrib]
protected theorem mul_left_comm (n m k : Nat) : n * (m * k) = m * (n * k) := by
  rw [← Nat.mul_assoc, Nat.mul_comm n m, Nat.mul_assoc]
protected theorem mul_right_comm (n m k : Nat) : n * m * k = n * k * m := by
  rw [Nat.mul_assoc, Nat.mul_comm m k, ← Nat.mul_assoc]
protected theorem two_mul (n : Nat) : 2 * n = n + n := by rw [show (2 : Nat) = succ 1 from rfl, succ_mul, Nat.one_mul]
protected theorem mul_two (n : Nat) : n * 2 = n + n := by rw [Nat.mul_comm, Nat.two_mul]
@[simp] theorem pow_zero (n : Nat) : n ^ 0 = 1 := rfl
theorem pow_succ {b n : Nat} : b ^ (n + 1) = b ^ n * b := rfl
theorem pow_add_one {b n : Nat} : b ^ (n + 1) = b ^ n * b := rfl
@[simp] protected theorem pow_one (n : Nat) : n ^ 1 = n := Nat.one_mul n
protected theorem pow_two (n : Nat) : n ^ 2 = n * n := congrArg (fun x => x * n) (Nat.pow_one n)
@[simp] protected theorem one_pow (n : Nat) : 1 ^ n = 1 := by
  induction n with
  | zero => rfl
  | succ n ih => rw [pow_succ, ih]
@[simp] theorem pred_zero : pred 0 = 0 := rfl
@[simp] theorem pred_succ (n : Nat) : pred (succ n) = n := rfl
theorem succ_inj {n m : Nat} : succ n = succ m ↔ n = m := ⟨fun h => congrArg pred h, congrArg succ⟩
theorem add_right_cancel {n m k : Nat} (h : n + m = k + m) : n = k := by
  induction m with
  | zero => exact h
  | succ m ih => exact ih (congrArg pred h)
theorem add_left_cancel {n m k : Nat} (h : n + m = n + k) : m = k :=
  Nat.add_right_cancel (m := n) (by rw [Nat.add_comm m n, Nat.add_comm k n, h])
theorem add_left_cancel_iff {m k n : Nat} : n + m = n + k ↔ m = k := ⟨add_left_cancel, fun h => h ▸ rfl⟩
theorem add_right_cancel_iff {m k n : Nat} : m + n = k + n ↔ m = k := ⟨add_right_cancel, fun h => h ▸ rfl⟩
@[simp] theorem le_refl (n : Nat) : n ≤ n := Nat.le.refl
theorem le_rfl {n : Nat} : n ≤ n := Nat.le.refl
theorem le_of_eq {n m : Nat} (h : n = m) : n ≤ m := h ▸ Nat.le.refl
theorem le_succ (n : Nat) : n ≤ succ n := Nat.le.step Nat.le.refl
theorem le_add_right (n k : Nat) : n ≤ n + k := by
  induction k with
  | zero => exact Nat.le.refl
  | succ k ih => exact Nat.le.step ih
theorem le_add_left (n m : Nat) : n ≤ m + n := Nat.add_comm n m ▸ Nat.le_add_right n m
theorem le_succ_of_le {n m : Nat} (h : n ≤ m) : n ≤ succ m := Nat.le.step h
theorem le_of_lt {n m : Nat} (h : n < m) : n ≤ m := Nat.le_trans (le_succ n) h
theorem lt_succ_self (n : Nat) : n < succ n := Nat.le.refl
theorem lt_succ_of_le {n m : Nat} (h : n ≤ m) : n < succ m := succ_le_succ h
theorem le_of_lt_succ {n m : Nat} (h : n < succ m) : n ≤ m := le_of_succ_le_succ h
theorem lt_irrefl (n : Nat) : ¬ n < n := by
  induction n with
  | zero => exact not_lt_zero 0
  | succ n ih => exact fun h => ih (le_of_succ_le_succ h)
theorem lt_trans {n m k : Nat} (h : n < m) (h' : m < k) : n < k := Nat.le_trans (Nat.le.step h) h'
theorem lt_of_lt_of_le {n m k : Nat} (h : n < m) (h' : m ≤ k) : n < k := Nat.le_trans h h'
theorem lt_of_le_of_lt {n m k : Nat} (h : n ≤ m) (h' : m < k) : n < k := Nat.le_trans (succ_le_succ h) h'
theorem zero_lt_succ (n : Nat) : 0 < succ n := succ_le_succ (zero_le n)
theorem succ_pos (n : Nat) : 0 < succ n := zero_lt_succ n
theorem zero_lt_one : 0 < 1 := zero_lt_succ 0
theorem le_antisymm {n m : Nat} (h : n ≤ m) (h' : m ≤ n) : n = m := by
  cases h with
  | refl => rfl
  | step h => exact absurd (Nat.lt_of_lt_of_le (lt_succ_of_le h) h') (lt_irrefl n)
theorem add_le_add_left {n m : Nat} (h : n ≤ m) (k : Nat) : k + n ≤ k + m := by
  induction h with
  | refl => exact Nat.le.refl
  | step h ih => exact Nat.le.step ih
theorem add_le_add_right {n m : Nat} (h : n ≤ m) (k : Nat) : n + k ≤ m + k := by
  rw [Nat.add_comm n k, Nat.add_comm m k]; exact add_le_add_left h k
theorem add_le_add {a b c d : Nat} (h : a ≤ b) (h' : c ≤ d) : a + c ≤ b + d := Nat.le_trans (add_le_add_right h c) (add_le_add_left h' b)
theorem le_total (m n : Nat) : m ≤ n ∨ n ≤ m := by
  induction m with
  | zero => exact Or.inl (zero_le n)
  | succ m ih => exact ih.elim (fun h => match h with
      | .refl => Or.inr (le_succ m)
      | .step h => Or.inl (succ_le_succ h)) (fun h => Or.inr (Nat.le.step h))
theorem lt_or_ge (n m : Nat) : n < m ∨ n ≥ m := (Nat.le_total m n).elim Or.inr (fun h => match h with
  | .refl => Or.inr (le_refl _)
  | .step h => Or.inl (lt_succ_of_le h))
theorem ne_of_lt {a b : Nat} (h : a < b) : a ≠ b := fun e => lt_irrefl b (e ▸ h)
theorem ne_of_gt {a b : Nat} (h : b < a) : a ≠ b := fun e => lt_irrefl a (e.symm ▸ h)
theorem not_le_of_gt {n m : Nat} (h : n > m) : ¬ n ≤ m := fun h' => lt_irrefl m (Nat.lt_of_lt_of_le h h')
theorem not_lt_of_ge {n m : Nat} (h : n ≥ m) : ¬ n < m := fun h' => lt_irrefl n (Nat.lt_of_lt_of_le h' h)
theorem sub_zero (n : Nat) : n - 0 = n := rfl
theorem sub_succ (n m : Nat) : n - succ m = pred (n - m) := rfl
theorem zero_sub (n : Nat) : 0 - n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => rw [sub_succ, ih]; rfl
theorem succ_sub_succ (n m : Nat) : succ n - succ m = n - m := by
  induction m with
  | zero => rfl
  | succ m ih => exact congrArg pred ih
theorem sub_self (n : Nat) : n - n = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => rw [succ_sub_succ, ih]
theorem add_sub_cancel (n m : Nat) : n + m - m = n := by
  induction m with
  | zero => rfl
  | succ m ih => rw [add_succ, succ_sub_succ, ih]
theorem eq_of_beq {a b : Nat} (h : (a == b) = true) : a = b := of_decide_eq_true h
end Nat
attribute [simp] Nat.sub_zero Nat.zero_sub Nat.sub_self Nat.succ_sub_succ Nat.add_sub_cancel Nat.lt_irrefl Nat.zero_le Nat.succ_ne_zero Nat.not_lt_zero
theorem beq_self_eq_true (a : Nat) : (a == a) = true := decide_eq_true rfl
instance : Dvd Nat := ⟨fun a b => ∃ c, b = a * c⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) LE.le LE.le LE.le := ⟨Nat.le_trans⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) LT.lt LT.lt LT.lt := ⟨Nat.lt_trans⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) LT.lt LE.le LT.lt := ⟨Nat.lt_of_lt_of_le⟩
instance : Trans (α := Nat) (β := Nat) (γ := Nat) LE.le LT.lt LT.lt := ⟨Nat.lt_of_le_of_lt⟩
