// Comparing the rows of a collection with those of its table, both in the order of keys.

#if Postgres
  internal import QuireDatabase

  /// The rows of a table, in the order of the bytes of their keys, some at a time.
  struct TablePages {
    struct TableRow {
      let key: String
      let rowID: Int64
      let raw: [UInt8]?
      let rawMetadata: [UInt8]?
    }

    private let sink: Sink
    private let table: String?
    private let hasBytes: Bool
    private var page: [TableRow] = []
    private var place = 0
    private var isAtEnd = false

    init(_ sink: Sink, _ table: String?, _ hasBytes: Bool) {
      self.sink = sink
      self.table = table
      self.hasBytes = hasBytes
    }

    /// The row that is next; nil behind the last.
    mutating func peek() throws(SQLError) -> TableRow? {
      if place == page.count, !isAtEnd { try readPage() }
      return place < page.count ? page[place] : nil
    }

    mutating func advance() { place += 1 }

    private mutating func readPage() throws(SQLError) {
      guard let table else {
        isAtEnd = true
        return
      }
      let rows =
        if let last = page.last {
          try sink.connection.run(Statement.readRows(table, hasBytes: hasBytes), [.text(last.key)])
        } else {
          try sink.connection.run(Statement.readFirstRows(table, hasBytes: hasBytes))
        }
      isAtEnd = rows.count == 0
      page = (0..<rows.count).map { row in
        TableRow(
          key: rows.text(row, 0) ?? "", rowID: rows.integer(row, 1) ?? 0, raw: hasBytes ? rows.bytes(row, 2) : nil,
          rawMetadata: hasBytes ? rows.bytes(row, 3) : nil)
      }
      place = 0
    }
  }

  /// Compares the rows of one collection.
  struct RowComparison {
    private let collection: String
    let hasBytes: Bool
    private var rejected: [[UInt8]: [UInt8]]
    private let report: (PostgresDifference) -> Void
    private(set) var equalCount = 0

    init(
      collection: String, rejected: [(key: String, raw: [UInt8])], hasBytes: Bool,
      report: @escaping (PostgresDifference) -> Void
    ) {
      self.collection = collection
      self.hasBytes = hasBytes
      self.rejected = Dictionary(rejected.map { (Array($0.key.utf8), $0.raw) }) { first, _ in first }
      self.report = report
    }

    /// Compares the next row of the collection.
    mutating func compare(_ row: ValueRow, _ pages: inout TablePages) throws(SQLError) {
      try passOver(&pages) { $0.utf8.lexicographicallyPrecedes(row.key.utf8) }
      guard let stored = try pages.peek(), stored.key.hasBytes(of: row.key) else {
        guard let raw = rejected.removeValue(forKey: Array(row.key.utf8)) else {
          return report(.missing(collection: collection, key: row.key))
        }
        if hasBytes, raw != row.object.encoded ?? [] {
          report(.staleRejection(collection: collection, key: row.key))
        } else {
          equalCount += 1
        }
        return
      }
      pages.advance()
      let hasSameBytes =
        !hasBytes || stored.raw == row.object.encoded && stored.rawMetadata == row.metadata?.encoded
      if stored.rowID == row.rowID.rawValue, hasSameBytes {
        equalCount += 1
      } else {
        report(.different(collection: collection, key: row.key))
      }
    }

    /// Tells of what is in PostgreSQL alone.
    mutating func finish(_ pages: inout TablePages) throws(SQLError) {
      try passOver(&pages) { _ in true }
      for key in rejected.keys.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
        report(.staleRejection(collection: collection, key: String(decoding: key, as: UTF8.self)))
      }
    }

    private func passOver(_ pages: inout TablePages, while isBefore: (String) -> Bool) throws(SQLError) {
      while let surplus = try pages.peek(), isBefore(surplus.key) {
        report(.surplus(collection: collection, key: surplus.key))
        pages.advance()
      }
    }
  }
#endif
