// The database as apps see it.

/// An open database of objects: collections of rows, each with a key, an object and perhaps metadata.
///
/// ```swift
/// let db = try Database(at: "library.quire")
/// try db.write { tx in try tx[.songs].set(song, for: "s1") }
/// let stored = try db.read { tx in try tx[.songs].get("s1") }
/// ```
///
/// One writer at a time, any number of readers; readers never wait for another transaction to end. All
/// methods may be called from any thread. In async functions Swift takes the async forms, which wait without blocking a
/// thread of the cooperative pool. Errors of the database's are `DatabaseError`; what a closure throws is rethrown.
///
/// The guide is <doc:Database>.
public final class Database: Sendable {
  let core: DatabaseCore
  /// The connection behind `read` and `write`.
  let connection: Connection

  /// Another handle to an open database.
  init(_ core: DatabaseCore) {
    self.core = core
    connection = Connection(core, Connection.Options())
  }

  /// The path that the database was opened at.
  public var path: String { core.path }
}

/// Two handles are equal if they lead to the same open database, such as the one that was opened and the one that an
/// extension gets.
extension Database: Hashable {
  /// Whether both lead to the same open database.
  public static func == (one: Database, other: Database) -> Bool { one.core === other.core }

  /// Adds which open database it is.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(core)) }
}
