"""What outcomes and reasons mean, in words."""

from __future__ import annotations

ENDINGS = {
    "query": "a query: it stands on the test side and was drawn",
    "corpus": "in the corpus: it stands on the train side and was drawn",
    "pool": "kept in the pool, in no set",
    "dropped": "dropped",
}
REASONS = {
    "ambiguous": "two faults tie, so no class is the majority",
    "mixed": "Normal has most votes, but not all that normal_purity asks for",
    "unlabelled": "it touches a step without a label, or nothing in it votes",
    "crosses_units": "it reaches from one split unit into the next",
    "conflicting_duplicate": "an identical window has another class",
    "duplicate": "an identical window of the same class stands for it",
    "normal_not_drawn": "a Normal window beyond what the pollution levels need",
    "normal_on_query_side": "a Normal window on the query side; normal windows are never queries",
    "class_not_drawn": "its class gets no place on this side",
    "over_cap": "its class's share of the cap was filled by windows drawn before it",
}
