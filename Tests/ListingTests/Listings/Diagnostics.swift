// The listing of “Diagnostics”.

import Logging
import Quire

enum DiagnosticsListing {
  static func open(_ path: String) throws -> Database {
    var options = Database.Options(logger: Logger(label: "library"), label: "library")
    options.slowTransactionThreshold = .milliseconds(100)
    let db = try Database(at: path, options: options)
    return db
  }
}
