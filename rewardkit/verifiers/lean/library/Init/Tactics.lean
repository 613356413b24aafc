prelude
import Init.Notation
set_option autoImplicit false
set_option linter.unusedVariables false
universe u v w
namespace Lean
syntax binderIdent := ident <|> hole
syntax cdotTk := patternIgnore("· " <|> ". ")
syntax (name := cdot) cdotTk withPosition(colGe tacticSeq) : tactic
namespace Parser.Tactic
syntax (name := intro) "intro" notFollowedBy("|") (ppSpace colGt term:max)* : tactic
syntax (name := intros) "intros" (ppSpace colGt (ident <|> hole))* : tactic
syntax (name := renameI) "rename_i" (ppSpace colGt binderIdent)+ : tactic
syntax (name := revert) "revert" (ppSpace colGt term:max)+ : tactic
syntax (name := clear) "clear" (ppSpace colGt term:max)+ : tactic
syntax (name := subst) "subst" (ppSpace colGt term:max)+ : tactic
syntax (name := assumption) "assumption" : tactic
syntax (name := contradiction) "contradiction" : tactic
syntax (name := apply) "apply " term : tactic
syntax (name := exact) "exact " term : tactic
syntax (name := refine) "refine " term : tactic
syntax (name := constructor) "constructor" : tactic
syntax (name := left) "left" : tactic
syntax (name := right) "right" : tactic
syntax caseArg := binderIdent (ppSpace binderIdent)*
syntax (name := case) "case " sepBy1(caseArg, " | ") " => " tacticSeq : tactic
syntax (name := case') "case' " sepBy1(caseArg, " | ") " => " tacticSeq : tactic
syntax (name := allGoals) "all_goals " tacticSeq : tactic
syntax (name := anyGoals) "any_goals " tacticSeq : tactic
syntax (name := focus) "focus " tacticSeq : tactic
syntax (name := skip) "skip" : tactic
syntax (name := done) "done" : tactic
syntax (name := traceState) "trace_state" : tactic
syntax (name := fail) "fail" (ppSpace str)? : tactic
syntax (name := failIfSuccess) "fail_if_success " tacticSeq : tactic
syntax (name := paren) "(" withoutPosition(tacticSeq) ")" : tactic
syntax (name := withReducible) "with_reducible " tacticSeq : tactic
syntax (name := first) "first " withPosition((ppDedent(ppLine) colGe "| " tacticSeq)+) : tactic
syntax (name := rotateRight) "rotate_right" (ppSpace num)? : tactic
syntax (name := rotateLeft) "rotate_left" (ppSpace num)? : tactic
macro "try " t:tacticSeq : tactic => `(tactic| first | $t | skip)
macro:1 x:tactic " <;> " y:tactic:2 : tactic => `(tactic| focus (($x:tactic); all_goals ($y:tactic)))
syntax "repeat " tacticSeq : tactic
macro_rules | `(tactic| repeat $seq) => `(tactic| first | ($seq); repeat $seq | skip)
syntax (name := eqRefl) "eq_refl" : tactic
syntax "rfl" : tactic
syntax (name := applyRfl) "apply_rfl" : tactic
macro_rules | `(tactic| rfl) => `(tactic| eq_refl)
macro_rules | `(tactic| rfl) => `(tactic| exact HEq.rfl)
macro "rfl'" : tactic => `(tactic| rfl)
macro "exfalso" : tactic => `(tactic| refine False.elim ?_)
macro "infer_instance" : tactic => `(tactic| exact inferInstance)
macro "sorry" : tactic => `(tactic| exact sorry)
macro "admit" : tactic => `(tactic| sorry)
syntax "trivial" : tactic
macro_rules | `(tactic| trivial) => `(tactic| assumption)
macro_rules | `(tactic| trivial) => `(tactic| rfl)
macro_rules | `(tactic| trivial) => `(tactic| contradiction)
macro_rules | `(tactic| trivial) => `(tactic| apply True.intro)
macro_rules | `(tactic| trivial) => `(tactic| apply And.intro <;> trivial)

syntax locationWildcard := " *"
syntax locationType := patternIgnore(atomic("|" noWs "-") <|> "⊢")
syntax locationHyp := (ppSpace colGt (term:max <|> locationType))+
syntax location := withPosition(ppGroup(" at" (locationWildcard <|> locationHyp)))
syntax (name := change) "change " term (location)? : tactic
syntax (name := «show») "show " term : tactic
syntax posConfigItem := " +" noWs ident
syntax negConfigItem := " -" noWs ident
syntax valConfigItem := atomic(" (" notFollowedBy(&"discharger" <|> &"disch") (ident <|> &"config")) " := " withoutPosition(term) ")"
syntax configItem := posConfigItem <|> negConfigItem <|> valConfigItem
syntax optConfig := (colGt configItem)*
syntax rwRule := patternIgnore("← " <|> "<- ")? term
syntax rwRuleSeq := " [" withoutPosition(rwRule,*,?) "]"
syntax (name := rewriteSeq) "rewrite" optConfig rwRuleSeq (location)? : tactic
macro "rw " c:optConfig s:rwRuleSeq l:(location)? : tactic => `(tactic| (rewrite $c:optConfig $s:rwRuleSeq $[$l:location]?; try (with_reducible rfl)))
syntax (name := injection) "injection " term (" with" (ppSpace colGt (ident <|> hole))+)? : tactic
syntax (name := injections) "injections" (ppSpace colGt (ident <|> hole))* : tactic
syntax discharger := atomic(" (" patternIgnore(&"discharger" <|> &"disch")) " := " withoutPosition(tacticSeq) ")"
syntax simpPre := "↓"
syntax simpPost := "↑"
syntax simpLemma := (simpPre <|> simpPost)? patternIgnore("← " <|> "<- ")? term
syntax simpErase := "-" term:max
syntax simpStar := "*"
syntax (name := simp) "simp" optConfig (discharger)? (&" only")? (" [" withoutPosition((simpStar <|> simpErase <|> simpLemma),*,?) "]")? (location)? : tactic
syntax (name := simpAll) "simp_all" optConfig (discharger)? (&" only")? (" [" withoutPosition((simpErase <|> simpLemma),*,?) "]")? : tactic
syntax (name := dsimp) "dsimp" optConfig (discharger)? (&" only")? (" [" withoutPosition((simpErase <|> simpLemma),*,?) "]")? (location)? : tactic
syntax (name := delta) "delta" (ppSpace colGt ident)+ (location)? : tactic
syntax (name := unfold) "unfold" (ppSpace colGt term:max)+ (location)? : tactic
syntax (name := specialize) "specialize " term : tactic
syntax generalizeArg := atomic(ident " : ")? term:51 " = " ident
syntax (name := generalize) "generalize " generalizeArg,+ (location)? : tactic
macro "refine_lift " e:term : tactic => `(tactic| focus (refine no_implicit_lambda% $e; rotate_right))
macro "have " c:letConfig d:letDecl : tactic => `(tactic| refine_lift have $c:letConfig $d:letDecl; ?_)
macro "let " c:letConfig d:letDecl : tactic => `(tactic| refine_lift let $c:letConfig $d:letDecl; ?_)
macro "suffices " d:sufficesDecl : tactic => `(tactic| refine_lift suffices $d; ?_)
syntax elimTarget := atomic(binderIdent " : ")? term
syntax inductionAltLHS := withPosition(ppDedent(ppLine) colGe "| " (("@"? ident) <|> hole) (colGt (ident <|> hole))*)
syntax inductionAlt := inductionAltLHS+ (" => " (hole <|> syntheticHole <|> tacticSeq))?
syntax inductionAlts := " with" (ppSpace colGt tactic)? withPosition( (colGe inductionAlt)*)
syntax (name := induction) "induction " elimTarget,+ (" using " term)? (" generalizing" (ppSpace colGt term:max)+)? (inductionAlts)? : tactic
syntax (name := cases) "cases " elimTarget,+ (" using " term)? (inductionAlts)? : tactic
syntax (name := decide) "decide" optConfig : tactic
syntax (name := nativeDecide) "native_decide" optConfig : tactic
macro "exists " es:term,+ : tactic => `(tactic| (refine ⟨$es,*, ?_⟩; try trivial))
declare_syntax_cat rcasesPat
syntax rcasesPatMed := sepBy1(rcasesPat, " | ")
syntax rcasesPatLo := rcasesPatMed (" : " term)?
syntax (name := rcasesPat.one) ident : rcasesPat
syntax (name := rcasesPat.ignore) "_" : rcasesPat
syntax (name := rcasesPat.clear) "-" : rcasesPat
syntax (name := rcasesPat.tuple) "⟨" rcasesPatLo,* "⟩" : rcasesPat
syntax (name := rcasesPat.paren) "(" rcasesPatLo ")" : rcasesPat
syntax (name := rcases) "rcases" elimTarget,* (" with " rcasesPatLo)? : tactic
syntax (name := obtain) "obtain" (ppSpace rcasesPatMed)? (" : " term)? (" := " term,+)? : tactic
declare_syntax_cat rintroPat
syntax (name := rintroPat.one) rcasesPat : rintroPat
syntax (name := rintroPat.binder) "(" rcasesPatLo ")" : rintroPat
syntax (name := rintro) "rintro" (ppSpace colGt rintroPat)+ (" : " term)? : tactic
syntax "by_cases " (atomic(ident " : "))? term : tactic
macro_rules
  | `(tactic| by_cases $h:ident : $e) => `(tactic| refine (dite $e ?pos ?neg) <;> intro $h:ident)
macro "funext " x:ident : tactic => `(tactic| (apply funext; intro $x:ident))
end Parser.Tactic
syntax calcFirstStep := ppIndent(colGe term (" := " term)?)
syntax calcStep := ppIndent(colGe term " := " term)
syntax calcSteps := ppLine withPosition(calcFirstStep) withPosition((calcStep ppLine)*)
syntax (name := calc) "calc" calcSteps : term
syntax (name := calcTactic) "calc" calcSteps : tactic
namespace Parser.Attr
syntax (name := simp) "simp" (Tactic.simpPre <|> Tactic.simpPost)? patternIgnore("← " <|> "<- ")? (ppSpace prio)? : attr
end Parser.Attr
end Lean
macro "‹" t:term "›" : term => `((by assumption : $t))
