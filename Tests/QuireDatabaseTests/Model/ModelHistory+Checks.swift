// Comparing all that can be read with the model.

import QuireDatabase
import QuireTesting

extension RowCollection where Object == Bag, Metadata == Int {
  static func bags(_ name: String) -> Self { .init(name, compression: .lz4(above: 200)) }
}

extension ModelHistory {
  /// Checks the newest snapshot, and all pins.
  func checkAll() throws {
    count("check")
    try check(newest, in: db)
    for pin in pins { try pin.snapshot.read { tx in try check(pin.state, tx) } }
    if random.oneIn(4) { try db.checkInvariants() }
  }

  func check(_ state: ModelState, in db: Database) throws {
    try db.read { tx in try check(state, tx) }
  }

  private func check(_ state: ModelState, _ tx: ReadTransaction) throws {
    try expect(tx.collections == state.names, "collections are \(tx.collections), not \(state.names)")
    try expect(tx.count == state.count, "there are \(tx.count) rows, not \(state.count)")
    for name in Self.names {
      try check(tx[.bags(name)], state.collections[name, default: [:]], name)
      for (key, row) in state.collections[name, default: [:]].prefix(3) {
        try expect(try tx.key(of: row.rowID) == RowKey(name, key), "\(row.rowID) is not \(name)/\(key)")
      }
    }
    try checkExtensions(state, tx)
    let key = Self.keys[random.below(Self.keys.count)]
    let holders = inByteOrder(state.collections.filter { $0.value[key] != nil }.keys)
    try expect(try tx.collections(containing: key) == holders, "other collections hold «\(key)»")
  }

  /// Checks a collection, in either kind of transaction.
  func check(_ rows: some RowReading<Bag, Int>, _ model: [String: ModelRow], _ name: String) throws {
    let keys = inByteOrder(model.keys)
    try expect(rows.count == keys.count && rows.isEmpty == keys.isEmpty, "«\(name)» has \(rows.count) rows")
    let found = Array(rows.rows)
    try expect(found.map(\.key) == keys, "the rows of «\(name)» are \(found.map(\.key)), not \(keys)")
    for row in found { try expect(model[row.key] == ModelRow(row), "«\(name)/\(row.key)» is \(row)") }
    try expect(Array(rows.rows.reversed()) == found.reversed(), "«\(name)» is different backwards")
    try expect(Array(rows.keys) == keys && Array(rows.keys.reversed()) == keys.reversed(), "«\(name)» has other keys")
    try expect(rows.metadata.map(\.metadata) == found.map(\.metadata), "«\(name)» has other metadata")
    // A part, by bounds in any order.
    let (first, end) = (randomKey(), randomKey())
    let part = keys.filter {
      !$0.utf8.lexicographicallyPrecedes(first.utf8) && $0.utf8.lexicographicallyPrecedes(end.utf8)
    }
    try expect(rows.rows(from: first, upTo: end).map(\.key) == part, "«\(name)» from \(first) to \(end)")
    try expect(Array(rows.keys(from: first, upTo: end).reversed()) == part.reversed(), "«\(name)» backwards")
    let prefix = String(first.prefix(1))
    let behind = keys.filter { Array($0.utf8).starts(with: prefix.utf8) }
    try expect(rows.rows(prefix: prefix).map(\.key) == behind, "«\(name)» with the prefix \(prefix)")
    try expect(try rows.count(prefix: prefix) == behind.count, "the count of «\(name)» with the prefix \(prefix)")
    // Single rows, there or not.
    let some = (0..<4).map { _ in randomKey() }
    try expect(try rows.rows(for: some).map(\.key) == some.filter { model[$0] != nil }, "rows for keys of «\(name)»")
    for key in some {
      try expect(try rows.get(key) == model[key]?.object, "«\(name)/\(key)» is another object")
      try expect(try rows.metadata(key) == model[key]?.metadata, "«\(name)/\(key)» has other metadata")
      try expect(try rows.rowID(key) == model[key]?.rowID, "«\(name)/\(key)» has another id")
    }
  }
}

extension ModelRow {
  init(_ row: Row<Bag, Int>) { self.init(object: row.object, metadata: row.metadata, rowID: row.rowID) }
}
