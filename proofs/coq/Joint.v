(** Units whose rows lie in several groups (joint.md, mechanisms/joint.py): one point for all groups, and each unit's
    parts scaled down together. *)
From Coq Require Import String Reals Lra Lia ZArith QArith Qround Qabs Qreals Qminmax List Psatz Lqa.
From Prdp Require Import Notion Compose Laplace Choice Law Lawful Clip Added.
Import ListNotations.
Open Scope Q_scope.

(** A unit: what the first look sees of it, all its parts added up, and its part in each group. *)
Record privacy_unit := { whole_of : row; parts_of : list Z }.
Definition size (vs : list Z) : Z := fold_right (fun v s => (Z.abs v + s)%Z) 0%Z vs.
Definition scaled (most : Z) (vs : list Z) (v : Z) : Z :=
  if (size vs <=? most)%Z then v else Z.quot (v * most) (size vs).
Definition in_place (b : Q) (largest : Z) (g : nat) (u : privacy_unit) : Z :=
  scaled (Z.min (cap b (whole_of u)) largest) (parts_of u) (nth g (parts_of u) 0%Z).
Definition joint_answer (P : public) (t : tuning) (largest : Z) (groups : nat) (D : list privacy_unit)
  (j : nat) : law :=
  let b := nth j (points t) 1 in
  Noisy (totals (map (in_place b largest) (seq 0 groups)
      ++ map (fun c u => c (whole_of u)) (tails P (b, fun _ => true))) D)
    (repeat (Qred (b / quantum P / (share P * answering t))) groups ++ tail_scales P).
Definition joint_rest (P : public) (largest : Z) (groups : nat) (D : list privacy_unit) (which : nat) : law :=
  let t := nth which (tunings P) no_tuning in
  Then (Flip (penalties P t (map whole_of D))) Here (length (points t)) (joint_answer P t largest groups D).
Definition joint_law (P : public) (largest : Z) (groups : nat) (D : list privacy_unit) : law :=
  Then (Noisy [total (mass P) (map whole_of D)] [Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))])
    (FirstReaching (map (pair 0%nat) (least P))) (length (tunings P)) (joint_rest P largest groups D).

(** All parts of a unit together are no more than its cap. *)
Lemma sizes (f : Z -> Z) vs n : f 0%Z = 0%Z ->
  (size (map (fun g => f (nth g vs 0%Z)) (seq 0 n)) <= size (map f vs))%Z.
Proof.
  intros Z0. assert (forall l, 0 <= size l)%Z as Pos.
  { induction l; cbn [size fold_right]; [lia | unfold size in *; lia]. }
  revert n. induction vs as [| v vs IH]; intros n.
  - assert (size (map (fun g => f (nth g [] 0%Z)) (seq 0 n)) = 0)%Z as ->; [| simpl; lia].
    generalize 0%nat. induction n as [| n IHn]; intros a; cbn [seq map size fold_right]; auto.
    fold (size (map (fun g => f (nth g [] 0%Z)) (seq (S a) n))). rewrite IHn.
    destruct a; cbn [nth]; rewrite Z0; reflexivity.
  - destruct n as [| n]; [apply Pos |]. cbn [seq map size fold_right nth]. rewrite <- seq_shift, map_map. cbn [nth].
    specialize (IH n). unfold size in *. lia.
Qed.

Lemma size_map_mult c vs : (size (map (fun v => v * c) vs) = size vs * Z.abs c)%Z.
Proof.
  induction vs as [| v vs IH]; cbn [size map fold_right]; [lia |]. unfold size in *. rewrite IH, Z.abs_mul. lia.
Qed.

Lemma scaled_size most vs n : (0 <= most)%Z ->
  (size (map (fun g => scaled most vs (nth g vs 0%Z)) (seq 0 n)) <= most)%Z.
Proof.
  intros M. apply Z.le_trans with (size (map (scaled most vs) vs)).
  - apply sizes. unfold scaled. destruct (Z.leb_spec (size vs) most); [reflexivity |].
    rewrite Z.mul_0_l. apply Z.quot_0_l. lia.
  - unfold scaled. destruct (Z.leb_spec (size vs) most) as [L | L].
    + now rewrite map_id.
    + assert (forall k ws, (0 < k)%Z -> (k * size (map (fun v => Z.quot (v * most) k) ws)
        <= size (map (fun v => v * most) ws))%Z) as Each.
      { intros k ws K. induction ws as [| w ws IH]; cbn [map size fold_right]; [lia |]. unfold size in *.
        rewrite Z.mul_add_distr_l. apply Z.add_le_mono; auto.
        rewrite <- Z.quot_abs by lia. rewrite (Z.abs_eq k) by lia.
        rewrite Z.quot_div_nonneg by lia. apply Z.mul_div_le. lia. }
      specialize (Each (size vs) vs ltac:(lia)). rewrite size_map_mult, (Z.abs_eq most) in Each by assumption. nia.
Qed.

Lemma added_repeat {Rec} (r : Rec) cs t : 0 < t ->
  added r cs (repeat t (length cs)) == inject_Z (size (map (fun c => c r) cs)) / t.
Proof.
  intros T. induction cs as [| c cs IH]; cbn [length repeat added map size fold_right].
  - unfold Qdiv. change (inject_Z 0) with 0. ring.
  - fold (size (map (fun c => c r) cs)). rewrite IH, inject_Z_plus. field. lra.
Qed.

Lemma whole_adds u D D' : adds u D D' -> adds (whole_of u) (map whole_of D) (map whole_of D').
Proof. intros (l & m & -> & ->). exists (map whole_of l), (map whole_of m). now rewrite !map_app. Qed.

(** The theorem of joint.md: the first look is one record for each unit, so gate and choice cost what they do in
    [clip_private]; at the point that is drawn a unit's parts, scaled down together, add up to no more than its cap, and
    equal noises hide them together (Lemma 1). *)
Theorem joint_private reads P largest groups u D D' : sound_public P -> (0 <= largest)%Z -> ok (whole_of u) ->
  adds u D D' ->
  within (Q2R (share P * budget P (whole_of u)))
    (denote reads (joint_law P largest groups D)) (denote reads (joint_law P largest groups D')).
Proof.
  intros PS L O N. pose proof (whole_adds u D D' N) as NW. pose proof PS as (S & Q & G & LA & T & C & _).
  pose proof (budget_pos P (whole_of u) PS O) as BP. pose proof O as (K & _).
  assert (0 <= share P * budget P (whole_of u)) as SB by (apply Qmult_le_0_compat; lra).
  apply within_le with (Q2R (share P * gate P * budget P (whole_of u))
    + Q2R (share P * (1 - gate P) * budget P (whole_of u)))%R; try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle. lra. }
  apply then_within; [lia | now apply gate_within |]. intros which J. unfold joint_rest.
  assert (sound_tuning P (nth which (tunings P) no_tuning)) as ST
    by (rewrite Forall_forall in T; apply T, nth_In, J).
  set (t := nth which (tunings P) no_tuning) in *. pose proof ST as (_ & A & One & _ & F & NE).
  apply within_le with (Q2R (share P * choosing t * budget P (whole_of u))
    + Q2R (share P * (answering t + tail_part P) * budget P (whole_of u)))%R; try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle. nra. }
  apply then_within; [destruct (points t); [easy | simpl; lia] | now apply choice_within |].
  intros j JP. rewrite Forall_forall in F. pose proof (F _ (nth_In (points t) 1 JP)) as B. unfold joint_answer.
  set (b := nth j (points t) 1) in *.
  assert (0 < b / quantum P / (share P * answering t)) as SC.
  { assert (0 < share P * answering t) by (apply Qmult_lt_0_compat; assumption).
    apply Qlt_shift_div_l; auto. rewrite Qmult_0_l. apply Qlt_shift_div_l; auto. lra. }
  set (scale := Qred _). assert (0 < scale) as SP by (unfold scale; now rewrite Qred_correct).
  assert (added u (map (fun c u => c (whole_of u)) (tails P (b, fun _ => true))) (tail_scales P)
    <= share P * tail_part P * budget P (whole_of u)) as TC.
  { pose proof (tails_cost P (whole_of u) PS O (b, fun _ => true)) as H. cbn [snd] in H.
    apply Qle_trans with (2 := H). clear H. apply Qle_lteq. right. generalize (tail_scales P).
    induction (tails P (b, fun _ => true)) as [| c cs IH]; intros [| x xs]; cbn [map added]; try reflexivity.
    rewrite (IH xs). reflexivity. }
  assert (length (map (in_place b largest) (seq 0 groups)) = groups) as LG by now rewrite map_length, seq_length.
  eapply within_le; [apply denote_pos | apply denote_pos | | apply (totals_private reads u D D' N)].
  - apply Qle_Rle. rewrite added_app by now rewrite repeat_length.
    setoid_replace (share P * (answering t + tail_part P) * budget P (whole_of u))
      with (share P * answering t * budget P (whole_of u) + share P * tail_part P * budget P (whole_of u)) by ring.
    apply Qplus_le_compat; auto.
    rewrite <- LG at 2. rewrite added_repeat by assumption. rewrite map_map. apply Qle_shift_div_r; auto.
    destruct (cap_bounds b (whole_of u) O B) as [C0 C1].
    apply Qle_trans with (inject_Z (cap b (whole_of u))).
    + rewrite <- Zle_Qle. unfold in_place.
      pose proof (scaled_size (Z.min (cap b (whole_of u)) largest) (parts_of u) groups ltac:(lia)). lia.
    + apply Qle_trans with (1 := C1). unfold scale, budget. rewrite Qred_correct. apply Qle_lteq. right. field. lra.
  - now rewrite !app_length, repeat_length, LG, map_length, <- (tails_length P (b, fun _ => true)).
  - apply Forall_app. split; [| now apply tail_scales_pos]. apply Forall_forall. intros x I.
    now rewrite (repeat_spec _ _ _ I).
Qed.
