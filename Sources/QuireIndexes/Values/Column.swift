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
  /// Tells nearly all paths apart: comparing two walks through both.
  private let hash: Int

  enum RowHalf: Hashable {
    case object, metadata
    /// Neither: the row's key.
    case key
  }

  init(_ half: RowHalf, _ path: AnyKeyPath, _ kind: Kind) {
    self.half = half
    self.path = path
    self.kind = kind
    hash = path.hashValue
  }

  static func == (left: Self, right: Self) -> Bool {
    left.hash == right.hash && left.half == right.half && left.kind == right.kind
      && (left.path === right.path || left.path == right.path)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }
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
///
/// Without the types of the rows, as all that plans are made of: code that does not know them by name would ask at run
/// time, at every step, what types it is for. What reads rows stands behind `source`. A class, as conditions and plans
/// have it in many places.
final class Column: Sendable {
  let id: ColumnID
  /// The type, for messages and for what is stored about an index.
  var typeName: String { "\(type)" }
  private let type: Any.Type
  /// The bytes of values that are not the same as another row's, to a unique index: nil, and what is not a number. Made
  /// when they are asked for: conditions make columns too.
  var incomparable: [[UInt8]] { makeIncomparable() }
  private let makeIncomparable: @Sendable () -> [[UInt8]]
  /// Its type, and its name as far as the program's symbols tell it: an address is another one at each start.
  var name: String {
    let path = "\(id.path.debugDescription)"
    return path.contains("0x") ? typeName : "\(typeName) \(path)"
  }
  /// The name of the field, with those of the fields around it, as far as the program tells it; nil if it does not.
  var fieldName: String? {
    let (path, root) = ("\(id.path.debugDescription)", "\\\(Swift.type(of: id.path).rootType).")
    guard path.utf8.starts(with: root.utf8) else { return nil }
    let name = path.dropFirst(root.count)
    return name.isEmpty || !name.allSatisfy(\.isOfFieldName) ? nil : String(name)
  }
  /// A `ColumnSource` of the types of the collection.
  private let source: any AnyObject & Sendable

  fileprivate init<Object: Sendable, Metadata: Sendable>(
    _ id: ColumnID, _ type: Any.Type, _ incomparable: @autoclosure @escaping @Sendable () -> [[UInt8]],
    _ source: ColumnSource<Object, Metadata>
  ) {
    self.id = id
    self.type = type
    makeIncomparable = incomparable
    self.source = source
  }

  /// What reads the value from rows of these types, which are those of the fields that the column was made of.
  func source<Object: Sendable, Metadata: Sendable>(
    of _: Object.Type, _: Metadata.Type
  ) -> ColumnSource<Object, Metadata> {
    unsafe unsafeDowncast(source, to: ColumnSource<Object, Metadata>.self)
  }

  /// The bytes of the one value of a row.
  func value<Object: Sendable, Metadata: Sendable>(of object: Object, _ metadata: Metadata?) throws -> [UInt8] {
    var found: [UInt8] = []
    try source(of: Object.self, Metadata.self).append(object, metadata, &found) { _ in }
    return found
  }

  /// The bytes of a row's values, in order, each once.
  func values<Object: Sendable, Metadata: Sendable>(of object: Object, _ metadata: Metadata?) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    var bytes: [UInt8] = []
    try source(of: Object.self, Metadata.self).append(object, metadata, &bytes) { value in
      found.append(value)
      value.removeAll(keepingCapacity: true)
    }
    return found.distinctInOrder()
  }
}

/// Reads a column from rows of a collection.
final class ColumnSource<Object: Sendable, Metadata: Sendable>: Sendable {
  /// Appends the bytes of a row's value; those of one element after the other, calling the closure behind each.
  let append: @Sendable (Object, Metadata?, inout [UInt8], (inout [UInt8]) throws -> Void) throws -> Void

  init(
    _ append: @escaping @Sendable (Object, Metadata?, inout [UInt8], (inout [UInt8]) throws -> Void) throws -> Void
  ) { self.append = append }
}

extension SortKey {
  /// The bytes of its values that are equal to no value that is there.
  fileprivate static var incomparable: [[UInt8]] { [absentBytes, unorderedBytes].compactMap(\.self) }
}

/// An optional, whatever it is of.
private protocol OptionalType { static var wrapped: Any.Type { get } }

extension Optional: OptionalType { fileprivate static var wrapped: Any.Type { Wrapped.self } }

extension Character {
  /// Whether it stands in names of fields, or between them.
  var isOfFieldName: Bool { isLetter || isNumber || self == "_" || self == "." }
}

/// A row of a type that is not known: its fields are told apart by where records have them, or by their names.
struct StoredRow: Sendable {
  /// Which field.
  enum Field: Hashable, Sendable {
    case place(Int)
    case name(String)
  }

  subscript(field: Field) -> Field { field }
}

extension Column {
  /// A field of a row of a type that is not known, which nobody reads.
  convenience init(storedAt field: StoredRow.Field, _ kind: ColumnID.Kind) {
    self.init(
      ColumnID(.object, \StoredRow.[field], kind), StoredRow.Field.self, [],
      ColumnSource<StoredRow, NoMetadata> { _, _, _, _ in preconditionFailure("a row of no known type is read") })
  }

  /// The key of the row, of which a row's halves know nothing: what compares it has to be given it.
  convenience init<Object: Sendable, Metadata: Sendable>(keysOf _: Object.Type, _: Metadata.Type) {
    self.init(
      ColumnID(.key, \String.self, .value), String.self, [],
      ColumnSource<Object, Metadata> { _, _, _, _ in preconditionFailure("a row's halves have no key") })
  }

  /// A value of the object.
  convenience init<Object: Sendable, Metadata: Sendable, Value: SortKey>(
    _ field: FieldPath<Object, Value>, beside _: Metadata.Type
  ) {
    self.init(
      ColumnID(.object, field.path, .value), Value.self, Value.incomparable,
      Self.source(field) as ColumnSource<Object, Metadata>)
  }

  private static func source<Object: Sendable, Metadata: Sendable, Value: SortKey>(
    _ field: FieldPath<Object, Value>
  ) -> ColumnSource<Object, Metadata> {
    let innerNils = Self.innerNils(Value.self)
    guard !innerNils.isEmpty else {
      return ColumnSource { object, _, bytes, end in
        object[keyPath: field.path].append(to: &bytes)
        try end(&bytes)
      }
    }
    return ColumnSource { object, _, bytes, end in
      let value = object[keyPath: field.path].sortBytes
      bytes += innerNils.contains(value) ? Optional<Bool>.none.sortBytes : value
      try end(&bytes)
    }
  }

  /// The bytes of a nil inside of an optional of an optional. A row that is read has nil in its place, as `Codable`
  /// does not tell the two apart, and so has a row that is being stored to an index.
  private static func innerNils(_ type: Any.Type) -> [[UInt8]] {
    var (found, prefix) = ([[UInt8]](), [UInt8]())
    var inner = (type as? any OptionalType.Type)?.wrapped
    while let wrapped = (inner as? any OptionalType.Type)?.wrapped {
      prefix.append(1)
      found.append(prefix + [0])
      inner = wrapped
    }
    return found
  }

  /// A value of the metadata: of a row without metadata it is absent, which comes first.
  convenience init<Object: Sendable, Metadata: Sendable, Value: SortKey>(
    metadata field: FieldPath<Metadata, Value>, beside _: Object.Type
  ) {
    self.init(
      ColumnID(.metadata, field.path, .value), Value.self, [[0]] + Value.incomparable.map { [1] + $0 },
      ColumnSource<Object, Metadata> { _, metadata, bytes, end in
        metadata.map { $0[keyPath: field.path] }.append(to: &bytes)
        try end(&bytes)
      })
  }

  /// The elements of a list or set of the object.
  convenience init<Object: Sendable, Metadata: Sendable, Elements: Sequence & SendableMetatype>(
    each field: FieldPath<Object, Elements>, beside _: Metadata.Type
  ) where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    self.init(
      ColumnID(.object, field.path, .elements), Elements.self, Elements.Element.incomparable,
      ColumnSource<Object, Metadata> { object, _, bytes, end in
        for element in object[keyPath: field.path] {
          element.append(to: &bytes)
          try end(&bytes)
        }
      })
  }

  /// The elements of a list or set of the metadata; a row without metadata has none.
  convenience init<Object: Sendable, Metadata: Sendable, Elements: Sequence & SendableMetatype>(
    metadataEach field: FieldPath<Metadata, Elements>, beside _: Object.Type
  ) where Elements.Element: SortKey, Elements.Iterator: SendableMetatype {
    self.init(
      ColumnID(.metadata, field.path, .elements), Elements.self, Elements.Element.incomparable,
      ColumnSource<Object, Metadata> { _, metadata, bytes, end in
        guard let metadata else { return }
        for element in metadata[keyPath: field.path] {
          element.append(to: &bytes)
          try end(&bytes)
        }
      })
  }
}
