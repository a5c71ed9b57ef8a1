// An error of PostgreSQL, or of the way there, and what follows from it.

#if Postgres
  /// What a statement, or a connection, has met.
  struct SQLError: Error {
    /// Five characters; nil where the connection has failed, or nobody has answered.
    let state: String?
    let message: String

    /// What a feeder does about it.
    enum Answer {
      /// The same again later, over a new connection.
      case again
      /// One row of those that were sent is not acceptable.
      case poison
      /// It will be refused until somebody changes something there.
      case refuse
    }

    var answer: Answer {
      guard let state else { return .again }
      switch String(state.prefix(2)) {
      // Values that do not fit, constraints that a row breaks, limits that it passes.
      case "22", "23", "54": return .poison
      // Lost or refused connections, serialization and deadlocks, no room, an operator's doing, the system's errors.
      case "08", "40", "53", "57", "58", "XX": return .again
      default: break
      }
      // A standby, or a primary that became one: the next connection finds another. A lock that was not to be had; a
      // session that has slept in a transaction; a transaction that was ended by one of these.
      return ["25006", "55P03", "55006", "25P03", "25P02", "25P01"].contains(state) ? .again : .refuse
    }

    /// Whether the transaction has lost against another one, and is right if it is done again.
    var hasLostAgainstAnother: Bool { ["40001", "40P01"].contains(state) }

    /// Whether another one was making the same table or index: PostgreSQL refuses all but one, whatever `IF NOT EXISTS`
    /// says, and the others find it there when they ask again.
    var isMadeByAnother: Bool { ["23505", "42P07", "42710"].contains(state) }

    /// As apps are told.
    var told: PostgresError {
      PostgresError(
        answer == .again ? .notReachable : .refused, message + (remedy.map { " \($0)" } ?? ""), sqlState: state)
    }

    /// What helps against what is refused, where that is known.
    private var remedy: String? {
      switch state {
      case "28P01", "28000": "Name a user and a password that PostgreSQL lets in; pg_hba.conf says whom."
      case "3D000": "Make that database, or name another one."
      case "42501": "Grant the user of the connection that right."
      case "42P01", "42703", "42804":
        """
        A table is not as it was made. Put back what was changed, or drop the table: the mirror makes it again, with \
        all rows.
        """
      default: nil
      }
    }
  }
#endif
