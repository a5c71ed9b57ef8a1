// What a write transaction tells the change feeds at its end.

internal import QuireStorage

extension FeedSet {
  /// Writes what the transaction has changed into the feeds, while its collections are all still known.
  ///
  /// - Throws: `feedFull`, and what storing entries throws.
  func outcome(
    of transaction: TransactionState, _ names: [CollectionID: String]
  ) throws(DatabaseError) -> FeedOutcome {
    guard let writer = transaction.writer, case .writing(let handle) = transaction.storage else {
      throw transaction.notWriting()
    }
    do {
      var outcome = try unsafe write(
        writer.changes, TransactionFeedSource(transaction: transaction, names: names), rows: transaction.trees.rows,
        handle.pointee)
      if let updates = writer.feedUpdates { outcome.updates = updates + outcome.updates }
      return outcome
    } catch {
      throw transaction.wrap(error)
    }
  }

  /// Notes that the feeds have heard of the transaction, when all else of it is done.
  func noteHeard(of transaction: TransactionState, _ outcome: FeedOutcome?) throws(DatabaseError) {
    guard case .writing(let handle) = transaction.storage else { throw transaction.notWriting() }
    do throws(StorageError) {
      try unsafe noteHeard(outcome ?? FeedOutcome(), handle.pointee)
    } catch {
      throw transaction.wrap(error)
    }
  }
}

/// The collections of a write transaction, as feeds ask about them.
private struct TransactionFeedSource: FeedSource {
  let transaction: TransactionState
  let names: [CollectionID: String]

  func collection(_ id: CollectionID) -> (name: String, format: CollectionFormat)? {
    guard let name = names[id] else { return nil }
    let state = transaction.open(name)
    let format = CollectionFormat(
      id: id, objectSchema: state.contexts.object.schema, metadataSchema: state.contexts.metadata.schema,
      coders: state.coders)
    return (name, format)
  }

  func plain(_ stored: UnsafeRawBufferPointer, _ id: CollectionID) throws -> [UInt8]? {
    guard let name = names[id] else { throw RowView.damaged() }
    return try unsafe transaction.withoutDictionary(stored, transaction.open(name))
  }
}

extension TransactionState {
  /// A half in a stored form that needs no dictionary; nil if it is in such a one already, or encrypted.
  func withoutDictionary(_ stored: UnsafeRawBufferPointer, _ collection: CollectionState) throws -> [UInt8]? {
    if unsafe SealedHeader.isSealed(stored) { return nil }
    guard try unsafe StoredHeader(stored.bytes).dictionary != nil else { return nil }
    let value = try unsafe ValueCompression.decode(stored.bytes) { try dictionaries.dictionary($0, collection) }
    return try unsafe ValueCompression.encode(value.span.bytes, .none)
  }
}
