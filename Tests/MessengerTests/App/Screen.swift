// A table on the screen, which is kept by what notifications tell of its sections and rows.

import Foundation
import Testing
import YapCompat

/// What a table shows of a row.
struct Cell: Equatable, Sendable {
  let key: String
  let text: String
}

struct Section: Equatable, Sendable {
  let group: String
  var cells: [Cell]
}

/// A table that asks for what it shows as a table view would: all of it once, then the rows that changed.
@MainActor final class Screen {
  struct Mismatch: Error, CustomStringConvertible { let description: String }
  typealias Draw = (YapDatabaseReadTransaction, _ key: String, _ object: Any, _ metadata: Any?) -> String

  let connection: YapDatabaseConnection
  let mappings: YapDatabaseViewMappings
  private let draw: Draw
  private(set) var sections: [Section] = []
  /// How often it was made anew, or told how many rows.
  private(set) var counts: [String: Int] = [:]

  init(_ connection: YapDatabaseConnection, _ mappings: YapDatabaseViewMappings, _ draw: @escaping Draw) throws {
    (self.connection, self.mappings, self.draw) = (connection, mappings, draw)
    try connection.read { transaction in
      mappings.update(with: transaction)
      sections = (0..<mappings.numberOfSections()).map { load($0, transaction) }
    }
  }

  private func view(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseViewTransaction {
    try #require(transaction.ext(mappings.view) as? YapDatabaseViewTransaction)
  }

  private func cell(_ path: IndexPath, _ transaction: YapDatabaseReadTransaction) -> Cell {
    guard let view = transaction.ext(mappings.view) as? YapDatabaseViewTransaction,
      let (_, key) = view.getCollectionKey(at: path, with: mappings),
      let object = view.object(at: path, with: mappings)
    else { return Cell(key: "?", text: "nothing at \(path)") }
    return Cell(key: key, text: draw(transaction, key, object, view.metadata(at: path, with: mappings)))
  }

  private func load(_ section: UInt, _ transaction: YapDatabaseReadTransaction) -> Section {
    Section(
      group: mappings.group(forSection: section) ?? "",
      cells: (0..<mappings.numberOfItems(inSection: section)).map { row in
        cell(IndexPath(indexes: [Int(section), Int(row)]), transaction)
      })
  }

  // MARK: Following

  /// Brings the table on by what notifications tell.
  func follow(_ notifications: [Notification]) throws {
    guard let changes = connection.ext(mappings.view) as? YapDatabaseViewConnection else {
      throw Mismatch(description: "no view \(mappings.view)")
    }
    guard changes.hasChanges(for: notifications) else {
      // Nothing of the view: the mappings only have to know the commit.
      try connection.read { mappings.update(with: $0) }
      return
    }
    var (sectionChanges, rowChanges) = ([YapDatabaseViewSectionChange](), [YapDatabaseViewRowChange]())
    try changes.getSectionChanges(
      &sectionChanges, rowChanges: &rowChanges, forNotifications: notifications, with: mappings)
    if sectionChanges.isEmpty && rowChanges.isEmpty { return }
    try connection.read { try apply(sectionChanges, rowChanges, $0) }
  }

  /// As a table view does: what goes by the old places, then what comes by the new ones, and then what is drawn anew.
  private func apply(
    _ sectionChanges: [YapDatabaseViewSectionChange], _ rowChanges: [YapDatabaseViewRowChange],
    _ transaction: YapDatabaseReadTransaction
  ) throws {
    var (updated, gone) = ([String: String](), [Int: Set<Int>]())
    for change in rowChanges {
      counts["\(change.type)", default: 0] += 1
      guard let path = change.indexPath else { continue }
      if change.type == .update {
        let old = sections[path[0]].cells[path[1]].key
        updated[old] = old
      } else {
        gone[path[0], default: []].insert(path[1])
      }
    }
    for (section, rows) in gone {
      for row in rows.sorted(by: >) { sections[section].cells.remove(at: row) }
    }
    for change in sectionChanges.filter({ $0.type == .delete }).sorted(by: { $0.index > $1.index }) {
      sections.remove(at: Int(change.index))
    }
    // All sections deleted and inserted, without rows.
    let isReload = rowChanges.isEmpty && sectionChanges.contains { $0.type == .insert }
    for change in sectionChanges.filter({ $0.type == .insert }).sorted(by: { $0.index < $1.index }) {
      sections.insert(
        isReload ? load(change.index, transaction) : Section(group: change.group, cells: []), at: Int(change.index))
    }
    if isReload { counts["reload", default: 0] += 1 }
    let come = rowChanges.filter { $0.type != .update }.compactMap(\.newIndexPath)
    for path in come.sorted() {
      guard path[0] < sections.count, path[1] <= sections[path[0]].cells.count else {
        throw Mismatch(description: "\(path) comes, but the table has no such place")
      }
      sections[path[0]].cells.insert(cell(path, transaction), at: path[1])
    }
    for section in sections.indices {
      for row in sections[section].cells.indices where updated[sections[section].cells[row].key] != nil {
        sections[section].cells[row] = cell(IndexPath(indexes: [section, row]), transaction)
      }
    }
  }
}
