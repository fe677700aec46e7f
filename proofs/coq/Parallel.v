(** Lemma 2 of lemmas.md, disjoint groups; and accounting.md: a record pays only for questions that can read it. *)
From Coq Require Import Reals Lra List Psatz.
From Prdp Require Import Notion Compose.
Import ListNotations.
Open Scope R_scope.

Section Reading.
Context {Rec : Type}.

Lemma filter_adds (p : Rec -> bool) r D D' : adds r D D' ->
  if p r then adds r (filter p D) (filter p D') else filter p D = filter p D'.
Proof.
  intros (l & m & -> & ->). rewrite !filter_app. simpl. destruct (p r); [| reflexivity].
  now exists (filter p l), (filter p m).
Qed.

(** Lemma 2: groups are told apart by the record alone; each is answered from its own records. *)
Section Groups.
Context {G Y : Type} (in_group : G -> Rec -> bool) (M : G -> list Rec -> Y -> R).
Hypothesis M_pos : forall g D y, 0 <= M g D y.
Hypothesis disjoint : forall g h r, in_group g r = true -> in_group h r = true -> g = h.

Fixpoint joint (gs : list G) (D : list Rec) (ys : list Y) : R :=
  match gs, ys with
  | [], [] => 1
  | g :: gs, y :: ys => M g (filter (in_group g) D) y * joint gs D ys
  | _, _ => 0
  end.

Lemma joint_pos gs D ys : 0 <= joint gs D ys.
Proof.
  revert ys. induction gs as [| g gs IH]; intros [| y ys]; simpl; try lra.
  apply Rmult_le_pos; auto.
Qed.

(** A record of none of the groups costs nothing. *)
Lemma joint_unread gs r D D' : adds r D D' -> (forall g, In g gs -> in_group g r = false) ->
  forall ys, joint gs D ys = joint gs D' ys.
Proof.
  intros N. induction gs as [| g gs IH]; simpl; intros H ys; [reflexivity |].
  destruct ys as [| y ys]; [reflexivity |].
  pose proof (filter_adds (in_group g) r D D' N) as F.
  rewrite (H g (or_introl eq_refl)) in F. rewrite F, IH; auto.
Qed.

(** Lemma 2 (parallel composition): answers about disjoint groups together cost a record what its own group costs.
    The record changes the filtered table of one group at most, so all other factors of the joint chance are equal. *)
Theorem parallel (E : Rec -> R) gs : NoDup gs -> (forall r, 0 <= E r) ->
  (forall g r D D', In g gs -> in_group g r = true -> adds r D D' -> within (E r) (M g D) (M g D')) ->
  private E (joint gs).
Proof.
  intros ND EP H r D D' N. induction ND as [| g gs F ND IH]; intros ys.
  - apply (within_refl _ (joint [] D)); [apply EP | apply joint_pos].
  - assert (forall ys, joint gs D ys <= exp (E r) * joint gs D' ys /\
        joint gs D' ys <= exp (E r) * joint gs D ys) as I
      by (apply IH; intros; apply H; auto; now right).
    clear IH. destruct ys as [| y ys]; simpl.
    { lra. }
    pose proof (filter_adds (in_group g) r D D' N) as P.
    pose proof (joint_pos gs D ys). pose proof (joint_pos gs D' ys).
    destruct (in_group g r) eqn:R.
    + assert (joint gs D ys = joint gs D' ys) as ->.
      { apply joint_unread with r; auto. intros h J. destruct (in_group h r) eqn:Q; auto.
        exfalso. apply F. now rewrite (disjoint g h r R Q). }
      destruct (H g r _ _ (or_introl eq_refl) R P y) as [A B].
      rewrite <- !Rmult_assoc. split; apply Rmult_le_compat_r; auto.
    + rewrite P. destruct (I ys) as [A B]. specialize (M_pos g (filter (in_group g) D') y).
      split; rewrite (Rmult_comm (exp _)), Rmult_assoc; apply Rmult_le_compat_l; auto;
        rewrite Rmult_comm; assumption.
Qed.
End Groups.

(** The theorem of accounting.md: rows with fixed columns, questions with filters, tables that change. *)
Section Regions.
Context {Q Y C : Type}.
Variables (ask : list (@event Q Y) -> Q -> R) (answer : Q -> list Rec -> Y -> R) (share : Q -> R)
  (region : Q -> C -> bool) (stands : list (@event Q Y) -> Q -> option Y)
  (accept : list (@event Q Y) -> Q -> bool) (same : Y -> Y -> bool).
Hypothesis ask_pos : forall tr q, 0 <= ask tr q.
Hypothesis answer_pos : forall q D y, 0 <= answer q D y.
Hypothesis share_pos : forall q, 0 <= share q.
Hypothesis accept_sound : forall tr q, accept tr q = true ->
  forall p, region q p = true -> spent share region tr p + share q <= 1.

Variables (reads : Q -> Rec -> bool) (fixed : Rec -> C) (E : Rec -> R).
Hypothesis E_pos : forall r, 0 <= E r.
Hypothesis each_private : forall q, private (fun r => share q * E r) (answer q).
Hypothesis region_holds : forall q r, reads q r = true -> region q (fixed r) = true.

Definition filtered (q : Q) (D : list Rec) : Y -> R := answer q (filter (reads q) D).

(** Worlds that differ by one row, from some moment on; the row may be edited, but not in its fixed columns. *)
(** A question that filters the record out sees two equal tables and costs nothing; any other is about a region that
    holds the record, and is charged there. So [ledger] applies, with the shares of these regions alone. *)
Theorem accounting (W W' : list (@event Q Y) -> list Rec) (p : C) (e : R) : 0 <= e ->
  (forall tr, W tr = W' tr \/ exists r, fixed r = p /\ E r <= e /\ adds r (W tr) (W' tr)) ->
  within e (chance_of ask filtered stands accept same W) (chance_of ask filtered stands accept same W').
Proof.
  intros e_pos H.
  assert (forall q, 0 <= charge share region q p) as CP.
  { intros q. unfold charge. destruct (region q p); [auto | lra]. }
  apply ledger with (share := share) (region := region) (p := p); auto.
  { intros q D y. apply answer_pos. }
  intros tr q. unfold filtered. destruct (H tr) as [-> | (r & <- & L & N)].
  - apply within_refl; [apply Rmult_le_pos |]; auto.
  - pose proof (filter_adds (reads q) r _ _ N) as F.
    destruct (reads q r) eqn:R.
    + unfold charge. rewrite (region_holds q r R).
      apply within_le with (share q * E r); auto; [apply Rmult_le_compat_l; auto |].
      apply (each_private q r _ _ F).
    + rewrite F. apply within_refl; [apply Rmult_le_pos |]; auto.
Qed.
End Regions.
End Reading.
