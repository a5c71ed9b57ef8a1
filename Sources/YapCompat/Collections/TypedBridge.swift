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
  /// Tells values that these blocks have made from those of others.
  private let maker = ValueMaker()
  /// By way of what objects and metadata are decoded, in collections with blocks.
  private var cache: (objects: CachedHalf, metadata: CachedHalf)?
  /// Whether a collection with types hands out copies.
  private var copies: RegisteredHalves = []

  var name: String { collection.name }

  // MARK: Reading

  func object(_ key: String, _ tx: TransactionAccess) throws -> Any? {
    try tx.rows(collection).get(key).map { try loadedObject($0, key) }
  }

  func metadata(_ key: String, _ tx: TransactionAccess) throws -> Any? {
    try tx.rows(collection).metadata(key).map { try loadedMetadata($0, key) }
  }

  func row(_ key: String, _ tx: TransactionAccess) throws -> AnyRow? {
    try tx.rows(collection).row(key).map { try loaded($0) }
  }

  private func loaded(_ row: Row<Object, Metadata>, isOneOfMany: Bool = false) throws -> AnyRow {
    (
      try loadedObject(row.object, row.key, isOneOfMany: isOneOfMany),
      try row.metadata.map { try loadedMetadata($0, row.key, isOneOfMany: isOneOfMany) }
    )
  }

  private func loadedObject(_ stored: Object, _ key: String, isOneOfMany: Bool = false) throws -> Any {
    if let cache, let bytes = stored as? [UInt8] {
      return try cache.objects.value(bytes, key, isOneOfMany: isOneOfMany) { try objects.load(stored, key) }
    }
    let value = try objects.load(stored, key)
    return copies.contains(.objects) ? CachedHalf.copy(of: value) ?? value : value
  }

  private func loadedMetadata(_ stored: Metadata, _ key: String, isOneOfMany: Bool = false) throws -> Any {
    if let cache, let bytes = stored as? [UInt8] {
      return try cache.metadata.value(bytes, key, isOneOfMany: isOneOfMany) { try metadata.load(stored, key) }
    }
    let value = try metadata.load(stored, key)
    return copies.contains(.metadata) ? CachedHalf.copy(of: value) ?? value : value
  }

  func reading(
    by own: RowCaches?, _ shared: RowCaches, _ policies: (object: YapDatabasePolicy, metadata: YapDatabasePolicy)
  ) -> any CollectionBridge {
    var bridge = self
    if !takesBytes {
      if policies.object == .copy { bridge.copies.insert(.objects) }
      if policies.metadata == .copy { bridge.copies.insert(.metadata) }
      return bridge.copies.isEmpty ? self : bridge
    }
    guard let own else { return self }
    let name = ByteName(name)
    bridge.cache = (
      CachedHalf(policy: policies.object, own: own.objects, shared: shared.objects, collection: name, maker: maker),
      CachedHalf(
        policy: policies.metadata, own: own.metadata, shared: shared.metadata, collection: name, maker: maker)
    )
    return bridge
  }

  func rows(_ keys: [String], _ tx: TransactionAccess) throws -> [AnyRow?] {
    let found = try tx.rows(collection).rows(for: keys)
    var position = 0
    let rows: [AnyRow?] = try keys.map { key in
      guard position < found.count, found[position].key.utf8.elementsEqual(key.utf8) else { return nil }
      defer { position += 1 }
      return try loaded(found[position])
    }
    assert(position == found.count, "rows were found in another order than they were asked for")
    return rows
  }

  func keys(_ tx: TransactionAccess) -> KeySequence { tx.rows(collection).keys }

  func forEachRow(
    _ tx: TransactionAccess, _ filter: ((String) throws -> Bool)?, _ body: (String, AnyRow) throws -> Bool
  ) throws {
    try filtering(filter) { filter in
      let all = tx.rows(collection).rows
      for row in filter.map(all.filteringKeys) ?? all where try !body(row.key, loaded(row, isOneOfMany: true)) {
        return
      }
    }
  }

  func forEachMetadata(
    _ tx: TransactionAccess, _ filter: ((String) throws -> Bool)?, _ body: (String, Any?) throws -> Bool
  ) throws {
    try filtering(filter) { filter in
      let all = tx.rows(collection).metadata
      for row in filter.map(all.filteringKeys) ?? all {
        let goesOn = try body(
          row.key, try row.metadata.map { try loadedMetadata($0, row.key, isOneOfMany: true) })
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
    try tx[collection].set(
      stored, encoded: form(encoded.object, of: collection.coder), metadata: storedMetadata,
      encodedMetadata: form(encoded.metadata, of: collection.metadataCoder), for: key)
  }

  func replace(_ object: Any, _ encoded: Data?, _ key: String, _ tx: WriteTransaction) throws -> Bool {
    let stored = try bytes(encoded, Object.self) ?? objects.store(object, key)
    return try tx[collection].replace(stored, encoded: form(encoded, of: collection.coder), for: key)
  }

  func replaceMetadata(_ metadata: Any?, _ encoded: Data?, _ key: String, _ tx: WriteTransaction) throws -> Bool {
    let stored = try metadata.map { try bytes(encoded, Metadata.self) ?? self.metadata.store($0, key) }
    return try tx[collection].replaceMetadata(
      stored, encoded: form(encoded, of: collection.metadataCoder), for: key)
  }

  /// What an app has encoded itself, as what a collection with blocks stores.
  private func bytes<Stored>(_ encoded: Data?, _: Stored.Type) -> Stored? {
    guard takesBytes, let encoded else { return nil }
    return Array(encoded) as? Stored
  }

  /// What an app has encoded itself, for a collection with types. The compact form numbers its fields anew in each
  /// collection, so there the value itself is encoded.
  private func form<Value>(_ encoded: Data?, of coder: RowCoder<Value>) -> [UInt8]? {
    takesBytes || !coder.isSelfContained ? nil : encoded.map { Array($0) }
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
    try objects.load(row.object(in: collection), row.key)
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

  var objectType: Any.Type { Object.self }
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
