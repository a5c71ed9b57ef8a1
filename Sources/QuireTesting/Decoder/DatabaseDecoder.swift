// A second reader of the format, written from the format document alone: what the engine and this one make of the same
// bytes must be the same. No file in this folder imports the engine.

/// A record of the log's chain.
package struct DecodedRecord: Sendable {
  /// Where it stands.
  package let file: DecodedFile
  package let bytes: Range<Int>
  package let lsn: UInt64
  package let csn: UInt64
  /// Whether it is a commit; otherwise a mark or a part.
  package let isCommit: Bool
  /// Up to where it says that the log was durable.
  package let durableLSN: UInt64
}

/// A tree with all its entries.
package struct DecodedTree: Equatable, Sendable {
  package let name: String
  package let hasIntegerKeys: Bool
  /// By key; integers as eight bytes in the order of their values.
  package fileprivate(set) var entries: [[UInt8]: [UInt8]]
  /// The entries in the order of their keys.
  package var sorted: [(key: [UInt8], value: [UInt8])] {
    entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) }
  }
}

/// All that a database's files say.
package struct DecodedDatabase: Sendable {
  package private(set) var pageSize: Int
  /// How many pages the file has at the least.
  package private(set) var pageCount: Int
  /// The checkpoint of the meta page that counts, and the slot that this stands in.
  package private(set) var checkpoint: UInt64
  package private(set) var slot: Int
  /// The commit that the content is of.
  package private(set) var csn: UInt64
  package private(set) var nextRowID: Int64
  /// The least id above all that a tree has had.
  package private(set) var nextTreeID: UInt64
  /// By id.
  package private(set) var trees: [UInt64: DecodedTree] = [:]
  /// The records that the meta page's log has.
  package private(set) var records: [DecodedRecord] = []
  /// Up to which LSN the log is known to have been durable.
  package private(set) var durableLSN: UInt64
  package private(set) var liveness: LivenessMap

  /// Decodes a database.
  ///
  /// - Parameters:
  ///   - data: the bytes of the data file.
  ///   - logs: the bytes of the log files, by the number at the end of their names.
  /// - Throws: `DecodingFailure` where the bytes are none that an engine would open and read from end to end.
  package init(data: [UInt8], logs: [Int: [UInt8]]) throws(DecodingFailure) {
    let data = DecoderBytes(file: .data, bytes: data)
    let (meta, slot, other) = try DecodedMeta.newest(in: data)
    try data.require(0, meta.pageCount * meta.pageSize)
    let log = try LogDecoder(meta, logs: logs)
    var pages = PageDecoder(data, meta)
    pages.liveness.add(.data, slot * meta.pageSize, DecodedMeta.byteCount, .metaPage)
    if other != nil {
      pages.liveness.add(.data, (1 - slot) * meta.pageSize, DecodedMeta.byteCount, .spareMetaPage)
    }
    var lastID: UInt64 = 0
    for tree in try pages.readCatalog() {
      var entries: [[UInt8]: [UInt8]] = [:]
      for entry in try pages.readTree(tree) { entries[entry.key] = entry.value }
      trees[tree.id] = DecodedTree(name: tree.name, hasIntegerKeys: tree.hasIntegerKeys, entries: entries)
      lastID = tree.id
    }
    _ = try pages.readFreeMap()
    pageSize = meta.pageSize
    pageCount = max(meta.pageCount, other?.pageCount ?? 0)
    checkpoint = meta.checkpoint
    self.slot = slot
    csn = log.csn
    nextRowID = meta.nextRowID
    nextTreeID = max(meta.nextTreeID, lastID + 1)
    durableLSN = log.durableLSN
    records = log.records
    liveness = pages.liveness
    for (index, record) in records.enumerated() {
      liveness.add(record.file, record.bytes.lowerBound, record.bytes.count, .record(index))
    }
    for body in log.committed { try replay(body) }
  }

  // MARK: Replay

  private mutating func replay(_ body: [UInt8]) throws(DecodingFailure) {
    var reader = OperationReader(body)
    while let operation = try reader.next() { try apply(operation, reader) }
  }

  private mutating func apply(
    _ operation: OperationReader.Operation, _ reader: OperationReader
  ) throws(DecodingFailure) {
    switch operation {
    case .put(let id, let key, let value): try change(id, reader) { $0[key] = value }
    case .delete(let id, let key): try change(id, reader) { $0[key] = nil }
    case .deleteRange(let id, let lower, let upper):
      try change(id, reader) { entries in
        entries = entries.filter { key, _ in
          let isBelow = lower.map { key.lexicographicallyPrecedes($0) } ?? false
          let isAbove = upper.map { !key.lexicographicallyPrecedes($0) } ?? false
          return isBelow || isAbove
        }
      }
    case .createTree(let id, let hasIntegerKeys, let name):
      guard id >= nextTreeID, !trees.values.contains(where: { $0.name == name }) else {
        throw reader.failure("tree \(id) is not new")
      }
      trees[id] = DecodedTree(name: name, hasIntegerKeys: hasIntegerKeys, entries: [:])
      nextTreeID = id + 1
    case .dropTree(let id):
      guard trees.removeValue(forKey: id) != nil else { throw reader.failure("there is no tree \(id)") }
    case .nextRowID(let next): nextRowID = next
    }
  }

  private mutating func change(
    _ id: UInt64, _ reader: OperationReader, _ body: (inout [[UInt8]: [UInt8]]) -> Void
  ) throws(DecodingFailure) {
    guard let index = trees.index(forKey: id) else { throw reader.failure("there is no tree \(id)") }
    body(&trees.values[index].entries)
  }
}
