(** Chances add up to 1: of discrete Laplace noise, of permute-and-flip, and of one draw after another. *)
From Coq Require Import Reals Lra Lia ZArith List Psatz FinFun.
From Prdp Require Import Notion Laplace Choice.
Import ListNotations.
Open Scope R_scope.

Lemma sum_app {Y} (f : Y -> R) l m : sum f (l ++ m) = sum f l + sum f m.
Proof. induction l as [| y l IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma NoDup_app_intro {Y} (l m : list Y) :
  NoDup l -> NoDup m -> (forall y, In y l -> In y m -> False) -> NoDup (l ++ m).
Proof.
  induction 1 as [| y l F N IH]; simpl; intros M H; auto. constructor.
  - intros I. apply in_app_or in I. destruct I as [I | I]; [easy |]. apply (H y); auto.
  - apply IH; auto. intros z A B. apply (H z); auto.
Qed.

Lemma sum_incl {Y} (f : Y -> R) l m : (forall y, 0 <= f y) -> NoDup l -> incl l m -> sum f l <= sum f m.
Proof.
  intros P N. revert m. induction N as [| y l F N IH]; intros m I; simpl.
  - induction m as [| y m IHm]; simpl; [lra |]. specialize (P y). assert (0 <= sum f m); [| lra].
    apply IHm. intros ? [].
  - destruct (in_split y m (I y (or_introl eq_refl))) as (a & b & ->).
    assert (sum f l <= sum f (a ++ b)) as L.
    { apply IH. intros z J. assert (In z (a ++ y :: b)) as K by (apply I; now right).
      apply in_app_or in K. apply in_or_app. destruct K as [K | [<- | K]]; auto. easy. }
    rewrite sum_app in *. simpl. lra.
Qed.

(** Finite sums along growing lists that hold everything in the end, and come as near to 1 as one likes. *)
Lemma law_by {Y} (f : Y -> R) (upto : nat -> list Y) :
  (forall y, 0 <= f y) -> (forall n, NoDup (upto n)) ->
  (forall l, exists n, incl l (upto n)) -> (forall n, sum f (upto n) <= 1) ->
  (forall eps, 0 < eps -> exists n, 1 - eps < sum f (upto n)) -> law f.
Proof.
  intros P N C U A. split; auto. split.
  - intros x (l & D & _ & ->). destruct (C l) as [n I]. apply Rle_trans with (2 := U n). now apply sum_incl.
  - intros b B. destruct (Rle_or_lt 1 b) as [| H]; auto. destruct (A (1 - b)) as [n L]; [lra |].
    assert (sum f (upto n) <= b); [| lra]. apply B. exists (upto n). auto.
Qed.

Fixpoint around (n : nat) : list Z :=
  match n with O => [0%Z] | S n => Z.of_nat (S n) :: (- Z.of_nat (S n))%Z :: around n end.

Lemma around_in n k : In k (around n) <-> (Z.abs k <= Z.of_nat n)%Z.
Proof.
  induction n as [| n IH]; cbn [around In].
  - lia.
  - rewrite IH. lia.
Qed.

Lemma around_sum t n : 0 < t ->
  sum (laplace t) (around n) = 1 - 2 * exp (- / t) ^ S n / (1 + exp (- / t)).
Proof.
  intros T. pose proof (exp_pos (- / t)) as Q. pose proof (laplace_front t T).
  assert (forall k, exp (- (IZR (Z.abs k) / t)) = exp (- / t) ^ Z.abs_nat k) as E.
  { intros k. rewrite <- Rpower_pow by assumption. unfold Rpower. rewrite ln_exp. f_equal.
    rewrite INR_IZR_INZ, Nat2Z.inj_abs_nat. field. lra. }
  induction n as [| n IH]; cbn [around sum].
  - unfold laplace. rewrite E. simpl. field. lra.
  - rewrite IH. unfold laplace. rewrite !E. replace (Z.abs_nat (- Z.of_nat (S n))) with (S n) by lia.
    rewrite Zabs2Nat.id. simpl. field. lra.
Qed.

(** The sum from -n to n is known in closed form (a geometric series) and comes as near to 1 as one likes. *)
Theorem laplace_law t : 0 < t -> law (laplace t).
Proof.
  intros T. pose proof (exp_pos (- / t)) as Q. pose proof (Rinv_0_lt_compat t T).
  assert (exp (- / t) < 1) as Q1 by (rewrite <- exp_0; apply exp_increasing; lra).
  apply law_by with around.
  - intros k. left. now apply laplace_pos.
  - induction n as [| n IH]; cbn [around]; repeat constructor; auto; cbn [In]; rewrite ?around_in; lia.
  - intros l. exists (fold_right (fun k m => Nat.max (Z.abs_nat k) m) 0%nat l). intros k I.
    apply around_in. induction l as [| a l IH]; [easy |]. cbn [fold_right]. destruct I as [-> | I]; [lia |].
    specialize (IH I). lia.
  - intros n. rewrite around_sum by assumption.
    assert (0 < 2 * exp (- / t) ^ S n / (1 + exp (- / t))); [| lra].
    apply Rdiv_lt_0_compat; [| lra]. assert (0 < exp (- / t) ^ S n) by now apply pow_lt. lra.
  - intros eps E. destruct (pow_lt_1_zero (exp (- / t))) with (y := eps / 2) as [n H1]; [| lra |].
    { rewrite Rabs_right; lra. }
    exists n. rewrite around_sum by assumption.
    specialize (H1 (S n) ltac:(lia)). assert (0 < exp (- / t) ^ S n) by now apply pow_lt.
    rewrite Rabs_right in H1 by lra.
    assert (2 * exp (- / t) ^ S n / (1 + exp (- / t)) < eps); [| lra].
    apply Rmult_lt_reg_r with (1 + exp (- / t)); [lra |]. unfold Rdiv at 1.
    rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

Lemma sum_zero {Y} (l : list Y) : sum (fun _ => 0) l = 0.
Proof. induction l as [| y l IH]; simpl; lra. Qed.

Lemma sum_map {X Y} (g : X -> Y) (f : Y -> R) l : sum f (map g l) = sum (fun x => f (g x)) l.
Proof. induction l as [| x l IH]; simpl; congruence. Qed.

Lemma sum_ext {Y} (f g : Y -> R) l : (forall y, f y = g y) -> sum f l = sum g l.
Proof. intros H. induction l as [| y l IH]; simpl; congruence. Qed.

Lemma expect_plus coins phi psi :
  expect coins (fun b => phi b + psi b) = expect coins phi + expect coins psi.
Proof.
  revert phi psi. induction coins as [| w l IH]; simpl; intros phi psi; auto.
  rewrite (IH (fun b => phi (false :: b)) (fun b => psi (false :: b))),
    (IH (fun b => phi (true :: b)) (fun b => psi (true :: b))). ring.
Qed.

Lemma expect_sum {J} coins (phi : J -> list bool -> R) l :
  sum (fun j => expect coins (phi j)) l = expect coins (fun b => sum (fun j => phi j b) l).
Proof.
  induction l as [| j l IH]; simpl; [now rewrite expect_zero |].
  rewrite IH. now rewrite <- (expect_plus coins (phi j) (fun b => sum (fun j => phi j b) l)).
Qed.

Lemma expect_long coins phi psi : (forall b, length b = length coins -> phi b = psi b) ->
  expect coins phi = expect coins psi.
Proof.
  revert phi psi. induction coins as [| w l IH]; simpl; intros phi psi H; [now apply H |].
  f_equal; f_equal; apply IH; intros b L; apply H; simpl; auto.
Qed.

Lemma sum_heads c b m : (length b <= m)%nat ->
  sum (fun j => if nth j b false then c else 0) (seq 0 m) = INR (heads b) * c.
Proof.
  revert m. induction b as [| x b IH]; intros m L.
  - rewrite (sum_ext _ (fun _ => 0)) by (intros []; reflexivity). rewrite sum_zero. simpl. lra.
  - destruct m as [| m]; simpl in L; [lia |]. cbn [seq sum]. rewrite <- seq_shift, sum_map. cbn [nth].
    rewrite IH by lia. unfold heads. destruct x; cbn [count_occ].
    + destruct (Bool.bool_dec true true); [| easy]. rewrite S_INR. ring.
    + destruct (Bool.bool_dec false true); [easy |]. ring.
Qed.

Lemma sure_head coins : In 1 coins -> mean (fun n => if (n =? 0)%nat then 0 else 1) coins = 1.
Proof.
  induction coins as [| w l IH]; cbn [In mean]; [easy |]. cbn [Nat.eqb]. rewrite mean_const.
  intros [-> | I]; [| rewrite (IH I)]; ring.
Qed.

Lemma least_in q : q <> [] -> In (Choice.least q) q.
Proof.
  intros N. unfold Choice.least. assert (In (hd 0 q) q) as H by (destruct q; [easy | now left]).
  revert H. generalize (hd 0 q). intros d H. clear N.
  assert (In (fold_right Rmin d q) (d :: q)) as I.
  { clear H. induction q as [| x q IH]; simpl; [now left |].
    destruct (Rle_dec x (fold_right Rmin d q)); [rewrite Rmin_left by lra | rewrite Rmin_right by lra]; auto.
    simpl in IH. destruct IH; auto. }
  destruct I as [<- |]; auto.
Qed.

(** Whatever coins fall, the heads share the draw equally; and one coin, that of the least penalty, is sure. *)
Theorem permute_and_flip_law q : q <> [] -> law (permute_and_flip q).
Proof.
  intros N.
  assert (forall n, sum (permute_and_flip q) (seq 0 (n + length q)) = 1) as One.
  { intros n. unfold permute_and_flip, flip. rewrite expect_sum.
    rewrite (expect_long _ _ (fun b => if (heads b =? 0)%nat then 0 else 1)).
    - rewrite (expect_heads (coins q) (fun n => if (n =? 0)%nat then 0 else 1)). apply sure_head.
      apply in_map_iff. exists (Choice.least q). split; [| now apply least_in].
      rewrite Rminus_diag_eq by reflexivity. apply exp_0.
    - intros b L. unfold coins in L. rewrite map_length in L. unfold drawn. rewrite sum_heads by lia.
      destruct (Nat.eqb_spec (heads b) 0) as [-> | H]; [simpl; ring |]. rewrite Rinv_r; auto. now apply not_0_INR. }
  apply law_by with (fun n => seq 0 (n + length q)).
  - apply permute_and_flip_pos.
  - intros n. apply seq_NoDup.
  - intros l. exists (S (fold_right Nat.max 0%nat l)). intros k I. apply in_seq. split; [lia |].
    assert (k <= fold_right Nat.max 0 l)%nat; [| lia].
    induction l as [| a l IH]; [easy |]. cbn [fold_right]. destruct I as [-> | I]; [lia |]. specialize (IH I). lia.
  - intros n. rewrite One. lra.
  - intros eps E. exists 0%nat. rewrite One. lra.
Qed.

Lemma sum_scale {Y} c (h : Y -> R) l : sum (fun y => c * h y) l = c * sum h l.
Proof. induction l as [| y l IH]; simpl; [ring | rewrite IH; ring]. Qed.

(** What follows a drawn value has a law of its own: together they have one. *)
Section Pairs.
Context {X Y : Type} (dec : forall x x' : X, {x = x'} + {x <> x'}).
Variables (f : X -> R) (g : X -> Y -> R).
Let pair (p : X * Y) : R := f (fst p) * g (fst p) (snd p).
Let is (x : X) (p : X * Y) : bool := if dec (fst p) x then true else false.

Lemma sum_split p l : sum pair l = sum pair (filter p l) + sum pair (filter (fun z => negb (p z)) l).
Proof. induction l as [| z l IH]; simpl; [ring |]. rewrite IH. destruct (p z); simpl; ring. Qed.

Lemma sum_one x l : sum pair (filter (is x) l) = f x * sum (g x) (map snd (filter (is x) l)).
Proof.
  induction l as [| [a b] l IH]; cbn [filter]; [simpl; ring |].
  destruct (is x (a, b)) eqn:J; [| exact IH]. unfold is in J. simpl in J. destruct (dec a x) as [-> |]; [| easy].
  cbn [sum map]. rewrite IH. unfold pair at 1. simpl. ring.
Qed.

Lemma snd_nodup x l : NoDup l -> NoDup (map snd (filter (is x) l)).
Proof.
  induction 1 as [| [a b] l F N IH]; cbn [filter]; [constructor |].
  destruct (is x (a, b)) eqn:K; auto. unfold is in K. simpl in K. destruct (dec a x) as [-> |]; [| easy].
  cbn [map]. constructor; auto. intros I. apply in_map_iff in I.
  destruct I as ([a' b'] & E & I). apply filter_In in I. destruct I as [I J]. unfold is in J. simpl in *.
  destruct (dec a' x) as [-> |]; [| easy]. subst. easy.
Qed.

Lemma pair_at_most (xs : list X) l : law f -> (forall x, law (g x)) -> NoDup l ->
  (forall p, In p l -> In (fst p) xs) -> sum pair l <= sum f xs.
Proof.
  intros [F _] G. revert l. induction xs as [| x xs IH]; intros l N C.
  - destruct l as [| p l]; [simpl; lra |]. destruct (C p (or_introl eq_refl)).
  - rewrite (sum_split (is x)), sum_one. simpl. apply Rplus_le_compat.
    + rewrite <- (Rmult_1_r (f x)) at 2. apply Rmult_le_compat_l; auto. apply (G x).
      exists (map snd (filter (is x) l)). auto using snd_nodup.
    + apply IH; [now apply NoDup_filter |]. intros p I. apply filter_In in I. destruct I as [I J].
      destruct (C p I) as [E |]; auto. unfold is in J. destruct (dec (fst p) x); [easy | congruence].
Qed.

Lemma pair_at_least (xs : list X) eps : law f -> (forall x, law (g x)) -> NoDup xs -> 0 < eps ->
  exists l, NoDup l /\ (forall p, In p l -> In (fst p) xs) /\ (1 - eps) * sum f xs <= sum pair l.
Proof.
  intros [F _] G N E. induction N as [| x xs I N (l & D & C & L)].
  - exists []. repeat split; [constructor | easy | simpl; lra].
  - assert (exists ys, NoDup ys /\ 1 - eps < sum (g x) ys) as (ys & NY & LY).
    { destruct (G x) as [_ [_ P]].
      destruct (Classical_Prop.classic (exists ys, NoDup ys /\ 1 - eps < sum (g x) ys)) as [| H]; auto.
      assert (1 <= 1 - eps); [| lra]. apply P. intros v (ys & NY & _ & ->).
      destruct (Rle_or_lt (sum (g x) ys) (1 - eps)); auto. exfalso. apply H. now exists ys. }
    exists (map (fun y => (x, y)) ys ++ l). repeat split.
    + apply NoDup_app_intro; auto.
      * apply Injective_map_NoDup; auto. now intros a b [= ->].
      * intros p A B. apply in_map_iff in A. destruct A as (y & <- & _). apply I, (C _ B).
    + intros p A. apply in_app_or in A. destruct A as [A | A]; [| right; auto].
      apply in_map_iff in A. destruct A as (y & <- & _). now left.
    + rewrite sum_app, sum_map. unfold pair at 1. simpl. rewrite sum_scale. specialize (F x). nra.
Qed.

(** Finite sums of pairs are at most the first law's; and picking nearly all of each second law for nearly all of the
    first comes as near to 1 as one likes. *)
Theorem pair_law : law f -> (forall x, law (g x)) -> law pair.
Proof.
  intros LF LG. assert (law f) as [F [U A]] by assumption. split; [| split].
  - intros [x y]. apply Rmult_le_pos; [apply F | apply (LG x)].
  - intros v (l & N & _ & ->). apply Rle_trans with (sum f (nodup dec (map fst l))).
    + apply pair_at_most; auto. intros p I. apply nodup_In. now apply in_map.
    + apply U. exists (nodup dec (map fst l)). split; [apply NoDup_nodup | auto].
  - intros b B. destruct (Rle_or_lt 1 b) as [| H]; auto.
    assert (0 <= b) as BP by (apply B; exists []; repeat split; constructor).
    set (eps := (1 - b) / 2). assert (0 < eps) as EP by (unfold eps; lra).
    assert (1 <= 1 - eps); [| lra]. apply A. intros v (xs & N & _ & ->).
    destruct (pair_at_least xs eps LF LG N EP) as (l & D & _ & L).
    assert (sum pair l <= b) by (apply B; exists l; auto).
    destruct (Rle_or_lt (sum f xs) (1 - eps)); auto. unfold eps in *. nra.
Qed.
End Pairs.
