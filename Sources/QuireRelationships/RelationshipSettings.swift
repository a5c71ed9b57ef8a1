// What a relationship knows of objects, without their types.

internal import QuireDatabase

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// How to tell the rows of a collection.
struct Notifier: Sendable {
  /// The object of a row.
  let load: @Sendable (RowChange) throws -> (any Sendable)?
  /// Tells the object of a row; returns what it is to become.
  let tell: @Sendable (any Sendable, RowKey, Edge, EdgeReason) throws -> Any?
  /// Stores what `tell` returned.
  let replace: @Sendable (Any, RowKey, WriteTransaction) throws -> Void
}

/// The closures of a relationship.
struct RelationshipSettings: Sendable {
  static let kind = "quire.relationship"

  /// What makes edges of the rows of a collection.
  private(set) var derivers: [ByteString: @Sendable (RowChange) throws -> [Edge]] = [:]
  private(set) var notifiers: [ByteString: Notifier] = [:]
  /// Who wants to know what registering does.
  var watch: RegistrationWatch?
  var missingEnds = MissingEnds.countAsDeleted
  var untoldRows = UntoldRows.refuse
  var removeFile: @Sendable (String) throws -> Void = { try Self.unlinkFile($0) }

  /// Has the objects of a collection asked for edges, beside what asks them already.
  mutating func derive<Object, Metadata>(
    _ collection: RowCollection<Object, Metadata>, _ edges: @escaping @Sendable (Object, RowKey) throws -> [Edge]
  ) {
    let name = ByteString(collection.name)
    let others = derivers[name]
    derivers[name] = { change in
      guard let object = try change.object(in: collection) else { return [] }
      return try (others?(change) ?? []) + edges(object, change.rowKey)
    }
  }

  /// Has the rows of a collection told, and what `telling` returns stored by `replacing`.
  mutating func notify<Object, Metadata, Told>(
    _ collection: RowCollection<Object, Metadata>,
    _ telling: @escaping @Sendable (Object, RowKey, Edge, EdgeReason) throws -> Told?,
    _ replacing: @escaping @Sendable (Told, RowKey, WriteTransaction) throws -> Void
  ) {
    notifiers[ByteString(collection.name)] = Notifier(
      load: { try $0.object(in: collection) },
      tell: { object, key, edge, reason in
        guard let object = object as? Object else { return nil }
        return try telling(object, key, edge, reason)
      },
      replace: { told, key, tx in
        if let told = told as? Told { try replacing(told, key, tx) }
      })
  }

  /// Removes a file's name; one that is not there is fine.
  private static func unlinkFile(_ path: String) throws {
    guard unsafe unlink(path) != 0 else { return }
    let code = errno
    guard code != ENOENT, code != ENOTDIR else { return }
    throw DatabaseError(
      .inputOutput, "The file could not be deleted (system error \(code)). It is tried again later.", path: path)
  }
}
