// Extensions under their original names: what all kinds have in common.

public import Quire

/// An extension to be registered: one of the kinds below, or one of the new API in a `YapDatabaseCustomExtension`. New
/// type: `DatabaseExtension`.
///
/// In the original an extension gets its name when it is registered, and so do these. May be used from any thread.
public class YapDatabaseExtension: @unchecked Sendable {
  // Sendable: safe because the name is guarded, and the kinds below have constants only, or guard what they change.
  private let name = Guarded<String?>(nil)

  init() {}

  /// The name that it is registered under; nil before that and after it was unregistered.
  public var registeredName: String? { name.withLock { $0 } }

  func setRegisteredName(_ newName: String?) { name.withLock { $0 = newName } }

  /// The extension of the new API that does the work.
  func makeExtension(named name: String, in database: YapDatabase) throws -> any DatabaseExtension {
    throw Self.unsupported(name)
  }

  /// Whether it is what another one is, which the same line has made: those that have versions say so by these.
  func isSame(as first: YapDatabaseExtension) -> Bool { false }

  /// What it has in a transaction.
  func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    throw Self.unsupported(registeredName ?? "")
  }

  /// What it has for a connection, if anything.
  func makeConnection(_ connection: YapDatabaseConnection) -> YapDatabaseExtensionConnection? { nil }

  static func unsupported(_ name: String) -> DatabaseError {
    DatabaseError(
      .invalidOption, "The extension “\(name)” is of no kind that can be registered. Use one of its subclasses.")
  }

  /// The extension of the new API, once it is registered.
  func notRegistered() -> DatabaseError {
    DatabaseError(.extensionNotRegistered, "The extension was used before it was registered, or after it was not.")
  }
}

/// What an extension has in one transaction.
public class YapDatabaseExtensionTransaction {
  /// The transaction. Not to be used when its block has returned.
  public let transaction: YapDatabaseReadTransaction
  /// The name that the extension is registered under.
  let name: String

  init(_ name: String, _ transaction: YapDatabaseReadTransaction) {
    self.name = name
    self.transaction = transaction
  }

  func attempt<Result>(_ fallback: Result, _ body: () throws -> Result) -> Result {
    transaction.attempt(fallback, body)
  }

  /// The write transaction.
  ///
  /// - Throws: `readOnly` in a read transaction.
  func writing() throws(DatabaseError) -> WriteTransaction {
    guard case .writing(let tx) = transaction.access else {
      throw DatabaseError(
        .readOnly, "A read transaction cannot change anything. Use `readWrite`.",
        path: transaction.database.quire.path)
    }
    return tx
  }
}

/// What an extension has for one connection.
public class YapDatabaseExtensionConnection {
  /// The connection.
  public let connection: YapDatabaseConnection

  init(_ connection: YapDatabaseConnection) { self.connection = connection }
}

/// An extension of the new API, registered in the original's way. Its name must be that of the registration. New call:
/// `Database.register(_:)`.
public final class YapDatabaseCustomExtension<Kind: DatabaseExtension>: YapDatabaseExtension, @unchecked Sendable {
  // Sendable: safe because the value is a constant.
  /// The extension itself.
  public let value: Kind

  /// Wraps an extension. New call: none.
  public init(_ value: Kind) { self.value = value }

  override func makeExtension(named name: String, in database: YapDatabase) throws -> any DatabaseExtension {
    guard value.name.utf8.elementsEqual(name.utf8) else {
      throw DatabaseError(
        .invalidOption, "The extension is called “\(value.name)”, but was to be registered as “\(name)”.")
    }
    return value
  }

  override func makeTransaction(_ transaction: YapDatabaseReadTransaction) throws -> YapDatabaseExtensionTransaction {
    try YapDatabaseCustomExtensionTransaction(value, transaction)
  }
}

/// An extension of the new API in a transaction. New call: `tx.access(to:)`.
public final class YapDatabaseCustomExtensionTransaction<Kind: DatabaseExtension>: YapDatabaseExtensionTransaction {
  /// What it shows, in a read transaction.
  public let reader: Kind.Reader?
  /// What follows the transaction for it, in a write transaction.
  public let writer: Kind.Writer?

  init(_ value: Kind, _ transaction: YapDatabaseReadTransaction) throws {
    switch transaction.access {
    case .reading(let tx): (reader, writer) = (try tx.access(to: value), nil)
    case .writing(let tx): (reader, writer) = (nil, try tx.access(to: value))
    }
    super.init(value.name, transaction)
  }
}
