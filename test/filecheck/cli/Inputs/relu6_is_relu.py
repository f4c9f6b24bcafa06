"""A rule that is wrong: relu6 has an upper bound."""

from gedialect.patterns import ge, rule


@rule(exact="value")
def relu6_is_relu(x):
    """relu6(x) is not relu(x) where x > 6."""
    return ge.relu6(x), ge.relu(x)
