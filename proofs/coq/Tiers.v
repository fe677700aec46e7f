(** Tiers (tiers.md, mechanisms/tiers.py): each span of possible ratios has its own total, point and noise. *)
From Coq Require Import String Reals Lra Lia ZArith QArith Qabs Qreals Qminmax List Psatz Lqa.
From Prdp Require Import Notion Compose Laplace Law Lawful Clip.
Import ListNotations.
Open Scope Q_scope.

(** The first tier whose point reaches a record's cell; the last one if there is none. *)
Fixpoint tier (points : list Q) (r : row) : nat :=
  match points with
  | b :: (_ :: _) as rest => if (high r <=? cap b r)%Z then 0%nat else S (tier rest r)
  | _ => 0%nat
  end.
Definition in_tier (points : list Q) (j : nat) (r : row) : Z :=
  if (tier points r =? j)%nat then clipped (nth j points 1) r else 0%Z.
Definition tiers_law (s q : Q) (points : list Q) (D : list row) : law :=
  Noisy (map (fun j => total (in_tier points j) D) (seq 0 (length points))) (map (fun b => Qred (b / q / s)) points).

(** Integers of which one moves, by no more than its noise hides. *)
Lemma noisy_all reads (vs vs' : list Z) ts es : Forall2 (fun v t => 0 < t) vs ts -> length vs = length vs' ->
  Forall2 (fun p et => inject_Z (Z.abs (fst p - snd p)) <= fst et * Qred (snd et) /\ 0 < snd et)
    (combine vs vs') (combine es ts) -> length es = length vs ->
  within (Q2R (fold_right Qplus 0 es)) (denote reads (Noisy vs (map Qred ts))) (denote reads (Noisy vs' (map Qred ts))).
Proof.
  intros T L F LE [ys | j | x y]; cbn [denote]; try Lra.lra. revert vs' es ys L F LE.
  induction T as [| v t vs ts P T IH]; intros [| v' vs'] [| e es] ys L F LE; cbn [length] in *; try lia;
    destruct ys as [| y ys]; cbn [map noisy_mass fold_right]; try Lra.lra.
  - rewrite Q2R_0, exp_0. Lra.lra.
  - cbn [combine] in F. inversion F as [| ? ? ? ? [A B] F']; subst. cbn [fst snd] in A, B.
    rewrite Q2R_plus. destruct (IH vs' es ys ltac:(lia) F' ltac:(lia)) as [I1 I2].
    assert (Qle_bool (Qred t) 0 = false) as TP by (apply above_0_is, scale_formed, P).
    assert (0 < Qred t) as TQ by (rewrite Qred_correct; assumption).
    pose proof (noise_within (Qred t) v v' TP y) as [N1 N2].
    assert (exp (Q2R (inject_Z (Z.abs (v - v')) / Qred t)) <= exp (Q2R e))%R as X.
    { apply exp_le, Qle_Rle. now apply Qle_shift_div_r. }
    pose proof (noise_pos (Qred t) (y - v)). pose proof (noise_pos (Qred t) (y - v')).
    split; apply product; auto using noise_pos, noisy_mass_pos; Lra.nra.
Qed.

Section Neighbours.
Variables (reads : string -> out -> nat) (s q : Q) (points : list Q) (r : row) (D D' : list row).
Hypothesis (s_pos : 0 < s) (q_pos : 0 < q) (points_pos : Forall (fun b => 0 < b) points).
Hypothesis r_ok : ok r.
Hypothesis N : adds r D D'.
Let e : Q := s * (inject_Z (quanta r) * q).

(** What each tier costs the record: its own tier all, any other nothing. *)
Definition cost (j : nat) : Q := if (tier points r =? j)%nat then e else 0.

Lemma costs_at_most a n : fold_right Qplus 0 (map cost (seq a n)) <= e.
Proof.
  assert (0 <= e) as E.
  { destruct r_ok as (K & _). unfold e. apply Qmult_le_0_compat; [lra |]. apply Qmult_le_0_compat; [| lra].
    now rewrite <- (Zle_Qle 0). }
  assert (forall n a, (tier points r < a)%nat -> fold_right Qplus 0 (map cost (seq a n)) == 0) as Zero.
  { intros m. induction m as [| m IH]; intros i L; cbn [seq map fold_right]; [reflexivity |].
    rewrite IH by lia. unfold cost. destruct (Nat.eqb_spec (tier points r) i); [lia | lra]. }
  revert a. induction n as [| n IH]; intros a; cbn [seq map fold_right]; [assumption |].
  unfold cost at 1. destruct (Nat.eqb_spec (tier points r) a) as [<- |].
  - rewrite Zero by lia. lra.
  - specialize (IH (Datatypes.S a)). lra.
Qed.

(** The theorem of tiers.md: a record is in one tier and moves that total by at most b times its budget, which noise
    of scale b / s hides; every other total is the same. *)
Theorem tiers_private :
  within (Q2R e) (denote reads (tiers_law s q points D)) (denote reads (tiers_law s q points D')).
Proof.
  unfold tiers_law. rewrite <- (map_map (fun b => b / q / s) Qred).
  apply within_le with (Q2R (fold_right Qplus 0 (map cost (seq 0 (length points))))); try apply denote_pos.
  { apply Qle_Rle, costs_at_most. }
  assert (forall j, (j < length points)%nat -> 0 < nth j points 1 / q / s) as Pos.
  { intros j J. rewrite Forall_forall in points_pos. pose proof (points_pos _ (nth_In points 1 J)).
    apply Qlt_shift_div_l; auto. rewrite Qmult_0_l. apply Qlt_shift_div_l; auto. lra. }
  apply noisy_all.
  - clear - Pos. assert (forall l a, (forall j, (j < length l)%nat -> 0 < nth j l 1 / q / s) ->
      Forall2 (fun (_ : Z) t => 0 < t) (map (fun j => total (in_tier points j) D) (seq a (length l)))
        (map (fun b => b / q / s) l)) as H; auto.
    induction l as [| b l IH]; intros a P; cbn [length seq map]; constructor.
    + apply (P 0%nat). cbn. lia.
    + apply IH. intros j J. apply (P (Datatypes.S j)). cbn. lia.
  - now rewrite !map_length.
  - assert (forall l a, (forall j, (j < length l)%nat ->
        0 < nth j l 1 / q / s /\ nth j l 1 = nth (a + j) points 1 /\ (a + j < length points)%nat) ->
      Forall2 (fun p et => inject_Z (Z.abs (fst p - snd p)) <= fst et * Qred (snd et) /\ 0 < snd et)
        (combine (map (fun j => total (in_tier points j) D) (seq a (length l)))
                 (map (fun j => total (in_tier points j) D') (seq a (length l))))
        (combine (map cost (seq a (length l))) (map (fun b => b / q / s) l))) as H.
    { induction l as [| b l IH]; intros a P; cbn [length seq map combine]; constructor.
      - cbn [fst snd]. destruct (P 0%nat ltac:(cbn; lia)) as (P0 & E & J). cbn in E.
        rewrite Nat.add_0_r in *. split; [| exact P0].
        rewrite (total_adds (in_tier points a) r D D' N).
        replace (total (in_tier points a) D - (total (in_tier points a) D + in_tier points a r))%Z
          with (- in_tier points a r)%Z by lia.
        rewrite Z.abs_opp. unfold in_tier, cost. destruct (tier points r =? a)%nat.
        + rewrite <- E. assert (0 < b) as PB
            by (rewrite Forall_forall in points_pos; rewrite E; now apply points_pos, nth_In).
          apply Qle_trans with (inject_Z (cap b r)).
          * rewrite <- Zle_Qle. now apply clipped_le_cap.
          * destruct (cap_bounds b r r_ok PB) as [_ C]. apply Qle_trans with (1 := C). rewrite Qred_correct. unfold e.
            setoid_replace (s * (inject_Z (quanta r) * q) * (b / q / s)) with (inject_Z (quanta r) * b)
              by (field; split; lra). lra.
        + change (inject_Z (Z.abs 0)) with 0. rewrite Qmult_0_l. lra.
      - apply IH. intros j J. destruct (P (Datatypes.S j) ltac:(cbn; lia)) as (P0 & E & K). cbn in P0, E.
        replace (Datatypes.S a + j)%nat with (a + Datatypes.S j)%nat by lia. auto. }
    apply H. intros j J. auto.
  - now rewrite !map_length.
Qed.
End Neighbours.

Lemma tiers_formed s q points D : 0 < s -> 0 < q -> Forall (fun b => 0 < b) points ->
  formed (tiers_law s q points D) = true.
Proof.
  intros S P B. unfold tiers_law. cbn [formed]. rewrite !map_length, seq_length, Nat.eqb_refl. cbn [andb].
  rewrite forallb_forall. intros t I. apply in_map_iff in I. destruct I as (b & <- & I).
  rewrite Forall_forall in B. apply scale_formed. apply Qlt_shift_div_l; auto. rewrite Qmult_0_l.
  apply Qlt_shift_div_l; auto. rewrite Qmult_0_l. auto.
Qed.

(** The same for every event. *)
Theorem tiers_events reads s q points r D D' : 0 < s -> 0 < q ->
  Forall (fun b => 0 < b) points -> ok r -> adds r D D' ->
  Notion.law (denote reads (tiers_law s q points D)) /\ Notion.law (denote reads (tiers_law s q points D')) /\
  forall A p p', prob (denote reads (tiers_law s q points D)) A p ->
  prob (denote reads (tiers_law s q points D')) A p' ->
  (p <= exp (Q2R (s * (inject_Z (quanta r) * q))) * p' /\ p' <= exp (Q2R (s * (inject_Z (quanta r) * q))) * p)%R.
Proof.
  intros S P B O N. pose proof (lawful reads _ (tiers_formed s q points D S P B)) as H.
  pose proof (lawful reads _ (tiers_formed s q points D' S P B)) as H'. split; [exact H | split; [exact H' |]].
  exact (proj1 (events _ _ _ H H') (tiers_private reads s q points r D D' S P B O N)).
Qed.
