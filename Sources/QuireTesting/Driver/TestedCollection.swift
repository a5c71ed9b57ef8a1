// A collection of a crash test: how rows of it are made, changed and compared.

internal import QuireDatabase

/// A collection, for those who need not know its types. Calls that change rows change the model with them.
protocol TestedCollection: Sendable {
  /// Its name.
  var name: String { get }
  /// The keys of its rows.
  var keys: [String] { get }
  /// What it was called in an older version of the program.
  var olderName: String { get }

  /// The row that follows from a seed, for messages.
  func describe(_ seed: UInt64) -> String
  /// Stores the row of a seed as a whole, under the older name if `isOlder`.
  func set(_ key: String, _ seed: UInt64, isOlder: Bool, _ tx: WriteTransaction, _ model: inout ExpectedRows) throws
  /// Replaces the object of a row, if it is there, by that of a seed.
  func replaceObject(_ key: String, _ seed: UInt64, _ tx: WriteTransaction, _ model: inout ExpectedRows) throws
  /// Replaces the metadata of a row, if it is there, by those of a seed.
  func replaceMetadata(_ key: String, _ seed: UInt64, _ tx: WriteTransaction, _ model: inout ExpectedRows) throws
  /// Reports a row as changed.
  func touch(_ key: String, _ tx: WriteTransaction, _ model: ExpectedRows) throws
  /// Removes rows in one call.
  func remove(_ keys: [String], _ tx: WriteTransaction, _ model: inout ExpectedRows) throws
  /// Removes all rows.
  func removeAll(_ tx: WriteTransaction, _ model: inout ExpectedRows) throws
  /// Where a snapshot shows other rows than the model; nil if it shows the same.
  func difference(_ tx: ReadTransaction, _ model: ExpectedRows) throws -> String?
}

/// A collection with its types, and the closures that make rows.
struct TypedCollection<Object: Equatable & Sendable, Metadata: Equatable & Sendable>: TestedCollection {
  typealias Row = ExpectedRow<Object, Metadata>

  let collection: RowCollection<Object, Metadata>
  let keys: [String]
  let makeObject: @Sendable (inout SeededRandom) -> Object
  let makeMetadata: @Sendable (inout SeededRandom) -> Metadata?

  var name: String { collection.name }
  var olderName: String { name + " of an older version" }

  private var older: RowCollection<Object, Metadata> {
    RowCollection(
      olderName, coder: collection.coder, metadataCoder: collection.metadataCoder, compression: collection.compression)
  }

  private func row(_ seed: UInt64) -> Row {
    var random = SeededRandom(seed: seed)
    return Row(object: makeObject(&random), metadata: makeMetadata(&random))
  }

  func describe(_ seed: UInt64) -> String { describe(row(seed)) }

  private func describe(_ row: Row?) -> String {
    guard let row else { return "nothing" }
    return row.metadata.map { "\(row.object) with \($0)" } ?? "\(row.object)"
  }

  func set(
    _ key: String, _ seed: UInt64, isOlder: Bool, _ tx: WriteTransaction, _ model: inout ExpectedRows
  ) throws {
    let row = row(seed)
    try tx[isOlder ? older : collection].set(row.object, metadata: row.metadata, for: key)
    model.set(row, key, of: name)
  }

  func replaceObject(_ key: String, _ seed: UInt64, _ tx: WriteTransaction, _ model: inout ExpectedRows) throws {
    let new = row(seed)
    let old = model.row(key, of: name, as: Row.self)
    try check(tx[collection].replace(new.object, for: key), old != nil, "replacing the object of", key)
    if let old { model.set(Row(object: new.object, metadata: old.metadata), key, of: name) }
  }

  func replaceMetadata(_ key: String, _ seed: UInt64, _ tx: WriteTransaction, _ model: inout ExpectedRows) throws {
    let new = row(seed)
    let old = model.row(key, of: name, as: Row.self)
    try check(tx[collection].replaceMetadata(new.metadata, for: key), old != nil, "replacing the metadata of", key)
    if let old { model.set(Row(object: old.object, metadata: new.metadata), key, of: name) }
  }

  func touch(_ key: String, _ tx: WriteTransaction, _ model: ExpectedRows) throws {
    try check(tx[collection].touch(key), model.contains(key, of: name), "touching", key)
  }

  func remove(_ keys: [String], _ tx: WriteTransaction, _ model: inout ExpectedRows) throws {
    if keys.count == 1 {
      try check(tx[collection].remove(keys[0]), model.contains(keys[0], of: name), "removing", keys[0])
    } else {
      _ = try tx[collection].remove(keys)
    }
    for key in keys { model.set(nil, key, of: name) }
  }

  func removeAll(_ tx: WriteTransaction, _ model: inout ExpectedRows) throws {
    _ = try tx[collection].removeAll()
    model.removeAll(of: name)
  }

  private func check(_ found: Bool, _ expected: Bool, _ call: String, _ key: String) throws {
    if found == expected { return }
    throw CrashFinding("\(call) \(name)/\(key) found \(found ? "a row, and there must be none" : "no row")")
  }

  func difference(_ tx: ReadTransaction, _ model: ExpectedRows) throws -> String? {
    var found: [String: Row] = [:]
    for row in tx[collection].rows { found[row.key] = Row(object: row.object, metadata: row.metadata) }
    // A loop cannot throw: an error in it is thrown by the next call.
    let count = try tx[collection].count(prefix: "")
    for key in Set(found.keys).union(model.keys(of: name)).sorted() {
      let expected = model.row(key, of: name, as: Row.self)
      let row = found[key]
      if row?.object == expected?.object, row?.metadata == expected?.metadata, (row == nil) == (expected == nil) {
        continue
      }
      return "\(name)/\(key) is \(describe(row)), and must be \(describe(expected))"
    }
    return count == found.count ? nil : "\(name) has \(count) rows by count, and \(found.count) by walk"
  }
}

/// What is wrong, in a sentence.
struct CrashFinding: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
