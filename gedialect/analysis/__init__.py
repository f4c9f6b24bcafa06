"""Facts about ge graphs that passes share; nothing here changes the IR.

``constness`` what weights alone determine, ``aliasing`` which values share bytes, ``liveness`` when a buffer is
needed, ``opcount`` how many ops a graph has, ``plan_verifier`` the proof that a memory plan is sound.
"""
