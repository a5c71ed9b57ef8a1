// A Quire transaction of either kind, behind the calls that both have.

internal import Quire

/// The transaction that an original-style one stands on.
enum TransactionAccess {
  case reading(ReadTransaction)
  case writing(WriteTransaction)

  /// The rows of a collection.
  func rows<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) -> any RowReading<Object, Metadata> {
    switch self {
    case .reading(let tx): tx[collection]
    case .writing(let tx): tx[collection]
    }
  }

  /// The rows of a collection as bytes.
  func rawRows(_ name: String) -> RawRows {
    switch self {
    case .reading(let tx): tx.rawRows(name)
    case .writing(let tx): tx.rawRows(name)
    }
  }

  /// The commit that it sees, or builds on.
  var csn: CSN {
    switch self {
    case .reading(let tx): tx.csn
    case .writing(let tx): tx.csn
    }
  }

  /// The names of the collections that have rows, in the order of their bytes.
  var collections: [String] {
    switch self {
    case .reading(let tx): tx.collections
    case .writing(let tx): tx.collections
    }
  }

  /// The number of all rows.
  var count: Int {
    switch self {
    case .reading(let tx): tx.count
    case .writing(let tx): tx.count
    }
  }

  /// The names of the collections that have a row under `key`.
  func collections(containing key: String) throws -> [String] {
    switch self {
    case .reading(let tx): try tx.collections(containing: key)
    case .writing(let tx): try tx.collections(containing: key)
    }
  }

  /// Whether there is such a row, whatever its types.
  func contains(_ row: RowKey) throws -> Bool {
    switch self {
    case .reading(let tx): try tx.rowID(of: row) != nil
    case .writing(let tx): try tx.rowID(of: row) != nil
    }
  }
}
