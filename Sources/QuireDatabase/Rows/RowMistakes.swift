// What is often written of rows and cannot be meant, each with the compiler's message that says what to write.

/// What names a collection without its types. For the compiler's message alone, which then is not about `String` where
/// `tx[.songs]` is misspelt.
public protocol UndescribedCollection {}

extension String: UndescribedCollection {}

extension ReadTransaction {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Rows have types, and a name has none: describe the collection once, and write `tx[.songs]`"
  )
  public subscript<Object: Sendable, Name: UndescribedCollection>(_ name: Name) -> ReadableRows<Object, NoMetadata> {
    preconditionFailure("no program compiles that calls this")
  }

  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Rows have types, and a name has none: describe the collection once, and write `tx[.songs]`"
  )
  public subscript<Name: UndescribedCollection>(_ name: Name) -> ReadableRows<NoMetadata, NoMetadata> {
    preconditionFailure("no program compiles that calls this")
  }
}

extension WriteTransaction {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Rows have types, and a name has none: describe the collection once, and write `tx[.songs]`"
  )
  public subscript<Object: Sendable, Name: UndescribedCollection>(_ name: Name) -> WritableRows<Object, NoMetadata> {
    preconditionFailure("no program compiles that calls this")
  }

  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Rows have types, and a name has none: describe the collection once, and write `tx[.songs]`"
  )
  public subscript<Name: UndescribedCollection>(_ name: Name) -> WritableRows<NoMetadata, NoMetadata> {
    preconditionFailure("no program compiles that calls this")
  }
}

extension RowReading {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable, message: "Rows are read by `try rows.get(key)`, and stored by `try rows.set(object, for: key)`"
  )
  public subscript(_ key: String) -> Object? {
    get { preconditionFailure("no program compiles that calls this") }
    nonmutating set { preconditionFailure("no program compiles that calls this") }
  }
}

extension RowSequence {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: """
      Rows are counted without reading them: `try tx[.songs].count("a"..<"b")`, `count(prefix:)`, `count(from:upTo:)`
      """
  )
  public var count: Int { preconditionFailure("no program compiles that calls this") }
}

extension KeySequence {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: """
      Keys are counted without reading them: `try tx[.songs].count("a"..<"b")`, `count(prefix:)`, `count(from:upTo:)`
      """
  )
  public var count: Int { preconditionFailure("no program compiles that calls this") }
}

extension ReadableRows {
  /// Never there: for the compiler's message.
  @available(*, unavailable, message: "This transaction reads: rows are stored in the closure of `db.write`")
  public func set(_ object: Object, metadata: Metadata? = nil, for key: String) throws {
    preconditionFailure("no program compiles that calls this")
  }

  /// Never there: for the compiler's message.
  @available(*, unavailable, message: "This transaction reads: rows are removed in the closure of `db.write`")
  public func remove(_ key: String) throws { preconditionFailure("no program compiles that calls this") }
}
