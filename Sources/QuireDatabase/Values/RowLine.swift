// Rows, and what is noted of their collections, as lines of JSON.
//
//     {"collection": "songs", "coder": "binary", "fields": ["title", "year"]}
//     {"collection": "songs", "key": "s1", "object": {"title": "Naima", "year": 1959}, "metadata": 7}
//     {"rows": 1}
//
// A line without a key is what is noted of a collection, for the rows behind it; it may be left out. The last line has
// the number of rows; where there are notes, an export without it was cut off. A half says what it is of where that is
// not a binary coder without upgrades, and its bytes where its value would lead to others:
//
//     coder, version, bytes                       of the object
//     metadata coder, metadata version, …         of the metadata
//     encrypted with key                          in the place of all these; the object is null then

/// One line of an export.
package enum RowLine: Hashable, Sendable {
  /// What is noted of a collection.
  case notes(collection: String, CollectionNotes)
  /// A row.
  case row(collection: String, key: String, object: StoredHalf, metadata: StoredHalf?)
  /// The end, and how many rows stand in front of it.
  case end(rows: Int)
}

/// Why a line is none.
package struct RowLineError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and what helps.
  package let description: String

  init(_ description: String) { self.description = description }
}

// MARK: Writing

extension RowLine {
  /// The line of a row.
  package init(_ row: ValueRow, of collection: String) {
    self = .row(collection: collection, key: row.key, object: row.object, metadata: row.metadata)
  }

  /// The line as JSON.
  package var json: String {
    switch self {
    case .notes(let collection, let notes):
      let fields = Self.fields(notes.object, "") + Self.fields(notes.metadata, "metadata ")
      return RowValue.record([RowValue.Field("collection", .text(collection))] + fields).json
    case .row(let collection, let key, let object, let metadata):
      var fields = [
        RowValue.Field("collection", .text(collection)), RowValue.Field("key", .text(key)),
        RowValue.Field("object", Self.shown(object)),
      ]
      if let metadata { fields.append(RowValue.Field("metadata", Self.shown(metadata))) }
      fields += Self.fields(object, "")
      if let metadata { fields += Self.fields(metadata, "metadata ") }
      return RowValue.record(fields).json
    case .end(let rows):
      return RowValue.record([RowValue.Field("rows", .integer(Int128(rows)))]).json
    }
  }

  /// What is shown of a half; nothing of what is encrypted.
  package static func shown(_ half: StoredHalf) -> RowValue {
    switch half.content {
    case .value(let value): value
    case .custom(let bytes): .bytes(bytes)
    case .encrypted: .null
    }
  }

  private static func fields(_ half: CollectionNotes.Half, _ prefix: String) -> [RowValue.Field] {
    var fields: [RowValue.Field] = []
    if let coder = half.coder { fields.append(RowValue.Field("\(prefix)coder", .text(coder.rawValue))) }
    if half.hasUpgrades { fields.append(RowValue.Field("\(prefix)has upgrades", true)) }
    if !half.fields.isEmpty { fields.append(RowValue.Field("\(prefix)fields", .list(half.fields.map { .text($0) }))) }
    return fields
  }

  private static func fields(_ half: StoredHalf, _ prefix: String) -> [RowValue.Field] {
    if case .encrypted(let key) = half.content {
      return [RowValue.Field("\(prefix)encrypted with key", .integer(Int128(key)))]
    }
    var fields: [RowValue.Field] = []
    if half.coder != .binary {
      fields.append(RowValue.Field("\(prefix)coder", half.coder.map { .text($0.rawValue) } ?? nil))
    }
    if half.version != 0 { fields.append(RowValue.Field("\(prefix)version", .integer(Int128(half.version)))) }
    if let bytes = half.encoded { fields.append(RowValue.Field("\(prefix)bytes", .bytes(bytes))) }
    return fields
  }
}

// MARK: Reading

extension RowLine {
  /// Reads a line, which may be any bytes. O(bytes).
  ///
  /// - Throws: ``JSONError`` for what is no JSON or has a name twice, `RowLineError` for what is no line of an export.
  package init(_ bytes: [UInt8]) throws {
    guard case .record(let fields) = try RowValue(line: bytes) else {
      throw RowLineError("A line is a record with “collection”, “key” and “object”.")
    }
    var parts = LineParts(fields)
    if parts.has("rows"), !parts.has("collection") {
      self = .end(rows: try parts.rowCount())
      try parts.checkNothingIsLeft()
      return
    }
    let collection = try parts.text("collection")
    if parts.has("key") {
      let key = try parts.text("key")
      let object = try parts.half("object", "")
      let metadata = parts.has("metadata") ? try parts.half("metadata", "metadata ") : nil
      self = .row(collection: collection, key: key, object: object, metadata: metadata)
    } else {
      let object = try parts.notes("")
      self = .notes(collection: collection, CollectionNotes(object: object, metadata: try parts.notes("metadata ")))
    }
    try parts.checkNothingIsLeft()
  }
}

/// The fields of a line, of which each is taken once.
private struct LineParts {
  private var fields: [RowValue.Field]

  init(_ fields: [RowValue.Field]) { self.fields = fields }

  func has(_ name: String) -> Bool { fields.contains { $0.name == name } }

  private mutating func take(_ name: String) -> RowValue? {
    guard let index = fields.firstIndex(where: { $0.name == name }) else { return nil }
    return fields.remove(at: index).value
  }

  mutating func text(_ name: String) throws(RowLineError) -> String {
    guard let value = take(name)?.text else { throw RowLineError("The line has no text “\(name)”.") }
    return value
  }

  /// How many rows the end of an export counts.
  mutating func rowCount() throws(RowLineError) -> Int {
    guard let count = take("rows")?.integer.flatMap({ Int(exactly: $0) }), count >= 0 else {
      throw RowLineError("“rows” is no number of rows.")
    }
    return count
  }

  private mutating func coder(_ prefix: String, default missing: CoderKind?) throws(RowLineError) -> CoderKind? {
    guard let value = take("\(prefix)coder") else { return missing }
    if value.isNull { return nil }
    guard let coder = value.text.flatMap({ CoderKind(rawValue: $0) }) else {
      let names = CoderKind.allCases.map { "“\($0.rawValue)”" }.joined(separator: ", ")
      throw RowLineError("“\(prefix)coder” is none of \(names).")
    }
    return coder
  }

  /// One half of a row.
  mutating func half(_ name: String, _ prefix: String) throws(RowLineError) -> StoredHalf {
    guard let value = take(name) else { throw RowLineError("The line has no “\(name)”.") }
    if let number = take("\(prefix)encrypted with key") {
      guard let key = number.integer.flatMap({ UInt32(exactly: $0) }) else {
        throw RowLineError("“\(prefix)encrypted with key” is no number of a key.")
      }
      return StoredHalf(.encrypted(key: key))
    }
    let coder = try coder(prefix, default: .binary)
    var version = 0
    if let number = take("\(prefix)version") {
      guard let whole = number.integer.flatMap({ Int(exactly: $0) }), whole >= 0 else {
        throw RowLineError("“\(prefix)version” is no number of upgrades.")
      }
      version = whole
    }
    var encoded: [UInt8]?
    if let bytes = take("\(prefix)bytes") {
      guard let bytes = bytes.bytes else { throw RowLineError("“\(prefix)bytes” are no bytes: {\"$data\": …}.") }
      encoded = bytes
    }
    // What an older coder has written, which only the app reads.
    let isOpaque = coder == .custom || coder == .timestamp && version > 0
    if isOpaque, let bytes = value.bytes {
      return StoredHalf(.custom(bytes), version: version, coder: coder, encoded: encoded)
    }
    return StoredHalf(.value(value), version: version, coder: coder, encoded: encoded)
  }

  /// What is noted of one half.
  mutating func notes(_ prefix: String) throws(RowLineError) -> CollectionNotes.Half {
    let coder = try coder(prefix, default: nil)
    let hasUpgrades = take("\(prefix)has upgrades") ?? false
    guard let hasUpgrades = hasUpgrades.bool else { throw RowLineError("“\(prefix)has upgrades” is true or false.") }
    let list = take("\(prefix)fields") ?? []
    guard let names = list.list?.map(\.text), !names.contains(nil) else {
      throw RowLineError("“\(prefix)fields” is a list of names.")
    }
    return CollectionNotes.Half(coder: coder, hasUpgrades: hasUpgrades, fields: names.compactMap { $0 })
  }

  func checkNothingIsLeft() throws(RowLineError) {
    guard let left = fields.first else { return }
    throw RowLineError("“\(left.name)” is no part of such a line. A row has “key” and “object”.")
  }
}
