// What an index holds of a row: a value that is read by a key path.

internal import QuireDatabase

/// Which value of a row: two with the same are read by equal key paths of the same half.
struct ColumnID: Hashable, @unchecked Sendable {
  // Sendable: safe because a key path never changes, and columns are made of those that are `Sendable`.
  enum Kind: Hashable {
    /// One value of each row.
    case value
    /// Each element of a list or set of the row's.
    case elements
  }

  let half: RowHalf
  let path: AnyKeyPath
  let kind: Kind

  enum RowHalf: Hashable { case object, metadata }
}

/// A key path that may go from thread to thread.
struct FieldPath<Root, Value>: @unchecked Sendable {
  // Sendable: safe because a key path never changes, and both ways of making one take those that are `Sendable`.
  let path: KeyPath<Root, Value>

  init(_ path: any KeyPath<Root, Value> & Sendable) { self.path = path }

  private init(appended path: KeyPath<Root, Value>) { self.path = path }

  func appending<Member>(_ member: any KeyPath<Value, Member> & Sendable) -> FieldPath<Root, Member> {
    FieldPath<Root, Member>(appended: path.appending(path: member))
  }
}

/// A value that is read from rows, as bytes in order.
struct Column<Object: Sendable, Metadata: Sendable>: Sendable {
  let id: ColumnID
  /// The type, for messages and for what is stored about an index.
  let typeName: String
  /// Calls its argument with the bytes of each value of a row: of the one, or of each element.
  let read: @Sendable (Object, Metadata?, (borrowing [UInt8]) throws -> Void) throws -> Void

  /// The bytes of the one value of a row.
  func value(of object: Object, _ metadata: Metadata?) throws -> [UInt8] {
    var found: [UInt8] = []
    try read(object, metadata) { found = copy $0 }
    return found
  }

  /// The bytes of a row's values, in order, each once.
  func values(of object: Object, _ metadata: Metadata?) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    try read(object, metadata) { found.append(copy $0) }
    guard found.count > 1 else { return found }
    found.sort { $0.lexicographicallyPrecedes($1) }
    var distinct: [[UInt8]] = []
    for bytes in found where distinct.last != bytes { distinct.append(bytes) }
    return distinct
  }
}

extension Column {
  /// A value of the object.
  init<Value: SortKey>(_ field: FieldPath<Object, Value>) {
    id = ColumnID(half: .object, path: field.path, kind: .value)
    typeName = "\(Value.self)"
    read = { object, _, body in try body(object[keyPath: field.path].sortBytes) }
  }

  /// A value of the metadata: of a row without metadata it is absent, which comes first.
  init<Value: SortKey>(metadata field: FieldPath<Metadata, Value>) {
    id = ColumnID(half: .metadata, path: field.path, kind: .value)
    typeName = "\(Value.self)"
    read = { _, metadata, body in try body(metadata.map { $0[keyPath: field.path] }.sortBytes) }
  }

  /// The elements of a list or set of the object.
  init<Elements: Sequence & SendableMetatype>(each field: FieldPath<Object, Elements>)
  where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    id = ColumnID(half: .object, path: field.path, kind: .elements)
    typeName = "\(Elements.self)"
    read = { object, _, body in for element in object[keyPath: field.path] { try body(element.sortBytes) } }
  }

  /// The elements of a list or set of the metadata; a row without metadata has none.
  init<Elements: Sequence & SendableMetatype>(metadataEach field: FieldPath<Metadata, Elements>)
  where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    id = ColumnID(half: .metadata, path: field.path, kind: .elements)
    typeName = "\(Elements.self)"
    read = { _, metadata, body in
      guard let metadata else { return }
      for element in metadata[keyPath: field.path] { try body(element.sortBytes) }
    }
  }
}
