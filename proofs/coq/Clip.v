(** Proportional clipping (point.md, clip.md, mechanisms/clip.py) as it runs: gate, choice of a point with tunings and
    fences, clipped total; all in integers and rationals. *)
From Coq Require Import String Reals Lra Lia ZArith QArith Qround Qabs Qreals Qminmax List Psatz Lqa.
From Prdp Require Import Notion Compose Laplace Choice Law Lawful.
Import ListNotations.
Open Scope Q_scope.

Section Any.
Context {Rec : Type}.
Variables (reads : string -> out -> nat) (r : Rec) (D D' : list Rec).
Hypothesis N : adds r D D'.

(** Totals of what records add, each with its own noise. *)
Definition totals (cs : list (Rec -> Z)) (T : list Rec) : list Z := map (fun c => total c T) cs.
Fixpoint added (cs : list (Rec -> Z)) (ts : list Q) : Q :=
  match cs, ts with c :: cs, t :: ts => inject_Z (Z.abs (c r)) / t + added cs ts | _, _ => 0 end.

(** Noisy totals cost a record what it adds to each of them, over that total's noise, all together.
    Each total moves by what the record adds, and the factors of independent noises multiply (Lemmas 1 and 3). *)
Theorem totals_private cs ts : length cs = length ts -> Forall (fun t => 0 < t) ts ->
  within (Q2R (added cs ts)) (denote reads (Noisy (totals cs D) ts)) (denote reads (Noisy (totals cs D') ts)).
Proof.
  intros L T.
  assert (exists e, noisy_loss (totals cs D) ts (totals cs D') = Some e /\ e == added cs ts) as (e & E & Same).
  { revert ts L T. induction cs as [| c cs IH]; intros [| t ts] L T; cbn [length] in L; try lia.
    - exists 0. split; reflexivity.
    - inversion T as [| ? ? T1 T2]; subst. destruct (IH ts ltac:(lia) T2) as (e & E & Same).
      assert (Qle_bool t 0 = false) as B.
      { destruct (Qle_bool t 0) eqn:F; auto. apply Qle_bool_iff in F. lra. }
      exists (Qred (inject_Z (Z.abs (total c D - total c D')) / t + e)). split.
      + cbn [totals map noisy_loss]. unfold totals in E. now rewrite E, B.
      + rewrite Qred_correct, Same. cbn [added]. rewrite (total_adds c r D D' N).
        replace (Z.abs (total c D - (total c D + c r))) with (Z.abs (c r)) by lia. reflexivity. }
  rewrite <- (Qeq_eqR _ _ Same). apply sound. cbn [loss].
  destruct (list_eq_dec Q_dec ts ts); [exact E | easy].
Qed.
End Any.

Lemma added_app {Rec} (r : Rec) cs cs' ts ts' : length cs = length ts ->
  added r (cs ++ cs') (ts ++ ts') == added r cs ts + added r cs' ts'.
Proof.
  revert ts. induction cs as [| c cs IH]; intros [| t ts] L; cbn [length] in L; try lia; cbn [app added].
  - ring.
  - rewrite (IH ts) by lia. ring.
Qed.

(** A record as its cell shows it: budget in quanta, ends of the magnitude, sign, value in steps. *)
Record row := { quanta : Z; low : Z; high : Z; sign : Z; value : Z }.
Definition ok (r : row) : Prop :=
  (0 <= quanta r /\ 0 <= low r /\ Z.abs (sign r) <= 1 /\ Z.abs (value r) <= high r)%Z.

Record tuning := {
  choosing : Q; answering : Q;                    (* parts of the share *)
  points : list Q;                                (* steps per quantum, positive *)
  climbs : list Q;                                (* what each point costs besides *)
  fence : option (Z * Z * list nat)               (* mass asked for, times, points far enough below each *)
}.
Record public := {
  share : Q; quantum : Q; gate : Q; lattice : Z;
  least : list Z;                                 (* what the noisy mass must reach, for each tuning but the last *)
  tunings : list tuning;
  tail : option (Q * Z)                           (* part of the share for masses by octaves, and their lattice *)
}.

Definition cap (b : Q) (r : row) : Z := Qfloor (inject_Z (quanta r) * b).
Definition clipped (b : Q) (r : row) : Z :=
  if (high r <=? cap b r)%Z then value r else (sign r * Z.min (low r) (cap b r))%Z.
Definition mass (P : public) (r : row) : Z := if (high r =? 0)%Z then 0%Z else (quanta r / lattice P)%Z.
Definition mass_above (b : Q) (r : row) : Z := if (high r <=? cap b r)%Z then 0%Z else quanta r.

Definition clipped_total (b scale : Q) (D : list row) : law := Noisy [total (clipped b) D] [Qred scale].
(** Octaves below a point (tail.md): a record is in octave k where its cell's upper end is at most a 2^k-th of its cap,
    and no less than that an octave further. Masses by octaves are of those that are [here], below a point of theirs. *)
Definition inside (b : Q) (k : Z) (r : row) : bool :=
  ((0 <? high r) && (high r * 2 ^ k <=? cap b r) && (cap b r <? high r * 2 ^ (k + 1)))%Z.
Definition octaves : list Z := map Z.of_nat (seq 0 12).
Definition octave_mass (l : Z) (b : Q) (here : row -> bool) (k : Z) (r : row) : Z :=
  if here r && inside b k r then (quanta r / l)%Z else 0%Z.
Definition tails (P : public) (watched : Q * (row -> bool)) : list (row -> Z) :=
  match tail P with None => [] | Some (_, l) => map (octave_mass l (fst watched) (snd watched)) octaves end.
Definition tail_scales (P : public) : list Q :=
  match tail P with
  | None => []
  | Some (a, l) => map (fun _ => Qred (1 / (share P * (a * (quantum P * inject_Z l))))) octaves
  end.
Definition watching (P : public) (t : tuning) (watched : list (Q * (row -> bool))) (j : nat) (D : list row) : law :=
  let b := nth j (points t) 1 in
  Noisy (totals (clipped b :: flat_map (tails P) watched) D)
    (Qred (b / quantum P / (share P * answering t)) :: flat_map (fun _ => tail_scales P) watched).
Definition answer (P : public) (t : tuning) (D : list row) (j : nat) : law :=
  watching P t [(nth j (points t) 1, fun _ => true)] j D.
Definition clips (t : tuning) (D : list row) (j : nat) : Z := total (mass_above (nth j (points t) 1)) D.
Definition whole (r : row) : Z := if (high r =? 0)%Z then 0%Z else quanta r.
Definition lower (t : tuning) (D : list row) (i : nat) : Z :=
  match i with O => total whole D | S i => clips t D i end.
Definition charged (t : tuning) (D : list row) (j : nat) : Z :=
  match fence t with
  | None => clips t D j
  | Some (asked, times, places) => (times * clips t D j + Z.max 0 (asked - lower t D (nth j places O)))%Z
  end.
(** A record can lower what a point is charged by dip times its budget, and moves it within width times that. *)
Definition dip (t : tuning) : Z := match fence t with None => 0 | Some _ => 1 end.
Definition width (t : tuning) : Z := match fence t with None => 1 | Some (_, times, _) => times + 1 end.
Definition weight (P : public) (t : tuning) : Q := share P * choosing t * quantum P / inject_Z (width t).
Definition penalties (P : public) (t : tuning) (D : list row) : list Q :=
  map (fun j => Qred (weight P t * inject_Z (charged t D j) + nth j (climbs t) 0)) (seq 0 (length (points t))).
Definition no_tuning : tuning := {| choosing := 0; answering := 1; points := []; climbs := []; fence := None |}.
Definition rest (P : public) (D : list row) (which : nat) : law :=
  let t := nth which (tunings P) no_tuning in
  Then (Flip (penalties P t D)) Here (length (points t)) (answer P t D).
Definition clip_law (P : public) (D : list row) : law :=
  Then (Noisy [total (mass P) D] [Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))])
    (FirstReaching (map (pair 0%nat) (least P))) (length (tunings P)) (rest P D).

(** What is public is sound: parts of the share that add up to at most 1, positive scales, points to choose from, and
    a tuning for each test of the gate and one more. *)
Definition tail_part (P : public) : Q := match tail P with None => 0 | Some (a, _) => a end.
Definition sound_tail (P : public) : Prop := match tail P with None => True | Some (a, l) => 0 < a /\ (0 < l)%Z end.
Definition sound_tuning (P : public) (t : tuning) : Prop :=
  0 <= choosing t /\ 0 < answering t /\ gate P + choosing t + answering t + tail_part P <= 1 /\
  (0 < width t)%Z /\ Forall (fun b => 0 < b) (points t) /\ points t <> [].
Definition sound_public (P : public) : Prop :=
  0 < share P /\ 0 < quantum P /\ 0 < gate P /\ (0 < lattice P)%Z /\ Forall (sound_tuning P) (tunings P) /\
  length (tunings P) = S (length (least P)) /\ sound_tail P.

Definition budget (P : public) (r : row) : Q := inject_Z (quanta r) * quantum P.

Lemma cap_bounds b r : ok r -> 0 < b -> (0 <= cap b r)%Z /\ inject_Z (cap b r) <= inject_Z (quanta r) * b.
Proof.
  intros (N & _) B. unfold cap. split; [| apply Qfloor_le].
  replace 0%Z with (Qfloor 0) by reflexivity. apply Qfloor_resp_le.
  apply Qmult_le_0_compat; [| apply Qlt_le_weak, B]. now rewrite <- (Zle_Qle 0).
Qed.

Lemma clipped_le_cap b r : ok r -> 0 < b -> (Z.abs (clipped b r) <= cap b r)%Z.
Proof.
  intros O B. destruct (cap_bounds b r O B) as [C _]. destruct O as (N & L & S & V). unfold clipped.
  destruct (Z.leb_spec (high r) (cap b r)); [lia |]. rewrite Z.abs_mul.
  rewrite (Z.abs_eq (Z.min _ _)) by lia. nia.
Qed.

(** One noisy integer that moves by d with d / scale at most e. *)
Lemma noisy_one reads v v' t e : 0 < t -> inject_Z (Z.abs (v - v')) <= e * t ->
  within (Q2R e) (denote reads (Noisy [v] [Qred t])) (denote reads (Noisy [v'] [Qred t])).
Proof.
  intros T H.
  assert (Qle_bool (Qred t) 0 = false) as B.
  { destruct (Qle_bool (Qred t) 0) eqn:E; auto. apply Qle_bool_iff in E. rewrite Qred_correct in E. lra. }
  apply within_le with (Q2R (Qred (inject_Z (Z.abs (v - v')) / Qred t + 0))).
  - apply denote_pos.
  - apply denote_pos.
  - apply Qle_Rle. rewrite !Qred_correct, Qplus_0_r. now apply Qle_shift_div_r.
  - apply sound. cbn [loss noisy_loss]. rewrite B. destruct (list_eq_dec Q_dec [Qred t] [Qred t]); easy.
Qed.

(** One clipped total at a given point, f_b + Lap(b/s) of clip.md. A record counts up to the whole part of b times its
    budget, so it moves the total by no more, and Lemma 3 hides that. *)
Theorem clipped_total_private reads s q b r D D' : 0 < s -> 0 < q -> 0 < b -> ok r -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (clipped_total b (b / q / s) D)) (denote reads (clipped_total b (b / q / s) D')).
Proof.
  intros S Q B O N. apply noisy_one.
  - apply Qlt_shift_div_l; auto. rewrite Qmult_0_l. apply Qlt_shift_div_l; auto. lra.
  - rewrite (total_adds (clipped b) r D D' N).
    replace (total (clipped b) D - (total (clipped b) D + clipped b r))%Z with (- clipped b r)%Z by lia.
    rewrite Z.abs_opp.
    setoid_replace (s * (inject_Z (quanta r) * q) * (b / q / s)) with (inject_Z (quanta r) * b)
      by (field; split; lra).
    apply Qle_trans with (inject_Z (cap b r)).
    + rewrite <- Zle_Qle. now apply clipped_le_cap.
    + now apply cap_bounds.
Qed.

(** A total that is clipped where another one was; [at_] is the point for each unit of budget. *)
Definition following_law (s q at_ : Q) (D : list row) : law := clipped_total (at_ * q) (at_ / s) D.

(** The theorem of following.md: for every point, the total that is clipped there is private with its own share.
    Once it is drawn the point is a number like any other, so [clipped_total_private] applies. *)
Theorem following_private reads s q at_ r D D' : 0 < s -> 0 < q -> 0 < at_ -> ok r -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (following_law s q at_ D)) (denote reads (following_law s q at_ D')).
Proof.
  intros S Q A O N. pose proof (clipped_total_private reads s q (at_ * q) r D D' S Q ltac:(nra) O N) as H.
  unfold following_law, clipped_total in *.
  replace (Qred (at_ / s)) with (Qred (at_ * q / q / s)); auto.
  apply Qred_complete. field. split; lra.
Qed.

Section Neighbours.
Variables (reads : string -> out -> nat) (P : public) (r : row) (D D' : list row).
Hypothesis P_sound : sound_public P.
Hypothesis r_ok : ok r.
Hypothesis N : adds r D D'.

Lemma budget_pos : 0 <= budget P r.
Proof.
  destruct P_sound as (_ & Q & _), r_ok as (K & _). apply Qmult_le_0_compat; [| lra].
  now rewrite <- (Zle_Qle 0).
Qed.

Lemma moved c : (Z.abs (total c D - total c D') = Z.abs (c r))%Z.
Proof. rewrite (total_adds c r D D' N). lia. Qed.

Lemma gate_within :
  within (Q2R (share P * gate P * budget P r))
    (denote reads (Noisy [total (mass P) D] [Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))]))
    (denote reads (Noisy [total (mass P) D'] [Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))])).
Proof.
  destruct P_sound as (S & Q & G & L & _). destruct r_ok as (K & _).
  assert (0 < inject_Z (lattice P)) as LQ by now rewrite <- (Zlt_Qlt 0).
  assert (0 < share P * gate P * quantum P * inject_Z (lattice P)) as A
    by (repeat apply Qmult_lt_0_compat; assumption).
  apply noisy_one.
  - apply Qlt_shift_div_l; lra.
  - rewrite moved. unfold budget.
    setoid_replace (share P * gate P * (inject_Z (quanta r) * quantum P) *
      (1 / (share P * gate P * quantum P * inject_Z (lattice P)))) with (inject_Z (quanta r) / inject_Z (lattice P)).
    2: { field. repeat split; lra. }
    apply Qle_shift_div_l; auto. rewrite <- inject_Z_mult, <- Zle_Qle.
    unfold mass. destruct (high r =? 0)%Z; [simpl; lia |].
    pose proof (Z.div_pos (quanta r) (lattice P) K L). rewrite Z.abs_eq by assumption.
    rewrite Z.mul_comm. now apply Z.mul_div_le.
Qed.

Lemma tail_part_pos : 0 <= tail_part P.
Proof.
  destruct P_sound as (_ & _ & _ & _ & _ & _ & T). unfold tail_part, sound_tail in *.
  destruct (tail P) as [[a l] |]; [destruct T; lra | lra].
Qed.

Lemma inside_once b k k' : (0 <= k)%Z -> (0 <= k')%Z -> inside b k r = true -> inside b k' r = true -> k = k'.
Proof.
  assert (forall k k', (0 <= k)%Z -> (0 <= k')%Z -> inside b k r = true -> inside b k' r = true -> ~ (k < k')%Z) as H.
  { intros i i' I I'. unfold inside. rewrite !Bool.andb_true_iff, !Z.leb_le, !Z.ltb_lt.
    intros [[A B] C] [[A' B'] C'] L.
    assert (2 ^ (i + 1) <= 2 ^ i')%Z by (apply Z.pow_le_mono_r; lia). nia. }
  intros K K' I I'. pose proof (H k k' K K' I I'). pose proof (H k' k K' K I' I). lia.
Qed.

Lemma octaves_cost a l b here ks : 0 < a -> (0 < l)%Z -> NoDup ks -> Forall (Z.le 0) ks ->
  added r (map (octave_mass l b here) ks) (map (fun _ => Qred (1 / (share P * (a * (quantum P * inject_Z l))))) ks)
  <= if here r && existsb (fun k => inside b k r) ks then share P * a * budget P r else 0.
Proof.
  intros A L U F. destruct P_sound as (S & Q & _). destruct r_ok as (K & _).
  assert (0 < inject_Z l) as LQ by now rewrite <- (Zlt_Qlt 0).
  assert (0 < share P * (a * (quantum P * inject_Z l))) as T by (repeat apply Qmult_lt_0_compat; assumption).
  set (t := Qred _). assert (t == 1 / (share P * (a * (quantum P * inject_Z l)))) as TE
    by (unfold t; apply Qred_correct).
  assert (0 < t) as TP by (rewrite TE; apply Qlt_shift_div_l; lra).
  assert (inject_Z (quanta r / l) / t <= share P * a * budget P r) as One.
  { apply Qle_shift_div_r; auto. rewrite TE. unfold budget.
    setoid_replace (share P * a * (inject_Z (quanta r) * quantum P) * (1 / (share P * (a * (quantum P * inject_Z l)))))
      with (inject_Z (quanta r) / inject_Z l) by (field; repeat split; lra).
    apply Qle_shift_div_l; auto. rewrite <- inject_Z_mult, <- Zle_Qle, Z.mul_comm. now apply Z.mul_div_le. }
  assert (forall z, inject_Z (Z.abs 0) / t + z == z) as Zero.
  { intros z. change (inject_Z (Z.abs 0)) with 0. field. lra. }
  pose proof (Z.div_pos (quanta r) l K L) as DP.
  assert (forall ks, Forall (Z.le 0) ks -> (forall k, In k ks -> inside b k r = false) ->
    added r (map (octave_mass l b here) ks) (map (fun _ => t) ks) == 0) as None'.
  { intros ks' _ H. induction ks' as [| k ks' IH]; cbn [map added]; [reflexivity |].
    unfold octave_mass at 1. rewrite (H k) by now left. rewrite Bool.andb_false_r, Zero. apply IH.
    intros i I. apply H. now right. }
  induction U as [| k ks NI U IH]; cbn [map added existsb].
  { rewrite Bool.andb_false_r. lra. }
  inversion F as [| ? ? F1 F2]; subst. unfold octave_mass at 1.
  destruct (here r); cbn [andb]; [| rewrite Zero; apply (IH F2)].
  destruct (inside b k r) eqn:I; cbn [orb].
  - rewrite None'; auto.
    + rewrite (Z.abs_eq _ DP). lra.
    + intros i In_. destruct (inside b i r) eqn:J; auto. exfalso. apply NI.
      rewrite (inside_once b k i); auto. rewrite Forall_forall in F2. now apply F2.
  - rewrite Zero. apply (IH F2).
Qed.

Lemma octaves_are : NoDup octaves /\ Forall (Z.le 0) octaves.
Proof.
  unfold octaves. split.
  - apply FinFun.Injective_map_NoDup; [intros x y; apply Nat2Z.inj | apply seq_NoDup].
  - apply Forall_forall. intros k I. apply in_map_iff in I. destruct I as (n & <- & _). lia.
Qed.

Lemma tails_cost watched :
  added r (tails P watched) (tail_scales P) <= if snd watched r then share P * tail_part P * budget P r else 0.
Proof.
  pose proof budget_pos as BP. pose proof tail_part_pos as TP. destruct P_sound as (S & _ & _ & _ & _ & _ & ST).
  unfold tails, tail_scales, tail_part, sound_tail in *.
  assert (0 <= share P * match tail P with None => 0 | Some (a, _) => a end * budget P r) as Pos
    by (apply Qmult_le_0_compat; [apply Qmult_le_0_compat; [lra | exact TP] | exact BP]).
  destruct (tail P) as [[a l] |]; cbn [added]; [| destruct (snd watched r); lra].
  destruct ST as [A L]. destruct octaves_are as [U F].
  apply Qle_trans with (1 := octaves_cost a l (fst watched) (snd watched) octaves A L U F).
  destruct (snd watched r); cbn [andb]; [| lra]. destruct (existsb _ _); lra.
Qed.

Lemma tails_length watched : length (tails P watched) = length (tail_scales P).
Proof. unfold tails, tail_scales. destruct (tail P) as [[a l] |]; [now rewrite !map_length | easy]. Qed.

Lemma tail_scales_pos : Forall (fun t => 0 < t) (tail_scales P).
Proof.
  destruct P_sound as (S & Q & _ & _ & _ & _ & ST). unfold tail_scales, sound_tail in *.
  destruct (tail P) as [[a l] |]; [| constructor]. destruct ST as [A L]. apply Forall_map, Forall_forall. intros k _.
  assert (0 < inject_Z l) by now rewrite <- (Zlt_Qlt 0). rewrite Qred_correct.
  assert (0 < share P * (a * (quantum P * inject_Z l))) by (repeat apply Qmult_lt_0_compat; assumption).
  apply Qlt_shift_div_l; lra.
Qed.

(** Sets of records that are watched, of which a record is in one at most, cost what one of them does. *)
Fixpoint watches (ws : list (Q * (row -> bool))) : nat :=
  match ws with [] => 0 | w :: ws => (if snd w r then 1 else 0) + watches ws end.

(** The theorem of tail.md: a record is in one octave of one of the sets that are watched, at most, and adds its budget
    there; so all masses by octaves together cost their part of the share. *)
Theorem watched_cost ws : (watches ws <= 1)%nat ->
  added r (flat_map (tails P) ws) (flat_map (fun _ => tail_scales P) ws) <= share P * tail_part P * budget P r.
Proof.
  pose proof budget_pos as BP. pose proof tail_part_pos as TP. pose proof P_sound as (S & _).
  assert (0 <= share P * tail_part P * budget P r) as Pos
    by (apply Qmult_le_0_compat; [apply Qmult_le_0_compat; [lra | exact TP] | exact BP]).
  assert (forall ws, watches ws = 0%nat ->
    added r (flat_map (tails P) ws) (flat_map (fun _ => tail_scales P) ws) <= 0) as Zero.
  { induction ws0 as [| w ws0 IH]; cbn [watches flat_map]; intros H; [cbn [added]; lra |].
    rewrite added_app by apply tails_length. pose proof (tails_cost w). destruct (snd w r); [lia |].
    specialize (IH H). lra. }
  induction ws as [| w ws IH]; cbn [watches flat_map]; intros H; [cbn [added]; lra |].
  rewrite added_app by apply tails_length. pose proof (tails_cost w) as C. destruct (snd w r).
  - pose proof (Zero ws ltac:(lia)). lra.
  - specialize (IH H). lra.
Qed.

Lemma watching_within t ws j : sound_tuning P t -> (j < length (points t))%nat -> (watches ws <= 1)%nat ->
  within (Q2R (share P * (answering t + tail_part P) * budget P r))
    (denote reads (watching P t ws j D)) (denote reads (watching P t ws j D')).
Proof.
  intros (_ & A & _ & _ & F & _) J W. destruct P_sound as (S & Q & _). rewrite Forall_forall in F.
  unfold watching. set (b := nth j (points t) 1). assert (0 < b) as B by apply F, nth_In, J.
  assert (0 < share P * answering t) as SA by now apply Qmult_lt_0_compat.
  assert (0 < b / quantum P / (share P * answering t)) as BQ
    by (apply Qlt_shift_div_l; auto; rewrite Qmult_0_l; apply Qlt_shift_div_l; lra).
  eapply within_le; [apply denote_pos | apply denote_pos | | apply (totals_private reads r D D' N)].
  - apply Qle_Rle. cbn [added]. pose proof (watched_cost ws W) as WC.
    assert (inject_Z (Z.abs (clipped b r)) / Qred (b / quantum P / (share P * answering t))
      <= share P * answering t * budget P r) as X.
    { destruct (cap_bounds b r r_ok B) as [C0 C1]. apply Qle_shift_div_r; [now rewrite Qred_correct |].
      apply Qle_trans with (inject_Z (cap b r)); [rewrite <- Zle_Qle; now apply clipped_le_cap |].
      apply Qle_trans with (1 := C1). rewrite Qred_correct. unfold budget.
      apply Qle_lteq. right. field. repeat split; lra. }
    setoid_replace (share P * (answering t + tail_part P) * budget P r)
      with (share P * answering t * budget P r + share P * tail_part P * budget P r) by ring. lra.
  - cbn [length]. f_equal. clear. induction ws as [| w ws IH]; cbn [flat_map]; auto.
    rewrite !app_length, IH. f_equal. apply tails_length.
  - constructor; [now rewrite Qred_correct |]. pose proof tail_scales_pos as TS. clear - TS.
    induction ws as [| w ws IH]; cbn [flat_map]; [constructor | apply Forall_app; auto].
Qed.

Lemma answer_within t j : sound_tuning P t -> (j < length (points t))%nat ->
  within (Q2R (share P * (answering t + tail_part P) * budget P r))
    (denote reads (answer P t D j)) (denote reads (answer P t D' j)).
Proof. intros T J. apply watching_within; auto. Qed.

Lemma clips_moves t j : (0 <= clips t D' j - clips t D j <= quanta r)%Z.
Proof.
  unfold clips. rewrite (total_adds _ r D D' N). destruct r_ok as (K & _).
  assert (forall b, 0 <= mass_above b r <= quanta r)%Z as M
    by (intros b; unfold mass_above; destruct (_ <=? _)%Z; lia).
  specialize (M (nth j (points t) 1)). lia.
Qed.

Lemma lower_moves t i : (0 <= lower t D' i - lower t D i <= quanta r)%Z.
Proof.
  destruct i as [| i]; simpl; [| apply clips_moves].
  rewrite (total_adds _ r D D' N). destruct r_ok as (K & _).
  assert (0 <= whole r <= quanta r)%Z by (unfold whole; destruct (_ =? _)%Z; lia). lia.
Qed.

Lemma charged_moves t j : (0 < width t)%Z ->
  (- dip t * quanta r <= charged t D' j - charged t D j <= (width t - dip t) * quanta r)%Z.
Proof.
  unfold charged, width, dip. pose proof (clips_moves t j) as C.
  destruct (fence t) as [[[asked times] places] |]; intros W; [| lia].
  pose proof (lower_moves t (nth j places O)). nia.
Qed.

Lemma choice_within t : sound_tuning P t ->
  within (Q2R (share P * choosing t * budget P r))
    (denote reads (Flip (penalties P t D))) (denote reads (Flip (penalties P t D'))).
Proof.
  intros (C & _ & _ & W & _). destruct P_sound as (S & Q & _).
  assert (0 < inject_Z (width t)) as WQ by now rewrite <- (Zlt_Qlt 0).
  assert (0 <= weight P t) as WP.
  { unfold weight. apply Qle_shift_div_l; auto. rewrite Qmult_0_l. repeat apply Qmult_le_0_compat; lra. }
  set (at_ := fun d : Z => weight P t * inject_Z d).
  assert (forall x y, (x <= y)%Z -> at_ x <= at_ y) as Mono.
  { intros x y L. unfold at_. rewrite !(Qmult_comm (weight P t)).
    apply Qmult_le_compat_r; auto. now rewrite <- Zle_Qle. }
  assert (Q2R (share P * choosing t * budget P r)
    = Q2R (at_ ((width t - dip t) * quanta r)%Z) - Q2R (at_ (- dip t * quanta r)%Z))%R as ->.
  { rewrite <- Q2R_minus. apply Qeq_eqR. unfold at_, budget, weight, Zminus.
    rewrite !inject_Z_mult, inject_Z_plus, !inject_Z_opp. field. lra. }
  intros [ys | j | x y]; simpl; try Lra.lra. apply choice.
  - apply Qle_Rle, Mono. destruct r_ok as (K & _). nia.
  - unfold penalties. induction (seq 0 (length (points t))) as [| i l IH]; cbn [map]; constructor; auto.
    unfold move. rewrite <- Q2R_minus.
    assert (Qred (weight P t * inject_Z (charged t D' i) + nth i (climbs t) 0)
      - Qred (weight P t * inject_Z (charged t D i) + nth i (climbs t) 0)
      == at_ (charged t D' i - charged t D i)%Z) as ->%Qeq_eqR.
    { rewrite !Qred_correct. unfold at_, Zminus. rewrite inject_Z_plus, inject_Z_opp. ring. }
    destruct (charged_moves t i W). split; apply Qle_Rle, Mono; assumption.
Qed.

(** The theorem of clip.md: for every table and every record, the whole costs share times budget, both ways.
    Gate, choice and clipped total each cost their part of it (Lemma 3, the lemma of point.md, Lemma 3), whatever was
    drawn before; the parts add up to at most the share (Lemma 1). *)
Theorem clip_private :
  within (Q2R (share P * budget P r)) (denote reads (clip_law P D)) (denote reads (clip_law P D')).
Proof.
  destruct P_sound as (S & Q & G & L & T & C & _). pose proof budget_pos as BP.
  assert (0 <= share P * budget P r) as SB by (apply Qmult_le_0_compat; lra).
  apply within_le with (Q2R (share P * gate P * budget P r) + Q2R (share P * (1 - gate P) * budget P r))%R;
    try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle. lra. }
  apply then_within; [lia | apply gate_within |]. intros which J. unfold rest.
  assert (sound_tuning P (nth which (tunings P) no_tuning)) as ST
    by (rewrite Forall_forall in T; apply T, nth_In, J).
  set (t := nth which (tunings P) no_tuning) in *.
  apply within_le with (Q2R (share P * choosing t * budget P r)
    + Q2R (share P * (answering t + tail_part P) * budget P r))%R; try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle. destruct ST as (_ & _ & A & _). nra. }
  apply then_within; [| now apply choice_within |].
  - destruct ST as (_ & _ & _ & _ & _ & NE). destruct (points t); [easy | simpl; lia].
  - intros j K. now apply answer_within.
Qed.
End Neighbours.

(** Each step of the law is a law. *)
Lemma scale_formed t : 0 < t -> above_0 (Qred t) = true.
Proof.
  intros T. unfold above_0. destruct (Qle_bool (Qred t) 0) eqn:E; auto.
  apply Qle_bool_iff in E. rewrite Qred_correct in E. lra.
Qed.

Lemma gate_formed P : sound_public P ->
  above_0 (Qred (1 / (share P * gate P * quantum P * inject_Z (lattice P)))) = true.
Proof.
  intros (S & Q & G & L & _). apply scale_formed.
  assert (0 < inject_Z (lattice P)) by now rewrite <- (Zlt_Qlt 0).
  apply Qlt_shift_div_l; [repeat apply Qmult_lt_0_compat; assumption | lra].
Qed.

Lemma watching_formed P t ws D j : sound_public P -> sound_tuning P t -> (j < length (points t))%nat ->
  formed (watching P t ws j D) = true.
Proof.
  intros Sound (_ & A & _ & _ & F & _) J. pose proof Sound as (S & QP & _). rewrite Forall_forall in F.
  unfold watching, totals. cbn [formed map length forallb]. rewrite !map_length.
  assert (length (flat_map (tails P) ws) = length (flat_map (fun _ : Q * (row -> bool) => tail_scales P) ws)) as ->.
  { induction ws as [| w ws IH]; cbn [flat_map]; auto. rewrite !app_length, IH. f_equal. apply tails_length. }
  rewrite Nat.eqb_refl. cbn [andb]. rewrite scale_formed.
  - cbn [andb]. apply forallb_forall. intros x I. apply in_flat_map in I. destruct I as (w & _ & I).
    pose proof (tail_scales_pos P Sound) as TS. rewrite Forall_forall in TS. specialize (TS x I).
    unfold above_0. destruct (Qle_bool x 0) eqn:E; auto. apply Qle_bool_iff in E. lra.
  - apply Qlt_shift_div_l; [now apply Qmult_lt_0_compat |]. rewrite Qmult_0_l.
    apply Qlt_shift_div_l; auto. rewrite Qmult_0_l. apply F. now apply nth_In.
Qed.

Lemma answer_formed P t D j : sound_public P -> sound_tuning P t -> (j < length (points t))%nat ->
  formed (answer P t D j) = true.
Proof. intros. now apply watching_formed. Qed.

Lemma choice_formed P t D : sound_tuning P t -> formed (Flip (penalties P t D)) = true.
Proof. intros (_ & _ & _ & _ & _ & N). unfold penalties. cbn [formed]. destruct (points t); easy. Qed.

Lemma places_formed {A} (l : list A) (f : nat -> law) : l <> [] ->
  (forall j, (j < length l)%nat -> formed (f j) = true) ->
  (0 <? length l)%nat && forallb (fun j => formed (f j)) (seq 0 (length l)) = true.
Proof.
  intros N F. apply Bool.andb_true_iff. split.
  - destruct l; easy.
  - apply forallb_forall. intros j I. apply in_seq in I. apply F. lia.
Qed.

Lemma clip_formed P D : sound_public P -> formed (clip_law P D) = true.
Proof.
  intros Sound. pose proof Sound as (S & Q & G & L & T & C & _). rewrite Forall_forall in T.
  unfold clip_law. cbn [formed length Nat.eqb forallb andb]. rewrite gate_formed by assumption.
  cbn [andb]. apply places_formed; [destruct (tunings P); easy |].
  intros which J. unfold rest. pose proof (T _ (nth_In (tunings P) no_tuning J)) as ST.
  set (t := nth which (tunings P) no_tuning) in *. pose proof (choice_formed P t D ST) as CF.
  cbn [formed] in *. rewrite CF.
  cbn [andb]. apply places_formed; [apply ST |]. intros j K. apply answer_formed; auto.
Qed.

(** The promise in full: every event of clipping, for every table, every record, both ways. *)
Theorem clip_events reads P r D D' : sound_public P -> ok r -> adds r D D' ->
  Notion.law (denote reads (clip_law P D)) /\ Notion.law (denote reads (clip_law P D')) /\
  forall A p p', prob (denote reads (clip_law P D)) A p -> prob (denote reads (clip_law P D')) A p' ->
  (p <= exp (Q2R (share P * budget P r)) * p' /\ p' <= exp (Q2R (share P * budget P r)) * p)%R.
Proof.
  intros S O N. pose proof (lawful reads _ (clip_formed P D S)) as H.
  pose proof (lawful reads _ (clip_formed P D' S)) as H'. split; [exact H | split; [exact H' |]].
  exact (proj1 (events _ _ _ H H') (clip_private reads P r D D' S O N)).
Qed.
