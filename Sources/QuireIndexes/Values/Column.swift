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

  /// A key path that a predicate has, which takes those alone that are `Sendable`.
  init(known path: KeyPath<Root, Value>) { self.path = path }

  func appending<Member>(_ member: any KeyPath<Value, Member> & Sendable) -> FieldPath<Root, Member> {
    FieldPath<Root, Member>(appended: path.appending(path: member))
  }
}

/// A value that is read from rows, as bytes in order.
struct Column<Object: Sendable, Metadata: Sendable>: Sendable {
  let id: ColumnID
  /// The type, for messages and for what is stored about an index.
  let typeName: String
  /// The bytes of the value that stands for none, if the type has one.
  let absentBytes: [UInt8]?
  /// Appends the bytes of a row's value; those of one element after the other, calling the closure behind each.
  let append: @Sendable (Object, Metadata?, inout [UInt8], (inout [UInt8]) throws -> Void) throws -> Void

  /// The bytes of the one value of a row.
  func value(of object: Object, _ metadata: Metadata?) throws -> [UInt8] {
    var found: [UInt8] = []
    try append(object, metadata, &found) { _ in }
    return found
  }

  /// The bytes of a row's values, in order, each once.
  func values(of object: Object, _ metadata: Metadata?) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    var bytes: [UInt8] = []
    try append(object, metadata, &bytes) { value in
      found.append(value)
      value.removeAll(keepingCapacity: true)
    }
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
    absentBytes = Value.absentBytes
    append = { object, _, bytes, end in
      object[keyPath: field.path].append(to: &bytes)
      try end(&bytes)
    }
  }

  /// A value of the metadata: of a row without metadata it is absent, which comes first.
  init<Value: SortKey>(metadata field: FieldPath<Metadata, Value>) {
    id = ColumnID(half: .metadata, path: field.path, kind: .value)
    typeName = "\(Value.self)"
    absentBytes = Value?.absentBytes
    append = { _, metadata, bytes, end in
      metadata.map { $0[keyPath: field.path] }.append(to: &bytes)
      try end(&bytes)
    }
  }

  /// The elements of a list or set of the object.
  init<Elements: Sequence & SendableMetatype>(each field: FieldPath<Object, Elements>)
  where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    id = ColumnID(half: .object, path: field.path, kind: .elements)
    typeName = "\(Elements.self)"
    absentBytes = Elements.Element.absentBytes
    append = { object, _, bytes, end in
      for element in object[keyPath: field.path] {
        element.append(to: &bytes)
        try end(&bytes)
      }
    }
  }

  /// The elements of a list or set of the metadata; a row without metadata has none.
  init<Elements: Sequence & SendableMetatype>(metadataEach field: FieldPath<Metadata, Elements>)
  where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    id = ColumnID(half: .metadata, path: field.path, kind: .elements)
    typeName = "\(Elements.self)"
    absentBytes = Elements.Element.absentBytes
    append = { _, metadata, bytes, end in
      guard let metadata else { return }
      for element in metadata[keyPath: field.path] {
        element.append(to: &bytes)
        try end(&bytes)
      }
    }
  }
}
