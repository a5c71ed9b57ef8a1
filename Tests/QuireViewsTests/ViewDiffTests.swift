// Single traits of diffs.

import QuireDatabase
import Testing

@testable import QuireViews

@Suite struct ViewDiffTests {
  private let row = RowKey("c", "row")

  private func mappings(_ counts: [(group: String, count: Int)]) -> ViewMappings {
    var mappings = ViewMappings(view: "v", groups: counts.map(\.group))
    mappings.update(counts: counts, csn: 1)
    return mappings
  }

  private func diff(
    _ operations: [ViewOperation], _ old: [(group: String, count: Int)], _ new: [(group: String, count: Int)],
    _ set: (inout ViewMappings) -> Void = { _ in }
  ) -> ViewDiff {
    var mappings = mappings(old)
    set(&mappings)
    let diff = ViewDiff.make(operations, &mappings, newCounts: new, csn: 2)
    mappings.checkInvariants()
    #expect(mappings.csn == 2 && diff.rowCounts == (0..<mappings.sectionCount).map(mappings.count(inSection:)))
    return diff
  }

  @Test func withoutStepsNothingChanges() {
    let diff = diff([], [("a", 3)], [("a", 3)])
    #expect(diff.isEmpty && diff.rowCounts == [3])
  }

  @Test func stepsThatDoNotFitReload() throws {
    let steps: [[ViewOperation]] = [
      [],
      [.insert(row, group: "a", index: 4)],
      [.insert(row, group: "a", index: -1)],
      [.remove(row, group: "a", index: 3)],
      [.update(row, group: "a", index: .max, .object)],
      [.resetGroup("a", count: 2)],
      [.insert(row, group: "a", index: 0), .insert(row, group: "a", index: 0)],
    ]
    for operations in steps {
      let diff = diff(operations, [("a", 3)], [("a", 4)])
      #expect(diff.isReload && !diff.isEmpty && diff.rows == [] && diff.rowCounts == [4], "\(operations)")
      #expect(diff.sections.map(\.description) == ["D0(a)", "I0(a)"])
      #expect(try diff.applied(to: [[1, 2, 3]]) { $0.row } == [[0, 1, 2, 3]])
    }
  }

  @Test func absurdCountsDoNotTrap() {
    let absurd = diff([], [("a", .max), ("b", .max)], [("a", .max), ("b", .min)])
    #expect(absurd.isReload)
    var dynamic = ViewMappings(view: "v")
    dynamic.update(counts: [], csn: 1)
    let operations: [ViewOperation] = [.resetGroup("a", count: .max), .resetGroup("a", count: .max)]
    #expect(ViewDiff.make(operations, &dynamic, newCounts: [("a", .max)], csn: 2).isReload)
    #expect(ViewDiff.make([.resetGroup("a", count: .min)], &dynamic, newCounts: [("b", 1)], csn: 3).isReload)
  }

  @Test func mappingsNeverUpdatedReload() {
    var fresh = ViewMappings(view: "v", groups: ["a"])
    let diff = ViewDiff.make([.insert(row, group: "a", index: 0)], &fresh, newCounts: [("a", 1)], csn: 5)
    #expect(diff.isReload && diff.rowCounts == [1] && fresh.csn == 5)
  }

  @Test func unknownCommitsReloadAndKeepTheWindow() {
    var mappings = mappings([("a", 30)])
    mappings.window["a"] = .flexible(10, offset: 5, from: .end)
    let diff = ViewDiff.reload(&mappings, newCounts: [("a", 12)], csn: 9)
    #expect(diff.isReload && diff.rowCounts == [7] && mappings.windowPosition(of: "a")?.offsetFromEnd == 5)
    mappings.checkInvariants()
  }

  @Test func aRowInSeveralGroupsMovesWithinItsGroup() {
    let operations: [ViewOperation] = [
      .remove(row, group: "a", index: 0), .remove(row, group: "b", index: 1),
      .insert(row, group: "b", index: 0), .insert(row, group: "a", index: 1),
    ]
    let diff = diff(operations, [("a", 2), ("b", 2)], [("a", 2), ("b", 2)])
    #expect(diff.rows.map(\.description) == ["M0.0→0.1", "M1.1→1.0"])
    #expect(diff.rows.map(\.originalGroup) == ["a", "b"] && diff.rows.map(\.finalGroup) == ["a", "b"])
    #expect(diff.rows.allSatisfy { $0.key == row && $0.aspects == [.object, .metadata] })
  }

  @Test func aRowInsertedBeforeItIsRemovedElsewhereMoves() {
    let operations: [ViewOperation] = [.insert(row, group: "b", index: 0), .remove(row, group: "a", index: 1)]
    #expect(diff(operations, [("a", 2), ("b", 0)], [("a", 1), ("b", 1)]).rows.map(\.description) == ["M0.1→1.0"])
  }

  @Test func keysAreTheSameOnlyByteByByte() {
    let (one, two) = (RowKey("c", "\u{e9}"), RowKey("c", "e\u{301}"))
    let operations: [ViewOperation] = [.remove(one, group: "a", index: 0), .insert(two, group: "a", index: 0)]
    #expect(diff(operations, [("a", 1)], [("a", 1)]).rows.map(\.description) == ["D0.0", "I→0.0"])
  }

  @Test func anUpdateInASectionWithANewNumberIsAMove() {
    let operations: [ViewOperation] = [
      .insertGroup("a"), .insert(row, group: "a", index: 0), .update(RowKey("c", "b"), group: "b", index: 0, .metadata),
    ]
    let diff = diff(operations, [("a", 0), ("b", 1)], [("a", 1), ("b", 1)]) { $0.hidesEmpty.all = true }
    #expect(diff.sections.map(\.description) == ["I0(a)"])
    #expect(diff.rows.map(\.description) == ["I→0.0", "M0.0→1.0"] && diff.rows.last?.aspects == .metadata)
  }

  @Test func aRowDrawnAnewInASectionWithANewNumberMovesToo() {
    let operations: [ViewOperation] = [
      .insertGroup("a"), .insert(row, group: "a", index: 0), .remove(RowKey("c", "b"), group: "b", index: 0),
    ]
    let diff = diff(operations, [("a", 0), ("b", 3)], [("a", 1), ("b", 2)]) {
      $0.hidesEmpty.all = true
      $0.neighbourOffsets["b"] = [-1]
    }
    #expect(diff.rows.map(\.description) == ["I→0.0", "D0.0", "M0.1→1.0"])
    #expect(diff.rows.last?.aspects == .dependency)
  }

  @Test func aRowStandsAtTheFirstStepThatTouchedIt() {
    let other = RowKey("c", "other")
    let operations: [ViewOperation] = [
      .update(row, group: "a", index: 0, .object), .remove(other, group: "a", index: 1),
      .remove(row, group: "a", index: 0), .insert(other, group: "a", index: 0),
      .update(RowKey("c", "third"), group: "a", index: 1, .object),
      .update(RowKey("c", "third"), group: "a", index: 1, .metadata),
    ]
    let diff = diff(operations, [("a", 3)], [("a", 2)])
    #expect(diff.rows.map(\.description) == ["D0.0", "M0.1→0.0", "U0.2→0.1"])
    #expect(diff.rows.last?.aspects == [.object, .metadata])
  }

  @Test func rowsOfAGroupThatLeavesDynamicMappingsAreTold() {
    var mappings = ViewMappings(view: "v")
    mappings.update(counts: [("a", 2), ("b", 1)], csn: 1)
    let operations: [ViewOperation] = [
      .remove(RowKey("c", "gone"), group: "a", index: 1), .remove(row, group: "a", index: 0), .removeGroup("a"),
      .insert(row, group: "b", index: 1),
    ]
    let diff = ViewDiff.make(operations, &mappings, newCounts: [("b", 2)], csn: 2)
    #expect(diff.sections.map(\.description) == ["D0(a)"])
    #expect(diff.rows.map(\.description) == ["D0.1", "M0.0→0.1"])
    #expect(diff.rows.last?.originalGroup == "a" && diff.rows.last?.finalGroup == "b")
  }

  @Test func rowsThatShareADrawingAreTold() {
    let operations: [ViewOperation] = [.insert(row, group: "a", index: 2)]
    let diff = diff(operations, [("a", 6)], [("a", 7)]) { $0.neighbourOffsets["a"] = [-2] }
    // The original tells only the row two below; but the one below the new row has another row two above it as well.
    #expect(diff.rows.map(\.description) == ["I→0.2", "U0.2→0.3", "U0.3→0.4"])
    #expect(diff.rows.dropFirst().allSatisfy { $0.aspects == .dependency && $0.key == nil })
  }

  @Test func hugeNeighbourOffsetsDoNoHarm() {
    let operations: [ViewOperation] = [
      .insert(row, group: "a", index: 1), .remove(row, group: "a", index: 0),
      .update(RowKey("c", "other"), group: "a", index: 1, .object),
    ]
    let diff = diff(operations, [("a", 3)], [("a", 3)]) { $0.neighbourOffsets["a"] = [.min, .max, -.max] }
    #expect(diff.rows.map(\.description) == ["M0.0→0.0", "U0.2→0.2", "U0.1→0.1"])
  }

  @Test func aGroupThatWasNotChosenComesWithAllItsRows() throws {
    // Of three rows of the group the steps brought one: it had two before it was chosen.
    var mappings = ViewMappings(view: "v", where: { $0.count == 1 })
    mappings.update(counts: [("a", 1)], csn: 1)
    mappings.update(counts: [], csn: 2)
    let operations: [ViewOperation] = [.insert(row, group: "a", index: 1)]
    let diff = ViewDiff.make(operations, &mappings, newCounts: [("a", 3)], csn: 3)
    #expect(diff.sections.map(\.description) == ["I0(a)"])
    #expect(diff.rows.map(\.description) == ["I→0.1", "I→0.0", "I→0.2"])
    #expect(try diff.applied(to: []) { $0.row } == [[0, 1, 2]])
  }

  @Test func operationsTellWhatTheyTouch() {
    let operations: [ViewOperation] = [.removeGroup("a"), .update(row, group: "b", index: 0, .object)]
    #expect(operations.hasChanges(in: "b") && !operations.hasChanges(in: "c"))
    #expect(operations.hasChanges(in: ["c", "a"]) && !operations.hasChanges(in: []))
    #expect(operations.map(\.group) == ["a", "b"] && operations.map(\.key) == [nil, row])
    #expect(operations.hasChanges(for: mappings([("a", 0)])) && !operations.hasChanges(for: mappings([("c", 0)])))
    let choosy = ViewMappings(view: "v", where: { $0 == "b" })
    #expect(operations.hasChanges(for: choosy) && !operations.prefix(1).hasChanges(for: choosy))
  }

  @Test func aDiffOfAnotherListIsRefused() throws {
    let operations: [ViewOperation] = [.remove(row, group: "a", index: 2), .update(row, group: "a", index: 0, .object)]
    let diff = diff(operations, [("a", 3)], [("a", 2)])
    #expect(try diff.applied(to: [["x", "y", "z"]]) { _ in "new" } == [["new", "y"]])
    for other in [[], [["x"]], [["x", "y", "z", "!"]], [["x", "y", "z"], []]] {
      var list = other
      #expect(throws: ViewDiff.Mismatch.self) { try diff.apply(to: &list) { _ in "new" } }
      #expect(list == other)
    }
  }
}
