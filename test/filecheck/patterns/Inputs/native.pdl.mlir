pdl.pattern @native : benefit(1) {
  %t = pdl.type
  %x = pdl.operand : %t
  pdl.apply_native_constraint "small"(%x : !pdl.value)
  %r = pdl.operation "ge.relu" (%x : !pdl.value) -> (%t : !pdl.type)
  pdl.rewrite %r {
    pdl.replace %r with (%x : !pdl.value)
  }
}
