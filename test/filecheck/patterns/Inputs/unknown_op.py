from gedialect.patterns import ge, rule


@rule(exact="bits")
def no_such_op(x):
    return ge.abs(ge.abbs(x)), x
