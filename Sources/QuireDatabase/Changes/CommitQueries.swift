// Questions to one commit or to several, such as a pinned snapshot has jumped over.

/// What several commits have changed, all in all.
///
/// Of commits that nobody kept, whose changes are `isUnknown`, every question is answered with yes, and lists lack what
/// was changed in them: ask `haveUnknownChanges` first.
extension Sequence where Element == Commit {
  /// Whether some changes are not known, as they were too many to be kept.
  public var haveUnknownChanges: Bool { contains { $0.changes.isUnknown } }

  /// Whether the row under `key` was stored, touched or removed, also by clearing its collection.
  public func hasChanges<Object, Metadata>(
    forKey key: String, in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    hasChanges(forKey: key, inCollection: collection.name, halves)
  }

  /// Whether any of the rows under `keys` was stored, touched or removed.
  public func hasChanges<Object, Metadata>(
    forAnyOf keys: some Sequence<String>, in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    hasChanges(forAnyOf: keys, inCollection: collection.name, halves)
  }

  /// Whether any row of the collection was stored, touched or removed.
  public func hasChanges<Object, Metadata>(
    in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    hasChanges(inCollection: collection.name, halves)
  }

  /// Whether all rows of the collection were removed at once, alone or with those of all others.
  public func didClear<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> Bool {
    didClear(collectionNamed: collection.name)
  }

  /// Whether all rows of all collections were removed at once.
  public var didClearAll: Bool { contains { $0.changes.didClearAll } }

  /// The keys of the collection's rows that were stored, touched or removed one by one, each once, in the order of
  /// their bytes.
  public func changedKeys<Object, Metadata>(
    in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> [String] {
    changedKeys(inCollection: collection.name, halves)
  }

  /// All rows that were stored, touched or removed one by one, each once, in the order of collection and key.
  public var changedRows: [RowKey] { Set(flatMap(\.changes.changedRows)).sorted() }

  // MARK: The same by the collection's name

  /// Whether the row under `key` was stored, touched or removed.
  public func hasChanges(forKey key: String, inCollection name: String, _ halves: RowHalves = .any) -> Bool {
    contains { $0.changes.hasChanges(forKey: key, inCollection: name, halves) }
  }

  /// Whether any of the rows under `keys` was stored, touched or removed.
  public func hasChanges(
    forAnyOf keys: some Sequence<String>, inCollection name: String, _ halves: RowHalves = .any
  ) -> Bool {
    // All at once: a sequence may be gone through only once.
    let keys = Array(keys)
    return contains { $0.changes.hasChanges(forAnyOf: keys, inCollection: name, halves) }
  }

  /// Whether any row of the collection was stored, touched or removed.
  public func hasChanges(inCollection name: String, _ halves: RowHalves = .any) -> Bool {
    contains { $0.changes.hasChanges(inCollection: name, halves) }
  }

  /// Whether all rows of the collection were removed at once.
  public func didClear(collectionNamed name: String) -> Bool {
    contains { $0.changes.didClear(collectionNamed: name) }
  }

  /// The keys of rows that were stored, touched or removed one by one, each once, in the order of their bytes.
  public func changedKeys(inCollection name: String, _ halves: RowHalves = .any) -> [String] {
    Set(flatMap { $0.changes.changedKeys(inCollection: name, halves) }.map(ByteString.init)).map(\.string)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }
}

extension Commit {
  /// Whether the row under `key` was stored, touched or removed, also by clearing its collection.
  public func hasChanges<Object, Metadata>(
    forKey key: String, in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    changes.hasChanges(forKey: key, in: collection, halves)
  }

  /// Whether any of the rows under `keys` was stored, touched or removed.
  public func hasChanges<Object, Metadata>(
    forAnyOf keys: some Sequence<String>, in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    changes.hasChanges(forAnyOf: keys, in: collection, halves)
  }

  /// Whether any row of the collection was stored, touched or removed.
  public func hasChanges<Object, Metadata>(
    in collection: RowCollection<Object, Metadata>, _ halves: RowHalves = .any
  ) -> Bool {
    changes.hasChanges(in: collection, halves)
  }
}
