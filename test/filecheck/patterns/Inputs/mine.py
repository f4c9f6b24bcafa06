from gedialect.patterns import ge, rule


@rule(exact="bits")
def abs_abs(x):
    """The absolute value of an absolute value."""
    return ge.abs(ge.abs(x)), ge.abs(x)
