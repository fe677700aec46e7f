(** The laws that Python draws from, held against those that are proved: equality of integers and fractions. *)
From Coq Require Import String Reals ZArith QArith Qreals Lia List Bool.
From Prdp Require Import Notion Laplace Concave Law Lawful Clip Sides Tiers Added Joint.
Import ListNotations.

Definition yes {A B : Prop} (d : {A} + {B}) : bool := if d then true else false.
Fixpoint same (L L' : law) : bool :=
  match L, L' with
  | Noisy vs ts, Noisy vs' ts' => yes (list_eq_dec Z.eq_dec vs vs') && yes (list_eq_dec Q_dec ts ts')
  | Shaped v p, Shaped v' p' => yes (Z.eq_dec v v') && yes (list_eq_dec piece_dec p p')
  | Scan ms ths t1 t2, Scan ms' ths' t1' t2' =>
      yes (list_eq_dec Z.eq_dec ms ms') && yes (list_eq_dec Z.eq_dec ths ths')
      && yes (Q_dec t1 t1') && yes (Q_dec t2 t2')
  | Exponential q m, Exponential q' m' => yes (list_eq_dec Q_dec q q') && yes (list_eq_dec Z.eq_dec m m')
  | Flip q, Flip q' => yes (list_eq_dec Q_dec q q')
  | Coin p l e, Coin p' l' e' => yes (Q_dec p p') && yes (Q_dec l l') && yes (Q_dec e e')
  | Symbol own k e, Symbol own' k' e' => yes (own_dec own own') && yes (Nat.eq_dec k k') && yes (Q_dec e e')
  | Then a r n f, Then a' r' n' f' =>
      same a a' && yes (rule_dec r r') && yes (Nat.eq_dec n n') && (0 <? n)%nat
      && forallb (fun j => same (f j) (f' j)) (seq 0 n)
  | _, _ => false
  end.

Lemma yes_is {A B : Prop} (d : {A} + {B}) : yes d = true -> A.
Proof. now destruct d. Qed.

(** Laws that are the same have the same chances: by induction, and at places that a rule can point to. *)
Theorem same_sound reads L L' : same L L' = true -> forall o, denote reads L o = denote reads L' o.
Proof.
  revert L'. induction L as [vs ts | v p | ms ths t1 t2 | q m | q | p l e | own k e | a IHa r n f IHf];
    intros [vs' ts' | v' p' | ms' ths' t1' t2' | q' m' | q' | p' l' e' | own' k' e' | a' r' n' f']; cbn [same];
    try easy;
    rewrite ?andb_true_iff; intros H.
  - destruct H as [A B]. apply yes_is in A, B. now subst.
  - destruct H as [A B]. apply yes_is in A, B. now subst.
  - destruct H as [[[A B] C] D]. apply yes_is in A, B, C, D. now subst.
  - destruct H as [A B]. apply yes_is in A, B. now subst.
  - apply yes_is in H. now subst.
  - destruct H as [[A B] C]. apply yes_is in A, B, C. now subst.
  - destruct H as [[A B] C]. apply yes_is in A, B, C. now subst.
  - destruct H as [[[[A B] C] N] F]. apply yes_is in B, C. subst. apply Nat.ltb_lt in N. rewrite forallb_forall in F.
    intros [ys | j | x y]; cbn [denote]; try reflexivity. rewrite (IHa a' A x). f_equal.
    assert (place reads r' n' x < n')%nat by (unfold place; lia). apply IHf, F, in_seq. lia.
Qed.

Definition lt0 (x : Q) : bool := negb (Qle_bool x 0).
Definition sound_tuningb (P : public) (t : tuning) : bool :=
  Qle_bool 0 (choosing t) && lt0 (answering t) && Qle_bool (gate P + choosing t + answering t + tail_part P) 1
  && (0 <? width t)%Z && forallb lt0 (points t) && negb (length (points t) =? 0)%nat.
Definition sound_tailb (P : public) : bool := match tail P with None => true | Some (a, l) => lt0 a && (0 <? l)%Z end.
Definition sound_publicb (P : public) : bool :=
  lt0 (share P) && lt0 (quantum P) && lt0 (gate P) && (0 <? lattice P)%Z && forallb (sound_tuningb P) (tunings P)
  && (length (tunings P) =? S (length (least P)))%nat && sound_tailb P.

Lemma lt0_sound x : lt0 x = true -> (0 < x)%Q.
Proof.
  unfold lt0. intros H. apply Qnot_le_lt. rewrite <- Qle_bool_iff. intros E. now rewrite E in H.
Qed.

(** Public facts that pass the test are sound in the sense of Clip.v. *)
Theorem sound_publicb_sound P : sound_publicb P = true -> sound_public P.
Proof.
  unfold sound_publicb. rewrite !andb_true_iff, forallb_forall. intros ((((((S & Q) & G) & L) & T) & C) & Ta).
  assert (sound_tail P) as ST.
  { unfold sound_tailb, sound_tail in *. destruct (tail P) as [[a l] |]; auto.
    apply andb_true_iff in Ta. destruct Ta as [A B]. split; [now apply lt0_sound | now apply Z.ltb_lt]. }
  repeat split; auto using lt0_sound; [now apply Z.ltb_lt | | now apply Nat.eqb_eq].
  apply Forall_forall. intros t I. specialize (T t I). unfold sound_tuningb in T.
  rewrite !andb_true_iff, forallb_forall in T. destruct T as (((((Ch & A) & U) & W) & F) & NE).
  repeat split; auto using lt0_sound; try now apply Qle_bool_iff.
  - now apply Z.ltb_lt.
  - apply Forall_forall. auto using lt0_sound.
  - now destruct (points t).
Qed.

Definition okb (r : row) : bool :=
  (0 <=? quanta r)%Z && (0 <=? low r)%Z && (Z.abs (sign r) <=? 1)%Z && (Z.abs (value r) <=? high r)%Z.

Lemma okb_sound r : okb r = true -> ok r.
Proof. unfold okb, ok. rewrite !andb_true_iff, !Z.leb_le. tauto. Qed.

(** One table of Python's: public facts and records are sound, and its law is the one that is proved. *)
Definition agrees_clip (P : public) (D : list row) (L : law) : bool :=
  sound_publicb P && forallb okb D && same L (clip_law P D).
Definition agrees_sides (P : public) (pick : rule) (D : list row) (L : law) : bool :=
  sound_publicb P && forallb okb D && same L (sides_law P pick D).
Definition agrees_tiers (s q : Q) (bs : list Q) (D : list row) (L : law) : bool :=
  lt0 s && lt0 q && forallb lt0 bs && forallb okb D && same L (tiers_law s q bs D).
Definition agrees_following (s q at_ : Q) (D : list row) (L : law) : bool :=
  lt0 s && lt0 q && lt0 at_ && forallb okb D && same L (following_law s q at_ D).


(** Public functions of a record, as lists: the caps and places of what is in them, 0 for anything else. *)
Fixpoint cap_of (caps : list (Z * Z)) (r : row) : Z :=
  match caps with [] => 0%Z | (k, cap) :: rest => if (k =? quanta r)%Z then cap else cap_of rest r end.
Fixpoint place_of (places : list (Z * Z * Z * nat)) (r : row) : nat :=
  match places with
  | [] => 0%nat
  | (a, b, c, j) :: rest => if ((a =? low r) && (b =? high r) && (c =? sign r))%Z then j else place_of rest r
  end.
Definition domain_of (ends : list Z) (k : Z) : nat := pred (length (filter (fun e => (e <=? k)%Z) ends)).

Definition agrees_naive (s q : Q) (largest least : Z) (D : list row) (L : law) : bool :=
  lt0 s && lt0 q && (0 <? largest)%Z && (0 <? least)%Z && forallb (fun r => okb r && (least <=? quanta r)%Z) D
  && formed L && same L (naive_law s q largest least D).
Definition agrees_partition (s q : Q) (ends : list Z) (influences : list Q) (D : list row) (L : law) : bool :=
  lt0 s && lt0 q && forallb lt0 influences && forallb okb D
  && formed L && same L (partition_law s q (domain_of ends) influences D).
Definition agrees_additive (s q : Q) (pieces : shape) (caps : list (Z * Z)) (D : list row) (L : law) : bool :=
  concave pieces
  && forallb (fun r => okb r && (0 <=? cap_of caps r)%Z
       && Qle_bool (height pieces (cap_of caps r)) (s * (inject_Z (quanta r) * q))) D
  && formed L && same L (additive_law pieces (cap_of caps) D).
Definition agrees_choice (s q fine : Q) (places : list (Z * Z * Z * nat)) (eighths : list nat) (climbs : list Q)
  (windows : list (list nat * list Q)) (D : list row) (L : law) : bool :=
  lt0 s && lt0 q && Qle_bool 0 fine && Qle_bool fine 1 && negb (length windows =? 0)%nat && forallb okb D
  && formed L && same L (choice_law s q fine (place_of places) eighths climbs windows D).

Definition agrees_warm_clip (s q choosing answering beyond : Q) (bs climbs : list Q) (l : Z) (octaves : list Q)
  (signed : bool) (D : list row) (L : law) : bool :=
  lt0 s && lt0 q && Qle_bool 0 choosing && lt0 answering && lt0 beyond
  && Qle_bool (choosing + answering + beyond) 1 && forallb lt0 bs && negb (length bs =? 0)%nat && (0 <? l)%Z
  && forallb lt0 octaves && forallb okb D && formed L
  && same L (warm_clip_law s q choosing answering beyond bs climbs l octaves signed D).
Definition agrees_joint (P : public) (largest : Z) (groups : nat) (D : list privacy_unit) (L : law) : bool :=
  sound_publicb P && (0 <=? largest)%Z && forallb (fun u => okb (whole_of u)) D
  && formed L && same L (joint_law P largest groups D).

Lemma adds_in {A} (r : A) D D' : adds r D D' -> In r D'.
Proof. intros (l & m & _ & ->). apply in_or_app. right. now left. Qed.

Lemma adds_ok r D D' : adds r D D' -> forallb okb D' = true -> ok r.
Proof.
  intros (l & m & _ & ->) H. rewrite forallb_forall in H. apply okb_sound, H, in_or_app. right. now left.
Qed.

Lemma tied {Y} e (f f' g g' : Y -> R) :
  (forall y, f y = g y) -> (forall y, f' y = g' y) -> within e g g' -> within e f f'.
Proof. intros A B W y. rewrite A, B. apply W. Qed.

(** So Python's own laws, of two tables that agree, keep the promise: they have the chances of [clip_private]. *)
Theorem clip_tied reads P r D D' L L' : adds r D D' -> agrees_clip P D L = true -> agrees_clip P D' L' = true ->
  within (Q2R (share P * budget P r)) (denote reads L) (denote reads L').
Proof.
  unfold agrees_clip. rewrite !andb_true_iff. intros N [[S _] A] [[_ O] B].
  apply (tied _ _ _ (denote reads (clip_law P D)) (denote reads (clip_law P D'))); auto using same_sound.
  apply clip_private; auto using sound_publicb_sound. now apply (adds_ok r D D').
Qed.

(** The same of sums of both signs. *)
Theorem sides_tied reads P pick r D D' L L' : adds r D D' ->
  agrees_sides P pick D L = true -> agrees_sides P pick D' L' = true ->
  within (Q2R (share P * budget P r)) (denote reads L) (denote reads L').
Proof.
  unfold agrees_sides. rewrite !andb_true_iff. intros N [[S _] A] [[_ O] B].
  apply (tied _ _ _ (denote reads (sides_law P pick D)) (denote reads (sides_law P pick D'))); auto using same_sound.
  apply sides_private; auto using sound_publicb_sound. now apply (adds_ok r D D').
Qed.

(** The same of tiers. *)
Theorem tiers_tied reads s q bs r D D' L L' : adds r D D' ->
  agrees_tiers s q bs D L = true -> agrees_tiers s q bs D' L' = true ->
  within (Q2R (s * (inject_Z (quanta r) * q))) (denote reads L) (denote reads L').
Proof.
  unfold agrees_tiers. rewrite !andb_true_iff, !forallb_forall. intros N [[[[S Q] P] _] A] [[_ O] B].
  apply (tied _ _ _ (denote reads (tiers_law s q bs D)) (denote reads (tiers_law s q bs D'))); auto using same_sound.
  apply tiers_private; auto using lt0_sound.
  - apply Forall_forall. auto using lt0_sound.
  - apply (adds_ok r D D' N). now apply forallb_forall.
Qed.

(** The same of totals that follow others. *)
Theorem following_tied reads s q at_ r D D' L L' : adds r D D' ->
  agrees_following s q at_ D L = true -> agrees_following s q at_ D' L' = true ->
  within (Q2R (s * (inject_Z (quanta r) * q))) (denote reads L) (denote reads L').
Proof.
  unfold agrees_following. rewrite !andb_true_iff. intros N [[[[S Q] P] _] A] [[_ O] B].
  apply (tied _ _ _ (denote reads (following_law s q at_ D)) (denote reads (following_law s q at_ D')));
    auto using same_sound.
  apply following_private; auto using lt0_sound. now apply (adds_ok r D D').
Qed.

(** The same of [naive]. *)
Theorem naive_tied reads s q largest least r D D' L L' : adds r D D' ->
  agrees_naive s q largest least D L = true -> agrees_naive s q largest least D' L' = true ->
  within (Q2R (s * (inject_Z (quanta r) * q))) (denote reads L) (denote reads L').
Proof.
  unfold agrees_naive. rewrite !andb_true_iff, !forallb_forall. intros N [[[[[[S Q] B] M] _] _] A] [[[_ O] _] A'].
  apply (tied _ _ _ (denote reads (naive_law s q largest least D)) (denote reads (naive_law s q largest least D')));
    auto using same_sound.
  specialize (O r (adds_in r D D' N)). apply andb_true_iff in O. destruct O as [O K].
  apply Z.ltb_lt in B, M. apply Z.leb_le in K. apply naive_private; auto using lt0_sound, okb_sound.
Qed.

(** The same of [partition]. *)
Theorem partition_tied reads s q ends influences r D D' L L' : adds r D D' ->
  agrees_partition s q ends influences D L = true -> agrees_partition s q ends influences D' L' = true ->
  within (Q2R (s * (inject_Z (quanta r) * q))) (denote reads L) (denote reads L').
Proof.
  unfold agrees_partition. rewrite !andb_true_iff, !forallb_forall.
  intros N [[[[[S Q] I] _] _] A] [[[_ O] _] A'].
  apply (tied _ _ _ (denote reads (partition_law s q (domain_of ends) influences D))
    (denote reads (partition_law s q (domain_of ends) influences D'))); auto using same_sound.
  apply partition_private; auto using lt0_sound.
  - apply Forall_forall. auto using lt0_sound.
  - apply okb_sound, O, (adds_in r D D' N).
Qed.

(** The same of [additive]. *)
Theorem additive_tied reads s q pieces caps r D D' L L' : adds r D D' ->
  agrees_additive s q pieces caps D L = true -> agrees_additive s q pieces caps D' L' = true ->
  within (Q2R (s * (inject_Z (quanta r) * q))) (denote reads L) (denote reads L').
Proof.
  unfold agrees_additive. rewrite !andb_true_iff, !forallb_forall. intros N [[[C _] _] A] [[[_ O] _] A'].
  apply (tied _ _ _ (denote reads (additive_law pieces (cap_of caps) D))
    (denote reads (additive_law pieces (cap_of caps) D'))); auto using same_sound.
  specialize (O r (adds_in r D D' N)). rewrite !andb_true_iff in O. destruct O as [[O M] H].
  apply additive_private; auto using okb_sound; [now apply Z.leb_le | now apply Qle_bool_iff].
Qed.

(** The same of [choice]. *)
Theorem choice_tied reads s q fine places eighths climbs windows r D D' L L' : adds r D D' ->
  agrees_choice s q fine places eighths climbs windows D L = true ->
  agrees_choice s q fine places eighths climbs windows D' L' = true ->
  within (Q2R (s * (inject_Z (quanta r) * q))) (denote reads L) (denote reads L').
Proof.
  unfold agrees_choice. rewrite !andb_true_iff, !forallb_forall.
  intros N [[[[[[[S Q] F0] F1] W] _] _] A] [[[_ O] _] A'].
  apply (tied _ _ _ (denote reads (choice_law s q fine (place_of places) eighths climbs windows D))
    (denote reads (choice_law s q fine (place_of places) eighths climbs windows D'))); auto using same_sound.
  apply choice_private; auto using lt0_sound.
  - split; now apply Qle_bool_iff.
  - now destruct windows.
  - apply okb_sound, O, (adds_in r D D' N).
Qed.

(** The same of [warm_clip]. *)
Theorem warm_clip_tied reads s q choosing answering beyond bs climbs l octaves signed r D D' L L' : adds r D D' ->
  agrees_warm_clip s q choosing answering beyond bs climbs l octaves signed D L = true ->
  agrees_warm_clip s q choosing answering beyond bs climbs l octaves signed D' L' = true ->
  within (Q2R (s * (inject_Z (quanta r) * q))) (denote reads L) (denote reads L').
Proof.
  unfold agrees_warm_clip. rewrite !andb_true_iff, !forallb_forall.
  intros N [[[[[[[[[[[[S Q] C] A] B] One] P] NE] LP] OC] _] _] Same] [[[_ O] _] Same'].
  apply (tied _ _ _ (denote reads (warm_clip_law s q choosing answering beyond bs climbs l octaves signed D))
    (denote reads (warm_clip_law s q choosing answering beyond bs climbs l octaves signed D'))); auto using same_sound.
  specialize (O r (adds_in r D D' N)).
  apply warm_clip_private; auto using lt0_sound, okb_sound; try now apply Qle_bool_iff.
  - apply Forall_forall. auto using lt0_sound.
  - now destruct bs.
  - now apply Z.ltb_lt.
  - apply Forall_forall. auto using lt0_sound.
Qed.

(** The same of units in several groups. *)
Theorem joint_tied reads P largest groups u D D' L L' : adds u D D' ->
  agrees_joint P largest groups D L = true -> agrees_joint P largest groups D' L' = true ->
  within (Q2R (share P * budget P (whole_of u))) (denote reads L) (denote reads L').
Proof.
  unfold agrees_joint. rewrite !andb_true_iff, !forallb_forall. intros N [[[[S M] _] _] A] [[[_ O] _] B].
  apply (tied _ _ _ (denote reads (joint_law P largest groups D)) (denote reads (joint_law P largest groups D')));
    auto using same_sound.
  apply joint_private; auto using sound_publicb_sound; [now apply Z.leb_le |].
  apply okb_sound, O, (adds_in u D D' N).
Qed.
