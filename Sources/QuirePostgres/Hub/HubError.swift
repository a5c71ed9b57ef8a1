// What goes wrong between a database and its hub.

#if Postgres
  /// Why a member of a hub stops.
  public struct HubError: Error, Sendable, CustomStringConvertible {
    /// The kinds of errors.
    public enum Code: String, Hashable, Sendable {
      /// Somebody else speaks for this origin: another process, or a copy of the file.
      case anotherMember
      /// The origin belongs to another database.
      case otherDatabase
      /// What the hub has cannot be read.
      case damagedHub
      /// The hub cannot be reached. Trying again is right.
      case unreachable
      /// PostgreSQL refuses the connection, or what it is told, until somebody changes something there: a password or
      /// rights are missing, or a table was changed by hand. The cause says what helps.
      case refused
      /// Another call of this hub's is under way.
      case busy
      /// The declaration does not fit.
      case invalidOption
    }

    /// The kind.
    public let code: Code
    /// What is wrong, and what helps.
    public let message: String
    /// What was thrown below, if something was.
    public let cause: (any Error)?

    init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
      (self.code, self.message, self.cause) = (code, message, cause)
    }

    /// The kind, the message and the cause.
    public var description: String { "\(code.rawValue): \(message)" + (cause.map { " [\($0)]" } ?? "") }
  }
#endif
