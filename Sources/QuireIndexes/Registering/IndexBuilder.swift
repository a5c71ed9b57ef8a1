// Building the indexes that are not ready: from records, sorted in bounded memory.

internal import QuireDatabase

/// Builds the indexes that are not ready.
///
/// The entries of all are made in one walk through the records of a snapshot, and sorted, while writers go on and note
/// what they change in a tree of its own for each index. Then, one index after the other, a write transaction stores
/// the entries page by page, brings the changes in, and makes the index ready. Until then no query sees it. After a
/// crash, or when building is stopped, those begin anew that are not ready; what other indexes have stays.
struct IndexBuilder<Object: Sendable, Metadata: Sendable> {
  let indexes: Indexes<Object, Metadata>
  let database: Database
  let progress: (Database.Progress) throws -> Void

  private var list: IndexList { indexes.list }
  /// So many indexes are built at a time: each has a part of the memory.
  private static var indexCount: Int { 16 }
  /// After so many rows progress is reported.
  private static var reportedCount: Int { 1 << 12 }
  /// Changes are brought in so many at a time.
  private static var appliedCount: Int { 1 << 11 }

  func run() throws {
    while let work = try begin() {
      guard var sorters = try sort(work) else {
        try completeRecords()
        continue
      }
      // One after the other goes, and with it what it has on disk.
      for number in work.numbers { try finish(number, work, sorters.removeFirst()) }
    }
  }

  /// Some indexes that are being built.
  private struct Work {
    let numbers: [Int]
    /// How often all rows had been removed when it began.
    let clearCount: Int
  }

  /// Begins with the first indexes that are not ready; nil if all are.
  private func begin() throws -> Work? {
    // Nothing is written where nothing is to be done.
    if try database.read({ try $0.access(to: indexes).view.map.unready.isEmpty }) { return nil }
    return try database.write { tx in
      let writer = try tx.access(to: indexes).upkeep
      let numbers = Array(writer.map.unready.prefix(Self.indexCount))
      if numbers.isEmpty { return nil }
      for number in numbers { try writer.delta(number)?.removeAll() }
      return Work(numbers: numbers, clearCount: writer.catalog.clearCount)
    }
  }

  /// Sorts the entries that the records of a snapshot make; nil if some record does not know a column yet.
  private func sort(_ work: Work) throws -> [ExtensionSorter<[UInt8]>]? {
    let memory = indexes.sortedByteCount / work.numbers.count
    let sorters = try work.numbers.map { _ in try database.sorter(of: [UInt8].self, memory: memory) }
    let isComplete = try database.read { tx -> Bool in
      let view = try tx.access(to: indexes).view
      let maker = EntryMaker(view, Array(zip(work.numbers, sorters)))
      let total = try view.trees.records.count
      var done = 0
      try view.trees.records.forEach(from: nil) { rowID, bytes in
        try view.withRecord(rowID, bytes) { try maker.take($0, rowID) }
        done += 1
        if done % Self.reportedCount == 0 { try report(done, total) }
        return unsafe maker.isComplete
      }
      guard unsafe maker.isComplete else { return false }
      try report(done, max(done, total))
      return true
    }
    return isComplete ? sorters : nil
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
      // Out of order, steps would have no end.
      if let end, rowID <= end {
        throw IndexError.damaged(index: list.name, detail: "the records of rows are out of order")
      }
      let isComplete = try cursor.withEntry { _, bytes in
        try writer.view.withRecord(rowID, bytes) { record in places.allSatisfy { record.knows($0) } }
      }
      if isComplete != true { rowIDs.append(rowID) }
      (end, steps) = (rowID, steps + 1)
      isOnEntry = try cursor.next()
    }
    var records: [(rowID: RowID, record: RowRecord)] = []
    let reader = RecordReader(tx[indexes.collection].readable, list.fields, writer.map)
    try reader.forEachRecord(withIDs: rowIDs) { records.append(($0, $1)) }
    guard records.count == rowIDs.count else {
      throw IndexError.damaged(index: list.name, detail: "there are records of rows that are gone")
    }
    for (rowID, record) in records { try writer.trees.records.put(record.bytes, for: rowID) }
    return steps == indexes.completedStepCount ? end : nil
  }

  /// Stores what was sorted, brings in what has changed meanwhile, and makes the index ready; or does nothing if all
  /// rows were removed at once meanwhile.
  private func finish(_ number: Int, _ work: Work, _ sorter: ExtensionSorter<[UInt8]>) throws {
    try database.write { tx in
      let writer = try tx.access(to: indexes).upkeep
      guard writer.catalog.clearCount == work.clearCount, let delta = writer.delta(number) else { return }
      let tree = try writer.trees.tree(number)
      try tree.removeAll()
      try tree.load(sorter)
      try apply(delta, to: tree)
      if list.indexes[number].uniqueness != nil { try writer.view.checkAllUnique(in: number) }
      try delta.removeAll()
      var catalog = writer.catalog
      for index in catalog.entries.indices where catalog.entries[index].tree == writer.map.trees[number] {
        catalog.entries[index].isReady = true
      }
      try writer.keep(catalog)
      assert(writer.map.isReady[number], "an index that was built is not ready")
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

/// Makes the entries of records, and hands them to the sorters of their indexes.
private final class EntryMaker {
  private let view: IndexView
  private let indexes: [(number: Int, parts: IndexMap.KeyParts?, sorter: ExtensionSorter<[UInt8]>)]
  /// Where records have what the entries are made of.
  private let places: [Int]
  /// Whether all records so far have known all of that.
  @exclusivity(unchecked) private(set) var isComplete = true

  init(_ view: IndexView, _ indexes: [(number: Int, sorter: ExtensionSorter<[UInt8]>)]) {
    self.view = view
    self.indexes = indexes.map { ($0.number, view.map.keyParts[$0.number], $0.sorter) }
    let fields = view.list.fields
    let used = Set(indexes.flatMap { fields.columns[$0.number] + (fields.held[$0.number].map { [$0] } ?? []) })
    places = used.compactMap { view.map.places[$0] }.sorted()
  }

  func take(_ record: RecordView, _ rowID: RowID) throws {
    guard record.knowsAll(places) else {
      unsafe isComplete = false
      return
    }
    let list = view.list
    for index in indexes.indices {
      let (number, parts, sorter) = indexes[index]
      if let parts {
        try list.withKey(of: record, in: number, parts, rowID) { try sorter.append($0) }
      } else {
        for key in try list.keys(of: record, in: number, view.map, rowID) { try sorter.append(key) }
      }
    }
  }
}
