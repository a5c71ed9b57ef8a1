// The one kind of bridge: a typed collection, and how its halves go in and come out.

internal import Foundation
internal import Quire

/// A collection of these types. For collections with serializer blocks both are bytes, which the blocks make and read.
struct TypedBridge<Object: Sendable, Metadata: Sendable>: CollectionBridge {
  let collection: RowCollection<Object, Metadata>
  let objects: RowHalf<Object>
  let metadata: RowHalf<Metadata>
  let takesBytes: Bool
  let readsObjects: Bool

  var name: String { collection.name }

  // MARK: Reading

  func object(_ key: String, _ tx: TransactionAccess) throws -> Any? {
    try tx.rows(collection).get(key).map { try objects.load($0, key) }
  }

  func metadata(_ key: String, _ tx: TransactionAccess) throws -> Any? {
    try tx.rows(collection).metadata(key).map { try metadata.load($0, key) }
  }

  func row(_ key: String, _ tx: TransactionAccess) throws -> AnyRow? { try tx.rows(collection).row(key).map(loaded) }

  private func loaded(_ row: Row<Object, Metadata>) throws -> AnyRow {
    (try objects.load(row.object, row.key), try row.metadata.map { try metadata.load($0, row.key) })
  }

  func rows(_ keys: [String], _ tx: TransactionAccess) throws -> [AnyRow?] {
    let found = try tx.rows(collection).rows(for: keys)
    var position = 0
    return try keys.map { key in
      guard position < found.count, found[position].key.utf8.elementsEqual(key.utf8) else { return nil }
      defer { position += 1 }
      return try loaded(found[position])
    }
  }

  func keys(_ tx: TransactionAccess) -> KeySequence { tx.rows(collection).keys }

  func forEachRow(
    _ tx: TransactionAccess, _ filter: ((String) throws -> Bool)?, _ body: (String, AnyRow) throws -> Bool
  ) throws {
    try filtering(filter) { filter in
      let all = tx.rows(collection).rows
      for row in filter.map(all.filteringKeys) ?? all where try !body(row.key, loaded(row)) { return }
    }
  }

  func forEachMetadata(
    _ tx: TransactionAccess, _ filter: ((String) throws -> Bool)?, _ body: (String, Any?) throws -> Bool
  ) throws {
    try filtering(filter) { filter in
      let all = tx.rows(collection).metadata
      for row in filter.map(all.filteringKeys) ?? all {
        let goesOn = try body(row.key, try row.metadata.map { try metadata.load($0, row.key) })
        guard goesOn else { return }
      }
    }
  }

  private func filtering(
    _ filter: ((String) throws -> Bool)?, _ body: (((String) throws -> Bool)?) throws -> Void
  ) throws {
    guard let filter else { return try body(nil) }
    // The sequence lives no longer than this call.
    try withoutActuallyEscaping(filter) { try body($0) }
  }

  // MARK: Writing

  func set(
    _ object: Any, _ metadata: Any?, _ encoded: EncodedRow, _ key: String, _ tx: WriteTransaction
  ) throws {
    let stored = try bytes(encoded.object, Object.self) ?? objects.store(object, key)
    let storedMetadata = try metadata.map { metadata in
      try bytes(encoded.metadata, Metadata.self) ?? self.metadata.store(metadata, key)
    }
    try tx[collection].set(stored, metadata: storedMetadata, for: key)
  }

  func replace(_ object: Any, _ encoded: Data?, _ key: String, _ tx: WriteTransaction) throws -> Bool {
    let stored = try bytes(encoded, Object.self) ?? objects.store(object, key)
    return try tx[collection].replace(stored, for: key)
  }

  func replaceMetadata(_ metadata: Any?, _ encoded: Data?, _ key: String, _ tx: WriteTransaction) throws -> Bool {
    let stored = try metadata.map { try bytes(encoded, Metadata.self) ?? self.metadata.store($0, key) }
    return try tx[collection].replaceMetadata(stored, for: key)
  }

  /// What an app has encoded itself, where that is what is stored. The forms of typed collections number their fields
  /// anew in each collection, so there the value itself is encoded.
  private func bytes<Stored>(_ encoded: Data?, _: Stored.Type) -> Stored? {
    guard takesBytes, let encoded else { return nil }
    return Array(encoded) as? Stored
  }

  func touch(_ part: TouchedPart, _ key: String, _ tx: WriteTransaction) throws {
    switch part {
    case .object: try tx[collection].touchObject(key)
    case .metadata: try tx[collection].touchMetadata(key)
    case .row: try tx[collection].touch(key)
    }
  }

  func remove(_ keys: [String], _ tx: WriteTransaction) throws { try tx[collection].remove(keys) }

  func removeAll(_ tx: WriteTransaction) throws { try tx[collection].removeAll() }

  // MARK: Extensions

  func object(of row: UntypedRow) throws -> Any? {
    try row.object(in: collection).map { try objects.load($0, row.key) }
  }

  func metadata(of row: UntypedRow) throws -> Any? {
    try row.metadata(in: collection).map { try metadata.load($0, row.key) }
  }

  func object(of change: RowChange) throws -> Any? {
    try change.object(in: collection).map { try objects.load($0, change.key) }
  }

  func metadata(of change: RowChange) throws -> Any? {
    try change.metadata(in: collection).map { try metadata.load($0, change.key) }
  }

  func replaceNode(_ changed: Any, _ key: String, _ sanitizers: SanitizerPair, _ tx: WriteTransaction) throws {
    let rows = tx[collection]
    guard let object = try sanitizers.before(changed, collection.name, key) else {
      try rows.remove(key)
      return
    }
    let isReplaced = try rows.replace(try objects.store(object, key), for: key)
    if isReplaced { try sanitizers.post?(collection.name, key, object) }
  }

  /// Blocks may make any object of bytes, and a class may have subclasses that are nodes.
  var mayHaveNodes: Bool {
    readsObjects && (takesBytes || Object.self is any YapDatabaseRelationshipNode.Type || Object.self is AnyObject.Type)
  }
}

extension TypedBridge {
  /// A collection with types of its own.
  init(_ collection: RowCollection<Object, Metadata>) {
    self.collection = collection
    objects = .typed("object", in: collection.name)
    metadata = .typed("metadata", in: collection.name)
    takesBytes = false
    readsObjects = true
  }
}

extension TypedBridge where Object == [UInt8], Metadata == [UInt8] {
  /// A collection whose values an app's own blocks make bytes of.
  init(_ name: String, objects: SerializerPair, metadata: SerializerPair) {
    collection = RowCollection(name, coder: .bytes, metadataCoder: .bytes)
    self.objects = .blocks("object", in: name, objects.serializer, objects.deserializer)
    self.metadata = .blocks("metadata", in: name, metadata.serializer, metadata.deserializer)
    takesBytes = true
    readsObjects = objects.deserializer != nil
  }
}
