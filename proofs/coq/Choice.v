(** Permute-and-flip, the choice of point.md: every candidate flips a coin, and one of the heads is drawn,
    all equally likely. No integral: the number of heads among the others is thinned, and 1/(1 + heads) is averaged. *)
From Coq Require Import Reals Lra List Lia Psatz.
From Prdp Require Import Notion.
Import ListNotations.
Open Scope R_scope.

(** The mean of phi (number of heads) over independent coins. *)
Fixpoint mean (phi : nat -> R) (coins : list R) : R :=
  match coins with
  | [] => phi 0%nat
  | w :: rest => (1 - w) * mean phi rest + w * mean (fun n => phi (S n)) rest
  end.

Definition chance (w : R) : Prop := 0 <= w <= 1.
Definition share_of_heads (n : nat) : R := / INR (S n).

Lemma mean_ext phi psi coins : (forall n, phi n = psi n) -> mean phi coins = mean psi coins.
Proof.
  revert phi psi. induction coins as [| w l IH]; simpl; intros phi psi H; auto.
  rewrite (IH phi psi), (IH (fun n => phi (S n)) (fun n => psi (S n))); auto.
Qed.

Lemma mean_linear a b phi psi coins :
  mean (fun n => a * phi n + b * psi n) coins = a * mean phi coins + b * mean psi coins.
Proof.
  revert phi psi. induction coins as [| w l IH]; simpl; intros phi psi; auto.
  rewrite (IH phi psi), (IH (fun n => phi (S n)) (fun n => psi (S n))). ring.
Qed.

Lemma mean_le phi psi coins : Forall chance coins -> (forall n, phi n <= psi n) ->
  mean phi coins <= mean psi coins.
Proof.
  intros C. revert phi psi. induction C as [| w l [L U] C IH]; simpl; intros phi psi H; auto.
  pose proof (IH phi psi H). pose proof (IH (fun n => phi (S n)) (fun n => psi (S n)) (fun n => H (S n))).
  nra.
Qed.

Lemma mean_const c coins : mean (fun _ => c) coins = c.
Proof. induction coins as [| w l IH]; simpl; auto. rewrite IH. ring. Qed.

(** More heads, less of a falling phi. *)
Lemma mean_falls phi v w : (forall n, phi (S n) <= phi n) -> Forall chance w -> Forall chance v ->
  Forall2 Rle v w -> mean phi w <= mean phi v.
Proof.
  intros F CW CV H. revert phi F CW CV.
  induction H as [| a b v w L H IH]; simpl; intros phi F CW CV; [lra |].
  inversion CW as [| ? ? [A1 A2] CW']; inversion CV as [| ? ? [B1 B2] CV']; subst.
  pose proof (IH phi F CW' CV').
  pose proof (IH (fun n => phi (S n)) (fun n => F (S n)) CW' CV').
  pose proof (mean_le (fun n => phi (S n)) phi w CW' F).
  nra.
Qed.

(** Thinning: each of n heads stays with chance a. *)
Fixpoint thinned (a : R) (phi : nat -> R) (n : nat) : R :=
  match n with
  | O => phi 0%nat
  | S n => (1 - a) * thinned a phi n + a * thinned a (fun m => phi (S m)) n
  end.

Lemma mean_thinned a phi coins :
  mean phi (map (Rmult a) coins) = mean (thinned a phi) coins.
Proof.
  revert phi. induction coins as [| w l IH]; intros phi; simpl; auto.
  rewrite (IH phi), (IH (fun n => phi (S n))).
  rewrite (mean_linear (1 - a) a (thinned a phi) (thinned a (fun m => phi (S m)))). ring.
Qed.

Lemma thinned_ext a phi psi n : (forall m, phi m = psi m) -> thinned a phi n = thinned a psi n.
Proof.
  revert phi psi. induction n as [| n IH]; simpl; intros phi psi H; auto.
  rewrite (IH phi psi), (IH (fun m => phi (S m)) (fun m => psi (S m))); auto.
Qed.

Lemma thinned_plus a phi psi n :
  thinned a (fun m => phi m + psi m) n = thinned a phi n + thinned a psi n.
Proof.
  revert phi psi. induction n as [| n IH]; simpl; intros phi psi; auto.
  rewrite (IH phi psi), (IH (fun m => phi (S m)) (fun m => psi (S m))). ring.
Qed.

Lemma thinned_le_1 a phi n : chance a -> (forall m, phi m <= 1) -> thinned a phi n <= 1.
Proof.
  intros [L U]. revert phi. induction n as [| n IH]; simpl; intros phi H; auto.
  pose proof (IH phi H). pose proof (IH (fun m => phi (S m)) (fun m => H (S m))). nra.
Qed.

(** Size-biasing: E[N g(N)] of n + 1 coins is (n + 1) a E[g(1 + N)] of n coins. *)
Lemma size_biased a g n :
  thinned a (fun m => INR m * g m) (S n) = INR (S n) * a * thinned a (fun m => g (S m)) n.
Proof.
  revert g. induction n as [| n IH]; intros g.
  - simpl. ring.
  - change (thinned a (fun m => INR m * g m) (S (S n))) with
      ((1 - a) * thinned a (fun m => INR m * g m) (S n)
       + a * thinned a (fun m => INR (S m) * g (S m)) (S n)).
    rewrite (thinned_ext a (fun m => INR (S m) * g (S m))
      (fun m => INR m * (fun k => g (S k)) m + g (S m))) by (intros m; rewrite S_INR; ring).
    rewrite thinned_plus, IH, (IH (fun k => g (S k))).
    rewrite (S_INR (S n)). simpl thinned. ring.
Qed.

Lemma thinned_share a n : chance a -> a * thinned a share_of_heads n <= share_of_heads n.
Proof.
  intros C.
  pose proof (size_biased a (fun m => / INR m) n) as B.
  assert (thinned a (fun m => INR m * / INR m) (S n) <= 1) as L.
  { apply thinned_le_1; auto. intros [| m].
    - simpl. lra.
    - rewrite Rinv_r; [lra | apply not_0_INR; lia]. }
  rewrite B in L. unfold share_of_heads at 2.
  change (fun m => / INR (S m)) with share_of_heads in L.
  assert (0 < INR (S n)) by (apply lt_0_INR; lia).
  apply Rmult_le_reg_l with (INR (S n)); auto. rewrite Rinv_r by lra. lra.
Qed.

Lemma share_falls n : share_of_heads (S n) <= share_of_heads n.
Proof.
  unfold share_of_heads. apply Rinv_le_contravar; [apply lt_0_INR; lia | apply le_INR; lia].
Qed.

Lemma share_pos coins : Forall chance coins -> 0 <= mean share_of_heads coins.
Proof.
  intros C. rewrite <- (mean_const 0 coins). apply mean_le; auto.
  intros n. left. apply Rinv_0_lt_compat, lt_0_INR. lia.
Qed.

(** Coins that are at most k times as likely leave at least 1/k of the average. *)
Lemma scaled k v w : 1 <= k -> Forall chance v -> Forall chance w -> Forall2 (fun x y => y <= k * x) v w ->
  mean share_of_heads v <= k * mean share_of_heads w.
Proof.
  intros K CV CW H. assert (0 < / k <= 1) as [IL IU].
  { split; [apply Rinv_0_lt_compat; lra |]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
  apply Rle_trans with (mean share_of_heads (map (Rmult (/ k)) w)).
  - apply mean_falls; auto using share_falls.
    + clear - CW IL IU. induction CW as [| x l [A B] C IH]; simpl; constructor; auto.
      split; nra.
    + clear CV CW. induction H as [| x y v w L H IH]; simpl; constructor; auto.
      apply Rmult_le_reg_l with k; [lra |]. rewrite <- Rmult_assoc, Rinv_r; lra.
  - rewrite mean_thinned.
    apply Rmult_le_reg_l with (/ k); [lra |].
    rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l by lra.
    replace (/ k * mean (thinned (/ k) share_of_heads) w)
      with (mean (fun n => / k * thinned (/ k) share_of_heads n + 0 * 0) w).
    2: { rewrite (mean_linear (/ k) 0 (thinned (/ k) share_of_heads) (fun _ => 0)). ring. }
    apply mean_le; auto. intros n.
    pose proof (thinned_share (/ k) n). unfold chance in *. lra.
Qed.

(** The law as the code draws it: all coins are flipped, then one of the heads is drawn. *)
Fixpoint expect (coins : list R) (phi : list bool -> R) : R :=
  match coins with
  | [] => phi []
  | w :: rest => (1 - w) * expect rest (fun b => phi (false :: b))
                 + w * expect rest (fun b => phi (true :: b))
  end.

Definition heads (b : list bool) : nat := count_occ Bool.bool_dec b true.
Definition drawn (b : list bool) (j : nat) : R := if nth j b false then / INR (heads b) else 0.
Definition flip (coins : list R) (j : nat) : R := expect coins (fun b => drawn b j).

Lemma expect_ext coins phi psi : (forall b, phi b = psi b) -> expect coins phi = expect coins psi.
Proof.
  revert phi psi. induction coins as [| w l IH]; simpl; intros phi psi H; auto.
  rewrite (IH (fun b => phi (false :: b)) (fun b => psi (false :: b))),
    (IH (fun b => phi (true :: b)) (fun b => psi (true :: b))); auto.
Qed.

Lemma expect_heads coins (phi : nat -> R) : expect coins (fun b => phi (heads b)) = mean phi coins.
Proof.
  revert phi. induction coins as [| w l IH]; simpl; intros phi; auto.
  rewrite <- (IH phi), <- (IH (fun n => phi (S n))). reflexivity.
Qed.

Lemma expect_zero coins : expect coins (fun _ => 0) = 0.
Proof. induction coins as [| w l IH]; simpl; auto. rewrite IH. ring. Qed.

Lemma expect_at l x r (phi : nat -> R) :
  expect (l ++ x :: r) (fun b => if nth (length l) b false then phi (heads b) else 0)
  = x * mean (fun n => phi (S n)) (l ++ r).
Proof.
  revert phi. induction l as [| w l IH]; intros phi; simpl.
  - rewrite expect_zero, <- (expect_heads r (fun n => phi (S n))).
    replace ((1 - x) * 0) with 0 by ring. rewrite Rplus_0_l. f_equal.
  - pose proof (IH phi) as A. pose proof (IH (fun n => phi (S n))) as B. simpl in A, B.
    unfold heads in *. simpl. rewrite A, B. ring.
Qed.

Lemma flip_at l x r : flip (l ++ x :: r) (length l) = x * mean share_of_heads (l ++ r).
Proof. apply (expect_at l x r (fun n => / INR n)). Qed.

Lemma flip_beyond coins j : (length coins <= j)%nat -> flip coins j = 0.
Proof.
  unfold flip, drawn. intros L.
  assert (forall phi, expect coins (fun b => if nth j b false then phi b else 0) = 0) as Z; [| apply Z].
  revert j L. induction coins as [| w l IH]; simpl; intros j L phi.
  - destruct j; reflexivity.
  - destruct j as [| j]; [lia |]. simpl. rewrite !IH by lia. ring.
Qed.

(** Coins from penalties: heads with chance exp(-(penalty - least)). *)
Definition least (q : list R) : R := fold_right Rmin (hd 0 q) q.
Definition coins (q : list R) : list R := map (fun x => exp (least q - x)) q.
Definition permute_and_flip (q : list R) : nat -> R := flip (coins q).

Definition move (lo hi a b : R) : Prop := lo <= b - a <= hi.

Lemma least_le q x : In x q -> least q <= x.
Proof.
  unfold least. generalize (hd 0 q). intros d.
  induction q as [| y l IH]; simpl; intros []; subst.
  - apply Rmin_l.
  - eapply Rle_trans; [apply Rmin_r |]. auto.
Qed.

Lemma least_moves lo hi q q' : q <> [] -> Forall2 (move lo hi) q q' -> move lo hi (least q) (least q').
Proof.
  intros N H. unfold least.
  assert (move lo hi (hd 0 q) (hd 0 q')) as B by (destruct H; [easy | assumption]).
  revert B. generalize (hd 0 q) (hd 0 q'). intros d d' B. clear N.
  induction H as [| x y l l' M H IH]; simpl; auto.
  revert IH. generalize (fold_right Rmin d l) (fold_right Rmin d' l'). intros u u' IH.
  unfold move in *. unfold Rmin. destruct (Rle_dec x u), (Rle_dec y u'); lra.
Qed.

Lemma coins_chance q : Forall chance (coins q).
Proof.
  apply Forall_map, Forall_forall. intros x I. pose proof (least_le q x I). split.
  - left. apply exp_pos.
  - rewrite <- exp_0. apply exp_le. lra.
Qed.

Lemma Forall2_length {A B} (P : A -> B -> Prop) l m : Forall2 P l m -> length l = length m.
Proof. induction 1; simpl; auto. Qed.

Lemma Forall_others {A} (P : A -> Prop) l x r : Forall P (l ++ x :: r) -> Forall P (l ++ r).
Proof.
  rewrite !Forall_app. intros [L R]. inversion R. auto.
Qed.

Lemma choice_one_way lo hi q q' j : lo <= hi -> Forall2 (move lo hi) q q' ->
  permute_and_flip q' j <= exp (hi - lo) * permute_and_flip q j.
Proof.
  intros LH H. unfold permute_and_flip.
  destruct (Nat.lt_ge_cases j (length q)) as [J | J].
  2: { pose proof (Forall2_length _ _ _ H). rewrite !flip_beyond by (unfold coins; rewrite map_length; lia). lra. }
  assert (q <> []) as N by (intros ->; simpl in J; lia).
  pose proof (least_moves lo hi q q' N H) as M.
  pose proof (coins_chance q) as C. pose proof (coins_chance q') as C'. unfold coins in *.
  revert M C C'. generalize (least q) (least q'). intros m m' M C C'.
  destruct (nth_split q 0 J) as (l & r & Q & L). set (x := nth j q 0) in Q. clearbody x. subst q.
  destruct (Forall2_app_inv_l _ _ H) as (l' & r0 & HL & HR & ->).
  inversion HR as [| a x' b r' MX HR' E1 E2]; subst.
  rewrite !map_app in *. simpl map in *.
  set (f := fun y => exp (m - y)) in *. set (f' := fun y => exp (m' - y)) in *.
  assert (length (map f l) = length l) as <- by apply map_length.
  replace (length (map f l)) with (length (map f' l')) at 1
    by (rewrite !map_length; symmetry; apply (Forall2_length _ _ _ HL)).
  rewrite !flip_at.
  pose proof (scaled (exp (hi - (m' - m))) (map f' l' ++ map f' r') (map f l ++ map f r)) as S.
  rewrite <- !map_app in S.
  assert (mean share_of_heads (map f' (l' ++ r')) <= exp (hi - (m' - m)) * mean share_of_heads (map f (l ++ r))) as I.
  { apply S.
    - apply exp_ge_1. unfold move in M. lra.
    - rewrite map_app. now apply Forall_others with (f' x').
    - rewrite map_app. now apply Forall_others with (f x).
    - assert (Forall2 (move lo hi) (l ++ r) (l' ++ r')) as HH by now apply Forall2_app.
      revert HH. generalize (l ++ r) (l' ++ r'). intros k k' HH.
      induction HH as [| a b k k' [A B] HH IH]; simpl; constructor; auto.
      unfold f, f'. rewrite <- exp_plus. apply exp_le. lra. }
  rewrite <- !map_app.
  assert (0 <= mean share_of_heads (map f (l ++ r))) as P.
  { apply share_pos. rewrite map_app. now apply Forall_others with (f x). }
  apply Rle_trans with (f' x' * (exp (hi - (m' - m)) * mean share_of_heads (map f (l ++ r)))).
  - apply Rmult_le_compat_l; [left; apply exp_pos | exact I].
  - rewrite <- !Rmult_assoc. apply Rmult_le_compat_r; auto.
    unfold f, f'. rewrite <- !exp_plus. apply exp_le. unfold move in *. lra.
Qed.

(** The lemma of point.md, both ways at once: penalties that move between lo and hi cost hi - lo.
    The drawn candidate's own coin and the least penalty move by known factors; the coins of the others are scaled by
    at most exp(hi - lo) together with it, and thinning coins raises 1/(1 + heads) by no more than it lowers them. *)
Theorem choice lo hi q q' : lo <= hi -> Forall2 (move lo hi) q q' ->
  within (hi - lo) (permute_and_flip q) (permute_and_flip q').
Proof.
  intros LH H j. split; [| now apply choice_one_way].
  replace (hi - lo) with (- lo - - hi) by ring. apply choice_one_way; [lra |].
  clear - H. induction H as [| a b l l' [A B] H IH]; constructor; auto. split; lra.
Qed.

Lemma permute_and_flip_pos q j : 0 <= permute_and_flip q j.
Proof.
  unfold permute_and_flip. destruct (Nat.lt_ge_cases j (length (coins q))) as [J | J].
  2: { rewrite flip_beyond; [lra | assumption]. }
  pose proof (coins_chance q) as C.
  destruct (nth_split (coins q) 0 J) as (l & r & Q & L). rewrite Q in *. subst j. rewrite flip_at.
  apply Rmult_le_pos.
  - apply Forall_app in C. destruct C as [_ C]. inversion C as [| ? ? [A _] _]. assumption.
  - apply share_pos. eapply Forall_others, C.
Qed.
