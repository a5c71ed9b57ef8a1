// What is often written of rows and cannot be meant, each with the compiler's message that says what to write.

extension ReadTransaction {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Rows have types, and a name has none: describe the collection once, and write `tx[.songs]`"
  )
  public subscript<Object: Sendable>(_ name: String) -> ReadableRows<Object, NoMetadata> {
    preconditionFailure("no program compiles that calls this")
  }

  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Rows have types, and a name has none: describe the collection once, and write `tx[.songs]`"
  )
  public subscript(_ name: String) -> ReadableRows<NoMetadata, NoMetadata> {
    preconditionFailure("no program compiles that calls this")
  }
}

extension WriteTransaction {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Rows have types, and a name has none: describe the collection once, and write `tx[.songs]`"
  )
  public subscript<Object: Sendable>(_ name: String) -> WritableRows<Object, NoMetadata> {
    preconditionFailure("no program compiles that calls this")
  }

  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "Rows have types, and a name has none: describe the collection once, and write `tx[.songs]`"
  )
  public subscript(_ name: String) -> WritableRows<NoMetadata, NoMetadata> {
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
