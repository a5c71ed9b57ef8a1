// An extension as an app writes one, with what its author may forget.

import QuireDatabase
import QuireTesting

/// How often each song was played, in a tree; and how often all were, gathered in a variable and kept as a value.
struct PlayTotal: DatabaseExtension {
  /// What its author has forgotten.
  enum Bug: CaseIterable, Sendable {
    /// Changes of metadata alone.
    case metadata
    /// That rows may all go at once.
    case clearing
    /// What the variable was before a savepoint.
    case savepoints
    /// That a row may be replaced.
    case updates
    /// The trees that another version has left.
    case versions
    /// That a writer lives for one transaction.
    case transactions
    /// That a reader sees one snapshot, and not the newest.
    case snapshots
    /// That what is in memory alone goes with the process.
    case memory
  }

  static let kind = "com.example.playTotal"
  let name = "songs.plays"
  /// The total of the newest transaction, outside of all.
  private let newest = Recorder()
  let version: String
  let bug: Bug?
  /// What is added for each play.
  let weight: Int
  let collections = CollectionFilter.only(["songs"])
  var halves: ChangedHalves { bug == .metadata ? .object : [.object, .metadata] }

  init(version: String = "1", bug: Bug? = nil, weight: Int = 1) {
    (self.version, self.bug, self.weight) = (version, bug, weight)
  }

  func makeReader(_ store: ExtensionStore) throws -> Int {
    if bug == .snapshots, let newest = newest.values.last { return Int(newest) ?? 0 }
    return try store.value("total") ?? 0
  }
  func makeWriter(_ store: ExtensionStore) throws -> PlayWriter { try PlayWriter(store, bug, weight, newest) }
}

final class PlayWriter: ExtensionWriter {
  let store: ExtensionStore
  private let plays: ExtensionTree<RowID>
  private let bug: PlayTotal.Bug?
  private let weight: Int
  private let newest: Recorder
  private var total: Int

  init(_ store: ExtensionStore, _ bug: PlayTotal.Bug?, _ weight: Int, _ newest: Recorder) throws {
    self.newest = newest
    self.store = store
    self.bug = bug
    self.weight = weight
    plays = try store.tree("plays", of: RowID.self)
    total = bug == .transactions ? 0 : try store.value("total") ?? 0
  }

  let needsWillChange = false

  func willBuild(_ reason: ExtensionBuildReason) throws {
    if bug == .versions { return }
    try store.removeEverything()
    total = 0
  }

  func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    if change.kind != .insert || bug == .versions {
      total -= Int(try plays.value(for: rowID)?.first ?? 0)
      try plays.remove(rowID)
    }
    if change.kind == .remove || bug == .updates && change.kind == .update { return }
    let count = weight * (try change.metadata(in: .songs)?.plays ?? 0)
    total += count
    try plays.put([UInt8(count)], for: rowID)
  }

  func didClearAll() throws {
    try store.removeAllEntries()
    if bug != .clearing { total = 0 }
  }

  func settleTrees() throws {
    try store.set(total, for: "total", persistent: bug != .memory)
    newest.removeAll()
    newest.append("\(total)")
  }

  func makeMark() -> Any? { total }
  func restore(_ mark: Any?) {
    if bug != .savepoints, let mark = mark as? Int { total = mark }
  }
}

struct PlayedSong: Codable, Equatable, Sendable { var title: String }
struct PlayCount: Codable, Equatable, Sendable { var plays: Int }

extension RowCollection where Object == PlayedSong, Metadata == PlayCount {
  static var songs: Self { .init("songs") }
}
