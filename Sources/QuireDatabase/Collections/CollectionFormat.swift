// What the database notes about a collection, under its name in the collection tree.
//
//     bytes 0 to 3   the collection's id, little-endian
//     then, for the objects and for the metadata: the number of field names (2 bytes), and for each its length in bytes
//                    (2 bytes) and its UTF-8; a field's id is its place in this list, from 0
//     then           the kinds of the coders of objects and of metadata, 1 byte each, as `StoredCoder` has them; may be
//                    missing
//
// The names of fields stand here once, so that no row has to repeat them.

/// What is stored about a collection.
struct CollectionFormat {
  let id: CollectionID
  let objectSchema: RowSchema
  let metadataSchema: RowSchema
  let coders: StoredCoders

  /// The stored form.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes += id.rawValue.littleEndianBytes
    for schema in [objectSchema, metadataSchema] {
      bytes += UInt16(schema.names.count).littleEndianBytes
      for name in schema.names {
        bytes += UInt16(name.utf8.count).littleEndianBytes
        bytes.append(contentsOf: name.utf8)
      }
    }
    if coders != StoredCoders() { bytes += [coders.object.rawValue, coders.metadata.rawValue] }
    return bytes
  }
}

extension CollectionFormat {
  /// Reads the stored form, which may be any bytes.
  init(_ bytes: [UInt8], name: String) throws(DatabaseError) {
    var rest = bytes[...]
    // The last number is the bound behind the one before, and no collection's.
    guard let id = Self.take(UInt32.self, from: &rest), id > 0, id < .max,
      let objectNames = Self.takeNames(&rest), let metadataNames = Self.takeNames(&rest),
      let coders = Self.takeCoders(&rest), rest.isEmpty
    else { throw Self.damaged(name, nil) }
    self.id = CollectionID(id)
    self.coders = coders
    do {
      objectSchema = try RowSchema(names: objectNames)
      metadataSchema = try RowSchema(names: metadataNames)
    } catch {
      throw Self.damaged(name, error)
    }
  }

  private static func damaged(_ name: String, _ cause: (any Error)?) -> DatabaseError {
    DatabaseError(
      .damagedRow, "What is stored about a collection breaks the format. Verify the database.", collection: name,
      cause: cause)
  }

  private static func take<Number: FixedWidthInteger & UnsignedInteger>(
    _: Number.Type, from rest: inout ArraySlice<UInt8>
  ) -> Number? {
    let byteCount = Number.bitWidth / 8
    defer { rest = rest.dropFirst(byteCount) }
    return Number(littleEndianBytes: rest.prefix(byteCount))
  }

  private static func takeCoders(_ rest: inout ArraySlice<UInt8>) -> StoredCoders? {
    if rest.isEmpty { return StoredCoders() }
    guard rest.count == 2, let object = rest.popFirst().flatMap(StoredCoder.init(rawValue:)),
      let metadata = rest.popFirst().flatMap(StoredCoder.init(rawValue:))
    else { return nil }
    return StoredCoders(object: object, metadata: metadata)
  }

  private static func takeNames(_ rest: inout ArraySlice<UInt8>) -> [String]? {
    guard let count = take(UInt16.self, from: &rest) else { return nil }
    var names: [String] = []
    for _ in 0..<count {
      guard let byteCount = take(UInt16.self, from: &rest), rest.count >= byteCount,
        let name = String(validating: rest.prefix(Int(byteCount)), as: UTF8.self)
      else { return nil }
      names.append(name)
      rest = rest.dropFirst(Int(byteCount))
    }
    return names
  }
}
