// Extensions as apps reach them in transactions.

extension ReadTransaction {
  /// What an extension shows of this snapshot. Costs a look-up the first time, and then next to nothing.
  ///
  /// A snapshot from before the extension was unregistered, or registered anew in another form, shows it as it was.
  ///
  /// - Throws: `extensionNotRegistered`; `extensionNotReady` if it is being built, or was not built yet in this
  ///   snapshot; `extensionMismatch` if another kind has the name, or another version that was not replaced in this
  ///   opening; `extensionFailed` with what `makeReader` threw; `transactionClosed`, `damagedPage`, `inputOutput`.
  public func access<Kind: DatabaseExtension>(to value: Kind) throws(DatabaseError) -> Kind.Reader {
    try state.extensions.reader(named: value.name, Kind.self, version: value.version)
  }

  /// What the extension of a name shows of this snapshot. Cost and errors as above.
  public func access<Kind: DatabaseExtension>(
    toExtensionNamed name: String, _ kind: Kind.Type
  ) throws(DatabaseError) -> Kind.Reader {
    try state.extensions.reader(named: name, kind)
  }

  /// What the extension of a type shows that serves a collection: the first whose `servedCollection` that is. Nil if
  /// none is registered, or if this snapshot does not show all of it. Cost as above.
  ///
  /// - Throws: `extensionFailed` with what `makeReader` threw; `transactionClosed`, `damagedPage`, `inputOutput`.
  public func access<Kind: DatabaseExtension>(
    _ kind: Kind.Type, serving collection: String
  ) throws(DatabaseError) -> Kind.Reader? {
    try state.extensions.reader(kind, serving: collection)
  }

  /// The description of the extension of a name whose trees this snapshot shows: for code that knows the name alone,
  /// and finds out what it is. Cost and errors as above.
  public func registeredExtension(named name: String) throws(DatabaseError) -> any DatabaseExtension {
    try state.extensions.registeredExtension(named: name)
  }

  /// The extensions of a type that are registered, in the order of their registration: for calls that look for one that
  /// serves them. Whether this snapshot has all of one, `access(to:)` tells. O(registered extensions).
  public func registeredExtensions<Kind: DatabaseExtension>(_ kind: Kind.Type) throws(DatabaseError) -> [Kind] {
    try state.extensions.registeredExtensions(kind)
  }
}

extension WriteTransaction {
  /// What follows this transaction for an extension, its own pending changes included.
  ///
  /// - Throws: as `ReadTransaction.access`, with what `makeWriter` threw.
  public func access<Kind: DatabaseExtension>(to value: Kind) throws(DatabaseError) -> Kind.Writer {
    try state.extensions.writer(named: value.name, Kind.self, version: value.version)
  }

  /// What follows this transaction for the extension of a name. Errors as above.
  public func access<Kind: DatabaseExtension>(
    toExtensionNamed name: String, _ kind: Kind.Type
  ) throws(DatabaseError) -> Kind.Writer {
    try state.extensions.writer(named: name, kind)
  }
}

extension Commit {
  /// Whether readers see the content of an extension begin or end with this commit: it was registered and is ready, or
  /// was unregistered. What was derived from it step by step is to be read anew. Ask `changes.isUnknown` first.
  ///
  /// A commit by which nothing else happened is told by `Database.commits(tellingRegistrations:)` alone.
  public func restarts(extensionNamed name: String) -> Bool { scope.restarted.contains(ByteString(name)) }

  /// What an extension tells of this commit; nil if nothing of interest has happened in it. Ask `changes.isUnknown`
  /// first: of a commit that stands for some that were lost, nothing is told.
  public func changes<Kind: DatabaseExtension>(of value: Kind) -> Kind.Writer.Changes? {
    extensionChanges[ByteString(value.name)] as? Kind.Writer.Changes
  }

  /// What the extension of a name tells of this commit.
  public func changes(ofExtensionNamed name: String) -> (any ExtensionChanges)? {
    extensionChanges[ByteString(name)]
  }
}
