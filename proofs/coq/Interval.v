(** The heart of the claim of clip.md on intervals: places that clip much are seldom drawn. *)
From Coq Require Import Reals Lra Lia List Psatz Permutation.
From Prdp Require Import Notion Choice Total.
Import ListNotations.
Open Scope R_scope.

Lemma mean_permuted phi v w : Permutation v w -> mean phi v = mean phi w.
Proof.
  intros P. revert phi. induction P as [| x v w P IH | x y v | u v w P1 IH1 P2 IH2]; intros phi; cbn [mean]; auto.
  - now rewrite (IH phi), (IH (fun n => phi (S n))).
  - ring.
  - now rewrite IH1.
Qed.

(** Of two candidates the one with the rarer coin is drawn less often, by at least the ratio of the coins. *)
Lemma rarer x y others : chance x -> chance y -> Forall chance others -> x <= y ->
  x * mean share_of_heads (y :: others) * y <= y * mean share_of_heads (x :: others) * x.
Proof.
  intros [X0 X1] [Y0 Y1] O L.
  assert (mean share_of_heads (y :: others) <= mean share_of_heads (x :: others)) as M.
  { apply mean_falls; auto using share_falls; try (constructor; auto; split; assumption).
    constructor; auto. clear. induction others; constructor; auto. apply Rle_refl. }
  assert (0 <= x * y) by now apply Rmult_le_pos. nra.
Qed.

Lemma flip_first a x b y c :
  flip (a ++ x :: b ++ y :: c) (length a) = x * mean share_of_heads (y :: a ++ b ++ c).
Proof.
  rewrite flip_at. f_equal. apply mean_permuted. rewrite !app_assoc. symmetry. apply Permutation_middle.
Qed.

Lemma flip_second a x b y c :
  flip (a ++ x :: b ++ y :: c) (length (a ++ x :: b)) = y * mean share_of_heads (x :: a ++ b ++ c).
Proof.
  replace (a ++ x :: b ++ y :: c) with ((a ++ x :: b) ++ y :: c) by (rewrite <- app_assoc; reflexivity).
  rewrite flip_at. f_equal. apply mean_permuted. rewrite <- app_assoc. symmetry. apply Permutation_middle.
Qed.

(** Two places of a list, and what is before, between and after them. *)
Lemma two_places (l : list R) i j : (i < j < length l)%nat ->
  exists a b c, l = a ++ nth i l 0 :: b ++ nth j l 0 :: c /\ i = length a /\ j = length (a ++ nth i l 0 :: b).
Proof.
  intros [L J]. destruct (nth_split l 0 (n := j) J) as (front & c & E & F).
  assert (i < length front)%nat as I by lia. destruct (nth_split front 0 (n := i) I) as (a & b & E' & A).
  assert (nth i front 0 = nth i l 0) as N by (rewrite E; rewrite app_nth1 by lia; reflexivity).
  exists a, b, c. rewrite <- N, <- E'. repeat split; auto.
  rewrite E at 1. rewrite E' at 1. now rewrite <- app_assoc.
Qed.

Lemma flip_rarer coins i z : Forall chance coins -> (i < length coins)%nat -> (z < length coins)%nat ->
  nth i coins 0 <= nth z coins 0 -> flip coins i * nth z coins 0 <= flip coins z * nth i coins 0.
Proof.
  intros C I Z L. destruct (Nat.lt_trichotomy i z) as [H | [-> | H]]; [| lra |].
  - destruct (two_places coins i z (conj H Z)) as (a & b & c & E & A & B).
    revert E B L. generalize (nth i coins 0) (nth z coins 0). intros x y E B L. subst.
    apply Forall_app in C. destruct C as [CA C]. inversion C as [| ? ? CX CB]; subst.
    apply Forall_app in CB. destruct CB as [CB CC]. inversion CC as [| ? ? CY CC']; subst.
    rewrite flip_first, flip_second. apply rarer; auto. apply Forall_app. split; auto. now apply Forall_app.
  - destruct (two_places coins z i (conj H I)) as (a & b & c & E & A & B).
    revert E B L. generalize (nth i coins 0) (nth z coins 0). intros x y E B L. subst.
    apply Forall_app in C. destruct C as [CA C]. inversion C as [| ? ? CX CB]; subst.
    apply Forall_app in CB. destruct CB as [CB CC]. inversion CC as [| ? ? CY CC']; subst.
    rewrite flip_first, flip_second. apply rarer; auto. apply Forall_app. split; auto. now apply Forall_app.
Qed.

(** p_i / p_z <= w_i / w_z where w_i <= w_z, as the proof of the claim has it.
    The two places have the same other coins but for each other's, and the more likely one's raises the number of
    heads that the rarer one must share the draw with. *)
Theorem less_likely q i z : (i < length q)%nat -> (z < length q)%nat -> nth z q 0 <= nth i q 0 ->
  permute_and_flip q i <= exp (nth z q 0 - nth i q 0) * permute_and_flip q z.
Proof.
  intros I Z L. unfold permute_and_flip. pose proof (coins_chance q) as C.
  assert (forall j, (j < length q)%nat -> nth j (coins q) 0 = exp (least q - nth j q 0)) as At.
  { intros j J. unfold coins. rewrite (nth_indep _ 0 (exp (least q - 0))) by now rewrite map_length.
    now rewrite (map_nth (fun x => exp (least q - x))). }
  assert (length (coins q) = length q) as Len by apply map_length.
  pose proof (flip_rarer (coins q) i z C) as F. rewrite Len, !At in F by assumption.
  assert (exp (least q - nth i q 0) <= exp (least q - nth z q 0)) as W by (apply exp_le; lra).
  specialize (F I Z W). pose proof (exp_pos (least q - nth z q 0)).
  apply Rmult_le_reg_r with (exp (least q - nth z q 0)); auto. apply Rle_trans with (1 := F). right.
  replace (least q - nth i q 0) with (nth z q 0 - nth i q 0 + (least q - nth z q 0)) by ring.
  rewrite exp_plus. ring.
Qed.

Lemma sum_le_each {Y} (f g : Y -> R) l : (forall y, In y l -> f y <= g y) -> sum f l <= sum g l.
Proof.
  intros H. rewrite <- (Rmult_1_l (sum g l)). apply sum_le. intros y I. rewrite Rmult_1_l. auto.
Qed.

(** A sum over places is that over all z of those that are sent to z. *)
Lemma sum_by (z : nat -> nat) (f : nat -> R) n l : (forall i, In i l -> (z i < n)%nat) ->
  sum f l = sum (fun k => sum f (filter (fun i => (z i =? k)%nat) l)) (seq 0 n).
Proof.
  induction l as [| i l IH]; intros H; cbn [sum filter].
  - now rewrite sum_zero.
  - rewrite IH by (intros; apply H; now right).
    assert (forall m a, (a <= z i < a + m)%nat ->
      sum (fun k => sum f (if (z i =? k)%nat then i :: filter (fun j => (z j =? k)%nat) l
        else filter (fun j => (z j =? k)%nat) l)) (seq a m)
      = f i + sum (fun k => sum f (filter (fun j => (z j =? k)%nat) l)) (seq a m)) as S.
    { assert (forall m a, (z i < a)%nat ->
        sum (fun k => sum f (if (z i =? k)%nat then i :: filter (fun j => (z j =? k)%nat) l
          else filter (fun j => (z j =? k)%nat) l)) (seq a m)
        = sum (fun k => sum f (filter (fun j => (z j =? k)%nat) l)) (seq a m)) as Past.
      { induction m as [| m IHm]; intros a A; cbn [seq sum]; auto.
        destruct (Nat.eqb_spec (z i) a); [lia |]. rewrite IHm by lia. reflexivity. }
      induction m as [| m IHm]; intros a A; [lia |]. cbn [seq sum].
      destruct (Nat.eqb_spec (z i) a) as [E | E].
      - rewrite Past by lia. cbn [sum]. ring.
      - rewrite IHm by lia. ring. }
    rewrite S; [reflexivity |]. specialize (H i (or_introl eq_refl)). lia.
Qed.

(** The claim of clip.md, for any places and any partners: if each of some places i has a partner z(i) of no larger
    penalty, and exp(q_z - q_i) adds up to at most rho over all i of one partner, then one of these places is drawn with
    a probability of at most rho. Each place's chance is at most that ratio times its partner's ([less_likely]), and
    the partners' chances add up to at most 1. *)
Theorem seldom_drawn q (places : list nat) (z : nat -> nat) rho : q <> [] -> 0 <= rho ->
  (forall i, In i places -> (i < length q)%nat /\ (z i < length q)%nat /\ nth (z i) q 0 <= nth i q 0) ->
  (forall k, sum (fun i => exp (nth k q 0 - nth i q 0)) (filter (fun i => (z i =? k)%nat) places) <= rho) ->
  sum (permute_and_flip q) places <= rho.
Proof.
  intros N R H Each. rewrite (sum_by z _ (length q)) by (intros i I; apply H, I).
  apply Rle_trans with (rho * sum (permute_and_flip q) (seq 0 (length q))).
  - apply sum_le. intros k K. apply Rle_trans with
      (permute_and_flip q k * sum (fun i => exp (nth k q 0 - nth i q 0)) (filter (fun i => (z i =? k)%nat) places)).
    + rewrite <- sum_scale. apply sum_le_each. intros i I. apply filter_In in I. destruct I as [I E].
      apply Nat.eqb_eq in E. subst. destruct (H i I) as (A & B & L). rewrite Rmult_comm. now apply less_likely.
    + rewrite (Rmult_comm rho). apply Rmult_le_compat_l; [apply permute_and_flip_pos | apply Each].
  - rewrite <- (Rmult_1_r rho) at 2. apply Rmult_le_compat_l; auto.
    destruct (permute_and_flip_law q N) as [_ [U _]]. apply U. exists (seq 0 (length q)).
    repeat split; auto. apply seq_NoDup.
Qed.

(** Different powers of a number below 1 add up to at most 1/(1 - r). *)
Lemma different_powers r ns : 0 <= r < 1 -> NoDup ns -> sum (fun n => r ^ n) ns <= / (1 - r).
Proof.
  intros [L U] N. set (m := S (fold_right Nat.max 0%nat ns)).
  apply Rle_trans with (sum (fun n => r ^ n) (seq 0 m)).
  - apply sum_incl; auto.
    + intros n. now apply pow_le.
    + intros n I. apply in_seq. split; [lia |]. assert (n <= fold_right Nat.max 0 ns)%nat; [| unfold m; lia].
      clear - I. induction ns as [| k ns IH]; [easy |]. cbn [fold_right]. destruct I as [-> | I]; [lia |].
      specialize (IH I). lia.
  - assert (forall j, sum (fun n => r ^ n) (seq 0 j) * (1 - r) = 1 - r ^ j) as G.
    { induction j as [| j IH]; [simpl; ring |]. rewrite seq_S, sum_app, Rmult_plus_distr_r, IH. simpl. ring. }
    apply Rmult_le_reg_r with (1 - r); [lra |]. rewrite G, Rinv_l by lra.
    assert (0 <= r ^ m) by now apply pow_le. lra.
Qed.

Section Claim.
(** Places 0, ..., n - 1: what each is charged for, and what it costs besides; for each place its partner. *)
Variables (n : nat) (charged cost : nat -> R) (z : nat -> nat).
(** A unit that is charged weighs [a]; of a place more than [x] would be in full at its partner, which costs at most
    [climb] more, and by [step] less with each rank. Both may differ from place to place, as near the last point. *)
Variables (a c step : R) (x climb : nat -> R) (rank : nat -> nat) (places : list nat).
Hypothesis step_pos : 0 < step.
Hypothesis a_pos : 0 < a.
Hypothesis c_neg : c <= 0.
Hypothesis enough : forall i, In i places -> climb i - a * x i <= c.
Hypothesis n_pos : (0 < n)%nat.
Hypothesis different : NoDup places.
Hypothesis inside : forall i, In i places -> (i < n)%nat /\ (z i < n)%nat.
Hypothesis heavy : forall i, In i places -> x i < charged i - charged (z i).
Hypothesis near : forall i, In i places -> cost (z i) - cost i <= climb i - step * INR (rank i).
Hypothesis ranked : forall i j, In i places -> In j places -> z i = z j -> rank i = rank j -> i = j.

Definition ladder : list R := map (fun i => a * charged i + cost i) (seq 0 n).

Lemma ladder_at i : (i < n)%nat -> nth i ladder 0 = a * charged i + cost i.
Proof.
  intros I. unfold ladder. rewrite (nth_indep _ 0 ((fun i => a * charged i + cost i) 0%nat)).
  - rewrite (map_nth (fun i => a * charged i + cost i)), seq_nth by assumption. reflexivity.
  - now rewrite map_length, seq_length.
Qed.

(** The claim of clip.md: a place at which more than x would be in full at its partner, k octaves above, is drawn with
    a probability of at most C exp(-a x), C = exp(climb) / (1 - exp(-step)), for every c >= climb - a x; climb is
    lambda k, step is lambda delta, and for places near the last point climb is 2 lambda k, with k and x of their own.
    Ratios of weights to the partner's are at most exp(c - step rank), a geometric series for each partner;
    so [seldom_drawn] applies. *)
Theorem interval_claim : sum (permute_and_flip ladder) places <= exp c / (1 - exp (- step)).
Proof.
  assert (exp (- step) < 1) as R1 by (rewrite <- exp_0; apply exp_increasing; lra).
  pose proof (exp_pos (- step)) as R0. pose proof (exp_pos c) as P.
  assert (length ladder = n) as Len by (unfold ladder; now rewrite map_length, seq_length).
  assert (forall i, In i places ->
    nth (z i) ladder 0 - nth i ladder 0 <= c + - (step * INR (rank i))) as Gap.
  { intros i I. destruct (inside i I) as [A B]. rewrite !ladder_at by assumption.
    specialize (heavy i I). specialize (near i I). specialize (enough i I). nra. }
  apply seldom_drawn with z.
  - intros E. rewrite E in Len. simpl in Len. lia.
  - apply Rlt_le, Rdiv_lt_0_compat; lra.
  - intros i I. destruct (inside i I) as [A B]. rewrite Len. repeat split; auto.
    specialize (Gap i I). pose proof (pos_INR (rank i)). nra.
  - intros k. set (own := filter (fun i => (z i =? k)%nat) places).
    assert (forall i, In i own -> In i places /\ z i = k) as Own.
    { intros i I. apply filter_In in I. destruct I as [I E]. now apply Nat.eqb_eq in E. }
    apply Rle_trans with (exp c * sum (fun i => exp (- step) ^ rank i) own).
    + rewrite <- sum_scale. apply sum_le_each. intros i I. destruct (Own i I) as [J <-].
      replace (exp (- step) ^ rank i) with (exp (- (step * INR (rank i)))).
      * rewrite <- exp_plus. apply exp_le, Gap, J.
      * rewrite <- Rpower_pow by assumption. unfold Rpower. rewrite ln_exp. f_equal. ring.
    + unfold Rdiv. apply Rmult_le_compat_l; [lra |].
      assert (NoDup own) as ND by now apply NoDup_filter.
      assert (NoDup (map rank own)) as NR.
      { clear - ND Own ranked. induction ND as [| i own F ND IH]; cbn [map]; constructor.
        - intros I. apply in_map_iff in I. destruct I as (j & E & J). apply F.
          destruct (Own i (or_introl eq_refl)) as [A B], (Own j (or_intror J)) as [A' B'].
          rewrite <- (ranked j i A' A); auto. congruence.
        - apply IH. intros j J. apply Own. now right. }
      pose proof (different_powers (exp (- step)) (map rank own) ltac:(lra) NR) as G.
      rewrite sum_map in G. exact G.
Qed.
End Claim.
