(** What is assumed can be met, and what must be refused is refused: small cases, decided by computation or by hand. *)
From Coq Require Import String Reals Lra Lia ZArith QArith List.
From Prdp Require Import Notion Compose Parallel Laplace Choice Interval Concave Law Lawful Clip Sides Tiers Added Tie.
Import ListNotations.
Open Scope Q_scope.

(** Public facts of clipping, with a fence and without. *)
Definition two_tunings : public :=
  {| share := 1 # 2; quantum := 1 # 8; gate := 1 # 10; lattice := 1; least := [40%Z];
     tunings := [{| choosing := 4 # 10; answering := 5 # 10; points := [1; 2; 4]; climbs := [0; 1; 2]; fence := None |};
                 {| choosing := 4 # 10; answering := 5 # 10; points := [1; 4]; climbs := [0; 1];
                    fence := Some (10%Z, 4%Z, [0%nat; 1%nat]) |}];
     tail := None |}.
Definition some_rows : list row := [Build_row 8 3 4 1 4; Build_row 16 0 0 0 0; Build_row 8 5 5 (-1) (-5)]%Z.

Example public_facts_exist : sound_public two_tunings.
Proof. apply sound_publicb_sound. reflexivity. Qed.
Example records_exist : Forall ok some_rows.
Proof. repeat constructor; cbn; lia. Qed.
Example clip_law_is_formed : formed (clip_law two_tunings some_rows) = true.
Proof. reflexivity. Qed.
(** The promise is used up: the gate's part and the answer's are met with equality, only choices are cheaper. *)
Example gate_is_tight :
  loss (Noisy [total (mass two_tunings) []] [gate_scale two_tunings])
       (Noisy [total (mass two_tunings) [Build_row 8 3 4 1 4]%Z] [gate_scale two_tunings]) = Some (1 # 20).
Proof. reflexivity. Qed.
(** Parts that add up to more than the share are no public facts. *)
Example too_much_is_refused : sound_publicb
  {| share := 1; quantum := 1; gate := 1 # 10; lattice := 1; least := [];
     tunings := [{| choosing := 5 # 10; answering := 5 # 10; points := [1]; climbs := [0]; fence := None |}];
     tail := None |} = false.
Proof. reflexivity. Qed.

(** The checker refuses laws that differ in what is public: scales, numbers of values, kinds, thresholds by which the
    next law is picked, texts of rules, numbers of places, multiples, shapes, coins made for another loss. *)
Definition picks (r : rule) (n : nat) : law := Then (Noisy [3%Z] [2]) r n (fun _ => Noisy [1%Z] [2]).
Example public_parts_must_agree : map (fun p => loss (fst p) (snd p))
  [(Noisy [1%Z] [2], Noisy [1%Z] [3]); (Noisy [1%Z] [2], Noisy [1; 1]%Z [2; 2]); (Noisy [1%Z] [2], Flip [0]);
   (picks (FirstReaching [(0%nat, 5%Z)]) 2, picks (FirstReaching [(0%nat, 6%Z)]) 2);
   (picks (Code "a") 2, picks (Code "b") 2); (picks (Code "a") 2, picks (Code "a") 3); (picks Here 0, picks Here 0);
   (Exponential [0; 1] [1; 1]%Z, Exponential [0; 1] [1; 2]%Z); (Flip [0; 1], Flip [0; 1; 2]);
   (Shaped 1%Z [(2%Z, 1)], Shaped 1%Z [(3%Z, 1)]); (Noisy [1%Z] [0], Noisy [1%Z] [0]);
   (Scan [9; 4]%Z [2; 2]%Z 2 2, Scan [9; 4]%Z [2; 2]%Z 2 3); (Coin 1 1 1, Coin 1 1 2); (Coin 1 2 1, Coin 0 0 1);
   (Symbol (Some 0%nat) 3 1, Symbol (Some 0%nat) 4 1); (Symbol (Some 3%nat) 3 1, Symbol None 3 1)]
  = repeat None 16.
Proof. reflexivity. Qed.
(** A threshold of a scan that moves counts as a mass that moves, so a difference there is paid for. *)
Example thresholds_are_paid_for : loss (Scan [9; 4]%Z [2; 2]%Z 2 2) (Scan [9; 4]%Z [5; 2]%Z 2 2) = Some (3 # 1).
Proof. reflexivity. Qed.
(** The same laws lose nothing. *)
Example nothing_is_lost : loss (clip_law two_tunings some_rows) (clip_law two_tunings some_rows) = Some 0.
Proof. reflexivity. Qed.

Open Scope R_scope.

(** The ledger: questions 0 and 1 of half the budget each, to whoever asks; there are such a ledger and such answers. *)
Example a_ledger_exists (E : nat -> R) : (forall r, 0 <= E r) ->
  private E (fun D => chance_of (fun _ _ => / 2) (fun (q : bool) (_ : list nat) (y : bool) => / 2)
    (recorded Bool.bool_dec) (Compose.fits (fun _ => / 2)) (fun y y' => if Bool.bool_dec y y' then true else false)
    (fun _ : list (@event bool bool) => D)).
Proof.
  intros P. apply (plain_ledger Bool.bool_dec Bool.bool_dec E (fun _ _ => / 2) (fun _ _ _ => / 2) (fun _ => / 2));
    auto; intros; try lra.
  intros r D D' _. apply within_refl; [| intros; lra]. specialize (P r). lra.
Qed.

(** Disjoint groups: records by parity, each counted with noise. *)
Example groups_exist : private (fun _ : nat => 1) (joint (fun (g : bool) r => Bool.eqb g (Nat.even r))
  (fun _ => noisy 1 (total (fun _ => 1%Z))) [true; false]).
Proof.
  assert (private (fun _ : nat => 1 * 1) (noisy (1 / 1) (total (fun _ => 1%Z)))) as One.
  { apply (noisy_total (fun _ => 1)); try lra. intros _. simpl. lra. }
  replace (1 / 1) with 1 in One by field. rewrite Rmult_1_r in One.
  apply parallel.
  - intros _ D y. unfold noisy. left. apply laplace_pos. lra.
  - intros g h r A B. apply Bool.eqb_prop in A, B. congruence.
  - repeat constructor; simpl; intuition easy.
  - intros; lra.
  - intros g r D D' _ _ N. apply (One r D D' N).
Qed.

(** The claim on intervals: two places, of which the first clips a mass of 5 that the second does not. *)
Example a_heavy_place_exists :
  sum (permute_and_flip (ladder 2 (fun i => match i with O => 5 | _ => 0 end)
    (fun i => match i with O => 0 | _ => 1 end) 1)) [0%nat] <= exp (1 - 4) / (1 - exp (- (1))).
Proof.
  apply (interval_claim 2 _ _ (fun _ => 1%nat) 1 (1 - 4) 1 (fun _ => 4) (fun _ => 1) (fun _ => 0%nat));
    try (intros i [<- | []]); try (intros i j [<- | []] [<- | []]); simpl; try lra; try lia; auto.
  repeat constructor. easy.
Qed.
