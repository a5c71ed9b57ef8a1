// What mappings say by themselves.

import Testing

@testable import QuireViews

@Suite struct ViewMappingsTests {
  private func mappings(
    _ counts: [(group: String, count: Int)], _ set: (inout ViewMappings) -> Void = { _ in }
  ) -> ViewMappings {
    var mappings = ViewMappings(view: "v", groups: counts.map(\.group))
    set(&mappings)
    mappings.update(counts: counts, csn: 1)
    mappings.checkInvariants()
    return mappings
  }

  @Test func nothingIsShownBeforeTheFirstUpdate() {
    var mappings = ViewMappings(view: "v", groups: ["a", "b", "a"])
    mappings.window["a"] = .fixed(3)
    mappings.consolidate(below: 10, as: "all")
    #expect(mappings.groups == ["a", "b"] && mappings.csn == nil && mappings.visibleGroups == [])
    #expect(mappings.sectionCount == 0 && mappings.count == 0 && mappings.isEmpty && !mappings.isConsolidated)
    #expect(mappings.section(of: "a") == nil && mappings.group(ofSection: 0) == nil)
    #expect(mappings.path(of: 0, in: "a") == nil && mappings.location(of: ViewPath(section: 0, row: 0)) == nil)
    #expect(mappings.nearest(toRow: 0, in: "a") == nil && mappings.index(ofRow: 0, in: "a") == nil)
    mappings.checkInvariants()
  }

  @Test func unknownGroupsAndPlacesAreNil() {
    let mappings = mappings([("a", 2)])
    #expect(mappings.count(in: "x") == 0 && mappings.count(inSection: 1) == 0 && mappings.count(inSection: -1) == 0)
    #expect(mappings.section(of: "x") == nil && mappings.windowPosition(of: "x") == nil)
    #expect(mappings.nearest(toRow: 0, in: "x") == nil && mappings.row(of: 0, in: "x") == nil)
    for path in [ViewPath(section: 0, row: 2), ViewPath(section: 0, row: -1), ViewPath(section: -1, row: 0)] {
      #expect(mappings.location(of: path) == nil)
    }
    #expect(mappings.row(of: 2, in: "a") == nil && mappings.row(of: -1, in: "a") == nil)
  }

  @Test func emptySectionsAreHiddenOneByOneOrAll() {
    var mappings = mappings([("a", 0), ("b", 1), ("c", 0)]) { $0.hidesEmpty["a"] = true }
    #expect(mappings.visibleGroups == ["b", "c"] && mappings.section(of: "a") == nil && mappings.section(of: "c") == 1)
    mappings.hidesEmpty.all = true
    #expect(mappings.visibleGroups == ["b"] && mappings.hidesEmpty.all && mappings.hidesEmpty["c"])
    mappings.hidesEmpty["c"] = false
    #expect(mappings.visibleGroups == ["b", "c"])
    mappings.hidesEmpty.all = false
    #expect(mappings.visibleGroups == ["a", "b", "c"] && !mappings.hidesEmpty["a"])
  }

  @Test func aWindowThatShowsNothingHidesItsSection() {
    let mappings = mappings([("a", 3), ("b", 3)]) {
      $0.hidesEmpty.all = true
      $0.window["a"] = .fixed(5, offset: 3)
    }
    #expect(mappings.visibleGroups == ["b"])
    #expect(mappings.windowPosition(of: "a")?.offsetFromBeginning == 3)
  }

  @Test func reversedFirstSettingsAreReadInTheOrderShown() {
    var mappings = mappings([("a", 10)]) {
      $0.isReversed["a"] = true
      $0.window["a"] = .fixed(3, offset: 1)
      $0.neighbourOffsets["a"] = [-1, 0, 2]
    }
    // Shown 9 … 0, of these rows 1 to 3.
    #expect((0..<3).map { mappings.index(ofRow: $0, in: "a") } == [8, 7, 6])
    #expect(mappings.window["a"] == .fixed(3, offset: 1) && mappings.neighbourOffsets["a"] == [-1, 2])
    #expect(mappings.windowPosition(of: "a")?.offsetFromBeginning == 1)
    mappings.isReversed["a"] = false
    #expect((0..<3).map { mappings.index(ofRow: $0, in: "a") } == [6, 7, 8])
    #expect(mappings.window["a"] == .fixed(3, offset: 1, from: .end) && mappings.neighbourOffsets["a"] == [1, -2])
    #expect(mappings.windowPosition(of: "a")?.offsetFromBeginning == 6)
  }

  @Test func reversedLaterTheSameRowsAreShownTheOtherWayRound() {
    let mappings = mappings([("a", 10)]) {
      $0.window["a"] = .fixed(3, offset: 1)
      $0.isReversed["a"] = true
    }
    #expect((0..<4).map { mappings.index(ofRow: $0, in: "a") } == [3, 2, 1, nil])
    #expect((0..<5).map { mappings.row(of: $0, in: "a") } == [nil, 2, 1, 0, nil])
  }

  @Test func consolidatedRowsAreFoundInTheirGroups() {
    let mappings = mappings([("a", 2), ("b", 0), ("c", 3)]) {
      $0.isReversed["c"] = true
      $0.consolidate(below: 6, as: "all")
    }
    #expect(mappings.isConsolidated && mappings.visibleGroups == ["all"] && mappings.count(in: "all") == 5)
    #expect(mappings.section(of: "c") == 0 && mappings.section(of: "all") == 0 && mappings.count(in: "c") == 3)
    let locations = (0..<6).map { mappings.location(of: ViewPath(section: 0, row: $0)) }
    #expect(locations.map { $0?.group } == ["a", "a", "c", "c", "c", nil])
    #expect(locations.map { $0?.index } == [0, 1, 2, 1, 0, nil])
    #expect(mappings.index(ofRow: 3, in: "all") == 1 && mappings.index(ofRow: 0, in: "c") == 2)
    #expect(mappings.path(of: 0, in: "c") == ViewPath(section: 0, row: 4))
    #expect(mappings.nearest(toRow: 0, in: "b") == ViewPath(section: 0, row: 1))
  }

  @Test func theNearestRowKeepsASelection() {
    let mappings = mappings([("a", 0), ("b", 2), ("c", 0), ("d", 3), ("e", 0)]) { $0.hidesEmpty.all = true }
    #expect(mappings.nearest(toRow: 1, in: "b") == ViewPath(section: 0, row: 1))
    #expect(mappings.nearest(toRow: 9, in: "b") == ViewPath(section: 0, row: 1))
    #expect(mappings.nearest(toRow: 4, in: "c") == ViewPath(section: 0, row: 1))
    #expect(mappings.nearest(toRow: 4, in: "e") == ViewPath(section: 1, row: 2))
    #expect(mappings.nearest(toRow: 4, in: "a") == ViewPath(section: 0, row: 0))
    #expect(self.mappings([("a", 0)]).nearest(toRow: 0, in: "a") == nil)
  }

  @Test func dynamicGroupsAreChosenAnewAndKeepTheirSettings() {
    var mappings = ViewMappings(view: "v", where: { $0 != "no" }, orderedBy: { $0 > $1 })
    mappings.window["late"] = .flexible(2, from: .end)
    mappings.update(counts: [("b", 1), ("no", 5), ("a", 2), ("gone", 0)], csn: 1)
    #expect(mappings.groupsAreDynamic && mappings.groups == ["b", "a"])
    mappings.update(counts: [("late", 9), ("a", 2)], csn: 2)
    #expect(mappings.groups == ["late", "a"] && mappings.count(in: "late") == 2 && mappings.csn == 2)
    #expect(mappings.index(ofRow: 0, in: "late") == 7)
  }

  @Test func aWindowStartsWhenItsGroupFirstShowsARow() {
    var mappings = mappings([("a", 0)]) { $0.window["a"] = .flexible(3, from: .end) }
    #expect(mappings.window["a"]?.length == 3)
    mappings.update(counts: [("a", 9)], csn: 2)
    #expect(mappings.count(in: "a") == 3 && mappings.index(ofRow: 0, in: "a") == 6)
    mappings.update(counts: [("a", 1)], csn: 3)
    mappings.update(counts: [("a", 9)], csn: 4)
    #expect(mappings.window["a"]?.length == 1, "a flexible window shrinks for good")
    mappings.window["a"] = nil
    #expect(mappings.count(in: "a") == 9)
  }

  @Test func mappingsAreValues() {
    var first = mappings([("a", 4)])
    let second = first
    first.window["a"] = .fixed(1)
    #expect(first.count == 1 && second.count == 4 && second.window["a"] == nil)
  }

  @Test func limitsBelowZeroCountAsZero() {
    let windows: [ViewWindow] = [
      .fixed(-1), .fixed(.max, offset: .max), .flexible(-4, offset: -4), .flexible(3, min: -2, max: -1),
      .flexible(.max, offset: -1, min: .max), .flexible(2, min: 5, max: 3),
    ]
    #expect(windows.map { window in mappings([("a", 4)]) { $0.window["a"] = window }.count } == [0, 0, 0, 0, 4, 3])
    let negative = mappings([("a", -3)])
    #expect(negative.count == 0)
  }

  @Test func namesAreTheSameOnlyByteByByte() {
    let mappings = mappings([("\u{e9}", 1), ("e\u{301}", 2)])
    #expect(mappings.sectionCount == 2 && mappings.count(in: "\u{e9}") == 1 && mappings.count(in: "e\u{301}") == 2)
  }
}
