// From what a feed tells to what tables have.

#if Postgres
  internal import QuireDatabase

  /// More than is held at one time has been made of the rows of a batch: it is to have fewer.
  struct BatchOverflow: Error {
    /// How many rows and changes were not too much, at least 1.
    let rowCount: Int
  }

  /// Makes steps of batches.
  struct RowEncoder {
    let tables: [PostgresTable]
    let keepsBytes: Bool
    /// So many bytes are made of several rows at the most: stored ones may be compressed.
    private static let byteLimit = 16 << 20

    /// The steps of a batch of changes, in their order.
    ///
    /// - Throws: `BatchOverflow`.
    func changes(of batch: FeedBatch) throws(BatchOverflow) -> [SinkChange] {
      try steps(batch.changes) { table in try table.readChanges(batch) }
    }

    /// The steps of some rows that go over by ranges.
    ///
    /// - Parameter isMeant: the collections that are asked for.
    /// - Throws: `BatchOverflow`.
    func rows(of batch: BootstrapBatch, _ isMeant: (String) -> Bool) throws(BatchOverflow) -> [SinkChange] {
      try steps(batch.rows.filter { isMeant($0.collection) }) { table in
        try table.readRows(batch)
      }
    }

    private func steps(
      _ changes: [FeedChange], _ read: (PostgresTable) throws -> [PostgresRowReader]
    ) throws(BatchOverflow) -> [SinkChange] {
      var byteCount = 0
      var groups = ChangeGroups()
      var writer = JSONWriter(hasMarks: false)
      var columns = ColumnReaders(tables, changes, read)
      for (index, change) in changes.enumerated() {
        switch change.kind {
        case .inserted, .changed:
          let row = row(change, columns.next(change.collection), &writer)
          byteCount += row.byteCount
          if byteCount > Self.byteLimit, index > 0 { throw BatchOverflow(rowCount: index) }
          groups.store(row, in: change.collection)
        case .removed: groups.remove(change.key, in: change.collection)
        case .cleared: groups.add(.clear(collection: change.collection))
        case .clearedAll: groups.add(.clearAll(isNew: false))
        case .renamed(let from): groups.add(.rename(from: from, to: change.collection))
        }
      }
      return groups.finish()
    }

    /// One row; what does not decode has a defect.
    private func row(
      _ change: FeedChange, _ values: PostgresRowReader?, _ writer: inout JSONWriter
    ) -> SinkRow {
      var row = SinkRow(key: change.key, rowID: change.rowID?.rawValue ?? 0)
      do {
        guard let stored = try change.newRow() else { return row }
        row.object = Self.json(stored.object, &writer)
        row.metadata = stored.metadata.flatMap { Self.json($0, &writer) }
        if keepsBytes {
          row.raw = stored.object.encoded
          row.rawMetadata = stored.metadata?.encoded
        }
        row.columns = try values?.values() ?? []
        if row.byteCount > SinkRow.longestByteCount { row.defect = "The row has \(row.byteCount) bytes." }
      } catch {
        row.defect = "\(error)"
      }
      return row
    }

    private static func json(_ half: StoredHalf, _ writer: inout JSONWriter) -> [UInt8]? {
      guard case .value(let value) = half.content else { return nil }
      writer.removeAll()
      writer.append(value)
      return writer.bytes
    }
  }

  /// Hands out the readers of declared columns in the order of the rows of a batch.
  private struct ColumnReaders {
    private var queues: [(collection: String, readers: Result<ArraySlice<PostgresRowReader>, any Error>)] = []

    /// - Parameter tables: those that have columns.
    init(
      _ tables: [PostgresTable], _ changes: [FeedChange], _ read: (PostgresTable) throws -> [PostgresRowReader]
    ) {
      for table in tables where changes.contains(where: { $0.collection.hasBytes(of: table.collection) }) {
        let readers = Result {
          try read(table).filter { $0.isRow && $0.collectionName.hasBytes(of: table.collection) }[...]
        }
        queues.append((table.collection, readers))
      }
    }

    /// The reader for the next row of a collection; nil if it has no columns. Of a collection that is not of the
    /// declared types every row has the error.
    mutating func next(_ collection: String) -> PostgresRowReader? {
      guard let index = queues.firstIndex(where: { $0.collection.hasBytes(of: collection) }) else { return nil }
      switch queues[index].readers {
      case .failure(let error):
        return PostgresRowReader(collectionName: collection, isRow: true) { throw error }
      case .success(var readers):
        defer { queues[index].readers = .success(readers) }
        return readers.popFirst()
      }
    }
  }

  /// Gathers changes by their collections. What concerns whole collections comes in front of all rows in a batch, or
  /// ends the groups that there are.
  private struct ChangeGroups {
    private struct Group {
      let collection: String
      var rows: [SinkRow] = []
      var keys: [String] = []
    }

    private var finished: [SinkChange] = []
    private var groups: [Group] = []
    private var last = 0

    mutating func store(_ row: SinkRow, in collection: String) { groups[index(of: collection)].rows.append(row) }

    mutating func remove(_ key: String, in collection: String) { groups[index(of: collection)].keys.append(key) }

    mutating func add(_ change: SinkChange) {
      endGroups()
      finished.append(change)
    }

    consuming func finish() -> [SinkChange] {
      endGroups()
      return finished
    }

    private mutating func index(of collection: String) -> Int {
      if last < groups.count, groups[last].collection.hasBytes(of: collection) { return last }
      last = groups.firstIndex { $0.collection.hasBytes(of: collection) } ?? groups.count
      if last == groups.count { groups.append(Group(collection: collection)) }
      return last
    }

    /// A key is in a batch once, so that it does not matter what comes first.
    private mutating func endGroups() {
      for group in groups {
        if !group.keys.isEmpty { finished.append(.remove(collection: group.collection, keys: group.keys)) }
        if !group.rows.isEmpty { finished.append(.store(collection: group.collection, group.rows)) }
      }
      groups = []
    }
  }

  extension String {
    /// Whether both are the same to the byte: `==` takes texts for the same that look so.
    func hasBytes(of other: String) -> Bool { utf8.elementsEqual(other.utf8) }
  }
#endif
