(** Randomisers of the local model (local_bit.md, local_symbol.md, local_hashed.md; local/protocols/randomisers.py):
    a bit that lies, and one symbol out of several. The promise is against the dummy of a client with nothing to say. *)
From Coq Require Import Reals Lra Lia List Psatz.
From Prdp Require Import Notion Compose Total.
Import ListNotations.
Open Scope R_scope.

(** The dummy's chance of a 1, and that of a part p with a lift l. *)
Definition lie (e : R) : R := / (1 + exp e).
Definition ones (p l e : R) : R := Rmin (p + (1 - 2 * p) * lie e) (exp l * lie e).
Definition coin (p l e : R) (j : nat) : R := match j with O => 1 - ones p l e | S O => ones p l e | _ => 0 end.

Lemma lie_bounds e : 0 <= e -> 0 < lie e <= / 2.
Proof.
  intros E. pose proof (exp_ge_1 e E). unfold lie. split; [apply Rinv_0_lt_compat; lra |].
  apply Rinv_le_contravar; lra.
Qed.

Lemma lie_not e : 1 - lie e = exp e * lie e.
Proof. unfold lie. pose proof (exp_pos e). field. lra. Qed.

Lemma ones_bounds p l e : 0 <= p <= 1 -> 0 <= l <= e -> lie e <= ones p l e <= exp l * lie e.
Proof.
  intros P L. destruct (lie_bounds e) as [Q0 Q1]; [lra |]. pose proof (exp_ge_1 l (proj1 L)). unfold ones. split.
  - apply Rmin_glb; nra.
  - apply Rmin_r.
Qed.

Lemma ones_dummy l e : 0 <= l <= e -> ones 0 l e = lie e.
Proof.
  intros L. destruct (lie_bounds e) as [Q0 Q1]; [lra |]. pose proof (exp_ge_1 l (proj1 L)).
  unfold ones. rewrite Rmin_left; nra.
Qed.

Lemma coin_bounds p l e j : 0 <= p <= 1 -> 0 <= l <= e -> 0 <= coin p l e j <= 1.
Proof.
  intros P L. pose proof (ones_bounds p l e P L) as [A B]. destruct (lie_bounds e) as [Q0 Q1]; [lra |].
  assert (exp l * lie e <= 1) as U.
  { apply Rle_trans with (exp e * lie e); [apply Rmult_le_compat_r; [lra | apply exp_le; lra] |].
    rewrite <- lie_not. lra. }
  destruct j as [| [| j]]; simpl; lra.
Qed.

(** The theorem of local_bit.md: against the dummy's bit, a bit with lift l loses at most l.
    The chance of a 1 is between the dummy's and exp(l) times it; for a 0, with x = exp l <= y = exp e, what remains is
    (1 + y - x)/y >= 1/x, that is (x - 1)(y - x) >= 0. *)
Theorem bit_private p l l' e : 0 <= p <= 1 -> 0 <= l <= e -> 0 <= l' <= e ->
  within l (coin p l e) (coin 0 l' e).
Proof.
  intros P L L' j. pose proof (ones_bounds p l e P L) as [A B]. destruct (lie_bounds e) as [Q0 Q1]; [lra |].
  pose proof (exp_ge_1 l (proj1 L)) as X.
  destruct j as [| [| j]]; simpl; rewrite ?(ones_dummy l' e L'); try lra.
  - assert (exp l <= exp e) as Y by (apply exp_le; lra). pose proof (lie_not e) as N. split; [nra |].
    assert (exp l * (1 - exp l * lie e) <= exp l * (1 - ones p l e)) by (apply Rmult_le_compat_l; lra).
    assert (exp e * lie e <= exp l * (1 - exp l * lie e)); [| lra].
    assert (1 = lie e + exp e * lie e) as One by lra. rewrite One at 1.
    replace (exp l * (lie e + exp e * lie e - exp l * lie e))
      with (lie e * (exp l * (1 + exp e - exp l))) by ring.
    replace (exp e * lie e) with (lie e * exp e) by ring. apply Rmult_le_compat_l; [lra |]. nra.
  - split; [lra |]. assert (0 <= ones p l e) by lra. nra.
Qed.

Lemma within_both {Y} a b (f g h : Y -> R) : (forall y, 0 <= f y) -> (forall y, 0 <= h y) ->
  within a f g -> within b h g -> within (a + b) f h.
Proof.
  intros F H A B y. destruct (A y) as [A1 A2], (B y) as [B1 B2]. rewrite exp_plus.
  pose proof (exp_pos a). pose proof (exp_pos b). split.
  - apply Rle_trans with (1 := A1). rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
  - apply Rle_trans with (1 := B1). rewrite (Rmult_comm (exp a)), Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.

(** Finitely many outcomes whose chances add up to 1. *)
Lemma finite_law (f : nat -> R) n : (forall j, 0 <= f j) -> (forall j, (n <= j)%nat -> f j = 0) ->
  sum f (seq 0 n) = 1 -> law f.
Proof.
  intros P Z One.
  assert (forall k, sum f (seq 0 (k + n)) = 1) as All.
  { intros k. rewrite Nat.add_comm, seq_app, sum_app, One. simpl.
    assert (forall m s, (n <= s)%nat -> sum f (seq s m) = 0) as ->; [| lra | lia].
    induction m as [| m IH]; intros s S; cbn [seq sum]; auto. rewrite Z, IH by lia. lra. }
  apply law_by with (fun k => seq 0 (k + n)); auto.
  - intros k. apply seq_NoDup.
  - intros l. exists (S (fold_right Nat.max 0%nat l)). intros k I. apply in_seq. split; [lia |].
    assert (k <= fold_right Nat.max 0 l)%nat; [| lia].
    induction l as [| a l IH]; [easy |]. cbn [fold_right]. destruct I as [-> | I]; [lia |]. specialize (IH I). lia.
  - intros k. rewrite All. lra.
  - intros eps E. exists 0%nat. rewrite All. lra.
Qed.

(** The two chances of a bit add up to 1. *)
Theorem bit_law p l e : 0 <= p <= 1 -> 0 <= l <= e -> law (coin p l e).
Proof.
  intros P L. apply finite_law with 2%nat.
  - intros j. now apply coin_bounds.
  - intros [| [| j]] J; simpl; lia || reflexivity.
  - simpl. lra.
Qed.

(** One symbol of k: the own one with odds exp(e) to 1 against each other, any for a client that has none. *)
Definition odds (e : R) (own : option nat) (j : nat) : R :=
  match own with Some i => if (j =? i)%nat then exp e else 1 | None => 1 end.
Definition symbol (own : option nat) (k : nat) (e : R) (j : nat) : R :=
  if (j <? k)%nat then odds e own j / sum (odds e own) (seq 0 k) else 0.
Definition among (own : option nat) (k : nat) : bool := match own with Some i => (i <? k)%nat | None => true end.

Lemma odds_sum e own k : among own k = true ->
  sum (odds e own) (seq 0 k) = match own with Some _ => exp e + INR k - 1 | None => INR k end.
Proof.
  assert (forall s m, sum (fun _ => 1) (seq s m) = INR m) as Ones.
  { intros s m. revert s. induction m as [| m IH]; intros s; cbn [seq sum]; [reflexivity |]. rewrite IH, S_INR. lra. }
  destruct own as [i |]; cbn [among odds]; intros A.
  - apply Nat.ltb_lt in A.
    assert (forall m s, (i < s \/ s + m <= i)%nat ->
      sum (fun j => if (j =? i)%nat then exp e else 1) (seq s m) = INR m) as Others.
    { induction m as [| m IH]; intros s H; cbn [seq sum]; [reflexivity |].
      destruct (Nat.eqb_spec s i); [lia |]. rewrite IH, S_INR by lia. lra. }
    replace k with (i + S (k - S i))%nat by lia. rewrite seq_app, sum_app, Nat.add_0_l.
    change (odds e (Some i)) with (fun j => if (j =? i)%nat then exp e else 1). cbn [seq sum].
    rewrite Nat.eqb_refl, !Others by lia. rewrite plus_INR, S_INR. lra.
  - apply (Ones 0%nat k).
Qed.

Lemma odds_bounds e own j : 0 <= e -> 1 <= odds e own j <= exp e.
Proof.
  intros E. pose proof (exp_ge_1 e E). destruct own as [i |]; simpl; [destruct (j =? i)%nat |]; lra.
Qed.

(** Sums of odds: the smallest is k, the largest exp(e) + k - 1. *)
Lemma odds_sum_bounds e own k : 0 <= e -> (0 < k)%nat -> among own k = true ->
  1 <= INR k <= sum (odds e own) (seq 0 k) /\ sum (odds e own) (seq 0 k) <= exp e + INR k - 1.
Proof.
  intros E K A. pose proof (exp_ge_1 e E). assert (1 <= INR k) by (apply (le_INR 1); lia).
  rewrite odds_sum by assumption. destruct own; lra.
Qed.

(** The theorem of local_symbol.md: between any two own symbols, and one and none, the loss is at most e.
    The chances are exp(e)/(exp(e) + k - 1), 1/(exp(e) + k - 1) and 1/k, and the last lies between the others. *)
Theorem symbol_private own own' k e : 0 <= e -> (0 < k)%nat -> among own k = true -> among own' k = true ->
  within e (symbol own k e) (symbol own' k e).
Proof.
  intros E K.
  assert (forall o o' j, among o k = true -> among o' k = true -> symbol o k e j <= exp e * symbol o' k e j) as One.
  { intros o o' j A A'. unfold symbol. destruct (Nat.ltb_spec j k); [| lra].
    pose proof (odds_sum_bounds e o k E K A) as [[K1 B1] _]. pose proof (odds_sum_bounds e o' k E K A') as [[_ B2] _].
    pose proof (odds_bounds e o j E) as [O1 O2]. pose proof (odds_bounds e o' j E) as [P1 P2].
    pose proof (exp_ge_1 e E).
    apply Rmult_le_reg_r with (sum (odds e o) (seq 0 k)); [lra |].
    apply Rmult_le_reg_r with (sum (odds e o') (seq 0 k)); [lra |].
    unfold Rdiv. rewrite (Rmult_assoc (odds e o j)), Rinv_l, Rmult_1_r by lra.
    replace (exp e * (odds e o' j * / sum (odds e o') (seq 0 k)) * sum (odds e o) (seq 0 k) * sum (odds e o') (seq 0 k))
      with (exp e * odds e o' j * sum (odds e o) (seq 0 k) * (/ sum (odds e o') (seq 0 k) * sum (odds e o') (seq 0 k)))
      by ring.
    rewrite Rinv_l, Rmult_1_r by lra. rewrite !odds_sum in * by assumption.
    assert (forall a b s, a <= exp e -> 1 <= b -> 1 <= s -> a * s <= exp e * b * s) as Up
      by (intros a b s HA HB HS; apply Rmult_le_compat_r; [lra | nra]).
    assert (0 <= (exp e - 1) * (INR k - 1)) as Mid by (apply Rmult_le_pos; lra).
    destruct o as [i |], o' as [i' |].
    - apply Up; lra.
    - change (odds e None j) with 1. apply Rle_trans with (exp e * INR k); [apply Rmult_le_compat_r; lra |].
      rewrite Rmult_1_r. apply Rmult_le_compat_l; lra.
    - change (odds e None j) with 1. apply Rle_trans with (exp e * INR k); [lra |].
      apply Rmult_le_compat_r; [lra | nra].
    - apply Up; lra. }
  intros A A' j. split; now apply One.
Qed.

(** The chances of the symbols are odds over their sum, so they add up to 1. *)
Theorem symbol_law own k e : 0 <= e -> (0 < k)%nat -> among own k = true -> law (symbol own k e).
Proof.
  intros E K A. pose proof (odds_sum_bounds e own k E K A) as [[K1 B] _].
  apply finite_law with k.
  - intros j. unfold symbol. destruct (j <? k)%nat; [| lra]. pose proof (odds_bounds e own j E).
    apply Rmult_le_pos; [lra |]. left. apply Rinv_0_lt_compat. lra.
  - intros j J. unfold symbol. destruct (Nat.ltb_spec j k); [lia | reflexivity].
  - assert (forall l, (forall j, In j l -> (j < k)%nat) ->
      sum (symbol own k e) l = / sum (odds e own) (seq 0 k) * sum (odds e own) l) as ->.
    { induction l as [| j l IH]; intros I; cbn [sum]; [ring |]. rewrite IH by (intros; apply I; now right).
      unfold symbol at 1. destruct (Nat.ltb_spec j k) as [| N]; [unfold Rdiv; ring |].
      specialize (I j (or_introl eq_refl)). lia. }
    + apply Rinv_l. lra.
    + intros j I. apply in_seq in I. lia.
Qed.

(** The theorem of local_hashed.md: a function is drawn in the same way for all records, and then the symbol of the own
    value under it. Whatever the functions and however they are drawn, the function costs nothing and the symbol e. *)
Theorem hashed_private {F V} (function : F -> R) (hash : F -> V -> nat) (own own' : option V) k e :
  (forall f, 0 <= function f) -> 0 <= e -> (0 < k)%nat -> (forall f v, (hash f v < k)%nat) ->
  within e (fun p => function (fst p) * symbol (option_map (hash (fst p)) own) k e (snd p))
           (fun p => function (fst p) * symbol (option_map (hash (fst p)) own') k e (snd p)).
Proof.
  intros P E K H [f j]. simpl.
  assert (forall o, among (option_map (hash f) o) k = true) as A.
  { intros [v |]; simpl; [apply Nat.ltb_lt, H | reflexivity]. }
  destruct (symbol_private _ _ k e E K (A own) (A own') j) as [S1 S2]. specialize (P f).
  split; rewrite (Rmult_comm (exp e)), Rmult_assoc; apply Rmult_le_compat_l; auto; rewrite Rmult_comm; assumption.
Qed.
