from gedialect.patterns import ge, number, rule


@rule(exact="tolerance")
def reciprocal(x, c: number):
    return x / c, x * (lambda c: [c][1])


@rule(exact="bits")
def relu_relu_again(x):
    return ge.relu(ge.relu(x)), ge.relu(x)
