// Asking a database of objects, for the subcommands that know more than its pages.

import ArgumentParser
import QuireDatabase

/// Opens the database for reading, also while an app has it open; what goes wrong becomes one line and exit code 1.
func reading(_ database: LiveArgument, _ body: (ReadTransaction) throws -> Void) throws {
  try reading(database) { tx, _ in try body(tx) }
}

/// The same for what writes a last line that says that all is there: `body` gets what to call ahead of it, which throws
/// if what was read does not count.
func reading(
  _ database: LiveArgument, _ body: (ReadTransaction, _ confirm: () throws -> Void) throws -> Void
) throws {
  try opening(database) { db, confirm in try db.read { tx in try body(tx, confirm) } }
}

/// Opens the database for reading, as `reading` does.
///
/// - Parameters:
///   - throwing: the errors that are the caller's affair, and are thrown as such.
///   - isTold: whether a line says that an app has it open.
func opening(
  _ database: LiveArgument, throwing: Set<DatabaseError.Code> = [], isTold: Bool = true,
  _ body: (Database, _ confirm: @escaping () throws -> Void) throws -> Void
) throws {
  do {
    let options = Database.Options(maintainsWhenIdle: false, createsIfMissing: false, isReadOnly: true)
    let (db, app) = try database.open(isTold: isTold) {
      try Database(at: database.file, options: options)
    } held: { image in
      try Database(at: database.file, options: options, held: image)
    }
    do {
      try body(db) { try app?.confirm() }
      try app?.confirm()
    } catch {
      throw reason(error, app)
    }
    try db.close()
  } catch let error as DatabaseError {
    if throwing.contains(error.code) { throw error }
    complain(error.description)
    throw ExitCode.failure
  }
}
