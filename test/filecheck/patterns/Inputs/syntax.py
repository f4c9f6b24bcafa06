from gedialect.patterns import ge, rule

def broken(:
