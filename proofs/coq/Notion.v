(** The promise of lemmas.md: per-record privacy of discrete laws, by the chances of single outputs.
    A sum over any set of outputs is the least upper bound of its finite sums: nothing is enumerated. *)
From Coq Require Import Reals Lra List.
Import ListNotations.
Open Scope R_scope.

Lemma exp_le : forall x y, x <= y -> exp x <= exp y.
Proof. intros x y [H | H]; [left; now apply exp_increasing | right; now subst]. Qed.

Lemma exp_ge_1 : forall x, 0 <= x -> 1 <= exp x.
Proof. intros x H. rewrite <- exp_0. now apply exp_le. Qed.

Section Sums.
Context {Y : Type}.

Fixpoint sum (f : Y -> R) (l : list Y) : R :=
  match l with [] => 0 | y :: l => f y + sum f l end.

(** [prob f A p]: the sum of f over A is p. *)
Definition partial_sum (f : Y -> R) (A : Y -> Prop) (x : R) : Prop :=
  exists l, NoDup l /\ (forall y, In y l -> A y) /\ x = sum f l.
Definition prob (f : Y -> R) (A : Y -> Prop) (p : R) : Prop := is_lub (partial_sum f A) p.

(** Chances that are not negative and add up to 1. *)
Definition law (f : Y -> R) : Prop := (forall y, 0 <= f y) /\ prob f (fun _ => True) 1.

Lemma sum_le (c : R) (f g : Y -> R) (l : list Y) :
  (forall y, In y l -> f y <= c * g y) -> sum f l <= c * sum g l.
Proof.
  induction l as [| y l IH]; simpl; intros H.
  - lra.
  - pose proof (H y (or_introl eq_refl)).
    assert (sum f l <= c * sum g l) by (apply IH; intros; apply H; now right). lra.
Qed.

(** The one fact about infinite sums that privacy needs. *)
Lemma prob_le (c : R) (f g : Y -> R) (A : Y -> Prop) (p q : R) :
  0 <= c -> (forall y, A y -> f y <= c * g y) -> prob f A p -> prob g A q -> p <= c * q.
Proof.
  intros C H [_ P] [Q _]. apply P. intros x (l & N & I & ->).
  apply Rle_trans with (c * sum g l).
  - apply sum_le. auto.
  - apply Rmult_le_compat_l; auto. apply Q. exists l. auto.
Qed.

Lemma prob_point (f : Y -> R) (y : Y) : 0 <= f y -> prob f (fun z => z = y) (f y).
Proof.
  intros P. split.
  - intros x (l & N & I & ->). destruct l as [| a [| b l]]; simpl.
    + assumption.
    + rewrite (I a (or_introl eq_refl)). lra.
    + exfalso. inversion N as [| ? ? F _]. apply F.
      rewrite (I a (or_introl eq_refl)), <- (I b (or_intror (or_introl eq_refl))). now left.
  - intros b B. apply B. exists [y]. repeat split.
    + constructor; [easy | constructor].
    + intros z [-> | []]. reflexivity.
    + simpl. lra.
Qed.

(** Every event of a law has a probability. *)
Lemma prob_exists (f : Y -> R) (A : Y -> Prop) : law f -> exists p, prob f A p.
Proof.
  intros [_ [U _]].
  destruct (completeness (partial_sum f A)) as [p P].
  - exists 1. intros x (l & N & _ & ->). apply U. exists l. auto.
  - exists 0, []. repeat split; [constructor | easy].
  - now exists p.
Qed.

(** The sum of f over A as a number, for any f whose finite sums are at most c. *)
Definition upto (c : R) (f : Y -> R) (A : Y -> Prop) (x : R) : Prop := partial_sum f A x /\ x <= Rmax 0 c.

Lemma upto_bound c f A : bound (upto c f A).
Proof. exists (Rmax 0 c). now intros x [_ L]. Qed.

Lemma upto_some c f A : exists x, upto c f A x.
Proof.
  exists 0. split; [| apply Rmax_l]. exists []. repeat split; [constructor | easy].
Qed.

Definition mass (c : R) (f : Y -> R) (A : Y -> Prop) : R :=
  proj1_sig (completeness (upto c f A) (upto_bound c f A) (upto_some c f A)).

Lemma mass_is c f A : (forall x, partial_sum f A x -> x <= c) -> prob f A (mass c f A).
Proof.
  intros C. unfold mass. destruct (completeness _ _ _) as [m [U L]]. simpl. split.
  - intros x P. apply U. split; auto. apply Rle_trans with (1 := C x P). apply Rmax_r.
  - intros b B. apply L. intros x [P _]. now apply B.
Qed.

Lemma mass_pos c f A : 0 <= mass c f A.
Proof.
  unfold mass. destruct (completeness _ _ _) as [m [U L]]. simpl. apply U.
  split; [| apply Rmax_l]. exists []. repeat split; [constructor | easy].
Qed.
End Sums.

(** Two laws that differ by a factor of at most exp(e) at every output, both ways. *)
Definition within {Y : Type} (e : R) (f g : Y -> R) : Prop :=
  forall y, f y <= exp e * g y /\ g y <= exp e * f y.

Lemma within_sym {Y} e (f g : Y -> R) : within e f g -> within e g f.
Proof. intros W y. destruct (W y). auto. Qed.

Lemma within_refl {Y} e (f : Y -> R) : 0 <= e -> (forall y, 0 <= f y) -> within e f f.
Proof. intros P N y. pose proof (exp_ge_1 e P). specialize (N y). split; nra. Qed.

Lemma within_le {Y} e e' (f g : Y -> R) :
  (forall y, 0 <= f y) -> (forall y, 0 <= g y) -> e <= e' -> within e f g -> within e' f g.
Proof.
  intros F G L W y. destruct (W y) as [A B]. pose proof (exp_le _ _ L).
  specialize (F y). specialize (G y). split; nra.
Qed.

(** "It is enough to compare the probabilities of single outputs" (lemmas.md).
    A factor that bounds every term bounds every finite sum, and so the least upper bound; conversely a single output
    is an event. *)
Theorem events {Y} e (f g : Y -> R) : law f -> law g ->
  (within e f g <-> forall A p q, prob f A p -> prob g A q -> p <= exp e * q /\ q <= exp e * p).
Proof.
  intros [F _] [G _]. split.
  - intros W A p q P Q. pose proof (exp_pos e).
    split; [apply (prob_le _ f g A) | apply (prob_le _ g f A)]; auto; try lra; intros y _; apply W.
  - intros H y. apply (H (fun z => z = y)); apply prob_point; auto.
Qed.

(** Tables are lists of records; neighbours differ by one record, anywhere. *)
Definition adds {Rec : Type} (r : Rec) (D D' : list Rec) : Prop :=
  exists l m, D = l ++ m /\ D' = l ++ r :: m.

(** M is E-private: adding or removing r changes the chance of any output by a factor of at most exp(E r). *)
Definition private {Rec Y : Type} (E : Rec -> R) (M : list Rec -> Y -> R) : Prop :=
  forall r D D', adds r D D' -> within (E r) (M D) (M D').

(** Lemma 5: E-private for budgets that are rounded down is E-private for the true ones.
    A smaller exponent is a smaller factor, and chances are not negative. *)
Theorem rounding {Rec Y} (E E' : Rec -> R) (M : list Rec -> Y -> R) :
  (forall D y, 0 <= M D y) -> (forall r, E r <= E' r) -> private E M -> private E' M.
Proof. intros N L P r D D' H. apply within_le with (E r); auto. Qed.

(** Post-processing, also randomised: K y z is the chance to turn y into z.
    The chance of z is a sum over y of what M gives y times K, and the factor that bounds each term bounds the sum. *)
Theorem post_processing {Rec Y Z} (E : Rec -> R) (M : list Rec -> Y -> R) (K : Y -> Z -> R)
  (N : list Rec -> Z -> R) :
  (forall y z, 0 <= K y z) ->
  (forall D z, prob (fun y => M D y * K y z) (fun _ => True) (N D z)) ->
  private E M -> private E N.
Proof.
  intros KP NP P r D D' H z. specialize (P r D D' H). pose proof (exp_pos (E r)).
  split; [apply (prob_le _ (fun y => M D y * K y z) (fun y => M D' y * K y z) (fun _ => True))
         | apply (prob_le _ (fun y => M D' y * K y z) (fun y => M D y * K y z) (fun _ => True))];
    auto; try lra; intros y _; destruct (P y) as [A B]; specialize (KP y z); nra.
Qed.
