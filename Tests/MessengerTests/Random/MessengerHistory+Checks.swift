// What the screens show and the database holds, beside a fresh read and the model.

import Foundation
import Quire
import YapCompat

extension MessengerHistory {
  /// What a table kept by changes should show, read anew by the same connection.
  func expectFresh(_ screen: Screen, _ what: String) throws {
    let mappings = screen.mappings
    let fresh = try ui.connection.read { transaction in
      let view = transaction.ext(mappings.view) as? YapDatabaseViewTransaction
      return mappings.allGroups.compactMap { group -> Section? in
        var cells: [Cell] = []
        view?.enumerateRows(inGroup: group) { _, key, object, metadata, _, _ in
          let text =
            mappings.view == Extensions.inbox
            ? MessengerUI.drawThread(transaction, key, object, metadata)
            : MessengerUI.drawMessage(transaction, key, object, metadata)
          cells.append(Cell(key: key, text: text))
        }
        cells = shown(cells, group, mappings)
        return cells.isEmpty && mappings.isDynamicSection(forGroup: group) ? nil : Section(group: group, cells: cells)
      }
    }
    try expect(screen.sections, fresh, "\(what) beside a fresh read")
  }

  /// The part of a group that a screen shows.
  private func shown(_ cells: [Cell], _ group: String, _ mappings: YapDatabaseViewMappings) -> [Cell] {
    guard mappings.rangeOptions(forGroup: group) != nil, let position = mappings.rangePosition(forGroup: group) else {
      return cells
    }
    return Array(cells.dropFirst(position.offsetFromBeginning).prefix(position.length))
  }

  private func expect(_ shown: [Section], _ expected: [Section], _ what: String) throws {
    if shown != expected {
      throw HistoryError(description: "\(what): \(shown)\ninstead of \(expected)")
    }
  }

  /// Both screens beside the model.
  func checkScreens() throws {
    try expect(ui.inbox.sections, model.inbox(), "the inbox beside the model")
    guard let thread = ui.thread, let id = ui.openThread else { return }
    let cells = shown(model.cells(of: id), id, thread.mappings)
    try expect(thread.sections, [Section(group: id, cells: cells)], "the thread beside the model")
  }

  /// Rows, unread messages, attachments and edges beside the model.
  func checkRows() throws {
    try messenger.background.read { transaction in
      let ids = transaction.allKeys(inCollection: Collections.threads)
      try expect(ids == model.threads.keys.sorted(), "threads \(ids)")
      let full = model.threads.filter { !$0.value.messages.isEmpty }
      let collections = transaction.allCollections().filter { $0.hasPrefix("messages/") }
      try expect(collections == full.keys.map { Collections.messages(of: $0) }.sorted(), "collections \(collections)")
      for (id, thread) in model.threads {
        var cells: [Cell] = []
        transaction.enumerateRows(
          inCollection: Collections.messages(of: id),
          using: { key, object, metadata, _ in
            cells.append(Cell(key: key, text: MessengerUI.drawMessage(transaction, key, object, metadata)))
          })
        try expect(cells == model.cells(of: id).sorted { $0.key < $1.key }, "messages of \(id): \(cells)")
        let prefix = "m1"
        let found = messenger.keys(
          beginningWith: prefix, inCollection: Collections.messages(of: id), transaction)
        try expect(found == thread.messages.keys.filter { $0.hasPrefix(prefix) }.sorted(), "search of \(id): \(found)")
        var unread: [String] = []
        (transaction.ext(Extensions.unread) as? YapDatabaseViewTransaction)?.enumerateKeys(inGroup: id) {
          _, key, _, _ in unread.append(key)
        }
        try expect(unread == model.unread(id), "unread of \(id): \(unread)")
      }
      let attachments = transaction.allKeys(inCollection: Collections.attachments)
      try expect(
        Set(attachments) == model.attachments,
        "attachments that differ: \(model.attachments.symmetricDifference(attachments).sorted()) of \(attachments)")
      let graph = transaction.ext(Extensions.graph) as? YapDatabaseRelationshipTransaction
      let edges = graph?.edgeCount(withName: "thread") ?? 0
      try expect(edges == UInt(model.threads.values.map(\.messages.count).reduce(0, +)), "edges \(edges)")
    }
  }

  private func expect(_ holds: Bool, _ what: String) throws {
    if !holds { throw HistoryError(description: what) }
  }
}
