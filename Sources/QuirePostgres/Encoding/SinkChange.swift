// What a batch does to tables, and rows as tables have them.

#if Postgres
  /// One step of a transaction.
  enum SinkChange: Sendable {
    /// Rows are stored.
    case store(collection: String, [SinkRow])
    /// Rows are removed.
    case remove(collection: String, keys: [String])
    /// All rows of a collection are removed.
    case clear(collection: String)
    /// All rows of all collections are removed, whichever commit they are of if `isNew`, and what was set aside.
    case clearAll(isNew: Bool)
    /// A collection has another name.
    case rename(from: String, to: String)
    /// The bytes of a collection's rows are read with this, if it has a table.
    case note(collection: String, String)
    /// The columns of all tables are filled.
    case didFill
  }

  /// A row, as a table has it.
  struct SinkRow: Sendable {
    let key: String
    let rowID: Int64
    /// JSON; nil where the value is of no form that is known, or encrypted.
    var object: [UInt8]?
    var metadata: [UInt8]?
    var raw: [UInt8]?
    var rawMetadata: [UInt8]?
    /// The values of declared columns.
    var columns: [String?] = []
    /// Why it cannot be stored, where that is known before it is sent.
    var defect: String?
  }

  extension SinkRow {
    /// A row that is longer is not sent: PostgreSQL takes a GiB, in which it has texts and their trees.
    static let longestByteCount = 256 << 20

    var byteCount: Int {
      (object?.count ?? 0) + (metadata?.count ?? 0) + (raw?.count ?? 0) + (rawMetadata?.count ?? 0)
    }
  }
#endif
