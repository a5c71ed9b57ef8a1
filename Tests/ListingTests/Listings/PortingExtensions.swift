// The listings of “Porting extensions from YapDatabase”.

import Foundation
import Quire
import YapCompat

enum PortingListings {
  struct Message: Codable, Sendable { var text: String }
  struct MessageState: Codable, Sendable { var isUnread: Bool }
}

private typealias MessageState = PortingListings.MessageState

struct Unread: DatabaseExtension {
  static let kind = "com.example.unread"
  let name = "unread"
  let version = "1"
  let halves = ChangedHalves.metadata
  let isUnread: @Sendable (RowChange) throws -> Bool

  func makeReader(_ store: ExtensionStore) throws -> UnreadTrees { try UnreadTrees(store) }
  func makeWriter(_ store: ExtensionStore) throws -> UnreadWriter { try UnreadWriter(self, store) }
}

struct UnreadTrees {
  let counts: ExtensionTree<[UInt8]>
  let rows: ExtensionTree<RowID>

  init(_ store: ExtensionStore) throws {
    counts = try store.tree("counts", of: [UInt8].self)
    rows = try store.tree("rows", of: RowID.self)
  }

  func count(in collection: String) throws -> Int {
    try counts.value(for: Array(collection.utf8)).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
  }
}

final class UnreadWriter: ExtensionWriter {
  let store: ExtensionStore
  let trees: UnreadTrees
  private let isUnread: @Sendable (RowChange) throws -> Bool

  init(_ unread: Unread, _ store: ExtensionStore) throws {
    isUnread = unread.isUnread
    self.store = store
    trees = try UnreadTrees(store)
  }

  func willBuild(_ reason: ExtensionBuildReason) throws { try store.removeEverything() }

  func didChange(_ change: RowChange) throws {
    guard let rowID = change.rowID else { return }
    let wasUnread = try trees.rows.value(for: rowID) != nil
    let isUnread = try change.kind != .remove && self.isUnread(change)
    guard isUnread != wasUnread else { return }
    if isUnread { try trees.rows.put([], for: rowID) } else { try trees.rows.remove(rowID) }
    let count = try trees.count(in: change.collection) + (isUnread ? 1 : -1)
    try trees.counts.put(Array("\(count)".utf8), for: Array(change.collection.utf8))
  }
}

extension PortingListings {
  static func count(_ database: YapDatabase, _ connection: YapDatabaseConnection) throws {
    let unread = Unread { [weak database] change in
      (try database?.metadata(of: change) as? MessageState)?.isUnread ?? false
    }
    database.register(YapDatabaseCustomExtension(unread), withName: "unread")
    try connection.read { transaction in
      let counts = transaction.ext("unread") as? YapDatabaseCustomExtensionTransaction<Unread>
      print(try counts?.reader?.count(in: "messages") ?? 0)
    }
  }
}
