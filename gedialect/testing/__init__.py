"""For tests of this and other projects: a lit configuration, a fast FileCheck runner, a round trip."""
