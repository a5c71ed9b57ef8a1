// The listings of “Several processes”.

import Foundation
import Quire

func publish(_ db: Database, to copy: String) throws {
  let fresh = "\(copy)-\(UUID().uuidString)"
  try db.backup(to: fresh)
  guard rename(fresh, copy) == 0 else {
    let reason = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    try? FileManager.default.removeItem(atPath: fresh)
    throw reason
  }
}

func openCopy(_ copy: String) throws -> Database {
  try Database(at: copy, options: Database.Options(createsIfMissing: false, isReadOnly: true))
}

func openForOperators(_ path: String) throws -> (Database, ControlSocket) {
  let db = try Database(at: path)
  let control = try db.openControl()
  return (db, control)
}

func takeOver<Object, Metadata>(
  _ collection: RowCollection<Object, Metadata>, from inbox: String, into db: Database
) throws -> Int {
  let other = try Database(at: inbox)
  defer { try? other.close() }
  let rows = try other.read { tx in Array(tx[collection].rows) }
  try db.write { tx in
    for row in rows { try tx[collection].set(row.object, metadata: row.metadata, for: row.key) }
  }
  try other.write { tx in try tx[collection].remove(rows.map(\.key)) }
  return rows.count
}
