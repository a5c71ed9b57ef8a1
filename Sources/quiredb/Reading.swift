// Asking a database of objects, for the subcommands that know more than its pages.

import ArgumentParser
import QuireDatabase

/// Opens the database for reading; what goes wrong becomes one line and exit code 1.
func reading(_ database: DatabaseArgument, _ body: (ReadTransaction) throws -> Void) throws {
  do {
    let options = Database.Options(maintainsWhenIdle: false, createsIfMissing: false, isReadOnly: true)
    let db = try Database(at: database.file, options: options)
    try db.read(body)
    try db.close()
  } catch let error as DatabaseError {
    complain(error.description)
    throw ExitCode.failure
  }
}
