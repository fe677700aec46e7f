"""All refusals that a person can be sent: one sentence each, which depends on nothing but its code.

No path, no name of another's, no constant of another's question, and nothing that an engine or a ledger says.
"""

from __future__ import annotations

from prdp.errors import BudgetExhausted, PrdpError

REFUSALS: dict[str, tuple[int, str]] = {
    "malformed": (400, "this is not a request that the server can read."),
    "host": (400, "the server is not known by this name."),
    "not_signed_in": (401, "sign in first, or send Authorization: Bearer TOKEN."),
    "sign_in": (401, "the name or the password is wrong."),
    "purse": (402, "your budget for this table has less left than the question asks for."),
    "cap": (402, "this token may spend less than the question asks for."),
    "budget": (402, "the table's budget has less left than the question asks for."),
    "origin": (403, "this request does not come from a page of this server."),
    "role": (403, "your role may not do this."),
    "scope": (403, "this token may not do this."),
    "own": (403, "nobody does this for themselves."),
    "not_found": (404, "there is nothing here."),
    "wrong_method": (405, "this cannot be asked for in this way."),
    "too_slow": (408, "the request took too long to arrive."),
    "plan_is_old": (409, "the plan is not that of this statement and share now. Make a new plan."),
    "key_reused": (409, "this Idempotency-Key belongs to another request."),
    "decided": (409, "the request has been decided, withdrawn or has expired."),
    "other_digest": (409, "the digest is not that of the request."),
    "below_spent": (409, "more than this has been spent already."),
    "name_taken": (409, "there is somebody of this name."),
    "label_taken": (409, "there is a token of this label. Revoke it first, or choose another label."),
    "last_owner": (409, "a server keeps at least one owner."),
    "used": (410, "this invitation has been used, or has expired."),
    "too_large": (413, "this is more than the server reads at once."),
    "wrong_type": (415, "send application/json."),
    "invalid": (422, "a field is missing, unknown or not of its form."),
    "statement": (422, "the statement cannot be answered."),
    "too_many": (429, "too many requests: wait, then try again."),
    "failed": (500, "the server failed. What was charged remains: ask the same question again."),
    "busy": (503, "the server is busy or starting: try again soon."),
}


class RequestRefused(PrdpError):  # noqa: N818  (reads as what it is)
    """A request that is not served, by its code.

    >>> RequestRefused("purse").status, str(RequestRefused("sign_in"))
    (402, 'the name or the password is wrong.')

    Attributes:
        code: Its code in ``REFUSALS``.
        detail: More about the analyst's own statement, from public facts; empty for all else.
        reason: The same without the underlined place and the advice.
        advice: What to write instead.
        place: Where in the statement; -1 for nowhere.
    """

    def __init__(
        self, code: str, detail: str = "", *, reason: str = "", advice: str = "", place: int = -1
    ) -> None:
        super().__init__(REFUSALS[code][1])
        self.code, self.detail = code, detail
        self.reason, self.advice, self.place = reason, advice, place

    @property
    def status(self) -> int:
        """The HTTP status."""
        return REFUSALS[self.code][0]

    @property
    def facts(self) -> dict[str, str]:
        """The body of the response."""
        return {"code": self.code, "message": self.detail or REFUSALS[self.code][1]}


def code_of(error: BaseException) -> str:
    """Return the code by which an analyst hears of a failure; nothing else of it is repeated."""
    if isinstance(error, RequestRefused):
        return error.code
    return "budget" if isinstance(error, BudgetExhausted) else "failed"
