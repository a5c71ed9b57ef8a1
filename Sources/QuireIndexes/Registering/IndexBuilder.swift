// Building the indexes that are not ready: from records, sorted in bounded memory.

internal import QuireDatabase

/// Builds indexes one after the other.
///
/// The entries of one are made of the records of a snapshot and sorted, while writers go on and note what they change
/// in a tree of its own; then one write transaction stores them page by page, brings the changes in, and makes the
/// index ready. Until then no query sees it. After a crash, or when it is stopped, it begins anew; what other indexes
/// have stays.
struct IndexBuilder<Object: Sendable, Metadata: Sendable> {
  let indexes: Indexes<Object, Metadata>
  let database: Database
  let progress: (Database.Progress) throws -> Void

  private var list: IndexList { indexes.list }
  /// After so many rows progress is reported.
  private static var reportedCount: Int { 1 << 12 }
  /// Changes are brought in so many at a time.
  private static var appliedCount: Int { 1 << 11 }

  func run() throws {
    while let work = try begin() {
      guard let sorted = try sort(work) else {
        try completeRecords()
        continue
      }
      try finish(work, sorted)
    }
  }

  /// One index that is being built.
  private struct Work {
    let number: Int
    /// How often all rows had been removed when it began.
    let clearCount: Int
  }

  /// Begins with the first index that is not ready; nil if all are.
  private func begin() throws -> Work? {
    // Nothing is written where nothing is to be done.
    if try database.read({ try $0.access(to: indexes).view.map.unready.isEmpty }) { return nil }
    return try database.write { tx in
      let writer = try tx.access(to: indexes).upkeep
      guard let number = writer.map.unready.first else { return nil }
      try writer.delta(number)?.removeAll()
      return Work(number: number, clearCount: writer.catalog.clearCount)
    }
  }

  /// Sorts the entries that the records of a snapshot make; nil if some record does not know a column yet.
  private func sort(_ work: Work) throws -> ExtensionSorter<[UInt8]>? {
    let sorter = try database.sorter(of: [UInt8].self, memory: indexes.sortedByteCount)
    let isComplete = try database.read { tx -> Bool in
      let reader = try tx.access(to: indexes).view
      let places = (list.fields.columns[work.number] + (list.fields.held[work.number].map { [$0] } ?? []))
        .compactMap { reader.map.places[$0] }
      let total = try reader.trees.records.count
      var (done, isComplete) = (0, true)
      try reader.trees.records.forEach(from: nil) { rowID, bytes in
        let keys = try reader.withRecord(rowID, bytes) { record in
          places.allSatisfy { record.knows($0) } ? try list.keys(of: record, in: work.number, reader.map, rowID) : nil
        }
        guard let keys else {
          isComplete = false
          return false
        }
        for key in keys { try sorter.append(key) }
        done += 1
        if done % Self.reportedCount == 0 { try report(done, total) }
        return true
      }
      guard isComplete else { return false }
      try report(done, max(done, total))
      return true
    }
    return isComplete ? sorter : nil
  }

  private func report(_ done: Int, _ total: Int) throws {
    try progress(Database.Progress(phase: .building, done: done, total: total))
  }

  /// Has every record know all columns: where indexes have come that look at others than those before.
  private func completeRecords() throws {
    var last: RowID?
    repeat {
      last = try database.write { tx in try completeRecords(after: last, tx) }
    } while last != nil
  }

  private func completeRecords(after last: RowID?, _ tx: WriteTransaction) throws -> RowID? {
    let writer = try tx.access(to: indexes).upkeep
    let places = writer.map.placedFields.map(\.place)
    var (rowIDs, end) = ([RowID](), last)
    let cursor = try writer.trees.records.cursor()
    if last?.rawValue == .max { return nil }
    var isOnEntry = try last.map { try cursor.seek(RowID($0.rawValue + 1)) } ?? cursor.seekFirst()
    var steps = 0
    while isOnEntry, steps < indexes.completedStepCount, let rowID = cursor.key {
      let isComplete = try cursor.withEntry { _, bytes in
        try writer.view.withRecord(rowID, bytes) { record in places.allSatisfy { record.knows($0) } }
      }
      if isComplete != true { rowIDs.append(rowID) }
      (end, steps) = (rowID, steps + 1)
      isOnEntry = try cursor.next()
    }
    let rows = try tx[indexes.collection].rows(withIDs: rowIDs)
    guard rows.count == rowIDs.count else {
      throw IndexError.damaged(index: list.name, detail: "there are records of rows that are gone")
    }
    for row in rows {
      let record = try list.fields.record(row.object, row.metadata, writer.map)
      try writer.trees.records.put(record.bytes, for: row.rowID)
    }
    return steps == indexes.completedStepCount ? end : nil
  }

  /// Stores what was sorted, brings in what has changed meanwhile, and makes the index ready; or does nothing if all
  /// rows were removed at once meanwhile.
  private func finish(_ work: Work, _ sorter: ExtensionSorter<[UInt8]>) throws {
    try database.write { tx in
      let writer = try tx.access(to: indexes).upkeep
      guard writer.catalog.clearCount == work.clearCount, let delta = writer.delta(work.number) else { return }
      let tree = try writer.trees.tree(work.number)
      try tree.removeAll()
      try tree.load(sorter)
      try apply(delta, to: tree)
      if list.indexes[work.number].uniqueness != nil { try writer.view.checkAllUnique(in: work.number) }
      try delta.removeAll()
      var catalog = writer.catalog
      for index in catalog.entries.indices where catalog.entries[index].tree == writer.map.trees[work.number] {
        catalog.entries[index].isReady = true
      }
      try writer.keep(catalog)
      assert(writer.map.isReady[work.number], "an index that was built is not ready")
    }
  }

  /// Puts and removes what has changed, some keys at a time: a change ends a cursor.
  private func apply(_ delta: ExtensionTree<[UInt8]>, to tree: ExtensionTree<[UInt8]>) throws {
    var next = 0
    while true {
      var changes: [(key: [UInt8], isThere: Bool)] = []
      let cursor = try delta.cursor()
      var isOnEntry = try cursor.seek(toIndex: next)
      while isOnEntry, changes.count < Self.appliedCount, let entry = try cursor.entry {
        changes.append((entry.key, entry.value == [1]))
        isOnEntry = try cursor.next()
      }
      for change in changes {
        if change.isThere { try tree.put([], for: change.key) } else { try tree.remove(change.key) }
      }
      next += changes.count
      if changes.count < Self.appliedCount { return }
    }
  }
}
