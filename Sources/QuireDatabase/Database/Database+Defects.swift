// All that is wrong with the objects of a database, and not the first of it alone.

internal import QuireStorage

extension Database {
  /// What is wrong with rows, collections, the notes of extensions, and feeds: as `verify` finds it, but all of it up
  /// to a limit, each with collection and key if it is about a row, and with what helps. Every half of a row is read
  /// without its type, as what its coder is noted to be; of what is encrypted it is checked that it names its key.
  ///
  /// Reads and decodes each row once, in one snapshot. What extensions have stored is for them to check.
  ///
  /// - Throws: `closed`, `nestedTransaction` inside a write transaction, `inputOutput`.
  public func defects(limit: Int = 100) throws -> [DatabaseError] {
    try DefectSearch(core: core, limit: limit).run {}
  }
}

/// A search for what is wrong with objects.
final class DefectSearch {
  /// Ends a search that has found enough.
  private struct Enough: Error {}

  let core: DatabaseCore
  let limit: Int
  private var found: [DatabaseError] = []

  init(core: DatabaseCore, limit: Int) { (self.core, self.limit) = (core, limit) }

  /// What is found; `step` is called every 256 entries, and what it throws ends the search.
  func run(_ step: () throws -> Void) throws -> [DatabaseError] {
    do {
      try core.storage.read { tx in
        try look { try core.verifyRows(tx, decodesValues: true, step: step, report) }
        try look { try core.verifyExtensions(tx) }
        try look { try core.verifyFeeds(tx, step: step, report) }
      }
    } catch is Enough {
    } catch let error as StorageError {
      throw DatabaseError(error)
    }
    return found
  }

  /// Looks at one part; what ends that leaves the other parts to be looked at.
  private func look(_ body: () throws -> Void) throws {
    do { try body() } catch let error as DatabaseError {
      try report(error)
    } catch let error as StorageError where error.code == .damagedPage {
      try report(DatabaseError(error))
    }
  }

  private func report(_ error: DatabaseError) throws {
    assert(found.count < max(limit, 1), "a search that has found enough goes on")
    found.append(error)
    if found.count >= limit { throw Enough() }
  }
}
