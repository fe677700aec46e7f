(** Proportional clipping (point.md, clip.md, mechanisms/clip.py) as it runs: gate, choice of a point with tunings and
    fences, clipped total; all in integers and rationals. *)
From Coq Require Import String Reals Lra Lia ZArith QArith Qround Qabs Qreals Qminmax List Psatz Lqa.
From Prdp Require Import Notion Compose Laplace Choice Law Lawful.
Import ListNotations.
Open Scope Q_scope.

(** A record as its cell shows it: budget in quanta, ends of the magnitude, sign, value in steps. *)
Record row := { quanta : Z; low : Z; high : Z; sign : Z; value : Z }.
Definition ok (r : row) : Prop :=
  (0 <= quanta r /\ 0 <= low r /\ Z.abs (sign r) <= 1 /\ Z.abs (value r) <= high r)%Z.

Record tuning := {
  choosing : Q; answering : Q;                    (* parts of the share *)
  points : list Q;                                (* steps per quantum, positive *)
  climbs : list Q;                                (* what each point costs besides *)
  fence : option (Z * Z * list nat)               (* mass asked for, times, points far enough below each *)
}.
Record public := {
  share : Q; quantum : Q; gate : Q; lattice : Z;
  least : list Z;                                 (* what the noisy mass must reach, for each tuning but the last *)
  tunings : list tuning
}.

Definition cap (b : Q) (r : row) : Z := Qfloor (inject_Z (quanta r) * b).
Definition clipped (b : Q) (r : row) : Z :=
  if (high r <=? cap b r)%Z then value r else (sign r * Z.min (low r) (cap b r))%Z.
Definition mass (P : public) (r : row) : Z := if (high r =? 0)%Z then 0%Z else (quanta r / lattice P)%Z.
Definition mass_above (b : Q) (r : row) : Z := if (high r <=? cap b r)%Z then 0%Z else quanta r.

Definition clipped_total (b scale : Q) (D : list row) : law := Noisy [total (clipped b) D] [Qred scale].
Definition answer (P : public) (t : tuning) (D : list row) (j : nat) : law :=
  let b := nth j (points t) 1 in
  clipped_total b (b / quantum P / (share P * answering t)) D.
Definition clips (t : tuning) (D : list row) (j : nat) : Z := total (mass_above (nth j (points t) 1)) D.
Definition whole (r : row) : Z := if (high r =? 0)%Z then 0%Z else quanta r.
Definition lower (t : tuning) (D : list row) (i : nat) : Z :=
  match i with O => total whole D | S i => clips t D i end.
Definition charged (t : tuning) (D : list row) (j : nat) : Z :=
  match fence t with
  | None => clips t D j
  | Some (asked, times, places) => (times * clips t D j + Z.max 0 (asked - lower t D (nth j places O)))%Z
  end.
(** A record can lower what a point is charged by dip times its budget, and moves it within width times that. *)
Definition dip (t : tuning) : Z := match fence t with None => 0 | Some _ => 1 end.
Definition width (t : tuning) : Z := match fence t with None => 1 | Some (_, times, _) => times + 1 end.
Definition weight (P : public) (t : tuning) : Q := share P * choosing t * quantum P / inject_Z (width t).
Definition penalties (P : public) (t : tuning) (D : list row) : list Q :=
  map (fun j => Qred (weight P t * inject_Z (charged t D j) + nth j (climbs t) 0)) (seq 0 (length (points t))).
Definition no_tuning : tuning := {| choosing := 0; answering := 1; points := []; climbs := []; fence := None |}.
Definition rest (P : public) (D : list row) (which : nat) : law :=
  let t := nth which (tunings P) no_tuning in
  Then (Flip (penalties P t D)) Here (length (points t)) (answer P t D).
Definition clip_law (P : public) (D : list row) : law :=
  Then (Noisy [total (mass P) D] [Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))])
    (FirstReaching (map (pair 0%nat) (least P))) (length (tunings P)) (rest P D).

(** What is public is sound: parts of the share that add up to at most 1, positive scales, points to choose from, and
    a tuning for each test of the gate and one more. *)
Definition sound_tuning (P : public) (t : tuning) : Prop :=
  0 <= choosing t /\ 0 < answering t /\ gate P + choosing t + answering t <= 1 /\
  (0 < width t)%Z /\ Forall (fun b => 0 < b) (points t) /\ points t <> [].
Definition sound_public (P : public) : Prop :=
  0 < share P /\ 0 < quantum P /\ 0 < gate P /\ (0 < lattice P)%Z /\ Forall (sound_tuning P) (tunings P) /\
  length (tunings P) = S (length (least P)).

Definition budget (P : public) (r : row) : Q := inject_Z (quanta r) * quantum P.

Lemma cap_bounds b r : ok r -> 0 < b -> (0 <= cap b r)%Z /\ inject_Z (cap b r) <= inject_Z (quanta r) * b.
Proof.
  intros (N & _) B. unfold cap. split; [| apply Qfloor_le].
  replace 0%Z with (Qfloor 0) by reflexivity. apply Qfloor_resp_le.
  apply Qmult_le_0_compat; [| apply Qlt_le_weak, B]. now rewrite <- (Zle_Qle 0).
Qed.

Lemma clipped_le_cap b r : ok r -> 0 < b -> (Z.abs (clipped b r) <= cap b r)%Z.
Proof.
  intros O B. destruct (cap_bounds b r O B) as [C _]. destruct O as (N & L & S & V). unfold clipped.
  destruct (Z.leb_spec (high r) (cap b r)); [lia |]. rewrite Z.abs_mul.
  rewrite (Z.abs_eq (Z.min _ _)) by lia. nia.
Qed.

(** One noisy integer that moves by d with d / scale at most e. *)
Lemma noisy_one reads v v' t e : 0 < t -> inject_Z (Z.abs (v - v')) <= e * t ->
  within (Q2R e) (denote reads (Noisy [v] [Qred t])) (denote reads (Noisy [v'] [Qred t])).
Proof.
  intros T H.
  assert (Qle_bool (Qred t) 0 = false) as B.
  { destruct (Qle_bool (Qred t) 0) eqn:E; auto. apply Qle_bool_iff in E. rewrite Qred_correct in E. lra. }
  apply within_le with (Q2R (Qred (inject_Z (Z.abs (v - v')) / Qred t + 0))).
  - apply denote_pos.
  - apply denote_pos.
  - apply Qle_Rle. rewrite !Qred_correct, Qplus_0_r. now apply Qle_shift_div_r.
  - apply sound. cbn [loss noisy_loss]. rewrite B. destruct (list_eq_dec Q_dec [Qred t] [Qred t]); easy.
Qed.

(** One clipped total at a given point, f_b + Lap(b/s) of clip.md. A record counts up to the whole part of b times its
    budget, so it moves the total by no more, and Lemma 3 hides that. *)
Theorem clipped_total_private reads s q b r D D' : 0 < s -> 0 < q -> 0 < b -> ok r -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (clipped_total b (b / q / s) D)) (denote reads (clipped_total b (b / q / s) D')).
Proof.
  intros S Q B O N. apply noisy_one.
  - apply Qlt_shift_div_l; auto. rewrite Qmult_0_l. apply Qlt_shift_div_l; auto. lra.
  - rewrite (total_adds (clipped b) r D D' N).
    replace (total (clipped b) D - (total (clipped b) D + clipped b r))%Z with (- clipped b r)%Z by lia.
    rewrite Z.abs_opp.
    setoid_replace (s * (inject_Z (quanta r) * q) * (b / q / s)) with (inject_Z (quanta r) * b)
      by (field; split; lra).
    apply Qle_trans with (inject_Z (cap b r)).
    + rewrite <- Zle_Qle. now apply clipped_le_cap.
    + now apply cap_bounds.
Qed.

(** A total that is clipped where another one was; [at_] is the point for each unit of budget. *)
Definition following_law (s q at_ : Q) (D : list row) : law := clipped_total (at_ * q) (at_ / s) D.

(** The theorem of following.md: for every point, the total that is clipped there is private with its own share.
    Once it is drawn the point is a number like any other, so [clipped_total_private] applies. *)
Theorem following_private reads s q at_ r D D' : 0 < s -> 0 < q -> 0 < at_ -> ok r -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (following_law s q at_ D)) (denote reads (following_law s q at_ D')).
Proof.
  intros S Q A O N. pose proof (clipped_total_private reads s q (at_ * q) r D D' S Q ltac:(nra) O N) as H.
  unfold following_law, clipped_total in *.
  replace (Qred (at_ / s)) with (Qred (at_ * q / q / s)); auto.
  apply Qred_complete. field. split; lra.
Qed.

Section Neighbours.
Variables (reads : string -> out -> nat) (P : public) (r : row) (D D' : list row).
Hypothesis P_sound : sound_public P.
Hypothesis r_ok : ok r.
Hypothesis N : adds r D D'.

Lemma budget_pos : 0 <= budget P r.
Proof.
  destruct P_sound as (_ & Q & _), r_ok as (K & _). apply Qmult_le_0_compat; [| lra].
  now rewrite <- (Zle_Qle 0).
Qed.

Lemma moved c : (Z.abs (total c D - total c D') = Z.abs (c r))%Z.
Proof. rewrite (total_adds c r D D' N). lia. Qed.

Lemma gate_within :
  within (Q2R (share P * gate P * budget P r))
    (denote reads (Noisy [total (mass P) D] [Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))]))
    (denote reads (Noisy [total (mass P) D'] [Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))])).
Proof.
  destruct P_sound as (S & Q & G & L & _). destruct r_ok as (K & _).
  assert (0 < inject_Z (lattice P)) as LQ by now rewrite <- (Zlt_Qlt 0).
  assert (0 < share P * gate P * quantum P * inject_Z (lattice P)) as A
    by (repeat apply Qmult_lt_0_compat; assumption).
  apply noisy_one.
  - apply Qlt_shift_div_l; lra.
  - rewrite moved. unfold budget.
    setoid_replace (share P * gate P * (inject_Z (quanta r) * quantum P) *
      (1 / (share P * gate P * quantum P * inject_Z (lattice P)))) with (inject_Z (quanta r) / inject_Z (lattice P)).
    2: { field. repeat split; lra. }
    apply Qle_shift_div_l; auto. rewrite <- inject_Z_mult, <- Zle_Qle.
    unfold mass. destruct (high r =? 0)%Z; [simpl; lia |].
    pose proof (Z.div_pos (quanta r) (lattice P) K L). rewrite Z.abs_eq by assumption.
    rewrite Z.mul_comm. now apply Z.mul_div_le.
Qed.

Lemma answer_within t j : sound_tuning P t -> (j < length (points t))%nat ->
  within (Q2R (share P * answering t * budget P r)) (denote reads (answer P t D j)) (denote reads (answer P t D' j)).
Proof.
  intros (_ & A & _ & _ & F & _) J. destruct P_sound as (S & Q & _).
  apply clipped_total_private; auto; [now apply Qmult_lt_0_compat |].
  rewrite Forall_forall in F. apply F, nth_In, J.
Qed.

Lemma clips_moves t j : (0 <= clips t D' j - clips t D j <= quanta r)%Z.
Proof.
  unfold clips. rewrite (total_adds _ r D D' N). destruct r_ok as (K & _).
  assert (forall b, 0 <= mass_above b r <= quanta r)%Z as M
    by (intros b; unfold mass_above; destruct (_ <=? _)%Z; lia).
  specialize (M (nth j (points t) 1)). lia.
Qed.

Lemma lower_moves t i : (0 <= lower t D' i - lower t D i <= quanta r)%Z.
Proof.
  destruct i as [| i]; simpl; [| apply clips_moves].
  rewrite (total_adds _ r D D' N). destruct r_ok as (K & _).
  assert (0 <= whole r <= quanta r)%Z by (unfold whole; destruct (_ =? _)%Z; lia). lia.
Qed.

Lemma charged_moves t j : (0 < width t)%Z ->
  (- dip t * quanta r <= charged t D' j - charged t D j <= (width t - dip t) * quanta r)%Z.
Proof.
  unfold charged, width, dip. pose proof (clips_moves t j) as C.
  destruct (fence t) as [[[asked times] places] |]; intros W; [| lia].
  pose proof (lower_moves t (nth j places O)). nia.
Qed.

Lemma choice_within t : sound_tuning P t ->
  within (Q2R (share P * choosing t * budget P r))
    (denote reads (Flip (penalties P t D))) (denote reads (Flip (penalties P t D'))).
Proof.
  intros (C & _ & _ & W & _). destruct P_sound as (S & Q & _).
  assert (0 < inject_Z (width t)) as WQ by now rewrite <- (Zlt_Qlt 0).
  assert (0 <= weight P t) as WP.
  { unfold weight. apply Qle_shift_div_l; auto. rewrite Qmult_0_l. repeat apply Qmult_le_0_compat; lra. }
  set (at_ := fun d : Z => weight P t * inject_Z d).
  assert (forall x y, (x <= y)%Z -> at_ x <= at_ y) as Mono.
  { intros x y L. unfold at_. rewrite !(Qmult_comm (weight P t)).
    apply Qmult_le_compat_r; auto. now rewrite <- Zle_Qle. }
  assert (Q2R (share P * choosing t * budget P r)
    = Q2R (at_ ((width t - dip t) * quanta r)%Z) - Q2R (at_ (- dip t * quanta r)%Z))%R as ->.
  { rewrite <- Q2R_minus. apply Qeq_eqR. unfold at_, budget, weight, Zminus.
    rewrite !inject_Z_mult, inject_Z_plus, !inject_Z_opp. field. lra. }
  intros [ys | j | x y]; simpl; try Lra.lra. apply choice.
  - apply Qle_Rle, Mono. destruct r_ok as (K & _). nia.
  - unfold penalties. induction (seq 0 (length (points t))) as [| i l IH]; cbn [map]; constructor; auto.
    unfold move. rewrite <- Q2R_minus.
    assert (Qred (weight P t * inject_Z (charged t D' i) + nth i (climbs t) 0)
      - Qred (weight P t * inject_Z (charged t D i) + nth i (climbs t) 0)
      == at_ (charged t D' i - charged t D i)%Z) as ->%Qeq_eqR.
    { rewrite !Qred_correct. unfold at_, Zminus. rewrite inject_Z_plus, inject_Z_opp. ring. }
    destruct (charged_moves t i W). split; apply Qle_Rle, Mono; assumption.
Qed.

(** The theorem of clip.md: for every table and every record, the whole costs share times budget, both ways.
    Gate, choice and clipped total each cost their part of it (Lemma 3, the lemma of point.md, Lemma 3), whatever was
    drawn before; the parts add up to at most the share (Lemma 1). *)
Theorem clip_private :
  within (Q2R (share P * budget P r)) (denote reads (clip_law P D)) (denote reads (clip_law P D')).
Proof.
  destruct P_sound as (S & Q & G & L & T & C). pose proof budget_pos as BP.
  assert (0 <= share P * budget P r) as SB by (apply Qmult_le_0_compat; lra).
  apply within_le with (Q2R (share P * gate P * budget P r) + Q2R (share P * (1 - gate P) * budget P r))%R;
    try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle. lra. }
  apply then_within; [lia | apply gate_within |]. intros which J. unfold rest.
  assert (sound_tuning P (nth which (tunings P) no_tuning)) as ST
    by (rewrite Forall_forall in T; apply T, nth_In, J).
  set (t := nth which (tunings P) no_tuning) in *.
  apply within_le with (Q2R (share P * choosing t * budget P r) + Q2R (share P * answering t * budget P r))%R;
    try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle. destruct ST as (_ & _ & A & _). nra. }
  apply then_within; [| now apply choice_within |].
  - destruct ST as (_ & _ & _ & _ & _ & NE). destruct (points t); [easy | simpl; lia].
  - intros j K. now apply answer_within.
Qed.
End Neighbours.

(** Each step of the law is a law. *)
Lemma scale_formed t : 0 < t -> above_0 (Qred t) = true.
Proof.
  intros T. unfold above_0. destruct (Qle_bool (Qred t) 0) eqn:E; auto.
  apply Qle_bool_iff in E. rewrite Qred_correct in E. lra.
Qed.

Lemma gate_formed P : sound_public P ->
  above_0 (Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))) = true.
Proof.
  intros (S & Q & G & L & _). apply scale_formed.
  assert (0 < inject_Z (lattice P)) by now rewrite <- (Zlt_Qlt 0).
  apply Qlt_shift_div_l; [repeat apply Qmult_lt_0_compat; assumption | lra].
Qed.

Lemma answer_formed P t D j : sound_public P -> sound_tuning P t -> (j < length (points t))%nat ->
  formed (answer P t D j) = true.
Proof.
  intros (S & Q & _) (_ & A & _ & _ & F & _) J. rewrite Forall_forall in F.
  unfold answer, clipped_total. cbn [formed length Nat.eqb forallb andb]. rewrite Bool.andb_true_r. apply scale_formed.
  apply Qlt_shift_div_l; [now apply Qmult_lt_0_compat |]. rewrite Qmult_0_l.
  apply Qlt_shift_div_l; auto. rewrite Qmult_0_l. apply F. now apply nth_In.
Qed.

Lemma choice_formed P t D : sound_tuning P t -> formed (Flip (penalties P t D)) = true.
Proof. intros (_ & _ & _ & _ & _ & N). unfold penalties. cbn [formed]. destruct (points t); easy. Qed.

Lemma places_formed {A} (l : list A) (f : nat -> law) : l <> [] ->
  (forall j, (j < length l)%nat -> formed (f j) = true) ->
  (0 <? length l)%nat && forallb (fun j => formed (f j)) (seq 0 (length l)) = true.
Proof.
  intros N F. apply Bool.andb_true_iff. split.
  - destruct l; easy.
  - apply forallb_forall. intros j I. apply in_seq in I. apply F. lia.
Qed.

Lemma clip_formed P D : sound_public P -> formed (clip_law P D) = true.
Proof.
  intros Sound. pose proof Sound as (S & Q & G & L & T & C). rewrite Forall_forall in T.
  unfold clip_law. cbn [formed length Nat.eqb forallb andb]. rewrite gate_formed by assumption.
  cbn [andb]. apply places_formed; [destruct (tunings P); easy |].
  intros which J. unfold rest. pose proof (T _ (nth_In (tunings P) no_tuning J)) as ST.
  set (t := nth which (tunings P) no_tuning) in *. pose proof (choice_formed P t D ST) as CF.
  cbn [formed] in *. rewrite CF.
  cbn [andb]. apply places_formed; [apply ST |]. intros j K. apply answer_formed; auto.
Qed.

(** The promise in full: every event of clipping, for every table, every record, both ways. *)
Theorem clip_events reads P r D D' : sound_public P -> ok r -> adds r D D' ->
  Notion.law (denote reads (clip_law P D)) /\ Notion.law (denote reads (clip_law P D')) /\
  forall A p p', prob (denote reads (clip_law P D)) A p -> prob (denote reads (clip_law P D')) A p' ->
  (p <= exp (Q2R (share P * budget P r)) * p' /\ p' <= exp (Q2R (share P * budget P r)) * p)%R.
Proof.
  intros S O N. pose proof (lawful reads _ (clip_formed P D S)) as H.
  pose proof (lawful reads _ (clip_formed P D' S)) as H'. split; [exact H | split; [exact H' |]].
  exact (proj1 (events _ _ _ H H') (clip_private reads P r D D' S O N)).
Qed.
