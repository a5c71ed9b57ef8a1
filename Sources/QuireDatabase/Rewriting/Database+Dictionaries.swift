// Dictionaries on request.

public import QuireStorage

extension Database {
  /// Trains a dictionary from the rows of a collection as it is now, and stores all rows with it.
  ///
  /// A collection with `Compression.dictionary` gets dictionaries by itself as it grows; this is for one that has
  /// changed since, or whose rows were stored before there was a dictionary. Reads up to 8,192 rows, spread evenly, in
  /// one write transaction of some tens of milliseconds; the rest is `rewriteRows(of:skippingFailures:progress:)`,
  /// which also takes place if the dictionary was not kept. Rows that are stored with an older dictionary stay readable
  /// all the while: no dictionary is dropped before its collection.
  ///
  /// ```swift
  /// let gain = try await db.trainDictionary(for: .songs)
  /// ```
  ///
  /// - Parameters:
  ///   - collection: the collection, whose compression is `Compression.dictionary`.
  ///   - progress: called after each step of rewriting, on the calling thread; what it throws ends the work.
  /// - Returns: what the dictionary does for values that it was not made of. It is kept if that is at least 2 %.
  /// - Throws: `invalidOption` for a collection with another compression, and as `rewriteRows`.
  @discardableResult
  public func trainDictionary<Object, Metadata>(
    for collection: RowCollection<Object, Metadata>, progress: (Progress) throws -> Void = { _ in }
  ) throws -> DictionaryGain {
    let gain = try core.trainDictionary(for: collection)
    try rewriteRows(of: collection, progress: progress)
    return gain
  }

  /// The same on a thread of the database's; `progress` is called there.
  @concurrent @discardableResult
  public func trainDictionary<Object, Metadata>(
    for collection: RowCollection<Object, Metadata>,
    progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws -> DictionaryGain {
    let gain = try await write { [core] tx in try core.trainDictionary(for: collection, in: tx) }
    try await rewriteRows(of: collection, progress: progress)
    return gain
  }
}

extension DatabaseCore {
  /// Trains in a transaction of its own.
  fileprivate func trainDictionary<Object, Metadata>(
    for collection: RowCollection<Object, Metadata>
  ) throws -> DictionaryGain {
    try write(nil) { tx in try trainDictionary(for: collection, in: tx) }
  }

  fileprivate func trainDictionary<Object, Metadata>(
    for collection: RowCollection<Object, Metadata>, in tx: WriteTransaction
  ) throws -> DictionaryGain {
    guard case .dictionary(let above) = collection.compression else {
      throw DatabaseError(
        .invalidOption, "The collection has no compression with dictionaries. Describe it with `.dictionary(above:)`.",
        path: path, collection: collection.name)
    }
    let handle = tx.state.open(collection)
    let opened = handle.opened
    guard handle.protections.isEmpty else {
      throw DatabaseError(
        .invalidOption,
        "The collection is encrypted. A dictionary would hold pieces of its rows in the clear, so that it gets none.",
        path: path, collection: collection.name)
    }
    try opened.checkWriting()
    do { return try DictionaryTrainer(tx.state).trainNow(opened.state, above: above) } catch {
      throw opened.failure(error, nil)
    }
  }
}
