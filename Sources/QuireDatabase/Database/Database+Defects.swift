// All that is wrong with the objects of a database, and not the first of it alone.

internal import QuireStorage

/// Ends a search for defects that has found enough.
private struct EnoughDefects: Error {}

extension Database {
  /// What is wrong with rows, collections, the notes of extensions, and feeds: as `verify` finds it, but all of it up
  /// to a limit; and every half of a row is read without its type, as what its coder is noted to be. Pages are not looked
  /// at beyond what reading takes, and what extensions have stored is for them to check. Of what is encrypted it is
  /// checked that it names its key.
  ///
  /// Reads and decodes each row once, in one snapshot; keeps nothing but what it finds.
  ///
  /// - Returns: the defects, each with collection and key if it is about a row, and with what helps.
  /// - Throws: `closed`, `nestedTransaction` inside a write transaction, `inputOutput`.
  public func defects(limit: Int = 100) throws -> [DatabaseError] {
    var found: [DatabaseError] = []
    func report(_ error: DatabaseError) throws {
      found.append(error)
      if found.count >= limit { throw EnoughDefects() }
    }
    func part(_ body: () throws -> Void) throws {
      do { try body() } catch let error as DatabaseError {
        try report(error)
      } catch let error as StorageError where error.code == .damagedPage {
        try report(DatabaseError(error))
      }
    }
    do {
      try core.storage.read { tx in
        try part { try core.verifyRows(tx, decodesValues: true, report) }
        try part { try core.verifyExtensions(tx) }
        try part { try core.verifyFeeds(tx, report) }
      }
    } catch is EnoughDefects {
    } catch let error as StorageError {
      throw DatabaseError(error)
    }
    return found
  }
}
