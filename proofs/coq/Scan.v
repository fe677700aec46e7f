(** Lemma 4 of lemmas.md, the falling scan, and the scan that may also sink. Infinite sums move by a bijection. *)
From Coq Require Import Reals Lra Lia ZArith List Psatz FinFun.
From Prdp Require Import Notion Compose Laplace Total.
Import ListNotations.
Open Scope R_scope.

(** A sum over the integers may be shifted. *)
Lemma prob_shift (f : Z -> R) (A : Z -> Prop) d p :
  prob f A p -> prob (fun k => f (k + d)%Z) (fun k => A (k + d)%Z) p.
Proof.
  assert (forall l g, sum (fun k => g (k + d)%Z) l = sum g (map (fun k => (k + d)%Z) l)) as M.
  { intros l g. induction l as [| k l IH]; simpl; congruence. }
  intros [U L]. split.
  - intros x (l & N & I & ->). apply U. exists (map (fun k => (k + d)%Z) l). repeat split; auto.
    + apply Injective_map_NoDup; auto. intros a b H. lia.
    + intros k J. apply in_map_iff in J. destruct J as (a & <- & J). auto.
  - intros b B. apply L. intros x (l & N & I & ->). apply B.
    exists (map (fun k => (k - d)%Z) l). repeat split.
    + apply Injective_map_NoDup; auto. intros a c H. lia.
    + intros k J. apply in_map_iff in J. destruct J as (a & <- & J). replace (a - d + d)%Z with a by lia. auto.
    + rewrite M, map_map, (map_ext _ (fun k => k)), map_id; [reflexivity |]. intros k. lia.
Qed.

Lemma prob_incl {Y} (f : Y -> R) (A B : Y -> Prop) p q :
  (forall y, A y -> B y) -> prob f A p -> prob f B q -> p <= q.
Proof.
  intros H [_ P] [Q _]. apply P. intros x (l & N & I & ->). apply Q. exists l. auto.
Qed.

Section Scan.
Variables (t1 t2 : R) (above below : Z -> R).
Hypothesis (T1 : 0 < t1) (T2 : 0 < t2).
(** Chances that the noise of a mass is above, or not above, a number. *)
Hypothesis above_is : forall x, prob (laplace t2) (fun k => (x < k)%Z) (above x).
Hypothesis below_is : forall x, prob (laplace t2) (fun k => (k <= x)%Z) (below x).

Lemma above_pos x : 0 <= above x.
Proof. apply (above_is x). exists []. repeat split; [constructor | easy]. Qed.
Lemma below_pos x : 0 <= below x.
Proof. apply (below_is x). exists []. repeat split; [constructor | easy]. Qed.

Lemma above_falls x y : (x <= y)%Z -> above y <= above x.
Proof.
  intros L. refine (prob_incl _ _ _ _ _ _ (above_is y) (above_is x)). intros k H. lia.
Qed.

Lemma below_shift x d : (0 <= d)%Z -> below (x + d) <= exp (IZR d / t2) * below x.
Proof.
  intros D. apply (prob_le _ (fun k => laplace t2 (k + d)) (laplace t2) (fun k => (k <= x)%Z)).
  - left. apply exp_pos.
  - intros k _. pose proof (shift t2 (- d) 0 k T2) as H.
    replace (k - - d)%Z with (k + d)%Z in H by lia. replace (k - 0)%Z with k in H by lia.
    replace (Z.abs (- d - 0)) with d in H by lia. exact H.
  - destruct (prob_shift _ _ d _ (below_is (x + d))) as [U L]. split.
    + intros v (l & N & I & ->). apply U. exists l. repeat split; auto. intros y J. specialize (I y J). lia.
    + intros b B. apply L. intros v (l & N & I & ->). apply B. exists l. repeat split; auto.
      intros y J. specialize (I y J). simpl in I. lia.
  - apply below_is.
Qed.

(** The chance of the first place, given the threshold's noise: gaps are T_i - g_i. *)
Fixpoint stops (gaps : list Z) (j : nat) (rho : Z) : R :=
  match gaps, j with
  | [], O => 1                                              (* no place was low enough *)
  | g :: _, O => below (g + rho)
  | g :: gaps, S j => above (g + rho) * stops gaps j rho
  | [], S _ => 0
  end.

Lemma stops_pos gaps j rho : 0 <= stops gaps j rho.
Proof.
  revert j. induction gaps as [| g gaps IH]; intros [| j]; simpl; try lra; try apply below_pos.
  apply Rmult_le_pos; auto using above_pos.
Qed.

(** Gaps fall by between -h and e when a record is added: masses rise by at most e, and sink by at most h. *)
Definition falls (h e : Z) (g g' : Z) : Prop := (- h <= g - g' <= e)%Z.

Lemma stops_moved h e gaps gaps' j rho : (0 <= h)%Z -> (0 <= e)%Z -> Forall2 (falls h e) gaps gaps' ->
  stops gaps' j (rho + e) <= exp (IZR (e + h) / t2) * stops gaps j rho.
Proof.
  intros H E F. pose proof (Rinv_0_lt_compat t2 T2) as I2.
  assert (0 <= IZR (e + h) / t2) as EP by (apply Rmult_le_pos; [apply (IZR_le 0); lia | lra]).
  pose proof (exp_ge_1 _ EP). revert j.
  induction F as [| g g' l l' [A B] F IH]; intros [| j]; simpl; try lra.
  - replace (g' + (rho + e))%Z with (g + rho + (e - (g - g')))%Z by lia.
    apply Rle_trans with (1 := below_shift (g + rho) (e - (g - g')) ltac:(lia)).
    apply Rmult_le_compat_r; [apply below_pos |]. apply exp_le. apply Rmult_le_compat_r; [lra |].
    apply IZR_le. lia.
  - specialize (IH j). pose proof (above_falls (g + rho) (g' + (rho + e)) ltac:(lia)).
    pose proof (above_pos (g' + (rho + e))). pose proof (stops_pos l j rho). pose proof (stops_pos l' j (rho + e)).
    apply Rle_trans with (above (g + rho) * (exp (IZR (e + h) / t2) * stops l j rho)); [| right; ring].
    apply Rmult_le_compat; auto.
Qed.

Lemma scan_one_way h e gaps gaps' j p p' : (0 <= h)%Z -> (0 <= e)%Z -> Forall2 (falls h e) gaps gaps' ->
  prob (fun rho => laplace t1 rho * stops gaps j rho) (fun _ => True) p ->
  prob (fun rho => laplace t1 rho * stops gaps' j rho) (fun _ => True) p' ->
  p' <= exp (IZR e / t1 + IZR (e + h) / t2) * p.
Proof.
  intros H E F P P'. pose proof (exp_pos (IZR e / t1 + IZR (e + h) / t2)).
  refine (prob_le _ _ _ _ _ _ _ _ (prob_shift _ _ e _ P') P); [lra |]. intros rho _.
  pose proof (stops_moved h e gaps gaps' j rho H E F). pose proof (laplace_pos t1 rho T1).
  pose proof (laplace_pos t1 (rho + e) T1).
  pose proof (stops_pos gaps j rho). pose proof (stops_pos gaps' j (rho + e)).
  apply product; auto; try lra. pose proof (shift t1 (- e) 0 rho T1) as S.
  replace (rho - - e)%Z with (rho + e)%Z in S by lia. replace (rho - 0)%Z with rho in S by lia.
  replace (Z.abs (- e - 0)) with e in S by lia. exact S.
Qed.

(** Lemma 4 of lemmas.md (h = 0), and the scan that may also sink.
    The threshold's noise is shifted by what masses rise, so that no place before the drawn one becomes likelier to
    stop the scan; then only the drawn place's own noise has to make up for the rest. *)
Theorem scan h e gaps gaps' (p p' : nat -> R) : (0 <= h)%Z -> (0 <= e)%Z -> Forall2 (falls h e) gaps gaps' ->
  (forall j, prob (fun rho => laplace t1 rho * stops gaps j rho) (fun _ => True) (p j)) ->
  (forall j, prob (fun rho => laplace t1 rho * stops gaps' j rho) (fun _ => True) (p' j)) ->
  within (IZR (Z.max e h) / t1 + IZR (e + h) / t2) p p'.
Proof.
  intros H E F P P' j. pose proof (Rinv_0_lt_compat t1 T1).
  assert (forall x y, 0 <= y -> (x <= Z.max e h)%Z ->
    exp (IZR x / t1 + IZR (e + h) / t2) * y <= exp (IZR (Z.max e h) / t1 + IZR (e + h) / t2) * y) as Up.
  { intros x y Y L. apply Rmult_le_compat_r; auto. apply exp_le, Rplus_le_compat_r, Rmult_le_compat_r; [lra |].
    now apply IZR_le. }
  assert (forall g q, prob (fun rho => laplace t1 rho * stops g j rho) (fun _ => True) q -> 0 <= q) as Pos.
  { intros g q [U _]. apply U. exists []. split; [constructor | split; easy]. }
  split.
  - apply Rle_trans with (exp (IZR h / t1 + IZR (e + h) / t2) * p' j).
    + replace (e + h)%Z with (h + e)%Z by lia. apply (scan_one_way e h gaps' gaps j); auto.
      clear - F. induction F as [| g g' l l' [A B] F IH]; constructor; auto. split; lia.
    + apply Up; [| lia]. apply (Pos gaps'), P'.
  - apply Rle_trans with (exp (IZR e / t1 + IZR (e + h) / t2) * p j).
    + now apply (scan_one_way h e gaps gaps' j).
    + apply Up; [| lia]. apply (Pos gaps), P.
Qed.
End Scan.

(** The scan as a law: sums over the noises, as numbers. *)
Section Sums.
Variables (t1 t2 : R).

Definition noise_above (x : Z) : R := mass 1 (laplace t2) (fun k => (x < k)%Z).
Definition noise_below (x : Z) : R := mass 1 (laplace t2) (fun k => (k <= x)%Z).
Definition scan_mass (gaps : list Z) (j : nat) : R :=
  mass 1 (fun rho => laplace t1 rho * stops noise_above noise_below gaps j rho) (fun _ => True).

Hypothesis (T1 : 0 < t1) (T2 : 0 < t2).

Lemma laplace_at_most t A x : 0 < t -> partial_sum (laplace t) A x -> x <= 1.
Proof.
  intros T (l & N & _ & ->). destruct (laplace_law t T) as [_ [U _]]. apply U. exists l. auto.
Qed.

Lemma noise_above_is x : prob (laplace t2) (fun k => (x < k)%Z) (noise_above x).
Proof. apply mass_is. intros v. now apply laplace_at_most. Qed.

Lemma noise_below_is x : prob (laplace t2) (fun k => (k <= x)%Z) (noise_below x).
Proof. apply mass_is. intros v. now apply laplace_at_most. Qed.

(** Above and not above are all there is. *)
Lemma noise_splits x : noise_below x + noise_above x = 1.
Proof.
  destruct (noise_below_is x) as [UB LB], (noise_above_is x) as [UA LA], (laplace_law t2 T2) as [_ [U L]].
  apply Rle_antisym.
  - apply Rle_trans with (1 - noise_above x + noise_above x); [| lra]. apply Rplus_le_compat_r.
    apply LB. intros a (l & NL & IL & ->).
    assert (noise_above x <= 1 - sum (laplace t2) l); [| lra]. apply LA. intros b (m & NM & IM & ->).
    assert (sum (laplace t2) l + sum (laplace t2) m <= 1); [| lra]. rewrite <- sum_app. apply U.
    exists (l ++ m). repeat split; auto. apply NoDup_app_intro; auto.
    intros k A B. specialize (IL k A). specialize (IM k B). simpl in *. lia.
  - apply L. intros v (l & N & _ & ->).
    set (low := fun k => (k <=? x)%Z).
    assert (sum (laplace t2) l = sum (laplace t2) (filter low l)
      + sum (laplace t2) (filter (fun k => negb (low k)) l)) as ->.
    { clear N. induction l as [| k l IH]; simpl; [lra |]. destruct (low k); simpl; lra. }
    apply Rplus_le_compat; [apply UB | apply UA].
    + exists (filter low l). repeat split; [now apply NoDup_filter |]. intros k I. apply filter_In in I.
      destruct I as [_ I]. now apply Z.leb_le.
    + exists (filter (fun k => negb (low k)) l). repeat split; [now apply NoDup_filter |]. intros k I.
      apply filter_In in I. destruct I as [_ I]. apply Bool.negb_true_iff, Z.leb_gt in I. lia.
Qed.

Let stop := stops noise_above noise_below.

Lemma stop_pos gaps j rho : 0 <= stop gaps j rho.
Proof. apply (stops_pos t2); auto using noise_above_is, noise_below_is. Qed.

(** The scan stops somewhere. *)
Lemma stop_somewhere gaps rho : sum (fun j => stop gaps j rho) (seq 0 (S (length gaps))) = 1.
Proof.
  induction gaps as [| g gaps IH]; cbn [length].
  - simpl. lra.
  - change (seq 0 (S (S (length gaps)))) with (0%nat :: seq 1 (S (length gaps))).
    rewrite <- seq_shift. cbn [sum]. rewrite sum_map. unfold stop in *. cbn [stops].
    rewrite sum_scale, IH. pose proof (noise_splits (g + rho)). lra.
Qed.

Lemma stop_le_1 gaps j rho : stop gaps j rho <= 1.
Proof.
  revert j. unfold stop. induction gaps as [| g gaps IH]; intros [| j]; simpl; try lra.
  - pose proof (noise_splits (g + rho)). pose proof (above_pos t2 noise_above noise_above_is (g + rho)). lra.
  - specialize (IH j). pose proof (noise_splits (g + rho)).
    pose proof (below_pos t2 noise_below noise_below_is (g + rho)).
    pose proof (above_pos t2 noise_above noise_above_is (g + rho)).
    pose proof (stop_pos gaps j rho). unfold stop in *. nra.
Qed.

Lemma scan_mass_is gaps j :
  prob (fun rho => laplace t1 rho * stop gaps j rho) (fun _ => True) (scan_mass gaps j).
Proof.
  apply mass_is. intros x (l & N & _ & ->). apply Rle_trans with (1 * sum (laplace t1) l).
  - apply sum_le. intros rho _. pose proof (laplace_pos t1 rho T1). pose proof (stop_le_1 gaps j rho).
    unfold stop in *. nra.
  - rewrite Rmult_1_l. apply (laplace_at_most t1 (fun _ => True)); auto. exists l. auto.
Qed.

Lemma scan_mass_within h e gaps gaps' : (0 <= h)%Z -> (0 <= e)%Z -> Forall2 (falls h e) gaps gaps' ->
  within (IZR (Z.max e h) / t1 + IZR (e + h) / t2) (scan_mass gaps) (scan_mass gaps').
Proof.
  intros H E F. apply (scan t1 t2 noise_above noise_below) with gaps gaps';
    auto using noise_above_is, noise_below_is, scan_mass_is.
Qed.
End Sums.

(** The masses of a scan add up to 1: it stops at one of the places. *)
Lemma prob_plus {Y} (dec : forall x y : Y, {x = y} + {x <> y}) (f g : Y -> R) p q :
  (forall y, 0 <= f y) -> (forall y, 0 <= g y) ->
  prob f (fun _ => True) p -> prob g (fun _ => True) q -> prob (fun y => f y + g y) (fun _ => True) (p + q).
Proof.
  intros F G [UP LP] [UQ LQ].
  assert (forall l, sum (fun y => f y + g y) l = sum f l + sum g l) as S.
  { induction l as [| y l IH]; simpl; [lra | rewrite IH; lra]. }
  split.
  - intros x (l & N & _ & ->). rewrite S. apply Rplus_le_compat; [apply UP | apply UQ]; exists l; auto.
  - intros b B. assert (p <= b - q); [| lra]. apply LP. intros x (l & NL & _ & ->).
    assert (q <= b - sum f l); [| lra]. apply LQ. intros y (m & NM & _ & ->).
    assert (sum f (nodup dec (l ++ m)) + sum g (nodup dec (l ++ m)) <= b).
    { rewrite <- S. apply B. exists (nodup dec (l ++ m)). repeat split; auto. apply NoDup_nodup. }
    assert (sum f l <= sum f (nodup dec (l ++ m))).
    { apply sum_incl; auto. intros z I. apply nodup_In, in_or_app. now left. }
    assert (sum g m <= sum g (nodup dec (l ++ m))).
    { apply sum_incl; auto. intros z I. apply nodup_In, in_or_app. now right. }
    lra.
Qed.

Lemma prob_unique {Y} (f : Y -> R) A p q : prob f A p -> prob f A q -> p = q.
Proof. intros [U L] [V M]. apply Rle_antisym; [now apply L | now apply M]. Qed.

(** Given the threshold's noise the chances of all places add up to 1; and finitely many infinite sums may be added. *)
Theorem scan_law t1 t2 gaps : 0 < t1 -> 0 < t2 -> law (scan_mass t1 t2 gaps).
Proof.
  intros T1 T2. pose proof (scan_mass_is t1 t2 T1 T2 gaps) as P.
  assert (forall rho j, 0 <= laplace t1 rho * stops (noise_above t2) (noise_below t2) gaps j rho) as Pos.
  { intros rho j. apply Rmult_le_pos; [left; now apply laplace_pos | now apply stop_pos]. }
  assert (forall js rho, 0 <= sum (fun j => stops (noise_above t2) (noise_below t2) gaps j rho) js) as Some_pos.
  { intros js rho. induction js as [| j js IH]; simpl; [lra |]. pose proof (stop_pos t2 T2 gaps j rho). lra. }
  assert (forall js, prob (fun rho => laplace t1 rho *
    sum (fun j => stops (noise_above t2) (noise_below t2) gaps j rho) js)
    (fun _ => True) (sum (scan_mass t1 t2 gaps) js)) as Sums.
  { induction js as [| j js IH]; cbn [sum].
    - split.
      + intros x (l & _ & _ & ->). rewrite (sum_ext _ (fun _ => 0)) by (intros; ring). rewrite sum_zero. lra.
      + intros b B. apply B. exists []. split; [constructor | split; easy].
    - pose proof (prob_plus Z.eq_dec _ _ _ _ (fun rho => Pos rho j)
        (fun rho => Rmult_le_pos _ _ (Rlt_le _ _ (laplace_pos t1 rho T1)) (Some_pos js rho))
        (P j) IH) as [U L]. split.
      + intros x (l & N & _ & ->). apply U. exists l. repeat split; auto. apply sum_ext. intros rho. ring.
      + intros b B. apply L. intros x (l & N & _ & ->). apply B. exists l. repeat split; auto.
        apply sum_ext. intros rho. ring. }
  assert (forall k, sum (scan_mass t1 t2 gaps) (seq 0 (S k + length gaps)) = 1) as One.
  { intros k. apply (prob_unique _ _ _ _ (Sums _)). destruct (laplace_law t1 T1) as [_ [U L]].
    assert (forall rho, laplace t1 rho = laplace t1 rho *
      sum (fun j => stops (noise_above t2) (noise_below t2) gaps j rho) (seq 0 (S k + length gaps))) as E.
    { intros rho. rewrite <- (Rmult_1_r (laplace t1 rho)) at 1. f_equal.
      rewrite <- (stop_somewhere t2 T2 gaps rho).
      replace (S k + length gaps)%nat with (S (length gaps) + k)%nat by lia.
      rewrite seq_app, sum_app. rewrite <- (Rplus_0_r (sum _ _)) at 1. f_equal.
      assert (forall j, (length gaps < j)%nat -> stops (noise_above t2) (noise_below t2) gaps j rho = 0) as Z.
      { clear. induction gaps as [| g gaps IH]; intros [| j] J; simpl in *; try lia; auto.
        rewrite IH by lia. ring. }
      assert (forall m s, (length gaps < s)%nat ->
        sum (fun j => stops (noise_above t2) (noise_below t2) gaps j rho) (seq s m) = 0) as ->; [| reflexivity | lia].
      induction m as [| m IH]; intros s J; cbn [seq sum]; auto. rewrite Z, IH by lia. ring. }
    split.
    - intros x (l & N & _ & ->). apply U. exists l. repeat split; auto. apply sum_ext. intros rho. now rewrite <- E.
    - intros b B. apply L. intros x (l & N & _ & ->). apply B. exists l. repeat split; auto. now apply sum_ext. }
  apply law_by with (fun k => seq 0 (S k + length gaps)).
  - intros j. apply mass_pos.
  - intros k. apply seq_NoDup.
  - intros l. exists (fold_right Nat.max 0%nat l). intros k I. apply in_seq. split; [lia |].
    assert (k <= fold_right Nat.max 0 l)%nat; [| lia].
    induction l as [| a l IH]; [easy |]. cbn [fold_right]. destruct I as [-> | I]; [lia |]. specialize (IH I). lia.
  - intros k. rewrite One. lra.
  - intros eps E. exists 0%nat. rewrite One. lra.
Qed.
