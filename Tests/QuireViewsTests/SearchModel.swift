// The search views of a random life, and what they are to show.

import QuireDatabase
import QuireTesting

@testable import QuireViews

/// What a search view of the model is searched for. Stored beside the rows, so that whatever undoes a search undoes
/// this.
struct ItemPick: Codable, Sendable, Equatable {
  enum Kind: String, Codable, CaseIterable { case atLeast, divisible, metadata, smallest, twins }

  var kind: Kind
  var number: Int
  /// Whether what is stored of the selection is enough to make it again.
  var isStored: Bool

  init(_ kind: Kind, _ number: Int, isStored: Bool = true) {
    (self.kind, self.number, self.isStored) = (kind, number, isStored)
  }

  init?(_ text: String) {
    let parts = text.split(separator: ":")
    guard parts.count == 2, let kind = Kind(rawValue: String(parts[0])), let number = Int(parts[1]) else { return nil }
    self.init(kind, number)
  }

  /// Whether other rows count.
  var isJoin: Bool { kind == .smallest || kind == .twins }

  /// Those of all rows that are found.
  func found(_ rows: [ModelRow]) -> Set<RowID> {
    switch kind {
    case .atLeast: Set(rows.filter { $0.item.rank >= number }.map(\.rowID))
    case .divisible: Set(rows.filter { $0.item.rank % (number + 1) == 0 }.map(\.rowID))
    case .metadata: Set(rows.filter { ($0.metadata ?? 0) % (number + 1) == 0 }.map(\.rowID))
    case .smallest: Set(ranked(rows).prefix(3 * number))
    case .twins: twins(rows)
    }
  }

  /// Rows whose key is that of a row of another collection.
  private func twins(_ rows: [ModelRow]) -> Set<RowID> {
    let counts = Dictionary(grouping: rows, by: \.key.key)
    return Set(rows.filter { (counts[$0.key.key]?.count ?? 0) > 1 }.map(\.rowID))
  }

  /// All rows, the best ones first.
  func ranked(_ rows: [ModelRow]) -> [RowID] {
    rows.sorted { ($0.item.rank % (number + 2), $0.rowID) < ($1.item.rank % (number + 2), $1.rowID) }.map(\.rowID)
  }
}

extension RowCollection where Object == [String: ItemPick], Metadata == Int {
  static var picks: Self { .init("picks") }
}

extension TransactionReading {
  /// All rows of the model, in the order of their ids.
  func modelRows() -> [ModelRow] {
    ["items", "others"].flatMap { name in
      rows(of: RowCollection<Item, Int>.items(name)).rows.map { row in
        ModelRow(key: RowKey(name, row.key), rowID: row.rowID, item: row.object, metadata: row.metadata)
      }
    }.sorted { $0.rowID < $1.rowID }
  }
}

/// The same as a selection, which throws when a trap is set.
struct ItemSelection: RankedSelection {
  let pick: ItemPick
  let trap: Trap

  var name: String { "\(pick.kind):\(pick.number)" }
  var storedForm: String? { pick.isStored ? name : nil }
  var dependsOnOtherRows: Bool { pick.isJoin }

  func rows(in tx: ReadTransaction) throws -> any SelectedRows { try trap.passing(SelectedItems(pick, tx)) }

  func rankedRowIDs(limit: Int, in tx: ReadTransaction) throws -> [(rowID: RowID, score: Double)] {
    try trap.passing(pick.ranked(tx.modelRows()).prefix(limit).enumerated().map { ($1, -Double($0)) })
  }
}

private final class SelectedItems: SelectedRows {
  let pick: ItemPick
  let tx: ReadTransaction

  init(_ pick: ItemPick, _ tx: ReadTransaction) { (self.pick, self.tx) = (pick, tx) }

  var description: String { "items" }
  func cost(upTo limit: Int) -> Int? { 0 }
  // Some that are gone, and some twice.
  func rowIDs() -> [RowID] { pick.found(tx.modelRows()).flatMap { [$0, $0] } + [RowID(9_999_999)] }

  func filter(_ rowIDs: [RowID]) throws -> [RowID] {
    precondition(!pick.isJoin, "single rows are asked about that others decide on")
    let wanted = Set(rowIDs)
    return Array(pick.found(tx.modelRows().filter { wanted.contains($0.rowID) }))
  }
}

/// The descriptions of the views.
struct SearchModel {
  /// The search views; each comes after the one that it takes rows of.
  static let names = [
    "ofKeyed", "ofCompared", "ofSeveral", "ofList", "ownKeyed", "ownCompared", "best", "ofSearch",
  ]
  static let allowedGroups = ["a", "", "r1"]

  let keyed: AutoView<Item, Int>
  let compared: AutoView<Item, Int>
  let several: AutoView<Item, Int>
  let list: ManualView<Item, Int>
  let searches: [String: SearchView<Item, Int>]
  let filtered: FilteredView<SearchView<Item, Int>>

  /// - Parameter settings: of `keyed` and `compared`.
  init(_ settings: ViewSettings, isPersistent: Bool, _ trap: Trap) {
    let both: [RowCollection<Item, Int>] = [.items("items"), .items("others")]
    func auto(_ name: String) -> AutoView<Item, Int> {
      AutoView(
        name, over: both, version: settings.versionText(name), isPersistent: isPersistent,
        grouping: ViewSettings.grouping(settings.grouping[name] ?? 0, Trap()),
        sorting: ViewSettings.sorting(settings.sorting[name] ?? 0, Trap()))
    }
    (keyed, compared) = (auto("keyed"), auto("compared"))
    several = AutoView(
      "several", over: [.items("items")], isPersistent: isPersistent,
      grouping: .severalByRow { row in try ["all"] + (row.metadata.map { ["m\($0 % 3)"] } ?? []) },
      sorting: .byMetadata { $0 })
    list = ManualView("list", over: both, isPersistent: isPersistent)
    let restoring: SearchView<Item, Int>.Restoring = { text in
      ItemPick(text).map { ItemSelection(pick: $0, trap: trap) }
    }
    func own(_ name: String, _ sorting: ViewSorting<Item, Int>) -> SearchView<Item, Int> {
      SearchView(
        name, over: both, isPersistent: isPersistent, grouping: .byObject { $0.group }, sorting: sorting,
        restoring: restoring)
    }
    let ownKeyed = own("ownKeyed", .byObject { $0.rank })
    let ofKeyed = SearchView("ofKeyed", of: keyed, isPersistent: isPersistent, restoring: restoring)
    let all = [
      ofKeyed, ownKeyed, own("ownCompared", .byObject { $0.rank < $1.rank }),
      SearchView(
        "ofCompared", of: compared, allowedGroups: Self.allowedGroups, isPersistent: isPersistent,
        restoring: restoring),
      SearchView("ofSeveral", of: several, isPersistent: isPersistent, restoring: restoring),
      SearchView("ofList", of: list, isPersistent: isPersistent, restoring: restoring),
      SearchView("best", over: both, bestRows: 7),
      SearchView("ofSearch", of: ownKeyed, isPersistent: isPersistent, restoring: restoring),
    ]
    searches = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })
    filtered = FilteredView(
      "filtered", of: ofKeyed, isPersistent: isPersistent, filter: .byObject { $0.rank % 2 == 0 })
  }

  /// All views, each after those that it takes rows of.
  var all: [any ViewExtension<Item, Int>] {
    [keyed, compared, several, list] + Self.names.compactMap { searches[$0] } + [filtered]
  }

  /// What the views show.
  func shown(_ tx: some TransactionReading) throws -> [String: Shown] {
    var shown: [String: Shown] = [:]
    for view in all { shown[view.name] = try reader(view, tx).shown() }
    return shown
  }

  func checkInvariants(_ tx: ReadTransaction) throws {
    for view in all { try reader(view, tx).trees.checkInvariants() }
  }

  private func reader(
    _ view: some ViewExtension<Item, Int>, _ tx: some TransactionReading
  ) throws -> ViewReader<Item, Int> { try tx.view(view) }

  /// What search views are to show beside what their parents show. “ownCompared” may have rows of one rank in another
  /// order.
  func expected(_ name: String, _ now: [String: Shown], _ rows: [ModelRow], _ pick: ItemPick?) -> Shown {
    guard let pick else { return [:] }
    let found = pick.found(rows)
    let keys = Set(rows.filter { found.contains($0.rowID) }.map(\.key))
    func some(_ parent: String) -> Shown {
      (now[parent] ?? [:]).mapValues { $0.filter(keys.contains) }.filter { !$1.isEmpty }
    }
    switch name {
    case "ofKeyed": return some("keyed")
    case "ofCompared": return some("compared").filter { Self.allowedGroups.contains($0.key) }
    case "ofSeveral": return some("several")
    case "ofList": return some("list")
    case "ofSearch": return some("ownKeyed")
    case "best":
      let byID = Dictionary(uniqueKeysWithValues: rows.map { ($0.rowID, $0.key) })
      let best = pick.ranked(rows).prefix(7).compactMap { byID[$0] }
      return best.isEmpty ? [:] : ["": best]
    default:
      return grouped(rows.filter { found.contains($0.rowID) }) {
        $0.item.group.map { [$0] } ?? []
      } by: {
        ($0.item.rank, $0.rowID) < ($1.item.rank, $1.rowID)
      }
    }
  }
}
