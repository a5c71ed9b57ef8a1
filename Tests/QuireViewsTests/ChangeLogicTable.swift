// The cases of YapDatabase's change logic tests.

extension LogicTable {
  /// Steps and the changes that they come to.
  static let changes = #"""
    row_1A: ops[-@2 -@0] ⇒ rows{D2→✗, D0→✗}
    row_1C: ops[-@2 -@3] ⇒ rows{D2, D4}
    row_2B: ops[+@2 +@2] ⇒ rows{I→3, I→2}
    row_3A: ops[-@2 +@0] ⇒ rows{D2, I→0}
    row_3C: ops[-@2 +@4] ⇒ rows{D2, I→4}
    row_4B: ops[+@2 -@1] ⇒ rows{I→1, D1}
    row_4D: ops[+@2 -@4] ⇒ rows{I→2, D3}
    row_5B: ops[+@2 -@1 -@2] ⇒ rows{I→1, D1, D2}
    row_6B: ops[-@2 +@0 +@1] ⇒ rows{D2, I→0, I→1}
    row_6D: ops[-@2 +@1 +@2] ⇒ rows{D2, I→1, I→2}
    row_6F: ops[-@2 +@2 +@2] ⇒ rows{D2, I→3, I→2}
    row_7B: ops[+@2 -@1 -@0 -@2 -@1] ⇒ rows{I→0, D1, D0, D3, D2}
    row_8A: ops[-@2 +@1 +@2 +@3] ⇒ rows{D2, I→1, I→2, I→3}
    section_1A: groups=A dynamicAll ops[+§"A" +@A:0] n(A=0) n(A=1) ⇒ sections{I0} rows{I→0}
    section_2A: groups=A dynamicAll ops[-@A:0 -§"A"] n(A=1) n(A=0) ⇒ sections{D0} rows{D0}
    section_3A: groups=A,B dynamicAll ops[+§"B" +@B:0 +@A:1] n(A=1,B=0) n(A=2,B=1) ⇒ sections{I1} rows{I→1.0, \#
      I→0.1}
    section_3C: groups=A,B dynamicAll ops[+§"B" +@B:0 ~@A:0] n(A=1,B=0) n(A=1,B=1) ⇒ sections{I1} rows{I→1.0, \#
      U0.0→0.0}
    section_4A: groups=A,B dynamicAll ops[-@B:0 -§"B" +@A:1] n(A=1,B=1) n(A=2,B=0) ⇒ sections{D1} rows{D1.0, I→0.1}
    section_4C: groups=A,B dynamicAll ops[-@B:0 -§"B" ~@A:0] n(A=1,B=1) n(A=1,B=0) ⇒ sections{D1} rows{D1.0, \#
      U0.0→0.0}
    section_5A: groups=A,B,C dynamicAll ops[+§"C" +@C:0 -@A:0 -§"A"] n(A=1,B=1,C=0) n(A=0,B=1,C=1) ⇒ sections{I1, \#
      D0} rows{I→1.0, D0.0}
    section_5C: groups=A,B,C dynamicAll ops[+§"B" +@B:0 -@C:0 -§"C"] n(A=1,B=0,C=1) n(A=1,B=1,C=0) ⇒ sections{I1, \#
      D1} rows{I→1.0, D1.0}
    section_6B: groups=A,B,C dynamicAll ops[+§"C" +@C:0 +§"B" +@B:0] n(A=1,B=0,C=0) n(A=1,B=1,C=1) ⇒ sections{I2, \#
      I1} rows{I→2.0, I→1.0}
    section_7B: groups=A,B,C dynamicAll ops[-@C:0 -§"C" -@B:0 -§"B"] n(A=1,B=1,C=1) n(A=1,B=0,C=0) ⇒ sections{D2, \#
      D1} rows{D2.0, D1.0}
    section_8B: groups=A,B dynamicAll ops[-oak@B:0 -§"B" +oak@A:1] n(A=1,B=1) n(A=2,B=0) ⇒ sections{D1} \#
      rows{M1.0→0.1}
    section_9A: groups=A dynamicAll ops[~oak@B:0 -oak@B:0 +oak@A:1] n(A=1) n(A=2) ⇒ #sec=0 rows{I→0.1}
    section_11A: groups=A dynamicAll ops[+§"A" +oak@A:0 -oak@A:0 -§"A"] n(A=1) n(A=1) ⇒ #sec=0 #row=0
    section_12B: groups=A staticAll ops[reset§"A"] n(A=2) n(A=0) ⇒ #sec=0 rows{D0.1, D0.0}
    BlogBug1: groups=A,B dynamicAll ops[-austin@B:0 +§"A" +austin@A:0] n(A=0,B=4) n(A=1,B=3) ⇒ sections{I0} \#
      rows{M0.0→0.0}
    Issue125_1: groups=A ops[+k2@A:2 -k0@A:0 +k0@B:18 -k1@A:0 +k1@B:19 -k2@A:0 +k2@B:20 -§"A"] n(A=2) n(A=0) ⇒ \#
      #sec=0 #row=2 rows{D0.0, D0.1}
    Issue125_3: groups=A dep-1 ops[+k3@A:2 +k2@A:2 -k0@A:0 +k0@B:18 -k1@A:0 +k1@B:19 -k2@A:0 +k2@B:20 -k3@A:0 \#
      +k3@B:21 -§"A"] n(A=2) n(A=0) ⇒ #sec=0 #row=2 rows{D0.0, D0.1}
    """#
}
