(** Every well-formed law of Law.v is a law: its masses add up to 1. So a verdict holds for every event. *)
From Coq Require Import String Reals Lra Lia ZArith QArith Qreals List Psatz FinFun.
From Prdp Require Import Notion Laplace Choice Exponential Concave Scan Local Total Law.
Import ListNotations.
Open Scope R_scope.

Lemma law_embed {X Y} (c : X -> Y) (f : X -> R) (F : Y -> R) :
  (forall x x', c x = c x' -> x = x') -> (forall x, F (c x) = f x) ->
  (forall y, F y <> 0 -> exists x, y = c x) -> Notion.law f -> Notion.law F.
Proof.
  intros I E S [P [U L]]. split; [| split].
  - intros y. destruct (Req_dec (F y) 0) as [-> | N]; [lra |]. destruct (S y N) as [x ->]. rewrite E. auto.
  - intros v (l & N & _ & ->).
    assert (exists k, NoDup k /\ incl (map c k) l /\ sum F l = sum f k) as (k & NK & _ & ->).
    { induction N as [| y l J N (k & NK & C & H)].
      - exists []. repeat split; [constructor | easy].
      - simpl. destruct (Req_dec (F y) 0) as [Z | Z].
        + exists k. repeat split; auto; [intros a A; right; auto | lra].
        + destruct (S y Z) as [x ->]. exists (x :: k). repeat split.
          * constructor; auto. intros A. apply J, C. now apply in_map.
          * intros a [<- | A]; [now left | right; auto].
          * simpl. rewrite E. lra. }
    apply U. exists k. auto.
  - intros b B. apply L. intros v (l & N & _ & ->). apply B. exists (map c l). repeat split.
    + apply Injective_map_NoDup; auto.
    + rewrite sum_map. now apply sum_ext.
Qed.

Lemma noise_law t v : Qle_bool t 0 = false -> Notion.law (fun y => noise t (y - v)).
Proof.
  intros T. apply (law_embed (fun k => (k + v)%Z) (laplace (Q2R t))).
  - intros x x' H. lia.
  - intros k. unfold noise. rewrite T. f_equal. lia.
  - intros y _. exists (y - v)%Z. lia.
  - apply laplace_law. now apply positive.
Qed.

Lemma unit_law : Notion.law (fun _ : unit => 1).
Proof.
  split; [intros; lra | split].
  - intros x (l & N & _ & ->). destruct l as [| [] [| [] l]]; simpl; try lra.
    inversion N as [| ? ? J _]. exfalso. apply J. now left.
  - intros b B. apply B. exists [tt]. repeat split; [constructor; [easy | constructor] | simpl; lra].
Qed.

Lemma noisy_law vs ts : length vs = length ts -> Forall (fun t => Qle_bool t 0 = false) ts ->
  Notion.law (noisy_mass vs ts).
Proof.
  revert ts. induction vs as [| v vs IH]; intros [| t ts] L T; simpl in L; try lia.
  - apply (law_embed (fun _ : unit => []) (fun _ => 1)); auto using unit_law.
    + now intros [] [].
    + intros [| y ys]; simpl; [| easy]. now exists tt.
  - inversion T as [| ? ? T1 T2]; subst.
    apply (law_embed (fun p => fst p :: snd p) (fun p : Z * list Z => noise t (fst p - v) * noisy_mass vs ts (snd p))).
    + intros [a b] [a' b'] [= -> ->]. reflexivity.
    + reflexivity.
    + intros [| y ys]; simpl; [easy |]. intros _. now exists (y, ys).
    + apply (pair_law Z.eq_dec (fun y => noise t (y - v)) (fun _ => noisy_mass vs ts)); [now apply noise_law |].
      intros _. apply IH; auto.
Qed.

Definition out_dec : forall x y : out, {x = y} + {x <> y}.
Proof. decide equality; [apply (list_eq_dec Z.eq_dec) | apply Nat.eq_dec]. Defined.

Definition above_0 (t : Q) : bool := negb (Qle_bool t 0).
Fixpoint formed (L : law) : bool :=
  match L with
  | Noisy vs ts => (length vs =? length ts)%nat && forallb above_0 ts
  | Shaped _ pieces => concave pieces
  | Scan ms ths t1 t2 => (length ms =? length ths)%nat && above_0 t1 && above_0 t2
  | Exponential qs ms =>
      (length qs =? length ms)%nat && forallb (Z.leb 0) ms && existsb (Z.ltb 0) ms
  | Flip q => negb (length q =? 0)%nat
  | Coin p l e => fair p l e
  | Symbol own k e => fits own k e
  | Then a r n f => formed a && (0 <? n)%nat && forallb (fun j => formed (f j)) (seq 0 n)
  end.

Lemma above_0_is t : above_0 t = true -> Qle_bool t 0 = false.
Proof. unfold above_0. now destruct (Qle_bool t 0). Qed.

Lemma some_weight ms qs : length qs = length ms -> forallb (Z.leb 0) ms = true -> existsb (Z.ltb 0) ms = true ->
  0 < together (weights (map IZR ms) qs).
Proof.
  unfold together. revert qs. induction ms as [| m ms IH]; intros [| q qs] L A E; simpl in *; try easy.
  apply Bool.andb_true_iff in A. destruct A as [M A]. apply Z.leb_le in M. pose proof (exp_pos (- q)).
  assert (0 <= sum (fun w => w) (weights (map IZR ms) qs)).
  { apply together_nonnegative, weights_nonnegative. now apply multiples_pos. }
  apply Bool.orb_true_iff in E. destruct E as [E | E].
  - apply Z.ltb_lt, IZR_lt in E. assert (0 < IZR m * exp (- q)) by now apply Rmult_lt_0_compat. lra.
  - apply IZR_le in M. assert (0 <= IZR m * exp (- q)) by (apply Rmult_le_pos; lra).
    specialize (IH qs ltac:(lia) A E). lra.
Qed.

(** By induction: noises, scans and choices are laws, and what follows a drawn value has a law of its own. *)
Theorem lawful reads L : formed L = true -> Notion.law (denote reads L).
Proof.
  induction L as [vs ts | v pieces | ms ths t1 t2 | qs ms | q | p l e | own k e | a IHa r n f IHf]; cbn [formed];
    rewrite ?Bool.andb_true_iff; intros H.
  - destruct H as [L T]. apply Nat.eqb_eq in L. rewrite forallb_forall in T.
    apply (law_embed Ints (noisy_mass vs ts)); auto.
    + now intros x x' [= ->].
    + intros [ys | j | x y]; simpl; try easy. now exists ys.
    + apply noisy_law; auto. apply Forall_forall. intros t I. now apply above_0_is, T.
  - apply (law_embed (fun y => Ints [(y + v)%Z]) (shaped pieces)).
    + intros x x' [= E]. lia.
    + intros y. simpl. rewrite H. f_equal. lia.
    + intros [[| y [| z ys]] | j | x y]; cbn [denote]; try easy. intros _. exists (y - v)%Z. do 2 f_equal. lia.
    + now apply shaped_law.
  - destruct H as [[_ T1] T2]. apply above_0_is in T1, T2.
    apply (law_embed Place (scan_mass (Q2R t1) (Q2R t2) (gaps ms ths))).
    + now intros x x' [= ->].
    + intros j. simpl. now rewrite T1, T2.
    + intros [ys | j | x y]; simpl; try easy. now exists j.
    + apply scan_law; now apply positive.
  - destruct H as [[L M] E]. apply Nat.eqb_eq in L.
    apply (law_embed Place (exponential (map IZR ms) (map Q2R qs))).
    + now intros x x' [= ->].
    + intros j. simpl. now rewrite M.
    + intros [ys | j | x y]; simpl; try easy. now exists j.
    + apply exponential_law; [now apply multiples_pos |]. apply some_weight; auto. now rewrite map_length.
  - apply (law_embed Place (permute_and_flip (map Q2R q))).
    + now intros x x' [= ->].
    + reflexivity.
    + intros [ys | j | x y]; simpl; try easy. now exists j.
    + apply permute_and_flip_law. now destruct q.
  - apply (law_embed Place (coin (Q2R p) (Q2R l) (Q2R e))).
    + now intros x x' [= ->].
    + intros j. cbn [denote]. now rewrite H.
    + intros [ys | j | x y]; simpl; try easy. now exists j.
    + apply fair_is in H. now apply bit_law.
  - apply (law_embed Place (symbol own k (Q2R e))).
    + now intros x x' [= ->].
    + intros j. cbn [denote]. now rewrite H.
    + intros [ys | j | x y]; simpl; try easy. now exists j.
    + apply fits_is in H. now apply symbol_law.
  - destruct H as [[A N] F]. apply Nat.ltb_lt in N. rewrite forallb_forall in F. specialize (IHa A).
    set (g := fun x => denote reads (f (place reads r n x))).
    apply (law_embed (fun p => Pair (fst p) (snd p)) (fun p : out * out => denote reads a (fst p) * g (fst p) (snd p))).
    + now intros [x y] [x' y'] [= -> ->].
    + reflexivity.
    + intros [ys | j | x y]; simpl; try easy. intros _. now exists (x, y).
    + apply (pair_law out_dec (denote reads a) g); auto. intros x. unfold g.
      assert (place reads r n x < n)%nat by (unfold place; lia). apply IHf, F. apply in_seq. lia.
Qed.

(** The verdict: two well-formed laws whose loss is at most what is promised. *)
Definition verdict (L L' : law) (promised : Q) : bool := formed L && formed L' && keeps L L' promised.

(** Its meaning: no event is more than exp(promised) times as likely under the one law as under the other.
    [keeps_sound] says so of single outputs, and [events] of events, as both are laws ([lawful]). *)
Theorem verdict_sound L L' promised : verdict L L' promised = true -> forall reads,
  Notion.law (denote reads L) /\ Notion.law (denote reads L') /\
  forall A p p', prob (denote reads L) A p -> prob (denote reads L') A p' ->
  p <= exp (Q2R promised) * p' /\ p' <= exp (Q2R promised) * p.
Proof.
  unfold verdict. rewrite !Bool.andb_true_iff. intros [[F F'] K] reads.
  pose proof (lawful reads L F) as H. pose proof (lawful reads L' F') as H'.
  split; [exact H | split; [exact H' |]].
  exact (proj1 (events _ _ _ H H') (keeps_sound reads L L' promised K)).
Qed.

(** Two well-formed laws that are close at every output are laws, and close at every event: [lawful] and [events]. *)
Corollary every_event reads L L' e : formed L = true -> formed L' = true ->
  within e (denote reads L) (denote reads L') ->
  Notion.law (denote reads L) /\ Notion.law (denote reads L') /\
  forall A p p', prob (denote reads L) A p -> prob (denote reads L') A p' -> p <= exp e * p' /\ p' <= exp e * p.
Proof.
  intros F F' W. pose proof (lawful reads L F) as H. pose proof (lawful reads L' F') as H'.
  split; [exact H | split; [exact H' |]]. exact (proj1 (events _ _ _ H H') W).
Qed.

(** A function of the output says no more: the program shows the place that a rule picked, and not the noisy
    numbers that it picked it by. *)
Corollary shown {Z} (h : out -> Z) reads L L' e : formed L = true -> formed L' = true ->
  within e (denote reads L) (denote reads L') ->
  exists N N' : Z -> R,
    (forall z, prob (denote reads L) (fun o => h o = z) (N z)) /\
    (forall z, prob (denote reads L') (fun o => h o = z) (N' z)) /\ within e N N'.
Proof.
  intros F F' W. pose proof (lawful reads L F) as H. pose proof (lawful reads L' F') as H'.
  assert (forall M, Notion.law M -> forall z, prob M (fun o => h o = z) (mass 1 M (fun o => h o = z))) as Is.
  { intros M [_ [U _]] z. apply mass_is. intros x (l & N & _ & ->). apply U. exists l. auto. }
  exists (fun z => mass 1 (denote reads L) (fun o => h o = z)), (fun z => mass 1 (denote reads L') (fun o => h o = z)).
  split; [now apply Is | split; [now apply Is |]]. intros z.
  apply (proj1 (events e _ _ H H') W (fun o => h o = z)); now apply Is.
Qed.

(** Lists of pairs, as the exact tests of each mechanism give them: laws of neighbouring tables, and what the record
    that they differ by may lose. *)
Definition pair_private (p : law * law * Q) : Prop :=
  let '(L, L', promised) := p in forall reads,
  Notion.law (denote reads L) /\ Notion.law (denote reads L') /\
  forall A x x', prob (denote reads L) A x -> prob (denote reads L') A x' ->
  x <= exp (Q2R promised) * x' /\ x' <= exp (Q2R promised) * x.

Definition kept (p : law * law * Q) : bool := let '(L, L', promised) := p in verdict L L' promised.
Definition rejected (pairs : list (law * law * Q)) : list nat :=
  map fst (filter (fun ip => negb (kept (snd ip))) (combine (seq 0 (length pairs)) pairs)).
Definition none_kept (pairs : list (law * law * Q)) : bool := forallb (fun p => negb (kept p)) pairs.

(** [verdict_sound] for every pair of a list. *)
Theorem all_private pairs : forallb kept pairs = true -> Forall pair_private pairs.
Proof.
  rewrite forallb_forall. intros H. apply Forall_forall. intros [[L L'] promised] I.
  exact (verdict_sound L L' promised (H _ I)).
Qed.
