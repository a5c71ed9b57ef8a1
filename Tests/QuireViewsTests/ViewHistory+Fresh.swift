// What a filtered view of rows to come shows, by its rules alone.

import QuireDatabase
import Testing

@testable import QuireViews

/// The rows that such a view has taken in. Stored beside the rows, like the settings.
struct FreshModel: Codable, Sendable, Equatable {
  /// The ids of the rows that it shows, by group.
  var groups: [String: [Int64]] = [:]
  /// Those that its parent showed when that was found out.
  var parent: [String: [Int64]] = [:]
}

extension RowCollection where Object == FreshModel, Metadata == Int {
  static var fresh: Self { .init("fresh") }
}

extension ViewHistory {
  func fresh(_ tx: ReadTransaction) throws -> FreshModel { try tx[.fresh].get("now") ?? FreshModel() }

  /// What the parent shows, and which of these rows the filter lets through.
  private func parentNow(
    _ parent: ViewReader<Item, Int>, _ settings: ViewSettings
  ) throws -> (shown: [String: [Int64]], passing: Set<Int64>) {
    var (shown, passing) = ([String: [Int64]](), Set<Int64>())
    for group in parent.groups {
      for (index, row) in parent.rows(in: group).map(\.row).enumerated() {
        let rowID = try #require(try parent.rowID(at: index, in: group)).rawValue
        shown[group, default: []].append(rowID)
        if try ViewSettings.isEven(settings.filter["fresh"] ?? 0, row.object) { passing.insert(rowID) }
      }
    }
    return (shown, passing)
  }

  /// Follows a change: a row comes in when the parent takes it into a group, when its object was stored or touched, and
  /// when another filter was set.
  func follow(_ tx: WriteTransaction, judged: RowKey?, all: Bool = false) throws {
    guard names.contains("fresh") else { return }
    let judged = try judged.flatMap { try tx.rowID(of: $0) }?.rawValue
    var model = try tx[.fresh].get("now") ?? FreshModel()
    let now = try parentNow(tx.view(views.keyed), tx[.settings].get("now") ?? ViewSettings())
    model.groups = Dictionary(
      uniqueKeysWithValues: now.shown.map { group, rows in
        let (old, before) = (Set(model.groups[group] ?? []), Set(model.parent[group] ?? []))
        let shown = rows.filter { rowID in
          all || rowID == judged || !before.contains(rowID) ? now.passing.contains(rowID) : old.contains(rowID)
        }
        return (group, shown)
      })
    model.parent = now.shown
    try tx[.fresh].set(model, for: "now")
  }

  /// What is to be shown when the view is registered, which its parent is: nothing, unless it is stored; if rows or the
  /// parent have changed without it, or it is of another version, those of its rows that pass, wherever the parent has
  /// them now.
  ///
  /// Noted before the view is registered, so that no crash takes back the one without the other.
  func enterFresh(_ name: String, _ status: ExtensionStatus?) throws {
    guard name == "fresh" else { return }
    let isStored = status?.kind == FilteredView<AutoView<Item, Int>>.kind
    if isStored, status?.state == .ready, status?.version == views.fresh.version { return }
    try db.write { tx throws in
      let old = try tx[.fresh].get("now") ?? FreshModel()
      let rows = isStored ? Set(old.groups.values.joined()) : []
      let now = try self.parentNow(tx.view(self.views.keyed), tx[.settings].get("now") ?? ViewSettings())
      let passing = now.passing.intersection(rows)
      self.counts[!isStored ? "fresh: begun" : passing.isEmpty ? "fresh: swept out" : "fresh: swept", default: 0] += 1
      let model = FreshModel(groups: now.shown.mapValues { $0.filter(passing.contains) }, parent: now.shown)
      try tx[.fresh].set(model, for: "now")
    }
  }
}
