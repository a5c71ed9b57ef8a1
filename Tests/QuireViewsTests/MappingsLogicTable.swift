// The cases of YapDatabase's mappings tests.

extension LogicTable {
  /// Settings, counts and steps, and what is shown and told.
  static let mappings = #"""
    fixedRange_beginning_1A: fixed len20 off0 Beginning n(40) ops[+@2] n(41) ⇒ items=20 rows{I→0.2, D0.19}
    fixedRange_beginning_1C: fixed len20 off0 Beginning n(40) ops[+@19] n(41) ⇒ items=20 rows{I→0.19, D0.19}
    fixedRange_beginning_2A: fixed len20 off0 Beginning n(40) ops[-@2] n(39) ⇒ items=20 rows{D0.2, I→0.19}
    fixedRange_beginning_2C: fixed len20 off0 Beginning n(40) ops[-@19] n(39) ⇒ items=20 rows{D0.19, I→0.19}
    fixedRange_beginning_3A: fixed len20 off0 Beginning n(40) ops[+@10 +@10] n(42) ⇒ items=20 rows{I→0.11, I→0.10, \#
      D0.19, D0.18}
    fixedRange_beginning_3C: fixed len20 off0 Beginning n(40) ops[+@18 +@18] n(42) ⇒ items=20 rows{I→0.19, I→0.18, \#
      D0.19, D0.18}
    fixedRange_beginning_4A: fixed len20 off0 Beginning n(40) ⇒ items=20 ops[-@10 -@10] n(38) ⇒ items=20 \#
      rows{D0.10, D0.11, I→0.19, I→0.18}
    fixedRange_beginning_4C: fixed len20 off0 Beginning n(40) ops[-@19 -@18] n(38) ⇒ items=20 rows{D0.19, D0.18, \#
      I→0.19, I→0.18}
    fixedRange_beginning_5A: fixed len20 off0 Beginning n(0) ⇒ items=0 ops[+@0 +@1] n(2) ⇒ items=2 #row=2 \#
      rows{I→0.0, I→0.1}
    fixedRange_beginning_5C: fixed len20 off0 Beginning n(19) ⇒ items=19 ops[+@0 +@1] n(21) ⇒ items=20 #row=3 \#
      rows{I→0.0, I→0.1, D0.18}
    fixedRange_beginning_6B: dynamicAll fixed len2 off0 Beginning n(4) ops[reset§""] ⇒ items=2 n(0) ⇒ items=0 \#
      #sec=1 #row=2 sections{D0} rows{D0.1, D0.0}
    fixedRange_beginning_6D: fixed len20 off0 Beginning n(2) ⇒ items=2 ops[+key@0 reset§"" +key@0] n(1) ⇒ items=1 \#
      #row=3 rows{D0.1, D0.0, I→0.0}
    fixedRange_beginning_7B: fixed len2 off0 Beginning n(4) ⇒ items=2 idx(0)=0 ops[-@1 -@0 -@0 -@0 -§""] n(0) ⇒ \#
      items=0 len=0 offBeginning=0 offEnd=0
    fixedRange_beginning_8A: fixed len2 off0 Beginning n(4) ops[reset§""] ⇒ items=2 idx(0)=0 n(0)!force ⇒ items=0 \#
      len=0 offBeginning=0 offEnd=0
    fixedRange_beginning_8C: fixed len50 off0 Beginning dep-1 n(54) ⇒ items=50 idx(0)=0 ops[-×50@49..0 -×4@3..0 \#
      -§""] n(0)!force ⇒ items=0 len=0 offBeginning=0 offEnd=0
    fixedRange_end_1B: fixed len20 off0 End n(40) ops[+@40] n(41) ⇒ items=20 rows{I→0.19, D0.0}
    fixedRange_end_1D: fixed len20 off0 End n(40) ops[+@10] n(41) ⇒ items=20 #row=0
    fixedRange_end_2B: fixed len20 off0 End n(40) ops[-@20] n(39) ⇒ items=20 rows{D0.0, I→0.0}
    fixedRange_end_2D: fixed len20 off0 End n(40) ops[-@10] n(39) ⇒ items=20 #row=0
    fixedRange_end_3B: fixed len20 off0 End n(40) ops[+@22 +@23] n(42) ⇒ items=20 rows{I→0.0, I→0.1, D0.0, D0.1}
    fixedRange_end_3D: fixed len20 off0 End n(40) ops[+×4@22..25] n(44) ⇒ items=20 rows{I→0.0, I→0.1, D0.0, D0.1}
    fixedRange_end_4B: fixed len20 off0 End n(40) ⇒ items=20 ops[-@21 -@20] n(38) ⇒ items=20 rows{D0.1, D0.0, \#
      I→0.0, I→0.1}
    fixedRange_end_4D: fixed len20 off0 End n(40) ⇒ items=20 ops[-×4@18 each] n(36) ⇒ items=20 rows{D0.0, D0.1, \#
      I→0.0, I→0.1}
    fixedRange_end_5B: fixed len20 off0 End n(10) ⇒ items=10 ops[+@0 +@1] n(12) ⇒ items=12 #row=2 rows{I→0.0, \#
      I→0.1}
    fixedRange_end_6A: fixed len20 off0 End n(2) ops[reset§""] ⇒ items=2 n(0) ⇒ items=0 #row=2 rows{D0.1, D0.0}
    fixedRange_end_6C: fixed len20 off0 End n(2) ⇒ items=2 ops[reset§"" +@0] n(1) ⇒ items=1 #row=3 rows{D0.1, D0.0, \#
      I→0.0}
    fixedRange_end_7A: fixed len2 off0 End n(4) ops[reset§""] ⇒ items=2 idx(0)=2 n(0) ⇒ items=0 len=0 \#
      offBeginning=0 offEnd=0
    fixedRange_end_7C: fixed len50 off0 End dep-1 n(54) ⇒ items=50 idx(0)=4 ops[-×50@49..0 -×4@3..0 -§""] n(0) ⇒ \#
      items=0 len=0 offBeginning=0 offEnd=0
    fixedRange_end_8B: fixed len2 off0 End n(4) ⇒ items=2 idx(0)=2 ops[-@1 -@0 -@0 -@0 -§""] n(0)!force ⇒ items=0 \#
      len=0 offBeginning=0 offEnd=0
    fixedRange_multi_1A: groups=A,B fixed len20 off0 Beginning n(A=40,B=40) ops[+key@A:2 +key@B:2] n(A=41,B=41) ⇒ \#
      items(A)=20 ⇒ items(B)=20 #sec=0 rows{I→0.2, I→1.2, D0.19, D1.19}
    flexibleRange_1A_beginning: flexible len20 off0 Beginning n(40) ⇒ items=20 ops[+@2] n(41) ⇒ items=21 #row=1 \#
      rows{I→0.2}
    flexibleRange_1C_beginning: flexible len20 off0 Beginning n(40) ⇒ items=20 ops[+@19] n(41) ⇒ items=21 #row=1 \#
      rows{I→0.19}
    flexibleRange_1A_end: flexible len20 off0 End n(40) ⇒ items=20 ops[+@30] n(41) ⇒ items=21 #row=1 rows{I→0.10}
    flexibleRange_1C_end: flexible len20 off0 End n(40) ⇒ items=20 ops[+@21] n(41) ⇒ items=21 #row=1 rows{I→0.1}
    flexibleRange_2A_beginning: flexible len20 off0 Beginning n(40) ⇒ items=20 ops[-@2] n(39) ⇒ items=19 #row=1 \#
      rows{D0.2}
    flexibleRange_2C_beginning: flexible len20 off0 Beginning n(40) ⇒ items=20 ops[-@19] n(39) ⇒ items=19 #row=1 \#
      rows{D0.19}
    flexibleRange_2A_end: flexible len20 off0 End n(40) ⇒ items=20 ops[-@22] n(39) ⇒ items=19 #row=1 rows{D0.2}
    flexibleRange_2C_end: flexible len20 off0 End n(40) ⇒ items=20 ops[-@20] n(39) ⇒ items=19 #row=1 rows{D0.0}
    flexibleRange_3A_beginning: flexible len20 off0 Beginning n(40) ⇒ items=20 ops[+@10 +@10] n(42) ⇒ items=22 \#
      #row=2 rows{I→0.11, I→0.10}
    flexibleRange_3C_beginning: flexible len20 off0 Beginning n(40) ⇒ items=20 ops[+@18 +@18] n(42) ⇒ items=22 \#
      #row=2 rows{I→0.19, I→0.18}
    flexibleRange_3A_end: flexible len20 off0 End n(40) ⇒ items=20 ops[+@30 +@31] n(42) ⇒ items=22 #row=2 \#
      rows{I→0.10, I→0.11}
    flexibleRange_3C_end: flexible len20 off0 End n(40) ops[+@21 +@21] n(42) ⇒ items=22 #row=2 rows{I→0.2, I→0.1}
    flexibleRange_4A_beginning: flexible len20 off0 Beginning n(40) ⇒ items=20 ops[-@10 -@10] n(38) ⇒ items=18 \#
      #row=2 rows{D0.10, D0.11}
    flexibleRange_4C_beginning: flexible len20 off0 Beginning n(40) ⇒ items=20 ops[-@19 -@18] n(38) ⇒ items=18 \#
      #row=2 rows{D0.19, D0.18}
    flexibleRange_4A_end: flexible len20 off0 End n(40) ⇒ items=20 ops[-@30 -@30] n(38) ⇒ items=18 #row=2 \#
      rows{D0.10, D0.11}
    flexibleRange_4C_end: flexible len20 off0 End n(40) ⇒ items=20 ops[-@20 -@20] n(38) ⇒ items=18 #row=2 \#
      rows{D0.0, D0.1}
    flexibleRange_5A_beginning: flexible len20 off0 Beginning n(20) ops[-key@19 +key@0] n(20) ⇒ items=20 #row=1 \#
      rows{M0.19→0.0}
    flexibleRange_5C_beginning: flexible len20 off0 Beginning n(25) ops[-key@0 +key@24] n(25) ⇒ items=19 #row=1 \#
      rows{D0.0}
    flexibleRange_5A_end: flexible len20 off0 End n(20) ⇒ items=20 ops[-key@0 +key@19] n(20) ⇒ items=20 #row=1 \#
      rows{M0.0→0.19}
    flexibleRange_5C_end: flexible len20 off0 End n(25) ops[-key@24 +key@0] n(25) ⇒ items=19 #row=1 rows{D0.19}
    flexibleRange_6A_beginning: flexible len20 off0 Beginning n(0) ⇒ items=0 ops[+@0 +@1] n(2) ⇒ items=2 #row=2 \#
      rows{I→0.0, I→0.1}
    flexibleRange_6C_beginning: flexible len20 off0 Beginning n(19) ⇒ items=19 ops[+@20 +@0] n(21) ⇒ items=20 \#
      #row=1 rows{I→0.0}
    flexibleRange_6B_end: flexible len20 off0 End n(10) ⇒ items=10 ops[+@0 +@11] n(12) ⇒ items=11 #row=1 \#
      rows{I→0.10}
    flexibleRange_7A_beginning: flexible len20 off0 Beginning n(2) ops[reset§""] ⇒ items=2 n(0) ⇒ items=0 #row=2 \#
      rows{D0.1, D0.0}
    flexibleRange_7C_beginning: flexible len20 off0 Beginning n(2) ⇒ items=2 ops[+key@0 reset§"" +key@0] n(1) ⇒ \#
      items=1 #row=3 rows{D0.1, D0.0, I→0.0}
    flexibleRange_7B_end: flexible len20 off0 End n(2) ⇒ items=2 ops[reset§"" +@0] n(1) ⇒ items=1 #row=3 rows{D0.1, \#
      D0.0, I→0.0}
    flexibleRange_8A_beginning: flexible len8 off0 Beginning maxLength=10 n(8) ⇒ items=8 ops[+@0 +@0 +@0] n(11) ⇒ \#
      items=10 #row=4 rows{I→0.2, I→0.1, I→0.0, D0.7}
    flexibleRange_8C_beginning: flexible len6 off1 Beginning minLength=5 n(20) ⇒ items=6 idx(0)=1 ops[-@1 -@1 -@1] \#
      n(17) ⇒ items=5 optLen=5 optOff=0 #row=5 rows{D0.0, D0.1, D0.2, I→0.0, I→0.4}
    flexibleRange_8B_end: flexible len6 off0 End minLength=5 n(10) ⇒ items=6 ops[-@9 -@8] n(8) ⇒ items=5 #row=3 \#
      rows{D0.5, D0.4, I→0.0}
    flexibleRange_9A_beginning: flexible len2 off0 Beginning n(4) ops[reset§""] ⇒ items=2 idx(0)=0 n(0) ⇒ items=0 \#
      len=0 offBeginning=0 offEnd=0
    flexibleRange_9C_beginning: flexible len50 off0 Beginning dep-1 n(54) ⇒ items=50 idx(0)=0 ops[-×50@49..0 \#
      -×4@3..0 -§""] n(0) ⇒ items=0 len=0 offBeginning=0 offEnd=0
    flexibleRange_9B_end: flexible len2 off0 End n(4) ⇒ items=2 idx(0)=2 ops[-@1 -@0 -@0 -@0 -§""] n(0) ⇒ items=0 \#
      len=0 offBeginning=0 offEnd=0
    flexibleRange_10A_beginning: flexible len2 off0 Beginning n(4) ops[reset§""] ⇒ items=2 idx(0)=0 n(0)!force ⇒ \#
      items=0 len=0 offBeginning=0 offEnd=0
    flexibleRange_10C_beginning: flexible len50 off0 Beginning dep-1 n(54) ⇒ items=50 idx(0)=0 ops[-×50@49..0 \#
      -×4@3..0 -§""] n(0)!force ⇒ items=0 len=0 offBeginning=0 offEnd=0
    flexibleRange_10B_end: flexible len2 off0 End n(4) ⇒ items=2 idx(0)=2 ops[-@1 -@0 -@0 -@0 -§""] n(0)!force ⇒ \#
      items=0 len=0 offBeginning=0 offEnd=0
    flexibleRange_11A_beginning: flexible len3 off0 Beginning minLength=3 growBothSides n(4) ⇒ items=3 idx(0)=0 \#
      ops[-@0] n(3) ⇒ items=3 #sec=0 #row=2 len=3 offBeginning=0 offEnd=0 rows{D0.0, I→0.2}
    flexibleRange_11C_beginning: flexible len3 off0 Beginning minLength=3 growBothSides n(4) ⇒ items=3 idx(0)=0 \#
      ops[-@1] n(3) ⇒ items=3 #sec=0 #row=2 len=3 offBeginning=0 offEnd=0 rows{D0.1, I→0.2}
    flexibleRange_11B_end: flexible len3 off0 End minLength=3 growBothSides n(4) ⇒ items=3 idx(0)=1 ops[-@3] n(3) ⇒ \#
      items=3 #sec=0 #row=2 len=3 offBeginning=0 offEnd=0 rows{D0.2, I→0.0}
    dependencies_1: dep-1 n(20) ops[-@17] n(19) ⇒ #row=2 rows{D0.17, U0.18→0.17}
    dependencies_3: dep-1 n(20) ops[-@10 ~@10] n(19) ⇒ #row=3 rows{D0.10, U0.11{obj+dep}, U0.12{dep}}
    dependencies_5: dep-1 n(20) ops[+@20] n(21) ⇒ #row=1 rows{I→0.20}
    dependencies_7: dep1 n(20) ops[+@0] n(21) ⇒ #row=1 rows{I→0.0}
    dependencies_8: dep-1 n(20) ops[-key0@10 -key1@10 +key1@14] n(19) ⇒ #row=4 rows{D0.10, M0.11→0.14, \#
      U0.12→0.10{dep}, U0.16→0.15{dep}}
    dependencies_below: dep1 n(20) ops[-key0@10 -key1@9 +key1@4] n(19) ⇒ #row=4 rows{D0.10, M0.9→0.4, U0.8→0.9{dep}, \#
      U0.3{dep}}
    dependencies_earlier: dep-1 n(20) ops[~@10 -@4 -@3] n(18) ⇒ #row=5 rows{U0.10→0.8, U0.11→0.9{dep}, D0.4, \#
      U0.5→0.3{dep}, D0.3}
    dependencies_of_two: dep-1 n(20) ops[-@10 ~@2 ~@10] n(19) ⇒ #row=5 rows{D0.10, U0.11→0.10{obj+dep}, U0.2, \#
      U0.3{dep}, U0.12→0.11{dep}}
    dependencies_apart: dep-1 n(20) ops[~@5 ~@2 ~@6] n(20) ⇒ #row=5 rows{U0.5, U0.6{obj+dep}, U0.2, U0.3{dep}, \#
      U0.7{dep}}
    dependencies_moved: dep-1 n(20) ops[~key1@6 ~@15 -key1@6 +key1@10] n(20) ⇒ #row=5 rows{M0.6→0.10, U0.7→0.6, \#
      U0.15, U0.16{dep}, U0.11{dep}}
    dependencies_9: dep-1 n(3) ops[-key0@0 +key0@2] n(3) ⇒ #row=2 rows{M0→2, U1→0{dep}}
    reverse_1: reversed n(6) ops[-@5] n(5) ⇒ #row=1 rows{D0.0}
    getter_1: n(3) ⇒ idx(0)=0 idx(1)=1 idx(2)=2 idx(3)=✗ row(0)=0 row(1)=1 row(2)=2 row(3)=✗
    getter_3: fixed len4 off0 Beginning n(5) ⇒ idx(0)=0 idx(1)=1 idx(2)=2 idx(3)=3 idx(4)=✗ row(0)=0 row(1)=1 \#
      row(2)=2 row(3)=3 row(4)=✗ row(5)=✗
    getter_5: fixed len4 off0 End n(5) ⇒ idx(0)=1 idx(1)=2 idx(2)=3 idx(3)=4 idx(4)=✗ row(0)=✗ row(1)=0 row(2)=1 \#
      row(3)=2 row(4)=3 row(5)=✗
    getter_7: fixed len4 off0 Beginning reversed n(5) ⇒ idx(0)=3 idx(1)=2 idx(2)=1 idx(3)=0 idx(4)=✗ row(0)=3 \#
      row(1)=2 row(2)=1 row(3)=0 row(4)=✗ row(5)=✗
    getter_9: fixed len4 off0 End reversed n(5) ⇒ idx(0)=4 idx(1)=3 idx(2)=2 idx(3)=1 idx(4)=✗ row(0)=✗ row(1)=3 \#
      row(2)=2 row(3)=1 row(4)=0 row(5)=✗
    autoConsolidateGroups_1A: groups=g0,g1 consolidate<5 as auto n(g0=2,g1=3) ops[-@g0:0] n(g0=1,g1=3) ⇒ #sec=3 \#
      #row=5 sections{D0(g0), D1(g1), I0(auto)} rows{D0.0, M0.1→0.0, M1.0→0.1, M1.1→0.2, M1.2→0.3}
    autoConsolidateGroups_1C: groups=g0,g1 consolidate<5 as auto n(g0=2,g1=3) ops[-@g0:0 -@g1:1] n(g0=1,g1=2) ⇒ \#
      #sec=3 #row=5 sections{D0(g0), D1(g1), I0(auto)} rows{D0.0, D1.1, M0.1→0.0, M1.0→0.1, M1.2→0.2}
    autoConsolidateGroups_2B: groups=g0,g1 consolidate<5 as auto n(g0=2,g1=2) ops[+@g1:1] n(g0=2,g1=3) ⇒ #sec=3 \#
      #row=5 sections{D0(auto), I0(g0), I1(g1)} rows{I→1.1, M0.0→0.0, M0.1→0.1, M0.2→1.0, M0.3→1.2}
    autoConsolidateGroups_3A: groups=g0,g1 consolidate<20 as auto n(g0=2,g1=3) ops[-@g0:0] n(g0=1,g1=3) ⇒ #sec=0 \#
      #row=1 rows{D0.0}
    autoConsolidateGroups_3C: groups=g0,g1 consolidate<20 as auto n(g0=2,g1=3) ops[-@g0:0 -@g1:1] n(g0=1,g1=2) ⇒ \#
      #sec=0 #row=2 rows{D0.0, D0.3}
    autoConsolidateGroups_3E: groups=g0,g1 consolidate<20 as auto n(g0=2,g1=2) ops[+@g1:1] n(g0=2,g1=3) ⇒ #sec=0 \#
      #row=1 rows{I→0.3}
    setting_autoconsolidation_group_name_to_existing_group_should_result_in_nil_groupname_and_zero_threshold: \#
      groups=group1,group2 consolidate<100 as group1 ⇒ consolidatedName=nil threshold=0
    adding_empty_group_when_dynamic_section_for_all_groups_is_set_should_not_result_in_section_insert_change: \#
      filter/sort-block groups (all, ascending) dynamicAll n(group1=5,group2=3) n(group1=5,group2=3,group3=0) \#
      ops[+§"group3"] ⇒ #sec=0
    range_options_can_be_set_before_update_with_transaction: filter/sort-block groups (all, ascending) fixed len10 \#
      off0 Beginning n(group1=30,group2=15) ⇒ rangeOptions(group2)≠nil ⇒ items(group2)=10
    dependencies_can_be_set_before_update_with_transaction: filter/sort-block groups (all, ascending) dep-1 \#
      n(group1=30,group2=15) ops[~@group1:3] n(group1=30,group2=15) ⇒ depOffsets(group1)={-1} #row=2 rows{3{obj}, \#
      4{dep}}
    row_update_in_removed_group_get_filtered_out: filter/sort-block groups (all, ascending) \#
      n(group1=5,group2=3,group3=2) ops[~@group3:0] n(group1=5,group2=3) ⇒ #row=0
    consolidation_threshhold_and_group_name_get_cleared_on_update_transaction_if_name_is_in_new_groups: \#
      filter/sort-block groups (all, ascending) consolidate<100 as super-omega-group ⇒ consolidatedName≠nil \#
      threshold=100 n(group1=30,group2=15,super-omega-group=10) ⇒ consolidatedName=nil threshold=0
    """#
}
