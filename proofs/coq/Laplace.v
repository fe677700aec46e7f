(** Lemma 3 of lemmas.md: discrete Laplace noise on the integers, and totals clipped in proportion to budgets. *)
From Coq Require Import Reals Lra Lia ZArith List Psatz.
From Prdp Require Import Notion.
Import ListNotations.
Open Scope R_scope.

Definition laplace (t : R) (k : Z) : R :=
  (1 - exp (- / t)) / (1 + exp (- / t)) * exp (- (IZR (Z.abs k) / t)).

Lemma laplace_front t : 0 < t -> 0 < (1 - exp (- / t)) / (1 + exp (- / t)).
Proof.
  intros T. pose proof (exp_pos (- / t)). pose proof (Rinv_0_lt_compat t T).
  assert (exp (- / t) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
  apply Rdiv_lt_0_compat; lra.
Qed.

Lemma laplace_pos t k : 0 < t -> 0 < laplace t k.
Proof. intros T. apply Rmult_lt_0_compat; [now apply laplace_front | apply exp_pos]. Qed.

(** A shift by d costs |d|/t: distances from two centres differ by at most the distance of the centres. *)
Theorem shift t a b y : 0 < t ->
  laplace t (y - a) <= exp (IZR (Z.abs (a - b)) / t) * laplace t (y - b).
Proof.
  intros T. unfold laplace. pose proof (laplace_front t T). pose proof (Rinv_0_lt_compat t T).
  set (z := (1 - _) / _) in *.
  replace (exp (IZR (Z.abs (a - b)) / t) * (z * exp (- (IZR (Z.abs (y - b)) / t))))
    with (z * exp (IZR (Z.abs (a - b)) / t + - (IZR (Z.abs (y - b)) / t))) by (rewrite exp_plus; ring).
  apply Rmult_le_compat_l; [lra |]. apply exp_le. unfold Rdiv.
  rewrite !Ropp_mult_distr_l, <- Rmult_plus_distr_r. apply Rmult_le_compat_r; [lra |].
  rewrite <- !opp_IZR, <- plus_IZR. apply IZR_le. lia.
Qed.

Section Noisy.
Context {Rec : Type}.
Implicit Types (E : Rec -> R) (f : list Rec -> Z).

Definition noisy (t : R) f (D : list Rec) (y : Z) : R := laplace t (y - f D).

(** Lemma 3 (weighted Laplace on a lattice): a function that r moves by at most c E(r), with noise of scale c/a, is
    (a E)-private. It is [shift] with the distance that r moves the centre by. *)
Theorem weighted_laplace E f c a : 0 < c -> 0 < a ->
  (forall r D D', adds r D D' -> IZR (Z.abs (f D - f D')) <= c * E r) ->
  private (fun r => a * E r) (noisy (c / a) f).
Proof.
  intros C A H r D D' N y. specialize (H r D D' N).
  assert (0 < c / a) as T by (apply Rdiv_lt_0_compat; assumption).
  assert (IZR (Z.abs (f D - f D')) / (c / a) <= a * E r) as L.
  { apply Rmult_le_reg_r with (c / a); auto. unfold Rdiv at 1.
    rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    replace (a * E r * (c / a)) with (c * E r) by (field; lra). assumption. }
  apply exp_le in L. unfold noisy.
  pose proof (laplace_pos _ (y - f D) T). pose proof (laplace_pos _ (y - f D') T).
  split.
  - apply Rle_trans with (1 := shift _ (f D) (f D') y T). apply Rmult_le_compat_r; lra.
  - apply Rle_trans with (1 := shift _ (f D') (f D) y T).
    replace (f D' - f D)%Z with (- (f D - f D'))%Z by lia. rewrite Z.abs_opp.
    apply Rmult_le_compat_r; lra.
Qed.

(** A total of what each record contributes alone moves by that contribution. *)
Definition total (c : Rec -> Z) (D : list Rec) : Z := fold_right (fun r s => (c r + s)%Z) 0%Z D.

Lemma total_adds c r D D' : adds r D D' -> total c D' = (total c D + c r)%Z.
Proof.
  intros (l & m & -> & ->). unfold total. induction l as [| x l IH]; simpl; [lia |].
  rewrite IH. lia.
Qed.

(** Each record's contribution is a function of the record alone, and at most b E(r) in size.
    So adding the record moves the total by no more, and [weighted_laplace] applies. *)
Theorem noisy_total E c b s : 0 < b -> 0 < s ->
  (forall r, IZR (Z.abs (c r)) <= b * E r) ->
  private (fun r => s * E r) (noisy (b / s) (total c)).
Proof.
  intros B S H. apply weighted_laplace; auto. intros r D D' N.
  rewrite (total_adds c r D D' N).
  replace (total c D - (total c D + c r))%Z with (- c r)%Z by lia. now rewrite Z.abs_opp.
Qed.

(** Proportional clipping: a value counts up to the whole part of b times its budget, either sign. *)
Definition clip (v cap : Z) : Z := Z.max (- cap) (Z.min v cap).

(** A clipped value is no larger than the whole part of b E(r), so [noisy_total] applies. *)
Theorem proportional_clipping E (v : Rec -> Z) b s : 0 < b -> 0 < s -> (forall r, 0 <= E r) ->
  private (fun r => s * E r) (noisy (b / s) (total (fun r => clip (v r) (Int_part (b * E r))))).
Proof.
  intros B S P. apply noisy_total; auto. intros r.
  destruct (base_Int_part (b * E r)) as [L U].
  apply Rle_trans with (2 := L). apply IZR_le.
  assert (0 <= Int_part (b * E r))%Z.
  { assert (0 <= b * E r) by (apply Rmult_le_pos; [lra | apply P]).
    assert (-1 < Int_part (b * E r))%Z; [| lia]. apply lt_IZR. lra. }
  unfold clip. lia.
Qed.
End Noisy.
