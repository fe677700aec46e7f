(** The laws of noise/laws.py, and those of local/protocols/randomisers.py, as data: their meaning, and a checker of the
    loss between two of them.
    Everything but [denote] is in integers and rationals, and computes. *)
From Coq Require Import String Reals Lra Lia ZArith QArith Qabs Qreals Qminmax List Psatz.
From Prdp Require Import Notion Compose Laplace Choice Exponential Concave Scan Local.
Import ListNotations.
Open Scope R_scope.

(** What is drawn: noisy integers, a place, or one thing and then another. *)
Inductive out := Ints (ks : list Z) | Place (j : nat) | Pair (x y : out).

(** Public rules from what was drawn to the place of the next law. [Code] is any other rule, by its text: nothing is
    known of it but that equal texts are equal rules. *)
Inductive rule := Always | Here | FirstReaching (tests : list (nat * Z)) | Code (text : string).

Inductive law :=
  | Noisy (values : list Z) (scales : list Q)
  | Shaped (value : Z) (noise : shape)
  | Scan (masses thresholds : list Z) (threshold_scale mass_scale : Q)
  | Exponential (penalties : list Q) (multiples : list Z)
  | Flip (penalties : list Q)
  | Coin (part lift made_for : Q)
  | Symbol (own : option nat) (size : nat) (made_for : Q)
  | Then (first : law) (by_rule : rule) (places : nat) (next : nat -> law).

(** Laws drawn independently of each other, and the law that draws nothing. *)
Definition Both (one other : law) : law := Then one Always 1 (fun _ => other).
Definition Nothing : law := Noisy [] [].
Definition Together (laws : list law) : law := fold_right Both Nothing laws.
Definition listed (laws : list law) (j : nat) : law := nth j laws Nothing.

Fixpoint first_reaching (tests : list (nat * Z)) (ks : list Z) : nat :=
  match tests with
  | [] => 0%nat
  | (which, least) :: rest => if (least <=? nth which ks 0)%Z then 0%nat else S (first_reaching rest ks)
  end.

Fixpoint gaps (masses thresholds : list Z) : list Z :=
  match masses, thresholds with
  | m :: (_ :: _) as rest, t :: thresholds => (t - m)%Z :: gaps rest thresholds
  | _, _ => []
  end.

Definition noise (t : Q) (k : Z) : R := if Qle_bool t 0 then 0 else laplace (Q2R t) k.

Fixpoint noisy_mass (vs : list Z) (ts : list Q) (ys : list Z) : R :=
  match vs, ts, ys with
  | [], [], [] => 1
  | v :: vs, t :: ts, y :: ys => noise t (y - v) * noisy_mass vs ts ys
  | _, _, _ => 0
  end.

(** A bit's part is a chance, and its lift at most what the coin is made for; a symbol is one of those there are. *)
Definition fair (p l e : Q) : bool := Qle_bool 0 p && Qle_bool p 1 && Qle_bool 0 l && Qle_bool l e.
Definition fits (own : option nat) (k : nat) (e : Q) : bool := Qle_bool 0 e && (0 <? k)%nat && among own k.

Section Meaning.
(** How rules that are known by their text alone read what was drawn: anyhow. *)
Variable reads : string -> out -> nat.

Definition points_to (r : rule) (o : out) : nat :=
  match r, o with
  | Here, Place j => j
  | FirstReaching tests, Ints ks => first_reaching tests ks
  | Code text, o => reads text o
  | _, _ => 0%nat
  end.
(** Of so many places. A place beyond the last counts as the last; the program refuses it. *)
Definition place (r : rule) (places : nat) (o : out) : nat := Nat.min (points_to r o) (pred places).

(** The chance of each output. *)
Fixpoint denote (L : law) (o : out) : R :=
  match L, o with
  | Noisy vs ts, Ints ys => noisy_mass vs ts ys
  | Shaped v pieces, Ints [y] => if concave pieces then shaped pieces (y - v) else 0
  | Scan ms ths t1 t2, Place j =>
      if Qle_bool t1 0 then 0 else if Qle_bool t2 0 then 0 else scan_mass (Q2R t1) (Q2R t2) (gaps ms ths) j
  | Exponential qs ms, Place j =>
      if forallb (Z.leb 0) ms then exponential (map IZR ms) (map Q2R qs) j else 0
  | Flip q, Place j => permute_and_flip (map Q2R q) j
  | Coin p l e, Place j => if fair p l e then coin (Q2R p) (Q2R l) (Q2R e) j else 0
  | Symbol own k e, Place j => if fits own k e then symbol own k (Q2R e) j else 0
  | Then a r n f, Pair x y => denote a x * denote (f (place r n x)) y
  | _, _ => 0
  end.

Lemma positive t : Qle_bool t 0 = false -> 0 < Q2R t.
Proof.
  intros H. replace 0 with (Q2R 0) by (unfold Q2R; simpl; lra). apply Qlt_Rlt.
  apply Qnot_le_lt. rewrite <- Qle_bool_iff, H. easy.
Qed.

Lemma noise_pos t k : 0 <= noise t k.
Proof.
  unfold noise. destruct (Qle_bool t 0) eqn:T; [lra |]. left. apply laplace_pos. now apply positive.
Qed.

Lemma noisy_mass_pos vs ts ys : 0 <= noisy_mass vs ts ys.
Proof.
  revert ts ys. induction vs as [| v vs IH]; intros [| t ts] [| y ys]; simpl; try lra.
  apply Rmult_le_pos; auto using noise_pos.
Qed.

Lemma multiples_pos ms : forallb (Z.leb 0) ms = true -> Forall (Rle 0) (map IZR ms).
Proof.
  rewrite forallb_forall. intros H. apply Forall_forall. intros x I. apply in_map_iff in I.
  destruct I as (m & <- & I). apply IZR_le. now apply Z.leb_le, H.
Qed.

Lemma Q2R_0 : Q2R 0 = 0.
Proof. unfold Q2R. simpl. lra. Qed.

Lemma Q2R_1 : Q2R 1 = 1.
Proof. unfold Q2R. simpl. lra. Qed.

Lemma fair_is p l e : fair p l e = true -> 0 <= Q2R p <= 1 /\ 0 <= Q2R l <= Q2R e.
Proof.
  unfold fair. rewrite !Bool.andb_true_iff, !Qle_bool_iff. intros [[[A B] C] D].
  apply Qle_Rle in A, B, C, D. rewrite Q2R_0, ?Q2R_1 in *. lra.
Qed.

Lemma fits_is own k e : fits own k e = true -> 0 <= Q2R e /\ (0 < k)%nat /\ among own k = true.
Proof.
  unfold fits. rewrite !Bool.andb_true_iff, Qle_bool_iff, Nat.ltb_lt. intros [[A B] C]. apply Qle_Rle in A.
  rewrite Q2R_0 in A. auto.
Qed.

Lemma denote_pos L o : 0 <= denote L o.
Proof.
  revert o. induction L as [vs ts | v pieces | ms ths t1 t2 | qs ms | q | p l e | own k e | a IHa r n f IHf];
    intros [ys | j | x y]; simpl; try lra.
  - apply noisy_mass_pos.
  - destruct ys as [| y [| z ys]]; try lra. destruct (concave pieces) eqn:C; [now apply shaped_pos | lra].
  - destruct (Qle_bool t1 0), (Qle_bool t2 0); try lra. apply mass_pos.
  - destruct (forallb (Z.leb 0) ms) eqn:M; [| lra]. now apply exponential_pos, multiples_pos.
  - apply permute_and_flip_pos.
  - destruct (fair p l e) eqn:F; [| lra]. apply fair_is in F. now apply coin_bounds.
  - destruct (fits own k e) eqn:F; [| lra]. apply fits_is in F. destruct F as (E & K & A).
    now apply (symbol_law own k (Q2R e)).
  - apply Rmult_le_pos; auto.
Qed.

(** What a bit loses against the dummy's: nothing if it tells nothing. *)
Definition told (p l : Q) : Q := if Qeq_bool p 0 then 0%Q else l.

(** The loss between two laws, in rationals; None where something differs that nothing hides. *)
Fixpoint noisy_loss (vs : list Z) (ts : list Q) (vs' : list Z) : option Q :=
  match vs, ts, vs' with
  | [], [], [] => Some 0%Q
  | v :: vs, t :: ts, v' :: vs' =>
      match noisy_loss vs ts vs' with
      | Some e => if Qle_bool t 0 then None else Some (Qred (inject_Z (Z.abs (v - v')) / t + e))%Q
      | None => None
      end
  | _, _, _ => None
  end.

(** Least and greatest move of the penalties. *)
Fixpoint moves (q q' : list Q) : option (Q * Q) :=
  match q, q' with
  | [x], [y] => Some (Qred (y - x), Qred (y - x))%Q
  | x :: q, y :: q' => match moves q q' with
                       | Some (lo, hi) => let d := Qred (y - x) in Some (Qmin d lo, Qmax d hi)%Q
                       | None => None
                       end
  | _, _ => None
  end.

(** By how much gaps rise and fall at most, none below zero. *)
Fixpoint swings (g g' : list Z) : option (Z * Z) :=
  match g, g' with
  | [], [] => Some (0, 0)%Z
  | x :: g, y :: g' => match swings g g' with
                       | Some (h, e) => Some (Z.max (y - x) h, Z.max (x - y) e)
                       | None => None
                       end
  | _, _ => None
  end.

Fixpoint worst (l : list (option Q)) : option Q :=
  match l with
  | [] => Some 0%Q
  | Some e :: l => match worst l with Some w => Some (Qmax e w) | None => None end
  | None :: _ => None
  end.

Definition Q_dec : forall x y : Q, {x = y} + {x <> y}.
Proof. decide equality; [apply Pos.eq_dec | apply Z.eq_dec]. Defined.
Definition test_dec : forall x y : nat * Z, {x = y} + {x <> y}.
Proof. decide equality; [apply Z.eq_dec | apply Nat.eq_dec]. Defined.
Definition piece_dec : forall x y : Z * Q, {x = y} + {x <> y}.
Proof. decide equality; [apply Q_dec | apply Z.eq_dec]. Defined.
Definition own_dec : forall x y : option nat, {x = y} + {x <> y}.
Proof. decide equality. apply Nat.eq_dec. Defined.
Definition rule_dec : forall x y : rule, {x = y} + {x <> y}.
Proof. decide equality; [apply (list_eq_dec test_dec) | apply string_dec]. Defined.

Fixpoint loss (L L' : law) : option Q :=
  match L, L' with
  | Noisy vs ts, Noisy vs' ts' => if list_eq_dec Q_dec ts ts' then noisy_loss vs ts vs' else None
  | Shaped v pieces, Shaped v' pieces' =>
      if list_eq_dec piece_dec pieces pieces' then
        if concave pieces then Some (Qred (height pieces (Z.abs (v - v')))) else None
      else None
  | Scan ms ths t1 t2, Scan ms' ths' t1' t2' =>
      if Q_dec t1 t1' then if Q_dec t2 t2' then if Qle_bool t1 0 then None else if Qle_bool t2 0 then None else
        match swings (gaps ms ths) (gaps ms' ths') with
        | Some (h, e) => Some (Qred (inject_Z (Z.max e h) / t1 + inject_Z (e + h) / t2))%Q
        | None => None
        end
      else None else None
  | Exponential qs ms, Exponential qs' ms' =>
      if list_eq_dec Z.eq_dec ms ms' then
        if forallb (Z.leb 0) ms then
          match moves qs qs' with Some (lo, hi) => Some (Qred (hi - lo))%Q | None => None end
        else None
      else None
  | Flip q, Flip q' => match moves q q' with Some (lo, hi) => Some (Qred (hi - lo))%Q | None => None end
  | Coin p l e, Coin p' l' e' =>
      if Q_dec e e' then if fair p l e && fair p' l' e' then Some (Qred (told p l + told p' l')) else None else None
  | Symbol own k e, Symbol own' k' e' =>
      if Q_dec e e' then if Nat.eq_dec k k' then if fits own k e && fits own' k' e' then
        Some (if own_dec own own' then 0%Q else e) else None else None else None
  | Then a r n f, Then a' r' n' f' =>
      if rule_dec r r' then if Nat.eq_dec n n' then if (n =? 0)%nat then None else
        match loss a a', worst (map (fun j => loss (f j) (f' j)) (seq 0 n)) with
        | Some x, Some y => Some (Qred (x + y))%Q
        | _, _ => None
        end else None else None
  | _, _ => None
  end.

Lemma Q2R_inject k : Q2R (inject_Z k) = IZR k.
Proof. unfold Q2R. simpl. field. Qed.

Lemma Q2R_red x : Q2R (Qred x) = Q2R x.
Proof. apply Qeq_eqR, Qred_correct. Qed.

Lemma Q2R_ratio k t : Qle_bool t 0 = false -> Q2R (inject_Z k / t) = IZR k / Q2R t.
Proof.
  intros T. pose proof (positive t T) as P.
  rewrite Q2R_div by (intros Z; apply Qeq_eqR in Z; rewrite Z in P; unfold Q2R in P; simpl in P; lra).
  now rewrite Q2R_inject.
Qed.

Lemma noise_within t v v' : Qle_bool t 0 = false ->
  within (Q2R (inject_Z (Z.abs (v - v')) / t)) (fun y => noise t (y - v)) (fun y => noise t (y - v')).
Proof.
  intros T y. pose proof (positive t T) as P. unfold noise. rewrite T, Q2R_ratio by assumption.
  split; [now apply shift |].
  replace (Z.abs (v - v')) with (Z.abs (v' - v)) by lia. now apply shift.
Qed.

Lemma noisy_within vs ts vs' e : noisy_loss vs ts vs' = Some e ->
  within (Q2R e) (noisy_mass vs ts) (noisy_mass vs' ts).
Proof.
  revert ts vs' e. induction vs as [| v vs IH]; intros [| t ts] [| v' vs'] e; cbn [noisy_loss]; try easy.
  - intros [= <-] y. replace (Q2R 0) with 0 by (unfold Q2R; simpl; lra). rewrite exp_0. lra.
  - destruct (noisy_loss vs ts vs') as [e0 |] eqn:E; [| easy].
    destruct (Qle_bool t 0) eqn:T; [easy |]. intros H [| y ys]; simpl; [lra |].
    assert (e = Qred (inject_Z (Z.abs (v - v')) / t + e0)) as -> by congruence.
    rewrite Q2R_red, Q2R_plus. destruct (IH ts vs' e0 E ys) as [A B]. destruct (noise_within t v v' T y) as [A' B'].
    split; apply product; auto using noise_pos, noisy_mass_pos.
Qed.

Lemma moves_sound q q' lo hi : moves q q' = Some (lo, hi) ->
  Q2R lo <= Q2R hi /\ Forall2 (move (Q2R lo) (Q2R hi)) (map Q2R q) (map Q2R q').
Proof.
  revert q' lo hi. induction q as [| x q IH]; intros [| y q'] lo hi; cbn [moves map]; try easy.
  { destruct q; easy. }
  assert (forall a b, moves q q' = Some (a, b) -> lo = Qmin (Qred (y - x)) a -> hi = Qmax (Qred (y - x)) b ->
    Q2R lo <= Q2R hi /\ Forall2 (move (Q2R lo) (Q2R hi)) (Q2R x :: map Q2R q) (Q2R y :: map Q2R q')) as Step.
  { intros a b M -> ->. destruct (IH q' a b M) as [L F].
    pose proof (Qle_Rle _ _ (Q.le_min_l (Qred (y - x)) a)). pose proof (Qle_Rle _ _ (Q.le_min_r (Qred (y - x)) a)).
    pose proof (Qle_Rle _ _ (Q.le_max_l (Qred (y - x)) b)). pose proof (Qle_Rle _ _ (Q.le_max_r (Qred (y - x)) b)).
    assert (Q2R (Qred (y - x)) = Q2R y - Q2R x) as E by (rewrite Q2R_red; apply Q2R_minus). rewrite E in *.
    split; [lra |]. constructor.
    - unfold move. lra.
    - revert F. generalize (map Q2R q) (map Q2R q'). intros k k' F.
      induction F as [| c d k k' [A B] F IHF]; constructor; auto. split; lra. }
  destruct q as [| x0 q], q' as [| y0 q']; intros H.
  - assert (lo = Qred (y - x) /\ hi = Qred (y - x)) as [-> ->] by (split; congruence).
    split; [lra |]. repeat constructor; rewrite Q2R_red, Q2R_minus; lra.
  - simpl in H. easy.
  - destruct q; simpl in H; easy.
  - destruct (moves (x0 :: q) (y0 :: q')) as [[a b] |] eqn:M; [| easy].
    assert (lo = Qmin (Qred (y - x)) a /\ hi = Qmax (Qred (y - x)) b) as [-> ->] by (split; congruence).
    now apply (Step a b).
Qed.

Lemma swings_sound g g' h e : swings g g' = Some (h, e) ->
  (0 <= h)%Z /\ (0 <= e)%Z /\ Forall2 (falls h e) g g'.
Proof.
  revert g' h e. induction g as [| x g IH]; intros [| y g'] h e; cbn [swings]; try easy.
  - intros [= <- <-]. repeat split; try lia. constructor.
  - destruct (swings g g') as [[h0 e0] |] eqn:S; [| easy]. intros [= <- <-].
    destruct (IH g' h0 e0 S) as (H & E & F). repeat split; try lia. constructor; [split; lia |].
    clear - F. induction F as [| a b g g' [A B] F IH]; constructor; auto. split; lia.
Qed.

Lemma worst_sound l w : worst l = Some w -> forall o, In o l -> exists e, o = Some e /\ Q2R e <= Q2R w.
Proof.
  revert w. induction l as [| [e |] l IH]; simpl; intros w H o I; try easy.
  destruct (worst l) as [w' |]; [| easy]. injection H as <-. destruct I as [<- | I].
  - exists e. split; auto. apply Qle_Rle, Q.le_max_l.
  - destruct (IH w' eq_refl o I) as (x & -> & L). exists x. split; auto.
    apply Rle_trans with (1 := L). apply Qle_Rle, Q.le_max_r.
Qed.

(** Lemma 1 for two steps of a law: whatever the first one draws, the next ones are close. *)
Lemma then_within a b first first' r n next next' : (0 < n)%nat ->
  within a (denote first) (denote first') ->
  (forall j, (j < n)%nat -> within b (denote (next j)) (denote (next' j))) ->
  within (a + b) (denote (Then first r n next)) (denote (Then first' r n next')).
Proof.
  intros N A B [ys | j | x y]; simpl; try lra.
  assert (place r n x < n)%nat as J by (unfold place; lia).
  destruct (A x) as [A1 A2], (B _ J y) as [B1 B2]. split; apply product; auto using denote_pos.
Qed.

(** A bit against the dummy's, by what it tells. *)
Lemma told_within p l e : fair p l e = true ->
  within (Q2R (told p l)) (coin (Q2R p) (Q2R l) (Q2R e)) (coin 0 0 (Q2R e)).
Proof.
  intros F. apply fair_is in F. destruct F as [P L]. unfold told. destruct (Qeq_bool p 0) eqn:Z.
  - apply Qeq_bool_iff, Qeq_eqR in Z. rewrite Z, Q2R_0.
    intros j. destruct j as [| [| j]]; simpl; rewrite ?exp_0, ?ones_dummy by lra; lra.
  - apply bit_private; lra.
Qed.

(** The checker is right: its answer bounds every log-ratio, both ways.
    By induction over the two laws: each kind of draw has its lemma, and the losses of steps add up (Lemma 1). *)
Theorem sound L L' e : loss L L' = Some e -> within (Q2R e) (denote L) (denote L').
Proof.
  revert L' e. induction L as [vs ts | v pieces | ms ths t1 t2 | qs ms | q | p l e0 | own k e0 | a IHa r n f IHf];
    intros [vs' ts' | v' pieces' | ms' ths' t1' t2' | qs' ms' | q' | p' l' e0' | own' k' e0' | a' r' n' f'] e;
    cbn [loss]; try easy.
  - destruct (list_eq_dec Q_dec ts ts') as [<- |]; [| easy]. intros H [ys | j | x y]; simpl; try lra.
    now apply noisy_within.
  - destruct (list_eq_dec piece_dec pieces pieces') as [<- |]; [| easy].
    destruct (concave pieces) eqn:C; [| easy]. intros H.
    assert (e = Qred (height pieces (Z.abs (v - v')))) as -> by congruence. rewrite Q2R_red.
    intros [[| y [| z ys]] | j | x y]; cbn [denote]; try lra. rewrite C. now apply shaped_within.
  - destruct (Q_dec t1 t1') as [<- |]; [| easy]. destruct (Q_dec t2 t2') as [<- |]; [| easy].
    destruct (Qle_bool t1 0) eqn:T1; [easy |]. destruct (Qle_bool t2 0) eqn:T2; [easy |].
    destruct (swings _ _) as [[h e0] |] eqn:S; [| easy]. intros H.
    assert (e = Qred (inject_Z (Z.max e0 h) / t1 + inject_Z (e0 + h) / t2)) as -> by congruence.
    rewrite Q2R_red, Q2R_plus, !Q2R_ratio by assumption. destruct (swings_sound _ _ _ _ S) as (HP & EP & F).
    intros [ys | j | x y]; cbn [denote]; try lra. rewrite T1, T2.
    apply (scan_mass_within (Q2R t1) (Q2R t2)); auto using positive.
  - destruct (list_eq_dec Z.eq_dec ms ms') as [<- |]; [| easy]. destruct (forallb (Z.leb 0) ms) eqn:M; [| easy].
    destruct (moves qs qs') as [[lo hi] |] eqn:V; [| easy]. intros H.
    assert (e = Qred (hi - lo)) as -> by congruence. rewrite Q2R_red, Q2R_minus.
    destruct (moves_sound qs qs' lo hi V) as [L F]. intros [ys | j | x y]; cbn [denote]; try lra. rewrite M.
    now apply exponential_choice, F; apply multiples_pos.
  - destruct (moves q q') as [[lo hi] |] eqn:M; [| easy]. intros H.
    assert (e = Qred (hi - lo)) as -> by congruence. rewrite Q2R_red, Q2R_minus.
    destruct (moves_sound q q' lo hi M) as [L F]. intros [ys | j | x y]; simpl; try lra.
    now apply choice.
  - destruct (Q_dec e0 e0') as [<- |]; [| easy]. destruct (fair p l e0) eqn:F; [| easy].
    destruct (fair p' l' e0) eqn:F'; [| easy]. cbn [andb]. intros H.
    assert (e = Qred (told p l + told p' l')) as -> by congruence. rewrite Q2R_red, Q2R_plus.
    intros [ys | j | x y]; cbn [denote]; try lra. rewrite F, F'.
    apply (within_both _ _ _ (coin 0 0 (Q2R e0))); try now apply told_within.
    + intros i. apply fair_is in F. now apply coin_bounds.
    + intros i. apply fair_is in F'. now apply coin_bounds.
  - destruct (Q_dec e0 e0') as [<- |]; [| easy]. destruct (Nat.eq_dec k k') as [<- |]; [| easy].
    destruct (fits own k e0) eqn:F; [| easy]. destruct (fits own' k e0) eqn:F'; [| easy]. cbn [andb]. intros H.
    intros [ys | j | x y]; cbn [denote]; try lra. rewrite F, F'.
    apply fits_is in F, F'. destruct F as (E & K & A), F' as (_ & _ & A').
    destruct (own_dec own own') as [<- |].
    + assert (e = 0%Q) as -> by congruence. rewrite Q2R_0, exp_0. lra.
    + assert (e = e0) as -> by congruence. now apply symbol_private.
  - destruct (rule_dec r r') as [<- |]; [| easy]. destruct (Nat.eq_dec n n') as [<- |]; [| easy].
    destruct (Nat.eqb_spec n 0) as [| N]; [easy |].
    destruct (loss a a') as [x |] eqn:X; [| easy]. destruct (worst _) as [w |] eqn:Wo; [| easy]. intros H.
    assert (e = Qred (x + w)) as -> by congruence. rewrite Q2R_red, Q2R_plus.
    apply then_within; [lia | now apply IHa |].
    intros j J. destruct (worst_sound _ _ Wo (loss (f j) (f' j))) as (z & Z & L).
    { apply in_map_iff. exists j. split; auto. apply in_seq. lia. }
    apply within_le with (Q2R z); auto using denote_pos.
Qed.
End Meaning.

(** The verdict over a pair of laws: the loss is at most what is promised. *)
Definition keeps (L L' : law) (promised : Q) : bool :=
  match loss L L' with Some e => Qle_bool e promised | None => false end.

(** A loss that is at most what is promised is within it: [sound] and a comparison of rationals. *)
Theorem keeps_sound reads L L' promised : keeps L L' promised = true ->
  within (Q2R promised) (denote reads L) (denote reads L').
Proof.
  unfold keeps. destruct (loss L L') as [e |] eqn:H; [| easy]. intros K. apply Qle_bool_iff in K.
  apply within_le with (Q2R e); auto using denote_pos, Qle_Rle. now apply sound.
Qed.
