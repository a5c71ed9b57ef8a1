// An extension of a crash test: its versions, and what it must show.

internal import QuireDatabase

/// An extension, for those who need not know its type.
struct TestedExtension: Sendable {
  let name: String
  let dependencies: [String]
  let versionCount: Int
  /// Registers one of its versions.
  let register: @Sendable (Database, _ version: Int, _ progress: (Database.Progress) throws -> Void) throws -> Void
  /// Compares what a snapshot shows of one of its versions with what the rows say.
  let check: @Sendable (ReadTransaction, _ version: Int, ExpectedRows) throws -> Void

  init<Kind: DatabaseExtension>(
    _ versions: [Kind], _ check: @escaping @Sendable (ReadTransaction, Kind, ExpectedRows) throws -> Void
  ) {
    name = versions[0].name
    dependencies = versions[0].dependencies
    versionCount = versions.count
    register = { db, version, progress in try db.register(versions[version], progress: progress) }
    self.check = { tx, version, rows in try check(tx, versions[version], rows) }
  }
}
