pdl.pattern @relu_of_abs : benefit(2) {
  %t = pdl.type
  %x = pdl.operand : %t
  %a = pdl.operation "ge.abs" (%x : !pdl.value) -> (%t : !pdl.type)
  %v = pdl.result 0 of %a
  %r = pdl.operation "ge.relu" (%v : !pdl.value) -> (%t : !pdl.type)
  pdl.rewrite %r {
    pdl.replace %r with (%v : !pdl.value)
  }
}
