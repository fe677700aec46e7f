(** Clipping with a point for values above zero and one for values below (clip.md, mechanisms/clip.py). *)
From Coq Require Import String Reals Lra Lia ZArith QArith Qabs Qreals Qminmax List Psatz Lqa.
From Prdp Require Import Notion Compose Laplace Choice Law Lawful Parallel Clip.
Import ListNotations.
Open Scope Q_scope.

Definition side (s : Z) (D : list row) : list row := filter (fun r => (sign r =? s)%Z) D.

(** The gate's noise, the draw of a point by some of the records, and the answer at the larger of two points. *)
Definition gate_scale (P : public) : Q := Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P))).
Definition drawn (P : public) (t : tuning) (D : list row) (next : nat -> law) : law :=
  Then (Flip (penalties P t D)) Here (length (points t)) next.
(** Octaves of each sign lie below that sign's own point. *)
Definition of_signs (P : public) (t : tuning) (low high : nat) (D : list row) : law :=
  watching P t [(nth low (points t) 1, fun r => (sign r =? -1)%Z); (nth high (points t) 1, fun r => (sign r =? 1)%Z)]
    (Nat.max low high) D.
Definition apart (P : public) (t : tuning) (D : list row) : law :=
  drawn P t (side 1 D) (fun high => drawn P t (side (-1) D) (fun low => of_signs P t low high D)).
Definition side_rest (P : public) (D : list row) (which : nat) : law :=
  let k := length (tunings P) in
  let t := nth (which mod k) (tunings P) no_tuning in
  if (which <? k)%nat then drawn P t D (fun j => of_signs P t j j D) else apart P t D.
(** Any public rule may pick the tuning by the two noisy masses, and whether there is one choice or two. *)
Definition sides_law (P : public) (pick : rule) (D : list row) : law :=
  Then (Noisy [total (mass P) (side (-1) D); total (mass P) (side 1 D)] [gate_scale P; gate_scale P])
    pick (2 * length (tunings P) - 1) (side_rest P D).

Section Neighbours.
Variables (reads : string -> out -> nat) (P : public) (pick : rule) (r : row) (D D' : list row).
Hypothesis P_sound : sound_public P.
Hypothesis r_ok : ok r.
Hypothesis N : adds r D D'.

Lemma side_adds s : if (sign r =? s)%Z then adds r (side s D) (side s D') else side s D = side s D'.
Proof. apply (filter_adds (fun r => (sign r =? s)%Z)), N. Qed.

Lemma same_within e L : 0 <= e -> within (Q2R e) (denote reads L) (denote reads L).
Proof.
  intros E. apply within_refl; [| apply denote_pos]. replace 0%R with (Q2R 0) by (unfold Q2R; simpl; Lra.lra).
  now apply Qle_Rle.
Qed.

(** A record's budget for the choice among points of its own sign; nothing for that of the other sign. *)
Definition paid (t : tuning) (s : Z) : Q := if (sign r =? s)%Z then share P * choosing t * budget P r else 0.

Lemma side_choice_within t s : sound_tuning P t ->
  within (Q2R (paid t s)) (denote reads (Flip (penalties P t (side s D))))
    (denote reads (Flip (penalties P t (side s D')))).
Proof.
  intros T. unfold paid. pose proof (side_adds s) as A. destruct (sign r =? s)%Z.
  - now apply choice_within.
  - rewrite A. apply same_within. lra.
Qed.

Lemma side_gate_within :
  within (Q2R (share P * gate P * budget P r))
    (denote reads (Noisy [total (mass P) (side (-1) D); total (mass P) (side 1 D)] [gate_scale P; gate_scale P]))
    (denote reads (Noisy [total (mass P) (side (-1) D'); total (mass P) (side 1 D')] [gate_scale P; gate_scale P])).
Proof.
  assert (forall s, within (Q2R (if (sign r =? s)%Z then share P * gate P * budget P r else 0))
    (denote reads (Noisy [total (mass P) (side s D)] [gate_scale P]))
    (denote reads (Noisy [total (mass P) (side s D')] [gate_scale P]))) as One.
  { intros s. pose proof (side_adds s) as A. destruct (sign r =? s)%Z.
    - now apply gate_within.
    - rewrite A. apply same_within. lra. }
  assert (0 <= share P * gate P * budget P r) as G.
  { pose proof (budget_pos P r P_sound r_ok). destruct P_sound as (S & Q & G & _). apply Qmult_le_0_compat; auto. nra. }
  intros [ys | j | x y]; cbn [denote noisy_mass]; try Lra.lra.
  destruct ys as [| y1 [| y2 [| y3 ys]]]; try Lra.lra.
  pose proof (One (-1)%Z (Ints [y1])) as A. pose proof (One 1%Z (Ints [y2])) as B. cbn [denote noisy_mass] in A, B.
  rewrite !Rmult_1_r in *.
  assert (forall a b c d e, 0 <= e -> (a <= exp (Q2R 0) * b /\ b <= exp (Q2R 0) * a)%R ->
    (0 <= c)%R -> (0 <= d)%R -> (0 <= a)%R -> (0 <= b)%R ->
    (c <= exp (Q2R e) * d /\ d <= exp (Q2R e) * c)%R ->
    (a * c <= exp (Q2R e) * (b * d) /\ b * d <= exp (Q2R e) * (a * c))%R) as Two.
  { intros a b c d e E [H1 H2] C C' A0 B0 [H3 H4].
    rewrite <- (Rplus_0_l (Q2R e)), <- Q2R_0. split; apply product; auto. }
  destruct (Z.eqb_spec (sign r) (-1)) as [E | E], (Z.eqb_spec (sign r) 1) as [E' | E']; try lia.
  - rewrite (Rmult_comm (noise _ (y1 - total (mass P) (side (-1) D)))),
      (Rmult_comm (noise _ (y1 - total (mass P) (side (-1) D')))). apply Two; auto using noise_pos.
  - apply Two; auto using noise_pos.
  - clear A B. pose proof (side_adds (-1)) as A. pose proof (side_adds 1) as B.
    rewrite (proj2 (Z.eqb_neq _ _) E) in A. rewrite (proj2 (Z.eqb_neq _ _) E') in B. rewrite A, B.
    assert (0 <= Q2R (share P * gate P * budget P r))%R as GR.
    { rewrite <- Q2R_0. now apply Qle_Rle. }
    apply exp_ge_1 in GR.
    set (p := (noise _ _ * noise _ _)%R). assert (0 <= p)%R by (apply Rmult_le_pos; apply noise_pos).
    split; Lra.nra.
Qed.

Lemma paid_once t : sound_tuning P t -> paid t 1 + paid t (-1) <= share P * choosing t * budget P r.
Proof.
  intros (C & _). pose proof (budget_pos P r P_sound r_ok). destruct P_sound as (S & _). unfold paid.
  assert (0 <= share P * choosing t * budget P r)
    by (apply Qmult_le_0_compat; [apply Qmult_le_0_compat; lra | assumption]).
  destruct (Z.eqb_spec (sign r) 1), (Z.eqb_spec (sign r) (-1)); try lia; lra.
Qed.

Lemma points_some t : sound_tuning P t -> (0 < length (points t))%nat.
Proof. intros (_ & _ & _ & _ & _ & NE). destruct (points t); [easy | simpl; lia]. Qed.

Lemma signs_within t low high : sound_tuning P t -> (low < length (points t))%nat -> (high < length (points t))%nat ->
  within (Q2R (share P * (answering t + tail_part P) * budget P r))
    (denote reads (of_signs P t low high D)) (denote reads (of_signs P t low high D')).
Proof.
  intros T L H. apply watching_within; auto; [lia |]. cbn [watches snd].
  destruct (Z.eqb_spec (sign r) (-1)), (Z.eqb_spec (sign r) 1); lia.
Qed.

Lemma apart_within t : sound_tuning P t ->
  within (Q2R (share P * choosing t * budget P r) + Q2R (share P * (answering t + tail_part P) * budget P r))
    (denote reads (apart P t D)) (denote reads (apart P t D')).
Proof.
  intros T. pose proof (points_some t T).
  apply within_le with (Q2R (paid t 1) + (Q2R (paid t (-1))
    + Q2R (share P * (answering t + tail_part P) * budget P r)))%R;
    try apply denote_pos.
  { pose proof (paid_once t T) as H1. apply Qle_Rle in H1. rewrite Q2R_plus in H1. Lra.lra. }
  apply then_within; [assumption | now apply side_choice_within |]. intros high J.
  apply then_within; [assumption | now apply side_choice_within |]. intros low K.
  now apply signs_within.
Qed.

Lemma together_within t : sound_tuning P t ->
  within (Q2R (share P * choosing t * budget P r) + Q2R (share P * (answering t + tail_part P) * budget P r))
    (denote reads (drawn P t D (fun j => of_signs P t j j D)))
    (denote reads (drawn P t D' (fun j => of_signs P t j j D'))).
Proof.
  intros T. apply then_within; [now apply points_some | now apply choice_within |].
  intros j J. now apply signs_within.
Qed.

(** Sums of both signs (clip.md): a record has one sign, so it moves one of the two noisy masses and pays for one of
    the two choices; the answer is clipped and hidden at the larger point, as any other. *)
Theorem sides_private :
  within (Q2R (share P * budget P r)) (denote reads (sides_law P pick D)) (denote reads (sides_law P pick D')).
Proof.
  pose proof P_sound as (S & Q & G & L & T & C & _). pose proof (budget_pos P r P_sound r_ok) as BP.
  assert (0 <= share P * budget P r) as SB by (apply Qmult_le_0_compat; lra).
  apply within_le with (Q2R (share P * gate P * budget P r) + Q2R (share P * (1 - gate P) * budget P r))%R;
    try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle. lra. }
  apply then_within; [lia | apply side_gate_within |]. intros which J.
  unfold side_rest. set (t := nth (which mod length (tunings P)) (tunings P) no_tuning).
  assert (sound_tuning P t) as ST.
  { rewrite Forall_forall in T. apply T, nth_In, Nat.mod_upper_bound. lia. }
  apply within_le with (Q2R (share P * choosing t * budget P r)
    + Q2R (share P * (answering t + tail_part P) * budget P r))%R;
    try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle. destruct ST as (_ & _ & A & _). nra. }
  destruct (which <? length (tunings P))%nat; [now apply together_within | now apply apart_within].
Qed.
End Neighbours.

Lemma drawn_formed P t D next : sound_tuning P t -> (forall j, (j < length (points t))%nat -> formed (next j) = true) ->
  formed (drawn P t D next) = true.
Proof.
  intros T F. unfold drawn. pose proof (choice_formed P t D T) as CF. cbn [formed] in *. rewrite CF. cbn [andb].
  apply places_formed; auto. apply T.
Qed.

Lemma sides_formed P pick D : sound_public P -> formed (sides_law P pick D) = true.
Proof.
  intros Sound. pose proof Sound as (S & Q & G & L & T & C & _). rewrite Forall_forall in T.
  unfold sides_law. cbn [formed length Nat.eqb forallb andb]. unfold gate_scale. rewrite gate_formed by assumption.
  cbn [andb]. apply Bool.andb_true_iff. split; [apply Nat.ltb_lt; lia |]. apply forallb_forall. intros which _.
  unfold side_rest. set (t := nth (which mod length (tunings P)) (tunings P) no_tuning).
  assert (sound_tuning P t) as ST by (apply T, nth_In, Nat.mod_upper_bound; lia).
  destruct (which <? length (tunings P))%nat; unfold apart; repeat (apply drawn_formed; auto; intros);
    apply watching_formed; auto; lia.
Qed.

(** The same for every event. *)
Theorem sides_events reads P pick r D D' : sound_public P -> ok r -> adds r D D' ->
  Notion.law (denote reads (sides_law P pick D)) /\ Notion.law (denote reads (sides_law P pick D')) /\
  forall A p p', prob (denote reads (sides_law P pick D)) A p -> prob (denote reads (sides_law P pick D')) A p' ->
  (p <= exp (Q2R (share P * budget P r)) * p' /\ p' <= exp (Q2R (share P * budget P r)) * p)%R.
Proof.
  intros S O N. pose proof (lawful reads _ (sides_formed P pick D S)) as H.
  pose proof (lawful reads _ (sides_formed P pick D' S)) as H'. split; [exact H | split; [exact H' |]].
  exact (proj1 (events _ _ _ H H') (sides_private reads P pick r D D' S O N)).
Qed.
