(** Noise of a concave shape (additive.md): Pr[z] in proportion to exp(-F(|z|)).
    F is piecewise linear up to an end U, with slopes that do not rise, and goes on as F(kU + x) = k F(U) + F(x). *)
From Coq Require Import Reals Lra Lia ZArith QArith Qreals List Psatz Lqa.
From Prdp Require Import Notion Laplace Total.
Import ListNotations.
Open Scope Q_scope.

(** Lengths and slopes of the pieces. *)
Definition shape := list (Z * Q).

Fixpoint inside (pieces : shape) (x : Z) : Q :=
  match pieces with
  | [] => 0
  | (n, s) :: rest => s * inject_Z (Z.min x n) + inside rest (Z.max 0 (x - n))
  end.
Definition turn (pieces : shape) : Z := fold_right (fun p u => (fst p + u)%Z) 0%Z pieces.
Definition height (pieces : shape) (x : Z) : Q :=
  inject_Z (x / turn pieces) * inside pieces (turn pieces) + inside pieces (x mod turn pieces).

Fixpoint falling (most : Q) (pieces : shape) : bool :=
  match pieces with
  | [] => true
  | (n, s) :: rest => (0 <? n)%Z && Qle_bool 0 s && Qle_bool s most && falling s rest
  end.
(** Lengths above zero; slopes that do not rise, are not below zero, and begin above it. *)
Definition concave (pieces : shape) : bool :=
  match pieces with (_, s) :: _ => negb (Qle_bool s 0) && falling s pieces | [] => false end.

Lemma falling_cons most n s rest : falling most ((n, s) :: rest) = true ->
  (0 < n)%Z /\ 0 <= s /\ s <= most /\ falling s rest = true.
Proof.
  cbn [falling]. rewrite !Bool.andb_true_iff, Z.ltb_lt, !Qle_bool_iff. tauto.
Qed.

Lemma turn_pos most pieces : falling most pieces = true -> (0 <= turn pieces)%Z.
Proof.
  revert most. induction pieces as [| [n s] rest IH]; intros most F; [simpl; lia |].
  apply falling_cons in F. destruct F as (N & _ & _ & F). specialize (IH s F). unfold turn in *.
  cbn [fold_right fst]. lia.
Qed.

(** The slope at x: F(x + 1) - F(x). *)
Fixpoint slope (pieces : shape) (x : Z) : Q :=
  match pieces with
  | [] => 0
  | (n, s) :: rest => if (x <? n)%Z then s else slope rest (x - n)
  end.

Lemma inside_step most pieces x : falling most pieces = true -> (0 <= x)%Z ->
  inside pieces (x + 1) == inside pieces x + slope pieces x.
Proof.
  revert most x. induction pieces as [| [n s] rest IH]; intros most x F X; cbn [inside slope]; [lra |].
  apply falling_cons in F. destruct F as (N & _ & _ & F). destruct (Z.ltb_spec x n).
  - rewrite !Z.min_l, !Z.max_l by lia. rewrite inject_Z_plus. change (inject_Z 1) with 1. lra.
  - rewrite !Z.min_r, !Z.max_r by lia. replace (x + 1 - n)%Z with (x - n + 1)%Z by lia.
    rewrite (IH s) by (auto; lia). lra.
Qed.

Lemma slope_range most pieces x : falling most pieces = true -> 0 <= most -> 0 <= slope pieces x <= most.
Proof.
  revert most x. induction pieces as [| [n s] rest IH]; intros most x F M; cbn [slope]; [lra |].
  apply falling_cons in F. destruct F as (N & S & L & F). destruct (Z.ltb_spec x n); [lra |].
  destruct (IH s (x - n)%Z F S). lra.
Qed.

Lemma slope_falls most pieces x y : falling most pieces = true -> 0 <= most -> (x <= y)%Z ->
  slope pieces y <= slope pieces x.
Proof.
  revert most x y. induction pieces as [| [n s] rest IH]; intros most x y F M L; cbn [slope]; [lra |].
  apply falling_cons in F. destruct F as (N & S & T & F).
  destruct (Z.ltb_spec x n), (Z.ltb_spec y n); try lia.
  - lra.
  - apply (slope_range s rest (y - n) F S).
  - apply (IH s); auto. lia.
Qed.

Lemma inside_0 most pieces : falling most pieces = true -> inside pieces 0 == 0.
Proof.
  revert most. induction pieces as [| [n s] rest IH]; intros most F; cbn [inside]; [lra |].
  apply falling_cons in F. destruct F as (N & _ & _ & F).
  rewrite Z.min_l, Z.max_l by lia. rewrite (IH s) by auto. change (inject_Z 0) with 0. lra.
Qed.

Lemma inside_rises most pieces x d : falling most pieces = true -> 0 <= most -> (0 <= x)%Z -> (0 <= d)%Z ->
  inside pieces x <= inside pieces (x + d).
Proof.
  intros F M X D. revert d D. apply natlike_ind.
  - rewrite Z.add_0_r. lra.
  - intros d D IH. replace (x + Z.succ d)%Z with (x + d + 1)%Z by lia.
    rewrite (inside_step most) by (auto; lia). destruct (slope_range most pieces (x + d) F M). lra.
Qed.

(** The further out, the less a stretch of length d adds: concavity. *)
Lemma inside_concave most pieces x y d : falling most pieces = true -> 0 <= most -> (0 <= x <= y)%Z -> (0 <= d)%Z ->
  inside pieces (y + d) + inside pieces x <= inside pieces (x + d) + inside pieces y.
Proof.
  intros F M X D. revert d D. apply natlike_ind.
  - rewrite !Z.add_0_r. lra.
  - intros d D IH. replace (y + Z.succ d)%Z with (y + d + 1)%Z by lia.
    replace (x + Z.succ d)%Z with (x + d + 1)%Z by lia.
    rewrite !(inside_step most) by (auto; lia).
    pose proof (slope_falls most pieces (x + d) (y + d) F M ltac:(lia)). lra.
Qed.

Section Shape.
Variable pieces : shape.
Hypothesis shape_ok : concave pieces = true.
Let U := turn pieces.
Let f := inside pieces.

Lemma concave_falling : exists most, 0 < most /\ falling most pieces = true.
Proof.
  unfold concave in shape_ok. destruct pieces as [| [n s] rest] eqn:E; [easy |].
  apply Bool.andb_true_iff in shape_ok. destruct shape_ok as [S F]. exists s. split; auto.
  apply Qnot_le_lt. rewrite <- Qle_bool_iff. intros H. now rewrite H in S.
Qed.

Lemma U_pos : (0 < U)%Z.
Proof.
  destruct concave_falling as (most & _ & F). unfold U. clear f. unfold concave in shape_ok.
  destruct pieces as [| [n s] rest]; [easy |]. apply falling_cons in F. destruct F as (N & _ & _ & F).
  pose proof (turn_pos s rest F). unfold turn in *. cbn [fold_right fst]. lia.
Qed.

Lemma f_pos x : (0 <= x)%Z -> 0 <= f x.
Proof.
  intros X. destruct concave_falling as (most & M & F). unfold f. rewrite <- (inside_0 most pieces F).
  apply (inside_rises most pieces 0 x); auto; lra || lia.
Qed.

Lemma f_mono x y : (0 <= x <= y)%Z -> f x <= f y.
Proof.
  intros X. destruct concave_falling as (most & M & F). replace y with (x + (y - x))%Z by lia.
  apply (inside_rises most); auto; lra || lia.
Qed.

Lemma f_U_pos : 0 < f U.
Proof.
  destruct concave_falling as (most & M & F). pose proof U_pos. apply Qlt_le_trans with (f 1).
  - unfold f. change 1%Z with (0 + 1)%Z. rewrite (inside_step most) by (auto; lia). rewrite (inside_0 most) by auto.
    unfold concave in shape_ok. destruct pieces as [| [n s] rest]; [easy |]. cbn [slope].
    pose proof F as G. apply falling_cons in G. destruct G as (N & _ & _ & _).
    destruct (Z.ltb_spec 0 n); [| lia]. apply Bool.andb_true_iff in shape_ok. destruct shape_ok as [S _].
    assert (0 < s); [| lra]. apply Qnot_le_lt. rewrite <- Qle_bool_iff. intros H1. now rewrite H1 in S.
  - apply f_mono. lia.
Qed.

Lemma turns_split x : (0 <= x)%Z -> (0 <= x / U)%Z /\ (0 <= x mod U < U)%Z /\ x = (U * (x / U) + x mod U)%Z.
Proof.
  intros X. pose proof U_pos.
  repeat split; [apply Z.div_pos | apply Z.mod_pos_bound | apply Z.mod_pos_bound |]; try lia.
  apply Z.div_mod. lia.
Qed.

Lemma height_at k a : (0 <= a < U)%Z -> height pieces (U * k + a) == inject_Z k * f U + f a.
Proof.
  intros A. unfold height. fold U f.
  rewrite <- (Z.div_unique_pos (U * k + a) U k a), <- (Z.mod_unique_pos (U * k + a) U k a) by lia. reflexivity.
Qed.

Lemma inject_le a b : (a <= b)%Z -> inject_Z a <= inject_Z b.
Proof. now rewrite <- Zle_Qle. Qed.

(** F does not fall. *)
Lemma height_mono x y : (0 <= x <= y)%Z -> height pieces x <= height pieces y.
Proof.
  intros X. destruct (turns_split x) as (K & A & EX); [lia |]. destruct (turns_split y) as (L & B & EY); [lia |].
  revert K A EX L B EY. generalize (x / U)%Z (x mod U)%Z (y / U)%Z (y mod U)%Z. intros k a l b K A EX L B EY.
  rewrite EX, EY, !height_at by assumption. pose proof f_U_pos as P. pose proof U_pos.
  destruct (Z.eq_dec k l) as [-> | N].
  - assert (f a <= f b); [apply f_mono; lia | lra].
  - assert (k + 1 <= l)%Z as S by nia. apply inject_le in S. rewrite inject_Z_plus in S.
    change (inject_Z 1) with 1 in S.
    assert (f a <= f U) by (apply f_mono; lia). assert (0 <= f b) by (apply f_pos; lia). nra.
Qed.

(** The lemma of additive.md: F(x + y) <= F(x) + F(y). Within one turn a concave function that is 0 at 0 is
    subadditive; where the rests pass U, concavity compares them with U and what is left over. *)
Lemma height_subadditive x y : (0 <= x)%Z -> (0 <= y)%Z ->
  height pieces (x + y) <= height pieces x + height pieces y.
Proof.
  intros X Y. destruct (turns_split x X) as (K & A & EX). destruct (turns_split y Y) as (L & B & EY).
  revert K A EX L B EY. generalize (x / U)%Z (x mod U)%Z (y / U)%Z (y mod U)%Z. intros k a l b K A -> L B ->.
  destruct concave_falling as (most & M & F). pose proof (inside_0 most pieces F) as Z0. fold f in Z0.
  destruct (Z_lt_ge_dec (a + b) U) as [S | S].
  - replace (U * k + a + (U * l + b))%Z with (U * (k + l) + (a + b))%Z by ring.
    rewrite !height_at by lia. rewrite inject_Z_plus.
    pose proof (inside_concave most pieces 0 b a F ltac:(lra) ltac:(lia) ltac:(lia)) as C. fold f in C.
    rewrite Z.add_0_l in C. replace (a + b)%Z with (b + a)%Z by lia. lra.
  - replace (U * k + a + (U * l + b))%Z with (U * (k + l + 1) + (a + b - U))%Z by ring.
    rewrite !height_at by lia. rewrite !inject_Z_plus. change (inject_Z 1) with 1.
    pose proof (inside_concave most pieces (a + b - U) b (U - b) F ltac:(lra) ltac:(lia) ltac:(lia)) as C. fold f in C.
    replace (b + (U - b))%Z with U in C by lia. replace (a + b - U + (U - b))%Z with a in C by lia. lra.
Qed.

Lemma height_pos x : (0 <= x)%Z -> 0 <= height pieces x.
Proof.
  intros X. destruct (turns_split x X) as (K & A & ->). rewrite height_at by assumption.
  pose proof f_U_pos. assert (0 <= f (x mod U)) by (apply f_pos; lia).
  apply inject_le in K. change (inject_Z 0) with 0 in K. nra.
Qed.

(** Weights before they are divided by their sum. *)
Definition weight (z : Z) : R := exp (- Q2R (height pieces (Z.abs z))).

(** The theorem of additive.md: a shift by d costs F(|d|).
    F does not fall and is subadditive, so F of a distance is at most F of the other distance plus F(|d|). *)
Theorem shaped_shift a b y :
  (weight (y - a) <= exp (Q2R (height pieces (Z.abs (a - b)))) * weight (y - b))%R.
Proof.
  unfold weight. rewrite <- exp_plus. apply exp_le.
  assert (height pieces (Z.abs (y - b)) <= height pieces (Z.abs (y - a)) + height pieces (Z.abs (a - b))) as H.
  { apply Qle_trans with (height pieces (Z.abs (y - a) + Z.abs (a - b))).
    - apply height_mono. lia.
    - apply height_subadditive; lia. }
  apply Qle_Rle in H. rewrite Q2R_plus in H. Lra.lra.
Qed.

(** All weights together: at most those of discrete Laplace noise with the slope F(U) / U, and a turn more. *)
Open Scope R_scope.
Let t : R := IZR U / Q2R (f U).
Definition weights_bound : R := exp (Q2R (f U)) / ((1 - exp (- / t)) / (1 + exp (- / t))).

Lemma f_U_real : 0 < Q2R (f U).
Proof. replace 0 with (Q2R 0) by (unfold Q2R; simpl; Lra.lra). apply Qlt_Rlt, f_U_pos. Qed.

Lemma t_pos : 0 < t.
Proof. apply Rdiv_lt_0_compat; [apply (IZR_lt 0), U_pos | apply f_U_real]. Qed.

Lemma weight_le z : weight z <= weights_bound * laplace t z.
Proof.
  unfold weights_bound, laplace. pose proof (laplace_front t t_pos) as P. set (c := (1 - _) / _) in *.
  replace (exp (Q2R (f U)) / c * (c * exp (- (IZR (Z.abs z) / t)))) with (exp (Q2R (f U) + - (IZR (Z.abs z) / t)))
    by (rewrite exp_plus; field; Lra.lra).
  unfold weight. apply exp_le. pose proof f_U_real as FU. pose proof U_pos as UP. apply IZR_lt in UP.
  destruct (turns_split (Z.abs z)) as (K & A & E); [lia |].
  assert (Q2R (height pieces (Z.abs z)) >= IZR (Z.abs z / U) * Q2R (f U)) as H.
  { rewrite E at 1. rewrite (Qeq_eqR _ _ (height_at (Z.abs z / U) (Z.abs z mod U) A)), Q2R_plus, Q2R_mult.
    assert (0 <= f (Z.abs z mod U))%Q as FP by (apply f_pos; lia). apply Qle_Rle in FP.
    replace (Q2R 0) with 0 in FP by (unfold Q2R; simpl; Lra.lra).
    replace (Q2R (inject_Z (Z.abs z / U))) with (IZR (Z.abs z / U)) by (unfold Q2R; simpl; field). Lra.lra. }
  assert (IZR (Z.abs z) / t <= (IZR (Z.abs z / U) + 1) * Q2R (f U)).
  { unfold t. replace (IZR (Z.abs z) / (IZR U / Q2R (f U))) with (IZR (Z.abs z) / IZR U * Q2R (f U))
      by (field; split; Lra.lra).
    apply Rmult_le_compat_r; [Lra.lra |]. apply Rmult_le_reg_r with (IZR U); [exact UP |].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by Lra.lra.
    rewrite <- (plus_IZR _ 1), <- mult_IZR. apply IZR_le. lia. }
  Lra.lra.
Qed.

Lemma weights_at_most A x : partial_sum weight A x -> x <= weights_bound.
Proof.
  intros (l & N & _ & ->). apply Rle_trans with (weights_bound * sum (laplace t) l).
  - apply sum_le. intros z _. apply weight_le.
  - rewrite <- (Rmult_1_r weights_bound) at 2. apply Rmult_le_compat_l.
    + unfold weights_bound. left. apply Rdiv_lt_0_compat; [apply exp_pos | apply laplace_front, t_pos].
    + destruct (laplace_law t t_pos) as [_ [B _]]. apply B. exists l. auto.
Qed.

(** The law of the noise: each weight over the sum of all. *)
Definition all_weights : R := mass weights_bound weight (fun _ => True).
Definition shaped (z : Z) : R := weight z / all_weights.

Lemma all_weights_is : prob weight (fun _ => True) all_weights.
Proof. apply mass_is. apply weights_at_most. Qed.

Lemma weight_pos z : 0 < weight z.
Proof. apply exp_pos. Qed.

Lemma all_weights_pos : 0 < all_weights.
Proof.
  apply Rlt_le_trans with (weight 0); [apply weight_pos |]. destruct all_weights_is as [B _]. apply B.
  exists [0%Z]. repeat split; [constructor; [easy | constructor] | simpl; Lra.lra].
Qed.

Lemma shaped_pos z : 0 <= shaped z.
Proof. left. apply Rdiv_lt_0_compat; [apply weight_pos | apply all_weights_pos]. Qed.

Lemma shaped_within a b :
  within (Q2R (height pieces (Z.abs (a - b)))) (fun y => shaped (y - a)) (fun y => shaped (y - b)).
Proof.
  intros y. pose proof (Rinv_0_lt_compat _ all_weights_pos). unfold shaped, Rdiv.
  split; rewrite <- Rmult_assoc; apply Rmult_le_compat_r; try Lra.lra; [apply shaped_shift |].
  replace (Z.abs (a - b)) with (Z.abs (b - a)) by lia. apply shaped_shift.
Qed.

(** Weights over their sum add up to 1; the sum is finite, as Laplace noise of a slope F(U)/U bounds it. *)
Theorem shaped_law : law shaped.
Proof.
  pose proof all_weights_pos as P. destruct all_weights_is as [B L]. split; [exact shaped_pos | split].
  - intros x (l & N & _ & ->). unfold shaped, Rdiv.
    assert (sum (fun z => weight z * / all_weights) l = / all_weights * sum weight l) as ->.
    { rewrite <- sum_scale. apply sum_ext. intros z. ring. }
    apply Rmult_le_reg_l with all_weights; auto. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l, Rmult_1_r by Lra.lra.
    apply B. exists l. auto.
  - intros b U1. assert (all_weights <= all_weights * b) as H.
    { apply L. intros x (l & N & _ & ->). assert (sum shaped l <= b) as S by (apply U1; exists l; auto).
      apply Rmult_le_compat_l with (r := all_weights) in S; [| Lra.lra].
      apply Rle_trans with (2 := S). right. rewrite <- sum_scale. apply sum_ext. intros z.
      unfold shaped. field. Lra.lra. }
    apply Rmult_le_reg_l with all_weights; auto. rewrite Rmult_1_r. exact H.
Qed.
End Shape.
