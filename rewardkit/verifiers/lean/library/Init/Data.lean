prelude
import Init.Base
set_option autoImplicit false
set_option linter.unusedVariables false
universe u v w

inductive List (α : Type u) where
  | nil : List α
  | cons (head : α) (tail : List α) : List α
inductive Option (α : Type u) where
  | none : Option α
  | some (val : α) : Option α
export Option (none some)
attribute [unbox] Option
inductive Except (ε : Type u) (α : Type v) where
  | error : ε → Except ε α
  | ok : α → Except ε α
attribute [unbox] Except
instance {α : Type u} : Inhabited (List α) := ⟨List.nil⟩
instance {α : Type u} : Inhabited (Option α) := ⟨none⟩
instance : Inhabited Nat := ⟨Nat.zero⟩

instance instAddNat : Add Nat := ⟨Nat.add⟩
instance instMulNat : Mul Nat := ⟨Nat.mul⟩
instance instSubNat : Sub Nat := ⟨Nat.sub⟩
instance instNatPowNat : NatPow Nat := ⟨Nat.pow⟩

protected inductive Nat.le (n : Nat) : Nat → Prop
  | refl : Nat.le n n
  | step {m : Nat} : Nat.le n m → Nat.le n (Nat.succ m)
protected def Nat.lt (n m : Nat) : Prop := Nat.le (Nat.succ n) m
instance instLENat : LE Nat := ⟨Nat.le⟩
instance instLTNat : LT Nat := ⟨Nat.lt⟩

theorem Nat.zero_le : (n : Nat) → LE.le 0 n
  | .zero => Nat.le.refl
  | .succ n => Nat.le.step (Nat.zero_le n)
theorem Nat.succ_le_succ {n m : Nat} (h : LE.le n m) : LE.le (Nat.succ n) (Nat.succ m) :=
  Nat.le.rec (motive := fun m _ => LE.le (Nat.succ n) (Nat.succ m)) Nat.le.refl (fun _ ih => Nat.le.step ih) h
theorem Nat.le_trans {n m k : Nat} (h : LE.le n m) (h' : LE.le m k) : LE.le n k :=
  Nat.le.rec (motive := fun k _ => LE.le n k) h (fun _ ih => Nat.le.step ih) h'
theorem Nat.pred_le_pred {n m : Nat} (h : LE.le n m) : LE.le (Nat.pred n) (Nat.pred m) :=
  Nat.le.rec (motive := fun m _ => LE.le (Nat.pred n) (Nat.pred m)) Nat.le.refl
    (fun {m} h ih => Nat.rec (motive := fun m => LE.le (Nat.pred n) (Nat.pred m) → LE.le (Nat.pred n) m) (fun h => h) (fun _ _ h => Nat.le.step h) m ih) h
theorem Nat.le_of_succ_le_succ {n m : Nat} (h : LE.le (Nat.succ n) (Nat.succ m)) : LE.le n m := Nat.pred_le_pred h
theorem Nat.succ_ne_zero (n : Nat) : Not (Eq (Nat.succ n) 0) := fun e => Bool.ff_ne_tt (congrArg (Nat.beq 0) e)
theorem Nat.not_succ_le_zero (n : Nat) (h : LE.le (Nat.succ n) 0) : False :=
  Nat.le.rec (motive := fun m _ => Eq m 0 → False) (Nat.succ_ne_zero n) (fun {m} _ _ => Nat.succ_ne_zero m) h rfl
theorem Nat.not_lt_zero (n : Nat) : Not (LT.lt n 0) := Nat.not_succ_le_zero n
theorem Nat.le_of_ble_eq_true : {n m : Nat} → Eq (Nat.ble n m) true → LE.le n m
  | .zero, m, _ => Nat.zero_le m
  | .succ _, .zero, h => absurd h Bool.ff_ne_tt
  | .succ n, .succ m, h => Nat.succ_le_succ (Nat.le_of_ble_eq_true (n := n) (m := m) h)
theorem Nat.ble_self_eq_true (n : Nat) : Eq (Nat.ble n n) true :=
  Nat.rec (motive := fun n => Eq (Nat.ble n n) true) rfl (fun _ ih => ih) n
theorem Nat.ble_succ_eq_true : {n m : Nat} → Eq (Nat.ble n m) true → Eq (Nat.ble n (Nat.succ m)) true
  | .zero, _, _ => rfl
  | .succ _, .zero, h => absurd h Bool.ff_ne_tt
  | .succ n, .succ m, h => Nat.ble_succ_eq_true (n := n) (m := m) h
theorem Nat.ble_eq_true_of_le {n m : Nat} (h : LE.le n m) : Eq (Nat.ble n m) true :=
  Nat.le.rec (motive := fun m _ => Eq (Nat.ble n m) true) (Nat.ble_self_eq_true n) (fun _ ih => Nat.ble_succ_eq_true ih) h
theorem Nat.not_le_of_not_ble_eq_true {n m : Nat} (h : Not (Eq (Nat.ble n m) true)) : Not (LE.le n m) :=
  fun h' => h (Nat.ble_eq_true_of_le h')
@[extern "lean_nat_dec_le", instance_reducible] def Nat.decLe (n m : @& Nat) : Decidable (LE.le n m) :=
  dite (Eq (Nat.ble n m) true) (fun h => isTrue (Nat.le_of_ble_eq_true h)) (fun h => isFalse (Nat.not_le_of_not_ble_eq_true h))
@[extern "lean_nat_dec_lt", instance_reducible] def Nat.decLt (n m : @& Nat) : Decidable (LT.lt n m) := Nat.decLe (Nat.succ n) m
instance (n m : Nat) : Decidable (LE.le n m) := Nat.decLe n m
instance (n m : Nat) : Decidable (LT.lt n m) := Nat.decLt n m
instance : Max Nat := ⟨fun n m => ite (LE.le n m) m n⟩
instance : Min Nat := ⟨fun n m => ite (LE.le n m) n m⟩

def Nat.divAux : Nat → Nat → Nat → Nat
  | .zero, _, _ => 0
  | .succ fuel, n, m => ite (And (LT.lt 0 m) (LE.le m n)) (Nat.succ (Nat.divAux fuel (Nat.sub n m) m)) 0
def Nat.modAux : Nat → Nat → Nat → Nat
  | .zero, n, _ => n
  | .succ fuel, n, m => ite (And (LT.lt 0 m) (LE.le m n)) (Nat.modAux fuel (Nat.sub n m) m) n
@[extern "lean_nat_div"] def Nat.div (n m : @& Nat) : Nat := Nat.divAux n n m
@[extern "lean_nat_mod"] def Nat.mod (n m : @& Nat) : Nat := Nat.modAux n n m
instance instDivNat : Div Nat := ⟨Nat.div⟩
instance instModNat : Mod Nat := ⟨Nat.mod⟩
structure Fin (n : Nat) where
  mk ::
  val : Nat
  isLt : LT.lt val n
structure BitVec (w : Nat) where
  ofFin ::
  toFin : Fin (HPow.hPow 2 w)
structure UInt8 where
  ofBitVec ::
  toBitVec : BitVec 8
structure UInt16 where
  ofBitVec ::
  toBitVec : BitVec 16
structure UInt32 where
  ofBitVec ::
  toBitVec : BitVec 32
structure UInt64 where
  ofBitVec ::
  toBitVec : BitVec 64
@[reducible] noncomputable def UInt32.toNat' (n : UInt32) : Nat := n.toBitVec.toFin.val
abbrev Nat.isValidChar (n : Nat) : Prop := Or (LT.lt n 0xd800) (And (LT.lt 0xdfff n) (LT.lt n 0x110000))
structure Char where
  val : UInt32
  valid : Nat.isValidChar val.toNat'
theorem UInt64.zero_ok : LT.lt 0 (HPow.hPow 2 64) := Nat.le_of_ble_eq_true rfl
instance : Inhabited UInt64 := ⟨⟨⟨⟨0, UInt64.zero_ok⟩⟩⟩⟩
structure Array (α : Type u) where
  mk ::
  toList : List α
attribute [extern "lean_array_to_list"] Array.toList
attribute [extern "lean_array_mk"] Array.mk
instance {α : Type u} : Inhabited (Array α) := ⟨⟨List.nil⟩⟩
inductive String where
  | ofList (data : List Char) : String
attribute [extern "lean_string_mk"] String.ofList
instance : Inhabited String := ⟨String.ofList List.nil⟩
@[extern "lean_string_dec_eq"] opaque String.beq' (a b : @& String) : Bool
@[extern "lean_mk_empty_array_with_capacity"] def Array.emptyWithCapacity {α : Type u} (c : @& Nat) : Array α := ⟨List.nil⟩
def Array.empty {α : Type u} : Array α := Array.emptyWithCapacity 0
def List.concat {α : Type u} : List α → α → List α
  | .nil, b => .cons b .nil
  | .cons a as, b => .cons a (List.concat as b)
@[extern "lean_array_push"] def Array.push {α : Type u} (a : Array α) (v : α) : Array α := ⟨List.concat a.toList v⟩
def Array.mkArray0 {α : Type u} : Array α := Array.emptyWithCapacity 0
def Array.mkArray1 {α : Type u} (a : α) : Array α := Array.mkArray0.push a
def Array.mkArray2 {α : Type u} (a b : α) : Array α := (Array.mkArray1 a).push b
def Array.mkArray3 {α : Type u} (a b c : α) : Array α := (Array.mkArray2 a b).push c
def Array.mkArray4 {α : Type u} (a b c d : α) : Array α := (Array.mkArray3 a b c).push d
def Array.mkArray5 {α : Type u} (a b c d e : α) : Array α := (Array.mkArray4 a b c d).push e
def Array.mkArray6 {α : Type u} (a b c d e f : α) : Array α := (Array.mkArray5 a b c d e).push f
def Array.mkArray7 {α : Type u} (a b c d e f g : α) : Array α := (Array.mkArray6 a b c d e f).push g
def Array.mkArray8 {α : Type u} (a b c d e f g h : α) : Array α := (Array.mkArray7 a b c d e f g).push h
@[extern "l_Array_appendCore"] protected opaque Array.appendCore {α : Type u} (as bs : Array α) : Array α

@[inline] protected def Option.map {α : Type u} {β : Type v} (f : α → β) : Option α → Option β
  | some x => some (f x)
  | none => none
