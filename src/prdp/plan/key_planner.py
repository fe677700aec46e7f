"""From a search for keys to its plan, by public facts alone."""

from __future__ import annotations

from dataclasses import replace

from prdp.declare.exact import Exact, exact_share
from prdp.declare.groups import Grouping
from prdp.plan.key_queries import FindKeys
from prdp.plan.keys_plan import KeysPlan
from prdp.plan.left_out import leaves_out
from prdp.plan.methods import MethodTerms
from prdp.plan.planner import Planner, plan_of_one, refuse_ids


def keys_plan(planner: Planner, query: FindKeys, share: Exact) -> KeysPlan:
    """Return what will be done to find keys, or refuse it; it is charged to the whole filter."""
    owners, part = planner.owners, exact_share(share)
    if owners is None:
        query = replace(query, most_keys=None)
    else:
        refuse_ids(Grouping(query.by, ()), owners)
    terms = MethodTerms(
        planner.policy,
        planner.policy.deep_levels,
        planner.bounds,
        query,
        None,
        part,
        where=planner.where,
        entry=owners,
    )
    (method,) = query.methods
    bounds = planner.bounds if owners is None or owners.join is None else {}
    among = [planner.where] if planner.where is not None and owners is None else []
    left_out = leaves_out(planner.policy, bounds, owners=owners, among=among)
    return KeysPlan(
        (plan_of_one(terms, method, left_out),),
        part,
        planner.where,
        None,
        planner.source,
        planner.over,
        region=planner.region(),
        edition=planner.edition,
        single=False,
    )
