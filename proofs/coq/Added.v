(** Laws of totals and of masses, for records of any kind: what a record adds, on its own, is all that it can cost.
    With it [naive], [partition], [additive] and [choice] for every table (naive.md, partition.md, additive.md,
    choice.md; mechanisms/naive.py, partition.py, additive.py, choice.py). *)
From Coq Require Import String Reals Lra Lia ZArith QArith Qround Qabs Qreals Qminmax List Psatz Lqa.
From Prdp Require Import Notion Compose Laplace Choice Exponential Concave Law Lawful Clip.
Import ListNotations.
Open Scope Q_scope.

Section Any.
Context {Rec : Type}.
Variables (reads : string -> out -> nat) (r : Rec) (D D' : list Rec).
Hypothesis N : adds r D D'.

(** Penalties by masses that records add to: so much for each unit, and a public cost besides. *)
Fixpoint weighed (w : Q) (ms : list (Rec -> Z)) (climbs : list Q) (T : list Rec) : list Q :=
  match ms, climbs with
  | m :: ms, climb :: climbs => Qred (climb + w * inject_Z (total m T)) :: weighed w ms climbs T
  | _, _ => []
  end.

Lemma weighed_moves w ms climbs most : 0 <= w -> Forall (fun m => 0 <= m r <= most)%Z ms ->
  Forall2 (move (Q2R 0) (Q2R (w * inject_Z most))) (map Q2R (weighed w ms climbs D)) (map Q2R (weighed w ms climbs D')).
Proof.
  intros W F. revert climbs.
  induction F as [| m ms M F IH]; intros [| climb climbs]; cbn [weighed map]; constructor; auto.
  unfold move. rewrite <- Q2R_minus, (total_adds m r D D' N).
  assert (Qred (climb + w * inject_Z (total m D + m r)) - Qred (climb + w * inject_Z (total m D))
    == w * inject_Z (m r)) as ->%Qeq_eqR.
  { rewrite !Qred_correct, inject_Z_plus. ring. }
  destruct M as [M1 M2]. rewrite Zle_Qle in M1, M2. change (inject_Z 0) with 0 in M1. split; apply Qle_Rle; nra.
Qed.

(** A choice by masses costs a record its part of them, for all masses move the same way (Lemma 9; and the lemma of
    point.md for permute-and-flip, which has the same range of penalties). *)
Theorem masses_private w ms climbs most multiples : 0 <= w -> (0 <= most)%Z ->
  Forall (fun m => 0 <= m r <= most)%Z ms -> forallb (Z.leb 0) multiples = true ->
  within (Q2R (w * inject_Z most)) (denote reads (Exponential (weighed w ms climbs D) multiples))
    (denote reads (Exponential (weighed w ms climbs D') multiples)) /\
  within (Q2R (w * inject_Z most)) (denote reads (Flip (weighed w ms climbs D)))
    (denote reads (Flip (weighed w ms climbs D'))).
Proof.
  intros W P F M. pose proof (weighed_moves w ms climbs most W F) as H.
  replace (Q2R (w * inject_Z most)) with (Q2R (w * inject_Z most) - Q2R 0)%R
    by (rewrite Q2R_0; Lra.lra).
  assert (Q2R 0 <= Q2R (w * inject_Z most))%R as L.
  { apply Qle_Rle. apply Qmult_le_0_compat; auto. now rewrite <- (Zle_Qle 0). }
  split; intros [ys | j | x y]; cbn [denote]; try Lra.lra.
  - rewrite M. now apply exponential_choice; [apply multiples_pos |].
  - now apply choice.
Qed.
End Any.

(** A record of a cell, counted up to a cap of its own. *)
Definition capped (most : row -> Z) (r : row) : Z :=
  if (high r <=? most r)%Z then value r else (sign r * Z.min (low r) (most r))%Z.

Lemma capped_le most r : ok r -> (0 <= most r)%Z -> (Z.abs (capped most r) <= most r)%Z.
Proof.
  intros (_ & L & S & V) M. unfold capped. destruct (Z.leb_spec (high r) (most r)); [lia |].
  rewrite Z.abs_mul, (Z.abs_eq (Z.min _ _)) by lia. nia.
Qed.

Lemma ratio_le x b t e : 0 < t -> (Z.abs x <= b)%Z -> inject_Z b <= e * t -> inject_Z (Z.abs x) / t <= e.
Proof.
  intros T L B. apply Qle_shift_div_r; auto. apply Qle_trans with (2 := B). now rewrite <- Zle_Qle.
Qed.

(** [naive]: the largest value over the least budget. *)
Definition naive_law (s q : Q) (largest least : Z) (D : list row) : law :=
  Noisy (totals [capped (fun _ => largest)] D) [Qred (inject_Z largest / (s * (inject_Z least * q)))].

(** The theorem of naive.md: a record adds at most the largest value, and has at least the least budget.
    So the noise hides it up to s times that budget ([totals_private]), and its own is no smaller. *)
Theorem naive_private reads s q largest least r D D' : 0 < s -> 0 < q -> (0 < largest)%Z ->
  (0 < least <= quanta r)%Z -> ok r -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (naive_law s q largest least D)) (denote reads (naive_law s q largest least D')).
Proof.
  intros S Q L (M & M') O N. unfold naive_law. set (t := Qred _).
  assert (0 < inject_Z largest /\ 0 < inject_Z least /\ inject_Z least <= inject_Z (quanta r)) as (LQ & MQ & KQ).
  { rewrite <- !(Zlt_Qlt 0), <- Zle_Qle. auto. }
  assert (0 < s * (inject_Z least * q)) as P by (repeat apply Qmult_lt_0_compat; assumption).
  assert (0 < t) as T by (unfold t; rewrite Qred_correct; apply Qlt_shift_div_l; lra).
  eapply within_le; [apply denote_pos | apply denote_pos | |
    apply (totals_private reads r D D' N [capped (fun _ => largest)] [t]); auto].
  apply Qle_Rle. cbn [added]. rewrite Qplus_0_r.
  apply Qle_trans with (s * (inject_Z least * q)); [| nra].
  apply ratio_le with largest; auto; [apply capped_le; auto; lia |].
  unfold t. rewrite Qred_correct. apply Qle_lteq. right. field. lra.
Qed.

(** [partition]: a total for each domain of budgets; which domain a budget is in is any public rule. *)
Definition in_domain (q : Q) (domain : Z -> nat) (influence : Q) (j : nat) (r : row) : Z :=
  if (domain (quanta r) =? j)%nat then capped (fun r => Qfloor (influence * (inject_Z (quanta r) * q))) r else 0%Z.
Fixpoint domain_totals (q : Q) (domain : Z -> nat) (influences : list Q) (j : nat) : list (row -> Z) :=
  match influences with
  | [] => []
  | influence :: rest => in_domain q domain influence j :: domain_totals q domain rest (S j)
  end.
Definition partition_law (s q : Q) (domain : Z -> nat) (influences : list Q) (D : list row) : law :=
  Noisy (totals (domain_totals q domain influences 0) D) (map (fun influence => Qred (influence / s)) influences).

(** The theorem of partition.md: a record adds to the total of its own domain alone, at most the influence times its
    budget, which noise of scale influence / s hides; every other total is the same. *)
Theorem partition_private reads s q domain influences r D D' : 0 < s -> 0 < q ->
  Forall (fun influence => 0 < influence) influences -> ok r -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (partition_law s q domain influences D)) (denote reads (partition_law s q domain influences D')).
Proof.
  intros S Q I O N. unfold partition_law.
  assert (0 <= inject_Z (quanta r) * q) as EP.
  { destruct O as (K & _). apply Qmult_le_0_compat; [| lra]. now rewrite <- (Zle_Qle 0). }
  assert (0 <= s * (inject_Z (quanta r) * q)) as SP by (apply Qmult_le_0_compat; lra).
  assert (forall j,
    added r (domain_totals q domain influences j) (map (fun influence => Qred (influence / s)) influences)
    <= if (domain (quanta r) <? j)%nat then 0 else s * (inject_Z (quanta r) * q)) as Cost.
  { induction I as [| i influences P I IH]; intros j; cbn [domain_totals map added].
    - destruct (_ <? _)%nat; lra.
    - specialize (IH (Datatypes.S j)). unfold in_domain at 1.
      destruct (Nat.eqb_spec (domain (quanta r)) j) as [E | E].
      + destruct (Nat.ltb_spec (domain (quanta r)) (Datatypes.S j)); [| lia].
        destruct (Nat.ltb_spec (domain (quanta r)) j); [lia |].
        assert (inject_Z (Z.abs (capped (fun r => Qfloor (i * (inject_Z (quanta r) * q))) r)) / Qred (i / s)
          <= s * (inject_Z (quanta r) * q)); [| lra].
        assert (0 < i / s) as T by (apply Qlt_shift_div_l; lra).
        apply ratio_le with (Qfloor (i * (inject_Z (quanta r) * q))).
        * now rewrite Qred_correct.
        * apply (capped_le (fun r => Qfloor (i * (inject_Z (quanta r) * q))) r O).
          replace 0%Z with (Qfloor 0) by reflexivity. apply Qfloor_resp_le. apply Qmult_le_0_compat; lra.
        * apply Qle_trans with (1 := Qfloor_le _). rewrite Qred_correct. apply Qle_lteq. right. field. lra.
      + change (inject_Z (Z.abs 0)) with 0. assert (0 / Qred (i / s) == 0) as -> by (unfold Qdiv; ring).
        rewrite Qplus_0_l.
        destruct (Nat.ltb_spec (domain (quanta r)) (Datatypes.S j)), (Nat.ltb_spec (domain (quanta r)) j);
          try lia; lra. }
  eapply within_le; [apply denote_pos | apply denote_pos | | apply (totals_private reads r D D' N)].
  - apply Qle_Rle. apply (Cost 0%nat).
  - clear. rewrite map_length. generalize 0%nat. induction influences; intros j; cbn [domain_totals length]; auto.
  - clear - S I. induction I as [| i l P I IH]; cbn [map]; constructor; auto. rewrite Qred_correct.
    apply Qlt_shift_div_l; lra.
Qed.

(** [additive]: noise of a concave shape F, and a cap for each budget at which F is no more than s times it. *)
Definition additive_law (pieces : shape) (most : row -> Z) (D : list row) : law :=
  Shaped (total (capped most) D) pieces.

(** The theorem of additive.md: a record moves the total by no more than its cap, where F is at most s times its
    budget; F does not fall, and a shift by d costs F(d) ([shaped_shift]). *)
Theorem additive_private reads s q pieces most r D D' : concave pieces = true -> ok r ->
  (0 <= most r)%Z -> height pieces (most r) <= s * (inject_Z (quanta r) * q) -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (additive_law pieces most D)) (denote reads (additive_law pieces most D')).
Proof.
  intros C O M H N. unfold additive_law.
  apply within_le with (Q2R (Qred (height pieces (Z.abs (total (capped most) D - total (capped most) D'))))).
  - apply denote_pos.
  - apply denote_pos.
  - apply Qle_Rle. rewrite Qred_correct. apply Qle_trans with (2 := H). rewrite (total_adds _ r D D' N).
    replace (Z.abs (total (capped most) D - (total (capped most) D + capped most r)))
      with (Z.abs (capped most r)) by lia.
    apply (height_mono pieces C). pose proof (capped_le most r O M). lia.
  - apply sound. cbn [loss]. destruct (list_eq_dec piece_dec pieces pieces); [| easy]. now rewrite C.
Qed.

(** [choice]: the mass beyond a place, and what follows a place that was drawn. *)
Definition mass_beyond (place : row -> nat) (j : nat) (r : row) : Z := if (j <? place r)%nat then quanta r else 0%Z.
Definition by_mass (w : Q) (place : row -> nat) (ends : list nat) (climbs : list Q) (D : list row) : law :=
  Exponential (weighed w (map (mass_beyond place) ends) climbs D) (map (fun _ => 1%Z) climbs).
(** Public: the last step of each eighth with its climb; and for each eighth the steps to choose from, with theirs. *)
Definition choice_law (s q fine : Q) (place : row -> nat) (eighths : list nat) (climbs : list Q)
  (windows : list (list nat * list Q)) (D : list row) : law :=
  Then (by_mass (s * (1 - fine) * q) place eighths climbs D) Here (length windows)
    (fun eighth => let '(steps, climbs) := nth eighth windows ([], []) in by_mass (s * fine * q) place steps climbs D).

Lemma by_mass_private reads w place ends climbs r D D' : 0 <= w -> ok r -> adds r D D' ->
  within (Q2R (w * inject_Z (quanta r)))
    (denote reads (by_mass w place ends climbs D)) (denote reads (by_mass w place ends climbs D')).
Proof.
  intros W (K & _) N. unfold by_mass.
  apply (masses_private reads r D D' N w (map (mass_beyond place) ends) climbs (quanta r) (map (fun _ => 1%Z) climbs));
    auto.
  - apply Forall_map, Forall_forall. intros j _. unfold mass_beyond. destruct (_ <? _)%nat; lia.
  - rewrite forallb_forall. intros m I. apply in_map_iff in I. now destruct I as (_ & <- & _).
Qed.

(** The theorem of choice.md: adding a record raises the mass beyond each place by its budget or not at all, so either
    choice costs its part of the share (Lemma 9), whatever was drawn before; the parts make one (Lemma 1). *)
Theorem choice_private reads s q fine place eighths climbs windows r D D' : 0 < s -> 0 < q -> 0 <= fine <= 1 ->
  windows <> [] -> ok r -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (choice_law s q fine place eighths climbs windows D))
    (denote reads (choice_law s q fine place eighths climbs windows D')).
Proof.
  intros S Q F NE O N. unfold choice_law.
  replace (Q2R (s * (inject_Z (quanta r) * q))) with
    (Q2R (s * (1 - fine) * q * inject_Z (quanta r)) + Q2R (s * fine * q * inject_Z (quanta r)))%R
    by (rewrite <- Q2R_plus; apply Qeq_eqR; ring).
  apply then_within.
  - destruct windows; [easy | simpl; lia].
  - apply by_mass_private; auto. repeat apply Qmult_le_0_compat; lra.
  - intros j _. destruct (nth j windows ([], [])) as [steps own]. apply by_mass_private; auto.
    repeat apply Qmult_le_0_compat; lra.
Qed.

(** [warm_clip]: a choice near a known point, and at the point that is drawn the clipped total and what lies
    beyond it. *)
Definition kept_low (b : Q) (r : row) : Z := Z.min (low r) (cap b r).
Definition room (b times : Q) (r : row) : Z := Qfloor (inject_Z (quanta r) * (times * b)).
Definition excess (b times : Q) (r : row) : Z := Z.min (high r - kept_low b r) (room b times r).
(** Of those that are [here]: a total for each octave of the records that reach no further, and a mass of the rest. *)
Fixpoint beyond_of (b : Q) (l : Z) (octaves : list Q) (here : row -> bool) : list (row -> Z) :=
  match octaves with
  | [] => [fun r => if here r then (quanta r / l)%Z else 0%Z]
  | times :: rest =>
      let inside r := (high r <=? room b (times + 1) r)%Z in
      (fun r => if here r && inside r then excess b times r else 0%Z)
      :: beyond_of b l rest (fun r => here r && negb (inside r))
  end.
Definition beyond_scales (sa q b : Q) (l : Z) (octaves : list Q) : list Q :=
  map (fun times => Qred (times * (b / q / sa))) octaves ++ [Qred (1 / (sa * q * inject_Z l))].
Definition sides_of (signed : bool) : list (row -> bool) :=
  if signed then [fun r => (sign r =? -1)%Z; fun r => (sign r =? 1)%Z] else [fun _ => true].
Definition outside (b : Q) (side : row -> bool) (r : row) : bool := side r && negb (high r <=? cap b r)%Z.
Definition warm_clip_answer (s q answering beyond b : Q) (l : Z) (octaves : list Q) (signed : bool)
  (D : list row) : law :=
  Noisy (totals (clipped b :: flat_map (fun side => beyond_of b l octaves (outside b side)) (sides_of signed)) D)
    (Qred (b / q / (s * answering)) :: flat_map (fun _ => beyond_scales (s * beyond) q b l octaves) (sides_of signed)).
Definition warm_clip_law (s q choosing answering beyond : Q) (points climbs : list Q) (l : Z) (octaves : list Q)
  (signed : bool) (D : list row) : law :=
  Then (Flip (weighed (s * choosing * q) (map mass_above points) climbs D)) Here (length points)
    (fun j => warm_clip_answer s q answering beyond (nth j points 1) l octaves signed D).

Section Started.
Variables (s q beyond b : Q) (l : Z) (r : row).
Hypothesis (s_pos : 0 < s) (q_pos : 0 < q) (beyond_pos : 0 < beyond) (b_pos : 0 < b) (l_pos : (0 < l)%Z).
Hypothesis r_ok : ok r.
Let e : Q := s * beyond * (inject_Z (quanta r) * q).

Lemma e_pos : 0 <= e.
Proof.
  destruct r_ok as (K & _). unfold e. repeat apply Qmult_le_0_compat; try lra. now rewrite <- (Zle_Qle 0).
Qed.

Lemma room_bounds times : 0 < times ->
  (0 <= room b times r)%Z /\ inject_Z (room b times r) <= times * (inject_Z (quanta r) * b).
Proof.
  intros T. destruct r_ok as (K & _). unfold room. assert (0 < times * b) by now apply Qmult_lt_0_compat. split.
  - replace 0%Z with (Qfloor 0) by reflexivity. apply Qfloor_resp_le.
    apply Qmult_le_0_compat; [| lra]. now rewrite <- (Zle_Qle 0).
  - apply Qle_trans with (1 := Qfloor_le _). apply Qle_lteq. right. ring.
Qed.

Lemma excess_cost times : 0 < times -> (cap b r < high r)%Z ->
  inject_Z (Z.abs (excess b times r)) / Qred (times * (b / q / (s * beyond))) <= e.
Proof.
  intros T H. destruct (room_bounds times T) as [R0 R1].
  assert (0 < s * beyond) as SB by (apply Qmult_lt_0_compat; assumption).
  assert (0 < b / q / (s * beyond)) as BQ
    by (apply Qlt_shift_div_l; auto; rewrite Qmult_0_l; apply Qlt_shift_div_l; auto; lra).
  apply ratio_le with (room b times r).
  - rewrite Qred_correct. now apply Qmult_lt_0_compat.
  - unfold excess, kept_low. lia.
  - apply Qle_trans with (1 := R1). rewrite Qred_correct. unfold e. apply Qle_lteq. right. field. lra.
Qed.

Lemma beyond_cost octaves here : Forall (fun t => 0 < t) octaves -> (here r = true -> cap b r < high r)%Z ->
  added r (beyond_of b l octaves here) (beyond_scales (s * beyond) q b l octaves) <= if here r then e else 0.
Proof.
  intros T. unfold beyond_scales. revert here. pose proof e_pos as E.
  induction T as [| times octaves P T IH]; intros here H; cbn [beyond_of map app added].
  - destruct (here r); [| change (inject_Z (Z.abs 0)) with 0; unfold Qdiv; lra].
    rewrite Qplus_0_r. destruct r_ok as (K & _). assert (0 < inject_Z l) as LQ by now rewrite <- (Zlt_Qlt 0).
    assert (0 < s * beyond * q * inject_Z l) as A by (repeat apply Qmult_lt_0_compat; assumption).
    pose proof (Z.div_pos (quanta r) l K l_pos). pose proof (Z.mul_div_le (quanta r) l l_pos).
    apply ratio_le with (quanta r / l)%Z.
    + rewrite Qred_correct. apply Qlt_shift_div_l; lra.
    + lia.
    + rewrite Qred_correct. unfold e.
      setoid_replace (s * beyond * (inject_Z (quanta r) * q) * (1 / (s * beyond * q * inject_Z l)))
        with (inject_Z (quanta r) / inject_Z l) by (field; repeat split; lra).
      apply Qle_shift_div_l; auto. rewrite <- inject_Z_mult, <- Zle_Qle. lia.
  - specialize (IH (fun r => here r && negb (high r <=? room b (times + 1) r)%Z)). cbn beta in IH.
    set (more := added r _ _) in *. clearbody more.
    pose proof (excess_cost times P) as X. set (t := Qred _) in *. clearbody t.
    assert (inject_Z (Z.abs 0) / t == 0) as Z by (unfold Qdiv; change (inject_Z (Z.abs 0)) with 0; ring).
    destruct (here r); [specialize (X (H eq_refl)) |];
      destruct (high r <=? room b (times + 1) r)%Z; cbn [andb negb] in *; rewrite ?Z;
      specialize (IH ltac:(first [exact H | discriminate])); lra.
Qed.
End Started.

Lemma added_app {Rec} (r : Rec) cs cs' ts ts' : length cs = length ts ->
  added r (cs ++ cs') (ts ++ ts') == added r cs ts + added r cs' ts'.
Proof.
  revert ts. induction cs as [| c cs IH]; intros [| t ts] L; cbn [length] in L; try lia; cbn [app added]; [ring |].
  rewrite IH by lia. ring.
Qed.

Lemma beyond_length b l octaves here sa q :
  length (beyond_of b l octaves here) = length (beyond_scales sa q b l octaves).
Proof.
  unfold beyond_scales. rewrite app_length, map_length. simpl. revert here.
  induction octaves as [| t octaves IH]; intros here; cbn [beyond_of length]; [reflexivity |]. rewrite IH. lia.
Qed.

Lemma beyond_scales_pos sa q b l octaves : 0 < sa -> 0 < q -> 0 < b -> (0 < l)%Z -> Forall (fun t => 0 < t) octaves ->
  Forall (fun t => 0 < t) (beyond_scales sa q b l octaves).
Proof.
  intros S Q B L T. assert (0 < inject_Z l) as LQ by now rewrite <- (Zlt_Qlt 0).
  apply Forall_app. split.
  - apply Forall_map. apply Forall_impl with (2 := T). intros t P. rewrite Qred_correct. apply Qmult_lt_0_compat; auto.
    apply Qlt_shift_div_l; auto. rewrite Qmult_0_l. apply Qlt_shift_div_l; lra.
  - repeat constructor. rewrite Qred_correct. apply Qlt_shift_div_l; [repeat apply Qmult_lt_0_compat; assumption | lra].
Qed.

(** The theorem of warm_clip.md: the known point moves public costs only, so the choice costs its part; at the point
    that is drawn a record has one sign and is in one octave beyond it at most, of which it moves the total by no more
    than that octave's noise hides, or the mass further up by its budget; and the clipped total is that of clip.md.
    Of a record's value its cell's upper end must be right. *)
Theorem warm_clip_private reads s q choosing answering beyond points climbs l octaves signed r D D' :
  0 < s -> 0 < q -> 0 <= choosing -> 0 < answering -> 0 < beyond -> choosing + answering + beyond <= 1 ->
  Forall (fun b => 0 < b) points -> points <> [] -> (0 < l)%Z -> Forall (fun t => 0 < t) octaves ->
  ok r -> adds r D D' ->
  within (Q2R (s * (inject_Z (quanta r) * q)))
    (denote reads (warm_clip_law s q choosing answering beyond points climbs l octaves signed D))
    (denote reads (warm_clip_law s q choosing answering beyond points climbs l octaves signed D')).
Proof.
  intros S Q C A B One P NE L T O N. unfold warm_clip_law. pose proof O as (K & _).
  assert (0 <= inject_Z (quanta r)) as KQ by now rewrite <- (Zle_Qle 0).
  assert (0 <= s * (inject_Z (quanta r) * q)) as SE by (repeat apply Qmult_le_0_compat; lra).
  apply within_le with (Q2R (s * choosing * q * inject_Z (quanta r))
    + Q2R (s * (answering + beyond) * (inject_Z (quanta r) * q)))%R; try apply denote_pos.
  { rewrite <- Q2R_plus. apply Qle_Rle.
    setoid_replace (s * choosing * q * inject_Z (quanta r) + s * (answering + beyond) * (inject_Z (quanta r) * q))
      with ((choosing + answering + beyond) * (s * (inject_Z (quanta r) * q))) by ring. nra. }
  apply then_within.
  - destruct points; [easy | simpl; lia].
  - apply (masses_private reads r D D' N (s * choosing * q) (map mass_above points) climbs (quanta r) []); auto.
    + repeat apply Qmult_le_0_compat; lra.
    + apply Forall_map, Forall_forall. intros b _. unfold mass_above. destruct (_ <=? _)%Z; lia.
  - intros j J. rewrite Forall_forall in P. pose proof (P _ (nth_In points 1 J)) as BP.
    set (b := nth j points 1) in *. clearbody b. unfold warm_clip_answer.
    assert (0 < s * answering) as SA by (apply Qmult_lt_0_compat; assumption).
    assert (0 < s * beyond) as SB by (apply Qmult_lt_0_compat; assumption).
    assert (0 < b / q / (s * answering)) as BQ
      by (apply Qlt_shift_div_l; auto; rewrite Qmult_0_l; apply Qlt_shift_div_l; lra).
    eapply within_le; [apply denote_pos | apply denote_pos | | apply (totals_private reads r D D' N)].
    + apply Qle_Rle. cbn [added].
      assert (inject_Z (Z.abs (clipped b r)) / Qred (b / q / (s * answering))
        <= s * answering * (inject_Z (quanta r) * q)) as X.
      { destruct (cap_bounds b r O BP) as [C0 C1]. apply ratio_le with (cap b r).
        - now rewrite Qred_correct.
        - now apply clipped_le_cap.
        - apply Qle_trans with (1 := C1). rewrite Qred_correct. apply Qle_lteq. right. field. lra. }
      assert (added r (flat_map (fun side => beyond_of b l octaves (outside b side)) (sides_of signed))
        (flat_map (fun _ => beyond_scales (s * beyond) q b l octaves) (sides_of signed))
        <= s * beyond * (inject_Z (quanta r) * q)) as Y.
      { pose proof (e_pos s q beyond r S Q B O) as EP.
        assert (forall side, outside b side r = true -> (cap b r < high r)%Z) as Far.
        { intros side H. apply andb_true_iff in H as [_ H]. now apply negb_true_iff, Z.leb_gt in H. }
        pose proof (fun side =>
          beyond_cost s q beyond b l r S Q B BP L O octaves (outside b side) T (Far side)) as Cost.
        unfold sides_of. destruct signed; cbn [flat_map]; rewrite ?app_nil_r.
        - rewrite added_app by apply beyond_length.
          pose proof (Cost (fun r => (sign r =? -1)%Z)) as C1. pose proof (Cost (fun r => (sign r =? 1)%Z)) as C2.
          unfold outside in C1 at 2. unfold outside in C2 at 2.
          destruct (Z.eqb_spec (sign r) (-1)), (Z.eqb_spec (sign r) 1); try lia; cbn [andb] in *;
            destruct (negb (high r <=? cap b r)%Z); lra.
        - pose proof (Cost (fun _ => true)) as C1. unfold outside in C1 at 2. cbn [andb] in C1.
          destruct (negb (high r <=? cap b r)%Z); lra. }
      lra.
    + cbn [length]. f_equal. clear. induction (sides_of signed) as [| side sides IH]; cbn [flat_map]; auto.
      rewrite !app_length, IH. f_equal. apply beyond_length.
    + constructor; [now rewrite Qred_correct |].
      induction (sides_of signed) as [| side sides IH]; cbn [flat_map]; [constructor |].
      apply Forall_app. split; auto. now apply beyond_scales_pos.
Qed.
