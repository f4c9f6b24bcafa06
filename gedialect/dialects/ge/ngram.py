"""``ge.tf_idf``: how often known sequences of numbers occur."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from gedialect.dialects.ge.base import FLOATS, INT, INTS, TENSOR, Attrs, GeOp, Results, words
from gedialect.dialects.ge.given import check_words
from gedialect.dialects.ge.numeric import np, require_kinds
from gedialect.dialects.ge.shapes import mismatch
from gedialect.ir import dtypes
from gedialect.ir.spec import Spec


@irdl_op_definition
class TfIdfOp(GeOp):
    """Counts of n-grams in each row of x (rank 1 or 2, integers), one place of the result for each.

    ``pool`` lists the n-grams one after the other, those of length n from ``ngram_counts[n - 1]`` on; n-gram i is
    counted at place ``ngram_indexes[i]``. Only lengths from ``min_gram_length`` to ``max_gram_length`` count, their
    elements up to ``max_skip_count`` others apart. ``mode`` TF gives counts, IDF the weight (or 1) of what occurs,
    TFIDF counts times weights.
    """

    name = "ge.tf_idf"
    GE_TYPES: ClassVar = ("TfIdfVectorizer",)
    FLOAT_ATTRS: ClassVar = frozenset(("weights",))
    x = operand_def(TENSOR)
    mode = prop_def(words("TF", "IDF", "TFIDF"))
    min_gram_length = prop_def(INT)
    max_gram_length = prop_def(INT)
    max_skip_count = prop_def(INT)
    ngram_counts = prop_def(INTS)
    ngram_indexes = prop_def(INTS)
    pool = prop_def(INTS)
    weights = opt_prop_def(FLOATS)
    y = result_def(TENSOR)

    @classmethod
    def infer(cls, attrs: Attrs, *operands: Any) -> Sequence[Spec]:
        (x,) = operands
        check_words(cls, attrs)
        require_kinds(cls.name, "i", x)
        if x.rank not in (1, 2):
            raise mismatch(f"x of {cls.name} is {x}, rank 1 or 2 is needed")
        grams = len(_grams(attrs))
        if grams > len(attrs.ngram_indexes) or min(attrs.ngram_indexes, default=-1) < 0:
            raise mismatch(f"{grams} n-grams need {grams} places")
        if attrs.weights is not None and len(attrs.weights) != len(attrs.ngram_indexes):
            raise mismatch("there is a weight for each n-gram, or none")
        return [Spec(dtypes.F32, (*x.shape[:-1], max(attrs.ngram_indexes) + 1))]

    @staticmethod
    def evaluate(attrs: Attrs, *operands: Any) -> Results:
        (x,) = operands
        rows = np.atleast_2d(x)
        width = max(attrs.ngram_indexes) + 1
        y = np.zeros((len(rows), width), np.float32)
        weight = np.zeros(width, np.float32)
        for i, place in enumerate(attrs.ngram_indexes):
            weight[place] = 1 if attrs.weights is None else attrs.weights[i]
        for gram, place in zip(_grams(attrs), attrs.ngram_indexes, strict=False):
            n = len(gram)
            if not attrs.min_gram_length <= n <= attrs.max_gram_length:
                continue
            # a single element has no gaps: it is counted once
            for step in range(1, 2 if n == 1 else attrs.max_skip_count + 2):
                count = rows.shape[1] - (n - 1) * step
                if count > 0:
                    hits = [rows[:, k * step : k * step + count] == g for k, g in enumerate(gram)]
                    y[:, place] += np.logical_and.reduce(hits).sum(axis=1)
        if attrs.mode == "IDF":
            y = np.where(y > 0, weight, np.float32(0))
        elif attrs.mode == "TFIDF":
            y = y * weight
        return y.reshape((*x.shape[:-1], width))


def _grams(attrs: Attrs) -> list[tuple[int, ...]]:
    """The n-grams of the pool in order."""
    starts = [*attrs.ngram_counts, len(attrs.pool)]
    if any(a > b for a, b in pairwise(starts)) or starts[0] != 0:
        raise mismatch(f"ngram_counts {list(attrs.ngram_counts)} do not fit a pool of {len(attrs.pool)}")
    out: list[tuple[int, ...]] = []
    for n, (first, end) in enumerate(pairwise(starts), 1):
        if (end - first) % n:
            raise mismatch(f"{end - first} numbers are no n-grams of length {n}")
        out += [tuple(attrs.pool[i : i + n]) for i in range(first, end, n)]
    return out
