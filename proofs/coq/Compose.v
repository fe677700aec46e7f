(** Lemma 1 of lemmas.md, adaptive composition; and the ledger, which refuses what would spend too much. *)
From Coq Require Import Reals Lra List Psatz.
From Prdp Require Import Notion.
Import ListNotations.
Open Scope R_scope.

Lemma product a b x y x' y' : 0 <= y -> 0 <= y' -> 0 <= x' ->
  x <= exp a * x' -> y <= exp b * y' -> 0 <= x -> x * y <= exp (a + b) * (x' * y').
Proof.
  intros Y Y' X' H1 H2 X. rewrite exp_plus.
  apply Rle_trans with ((exp a * x') * (exp b * y')); [apply Rmult_le_compat; auto | right; ring].
Qed.

Lemma within_product {Y Z} a b (f f' : Y -> R) (g g' : Y -> Z -> R) :
  (forall y, 0 <= f y) -> (forall y, 0 <= f' y) -> (forall y z, 0 <= g y z) -> (forall y z, 0 <= g' y z) ->
  within a f f' -> (forall y, within b (g y) (g' y)) ->
  within (a + b) (fun p => f (fst p) * g (fst p) (snd p)) (fun p => f' (fst p) * g' (fst p) (snd p)).
Proof.
  intros F F' G G' A B [y z]. destruct (A y) as [A1 A2], (B y z) as [B1 B2]. simpl.
  split; apply product; auto.
Qed.

(** Lemma 1 (adaptive composition): if M1 is E1-private and M2 is E2-private for every fixed y, both together are
    (E1 + E2)-private. The chance of a pair is a product, and the factors of its two parts multiply. *)
Theorem adaptive {Rec Y Z} (E1 E2 : Rec -> R) (M1 : list Rec -> Y -> R) (M2 : Y -> list Rec -> Z -> R) :
  (forall D y, 0 <= M1 D y) -> (forall y D z, 0 <= M2 y D z) ->
  private E1 M1 -> (forall y, private E2 (M2 y)) ->
  private (fun r => E1 r + E2 r) (fun D p => M1 D (fst p) * M2 (fst p) D (snd p)).
Proof.
  intros P1 P2 H1 H2 r D D' N.
  apply (within_product (E1 r) (E2 r) (M1 D) (M1 D') (fun y => M2 y D) (fun y => M2 y D')); auto.
  intros y. apply (H2 y r D D' N).
Qed.

Section Ledger.
(** Questions, answers, contents of the fixed columns, tables. *)
Context {Q Y C T : Type}.

(** What everybody sees of one step: the question, and what became of it. *)
Inductive event := Answered (q : Q) (y : Y) | Stands (q : Q) (y : Y) | Refused (q : Q).
Definition transcript := list event.  (* the latest first *)

Variable ask : transcript -> Q -> R.        (* the analyst: any chance of any question, by what was seen *)
Hypothesis ask_pos : forall tr q, 0 <= ask tr q.
Variable answer : Q -> T -> Y -> R.         (* each question's law *)
Hypothesis answer_pos : forall q D y, 0 <= answer q D y.
Variable share : Q -> R.
Hypothesis share_pos : forall q, 0 <= share q.
Variable region : Q -> C -> bool.           (* whom it is charged to *)

Definition charge (q : Q) (p : C) : R := if region q p then share q else 0.
Fixpoint spent (tr : transcript) (p : C) : R :=
  match tr with
  | [] => 0
  | Answered q _ :: tr => spent tr p + charge q p
  | _ :: tr => spent tr p
  end.

(** The ledger's decisions, by the transcript alone: an answer that stands, or whether to charge. *)
Variable stands : transcript -> Q -> option Y.
Variable accept : transcript -> Q -> bool.
Hypothesis accept_sound : forall tr q, accept tr q = true ->
  forall p, region q p = true -> spent tr p + share q <= 1.

(** The table may grow and be edited, also in view of the transcript. *)
Definition world := transcript -> T.

(** The chance of an event after a transcript. [eqY] marks the one answer that stands. *)
Variable same : Y -> Y -> bool.
Definition step (W : world) (tr : transcript) (e : event) : R :=
  match e with
  | Answered q y => match stands tr q with
                    | Some _ => 0
                    | None => if accept tr q then ask tr q * answer q (W tr) y else 0
                    end
  | Stands q y => match stands tr q with
                  | Some y' => if same y y' then ask tr q else 0
                  | None => 0
                  end
  | Refused q => match stands tr q with
                 | Some _ => 0
                 | None => if accept tr q then 0 else ask tr q
                 end
  end.
Fixpoint chance_of (W : world) (tr : transcript) : R :=
  match tr with [] => 1 | e :: tr => chance_of W tr * step W tr e end.

Lemma step_pos W tr e : 0 <= step W tr e.
Proof.
  destruct e as [q y | q y | q]; simpl; destruct (stands tr q) as [y' |]; try lra.
  - destruct (accept tr q); [apply Rmult_le_pos; auto | lra].
  - destruct (same y y'); [auto | lra].
  - destruct (accept tr q); [lra | auto].
Qed.

Lemma chance_pos W tr : 0 <= chance_of W tr.
Proof. induction tr; simpl; [lra | apply Rmult_le_pos; auto using step_pos]. Qed.

(** A record with content p and budgets of at most e, in the one world and not in the other. *)
Variables (W W' : world) (p : C) (e : R).
Hypothesis e_pos : 0 <= e.
Hypothesis differs : forall tr q, within (charge q p * e) (answer q (W tr)) (answer q (W' tr)).

Lemma charge_within q : 0 <= charge q p.
Proof. unfold charge. destruct (region q p); [apply share_pos | lra]. Qed.

Lemma transcript_loss tr :
  chance_of W tr <= exp (spent tr p * e) * chance_of W' tr /\
  chance_of W' tr <= exp (spent tr p * e) * chance_of W tr.
Proof.
  induction tr as [| a tr [IH1 IH2]]; simpl.
  - rewrite Rmult_0_l, exp_0. lra.
  - pose proof (chance_pos W tr). pose proof (chance_pos W' tr).
    pose proof (step_pos W tr a) as S. pose proof (step_pos W' tr a) as S'.
    assert (step W tr a = step W' tr a -> spent (a :: tr) p = spent tr p -> 
      chance_of W tr * step W tr a <= exp (spent (a :: tr) p * e) * (chance_of W' tr * step W' tr a) /\
      chance_of W' tr * step W' tr a <= exp (spent (a :: tr) p * e) * (chance_of W tr * step W tr a)) as Same.
    { intros <- ->. rewrite <- !Rmult_assoc. split; apply Rmult_le_compat_r; auto. }
    destruct a as [q y | q y | q]; try (apply Same; reflexivity).
    rewrite Rmult_plus_distr_r. simpl in *. destruct (stands tr q); [lra |].
    destruct (accept tr q); [| lra]. destruct (differs tr q y) as [D1 D2].
    specialize (ask_pos tr q).
    split; apply product; auto; rewrite <- Rmult_assoc, (Rmult_comm (exp _)), Rmult_assoc;
      apply Rmult_le_compat_l; auto.
Qed.

(** What has any chance at all was accepted, so the shares at p add up to at most 1. *)
Lemma spent_at_most_1 V tr : chance_of V tr <> 0 -> spent tr p <= 1.
Proof.
  induction tr as [| a tr IH]; simpl; [lra |]. intros N.
  assert (chance_of V tr <> 0) as N1 by (intros Z; apply N; rewrite Z; ring).
  assert (step V tr a <> 0) as N2 by (intros Z; apply N; rewrite Z; ring).
  specialize (IH N1). destruct a as [q y | q y | q]; auto. simpl in N2.
  destruct (stands tr q); [easy |]. destruct (accept tr q) eqn:A; [| easy].
  unfold charge. destruct (region q p) eqn:G; [now apply accept_sound | lra].
Qed.

(** The ledger, whoever asks: all that is ever seen together is e-private for a record with a budget of at most e.
    By induction a transcript costs the sum of the shares charged at p; the ledger lets nothing happen that would
    make that more than 1, and what cannot happen has chance 0 in both worlds. *)
Theorem ledger : within e (chance_of W) (chance_of W').
Proof.
  assert (forall V V' tr, chance_of V tr <= exp (spent tr p * e) * chance_of V' tr ->
    chance_of V tr <= exp e * chance_of V' tr) as H.
  { intros V V' tr L. pose proof (chance_pos V' tr). pose proof (exp_pos e).
    destruct (Req_dec (chance_of V tr) 0) as [-> | N].
    - apply Rmult_le_pos; lra.
    - pose proof (spent_at_most_1 V tr N). apply Rle_trans with (1 := L).
      apply Rmult_le_compat_r; auto. apply exp_le. nra. }
  intros tr. destruct (transcript_loss tr). split; now apply H.
Qed.

(** The same of any set of transcripts: sums of chances that are close are close ([prob_le]). Sets whose sums are
    infinite have no p; those of transcripts of one length never do, if questions and answers have laws. *)
Theorem ledger_events A p1 p2 : prob (chance_of W) A p1 -> prob (chance_of W') A p2 ->
  p1 <= exp e * p2 /\ p2 <= exp e * p1.
Proof.
  intros P1 P2. pose proof (exp_pos e). pose proof ledger as L. split.
  - apply (prob_le (exp e) (chance_of W) (chance_of W') A); auto; [lra |]. intros tr _. apply L.
  - apply (prob_le (exp e) (chance_of W') (chance_of W) A); auto; [lra |]. intros tr _. apply L.
Qed.
End Ledger.

Section Plain.
Context {Rec Q Y : Type} (eqQ : forall q q' : Q, {q = q'} + {q <> q'}) (eqY : forall y y' : Y, {y = y'} + {y <> y'}).

Fixpoint recorded (tr : list (@event Q Y)) (q : Q) : option Y :=
  match tr with
  | [] => None
  | Answered q' y :: tr => if eqQ q q' then Some y else recorded tr q
  | _ :: tr => recorded tr q
  end.
Definition everybody (_ : Q) (_ : unit) : bool := true.
Definition fits (share : Q -> R) (tr : list (@event Q Y)) (q : Q) : bool :=
  if Rle_dec (spent share everybody tr tt + share q) 1 then true else false.

(** The plain ledger: one sum for everybody, and a question asked again is answered as before.
    It is [ledger] with one region that holds everybody, and its two decisions as the program takes them. *)
Theorem plain_ledger (E : Rec -> R) (ask : list event -> Q -> R) (answer : Q -> list Rec -> Y -> R) (share : Q -> R) :
  (forall r, 0 <= E r) -> (forall tr q, 0 <= ask tr q) -> (forall q D y, 0 <= answer q D y) ->
  (forall q, 0 <= share q) -> (forall q, private (fun r => share q * E r) (answer q)) ->
  private E (fun D => chance_of ask answer recorded (fits share)
                        (fun y y' => if eqY y y' then true else false) (fun _ => D)).
Proof.
  intros EP AP PP SP H r D D' N. apply ledger with (share := share) (region := everybody) (p := tt); auto.
  - intros tr q A [] _. unfold fits in A. now destruct Rle_dec.
  - intros tr q. apply (H q r D D' N).
Qed.
End Plain.
