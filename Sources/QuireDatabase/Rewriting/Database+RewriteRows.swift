// Bringing the rows of a collection into today's form.

public import QuireStorage

/// What rewriting a collection came to.
public struct RowRewrite: Sendable {
  /// How many rows were looked at.
  public internal(set) var checkedCount = 0
  /// How many rows were stored anew.
  public internal(set) var rewrittenCount = 0
  /// How many rows could not be, and are as they were.
  public internal(set) var failedCount = 0
  /// Why, for each of the first thousand of these: errors that name collection and key.
  public internal(set) var failures: [DatabaseError] = []
}

extension Database {
  /// Stores every row of a collection anew that is not stored as it would be today: one of an older version of its
  /// type, which is upgraded each time it is read, or one that was stored with another compression.
  ///
  /// Nothing changes for those who read: the rows keep their ids and their values, extensions and those who follow
  /// commits are told nothing. After it the program no longer meets rows of older versions in this collection, though
  /// it must keep their upgrades, whose number tells versions apart; and compression that was turned on or off later
  /// applies to all rows.
  ///
  /// Works in steps of a few milliseconds, each a commit of its own, between which other writers get their turn;
  /// readers never wait, and no snapshot is kept from one step to the next. If `progress` throws, the task is
  /// cancelled, or the process dies, what was rewritten stays rewritten, and the next run passes it by: it reads all
  /// rows and writes only those that need it, at a second time none. When it returns, its result is on the disk,
  /// whatever the durability.
  ///
  /// ```swift
  /// try await db.rewriteRows(of: .songs) { progress in print(progress.fraction) }
  /// ```
  ///
  /// - Parameters:
  ///   - collection: the collection as the program describes it today.
  ///   - skippingFailures: whether rows that cannot be decoded, upgraded or encoded are left as they are and reported,
  ///     instead of ending the work.
  ///   - progress: called after each step, on the calling thread; what it throws ends the work. Units: rows.
  /// - Returns: how many rows there were of which kind.
  /// - Throws: unless failures are skipped, `decodingFailed`, `encodingFailed`, `valueTooLong` or `damagedRow` for the
  ///   first row that cannot be rewritten, with its collection, its key, and what its upgrade threw; in any case
  ///   `collectionMismatch`, `readOnly`, `nestedTransaction`, `CancellationError`, what `progress` throws, and as
  ///   `write`.
  @discardableResult
  public func rewriteRows<Object, Metadata>(
    of collection: RowCollection<Object, Metadata>, skippingFailures: Bool = false,
    progress: (Progress) throws -> Void = { _ in }
  ) throws -> RowRewrite {
    try withoutActuallyEscaping(progress) { progress in
      var work = RowRewriting(core, collection, skipsFailures: skippingFailures, progress)
      return try work.run()
    }
  }

  /// The same on a thread of the database's; `progress` is called there.
  @concurrent @discardableResult
  public func rewriteRows<Object, Metadata>(
    of collection: RowCollection<Object, Metadata>, skippingFailures: Bool = false,
    progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws -> RowRewrite {
    do {
      return try await core.storage.runLongWork(progress) { [core] _, progress in
        try withoutActuallyEscaping(progress) { progress in
          var work = RowRewriting(core, collection, skipsFailures: skippingFailures, progress)
          return try work.run()
        }
      }
    } catch let error as StorageError {
      throw DatabaseError(error)
    }
  }
}
