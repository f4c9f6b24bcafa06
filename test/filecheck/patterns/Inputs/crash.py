from gedialect.patterns import ge, rule

rules = [ge.abs(1) for _ in range(0)]
raise RuntimeError("no rules today")
