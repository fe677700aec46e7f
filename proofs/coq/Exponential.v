(** Lemma 9 of lemmas.md: one candidate, with probabilities in proportion to multiples times exp(-penalty). *)
From Coq Require Import Reals Lra Lia List Psatz.
From Prdp Require Import Notion Choice Total.
Import ListNotations.
Open Scope R_scope.

Fixpoint weights (multiples penalties : list R) : list R :=
  match multiples, penalties with
  | m :: ms, q :: qs => m * exp (- q) :: weights ms qs
  | _, _ => []
  end.
Definition together (ws : list R) : R := sum (fun w => w) ws.
Definition exponential (multiples penalties : list R) (j : nat) : R :=
  nth j (weights multiples penalties) 0 / together (weights multiples penalties).

Lemma weights_nonnegative ms qs : Forall (Rle 0) ms -> Forall (Rle 0) (weights ms qs).
Proof.
  intros H. revert qs. induction H as [| m ms M H IH]; intros [| q qs]; simpl; constructor; auto.
  apply Rmult_le_pos; auto. left. apply exp_pos.
Qed.

Lemma together_nonnegative ws : Forall (Rle 0) ws -> 0 <= together ws.
Proof. unfold together. induction 1; simpl; lra. Qed.

Lemma nth_nonnegative ws j : Forall (Rle 0) ws -> 0 <= nth j ws 0.
Proof.
  intros H. revert j. induction H as [| w ws W H IH]; intros [| j]; simpl; auto; lra.
Qed.

Lemma nth_le_together ws j : Forall (Rle 0) ws -> nth j ws 0 <= together ws.
Proof.
  intros H. unfold together. revert j. induction H as [| w ws W H IH]; intros [| j]; simpl; try lra.
  - pose proof (together_nonnegative ws H). unfold together in *. lra.
  - specialize (IH j). lra.
Qed.

Lemma exponential_pos ms qs j : Forall (Rle 0) ms -> 0 <= exponential ms qs j.
Proof.
  intros H. pose proof (weights_nonnegative ms qs H) as W. unfold exponential, Rdiv.
  pose proof (together_nonnegative _ W) as [T | T].
  - apply Rmult_le_pos; [now apply nth_nonnegative | left; now apply Rinv_0_lt_compat].
  - pose proof (nth_le_together _ j W). pose proof (nth_nonnegative _ j W). rewrite <- T in *.
    replace (nth j (weights ms qs) 0) with 0 by lra. lra.
Qed.

(** Each weight moves by a factor between exp(-hi) and exp(-lo), and so do all together. *)
Definition scaled_by (lo hi w w' : R) : Prop := exp (- hi) * w <= w' <= exp (- lo) * w.

Lemma weights_scaled lo hi ms q q' : Forall (Rle 0) ms -> Forall2 (move lo hi) q q' ->
  Forall2 (scaled_by lo hi) (weights ms q) (weights ms q').
Proof.
  intros H F. revert ms H.
  induction F as [| a b q q' [A B] F IH]; intros ms H; destruct H as [| m ms M H]; simpl; constructor; auto.
  split; rewrite <- Rmult_assoc, (Rmult_comm (exp _) m), Rmult_assoc, <- exp_plus;
    apply Rmult_le_compat_l; auto; apply exp_le; lra.
Qed.

Lemma together_scaled lo hi ws ws' : Forall2 (scaled_by lo hi) ws ws' -> scaled_by lo hi (together ws) (together ws').
Proof.
  unfold together, scaled_by. induction 1 as [| w w' ws ws' [A B] F IH]; simpl; [lra |].
  rewrite !Rmult_plus_distr_l. lra.
Qed.

Lemma nth_scaled lo hi ws ws' j : Forall2 (scaled_by lo hi) ws ws' -> scaled_by lo hi (nth j ws 0) (nth j ws' 0).
Proof.
  intros F. revert j. induction F as [| w w' ws ws' S F IH]; intros [| j]; simpl; auto; unfold scaled_by; lra.
Qed.

Lemma exponential_one_way lo hi ms q q' j : Forall (Rle 0) ms -> Forall2 (move lo hi) q q' ->
  exponential ms q' j <= exp (hi - lo) * exponential ms q j.
Proof.
  intros H F. pose proof (weights_scaled lo hi ms q q' H F) as S. unfold exponential.
  pose proof (weights_nonnegative ms q H) as W. pose proof (weights_nonnegative ms q' H) as W'.
  revert S W W'. generalize (weights ms q) (weights ms q'). intros ws ws' S W W'.
  destruct (nth_scaled lo hi ws ws' j S) as [_ U]. destruct (together_scaled lo hi ws ws' S) as [L T].
  pose proof (nth_nonnegative ws j W). pose proof (nth_le_together ws j W).
  pose proof (nth_nonnegative ws' j W'). pose proof (nth_le_together ws' j W').
  pose proof (exp_pos (- hi)). pose proof (exp_pos (- lo)).
  destruct (together_nonnegative ws W) as [P | Z].
  - assert (0 < together ws') as P' by (apply Rlt_le_trans with (2 := L); now apply Rmult_lt_0_compat).
    apply Rmult_le_reg_r with (together ws'); auto. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. apply Rle_trans with (1 := U).
    replace (exp (hi - lo) * (nth j ws 0 * / together ws) * together ws')
      with (exp (hi - lo) * nth j ws 0 * (/ together ws * together ws')) by ring.
    apply Rle_trans with (exp (hi - lo) * nth j ws 0 * exp (- hi)).
    + right. replace (- lo) with (hi - lo + - hi) by ring. rewrite exp_plus. ring.
    + apply Rmult_le_compat_l; [apply Rmult_le_pos; auto; left; apply exp_pos |].
      apply Rmult_le_reg_l with (together ws); auto. rewrite <- Rmult_assoc, Rinv_r by lra. lra.
  - rewrite <- Z in *. assert (nth j ws 0 = 0) as E by lra. rewrite E in *.
    assert (nth j ws' 0 = 0) as -> by lra. unfold Rdiv. rewrite !Rmult_0_l, Rmult_0_r. lra.
Qed.

(** Penalties that move between lo and hi cost hi - lo, both ways: the sum of all weights makes up for what the
    weight of the drawn candidate moves, and no more than the range is left. *)
Theorem exponential_choice lo hi ms q q' : Forall (Rle 0) ms -> Forall2 (move lo hi) q q' ->
  within (hi - lo) (exponential ms q) (exponential ms q').
Proof.
  intros H F j. split; [| now apply exponential_one_way].
  replace (hi - lo) with (- lo - - hi) by ring. apply exponential_one_way; auto.
  clear - F. induction F as [| a b q q' [A B] F IH]; constructor; auto. split; lra.
Qed.

Lemma exponential_beyond ms qs j : (length qs <= j)%nat -> exponential ms qs j = 0.
Proof.
  intros L. unfold exponential. rewrite nth_overflow; [unfold Rdiv; ring |].
  revert ms j L. induction qs as [| q qs IH]; intros [| m ms] j L; simpl in *; try lia.
  destruct j as [| j]; [lia |]. specialize (IH ms j ltac:(lia)). lia.
Qed.

(** Each weight over the sum of all, which is above zero: they add up to 1. *)
Theorem exponential_law ms qs : Forall (Rle 0) ms -> 0 < together (weights ms qs) -> law (exponential ms qs).
Proof.
  intros H T. set (n := length (weights ms qs)).
  assert (forall k, sum (exponential ms qs) (seq 0 (k + n)) = 1) as One.
  { intros k. unfold exponential. set (ws := weights ms qs) in *.
    assert (forall l m, (length l <= m)%nat -> sum (fun j => nth j l 0) (seq 0 m) = together l) as S.
    { induction l as [| w l IH]; intros m L.
      - rewrite (sum_ext _ (fun _ => 0)) by (intros []; reflexivity). apply sum_zero.
      - destruct m as [| m]; simpl in L; [lia |]. cbn [seq sum]. rewrite <- seq_shift, sum_map. cbn [nth].
        rewrite IH by lia. reflexivity. }
    rewrite (sum_ext _ (fun j => / together ws * nth j ws 0)) by (intros; unfold Rdiv; ring).
    rewrite sum_scale, S by (unfold n; lia). apply Rinv_l. lra. }
  apply law_by with (fun k => seq 0 (k + n)).
  - intros j. now apply exponential_pos.
  - intros k. apply seq_NoDup.
  - intros l. exists (S (fold_right Nat.max 0%nat l)). intros k I. apply in_seq. split; [lia |].
    assert (k <= fold_right Nat.max 0 l)%nat; [| lia].
    induction l as [| a l IH]; [easy |]. cbn [fold_right]. destruct I as [-> | I]; [lia |]. specialize (IH I). lia.
  - intros k. rewrite One. lra.
  - intros eps E. exists 0%nat. rewrite One. lra.
Qed.
