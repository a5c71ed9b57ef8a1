// The columns of a secondary index under their original names.

internal import Quire

/// What a column holds: SQLite's affinities. New type: none, as fields have types.
public enum YapDatabaseSecondaryIndexType: Int, Sendable {
  /// Whole numbers; others stay what they are, and text that is a number becomes one.
  case integer
  /// Numbers with a fraction; text that is a number becomes one.
  case real
  /// Numbers of either kind; text that is a number becomes one.
  case numeric
  /// Text, which numbers become.
  case text
  /// Values as they are.
  case blob

  var affinity: QueryAffinity {
    switch self {
    case .integer: .integer
    case .real: .real
    case .numeric: .numeric
    case .text: .text
    case .blob: .blob
    }
  }
}

/// A column of a secondary index. New type: `IndexColumn`.
public struct YapDatabaseSecondaryIndexColumn: Hashable, Sendable {
  /// The name that queries use; its case has no meaning there.
  public let name: String
  /// What it holds.
  public let type: YapDatabaseSecondaryIndexType

  var column: QueryColumn { QueryColumn(name: name, affinity: type.affinity) }
}

/// The columns of a secondary index, in their order. New type: `Index`.
public final class YapDatabaseSecondaryIndexSetup: Sendable {
  private let columns: Guarded<[YapDatabaseSecondaryIndexColumn]>

  /// Without columns. New call: none.
  public init() { columns = Guarded([]) }

  /// The same; the capacity has no meaning. New call: none.
  public convenience init(capacity: UInt) { self.init() }

  /// A copy, which later changes of the original do not reach.
  init(copying other: YapDatabaseSecondaryIndexSetup) { columns = Guarded(other.all) }

  /// Adds a column. An index whose columns have the same name, none, or one that means the row's number (`rowid`,
  /// `oid`, `_rowid_`) is refused when it is registered. New call: `Index(_:_:)`.
  public func addColumn(_ name: String, with type: YapDatabaseSecondaryIndexType) {
    columns.withLock { $0.append(YapDatabaseSecondaryIndexColumn(name: name, type: type)) }
  }

  /// The number of columns. New call: none.
  public func count() -> UInt { UInt(all.count) }

  /// The column of an index; nil if there are not so many. New call: none.
  public func column(at index: UInt) -> YapDatabaseSecondaryIndexColumn? {
    columns.withLock { index < UInt($0.count) ? $0[Int(index)] : nil }
  }

  /// The names of the columns, in their order. New call: none.
  public func columnNames() -> [String] { all.map(\.name) }

  /// The columns, in their order.
  var all: [YapDatabaseSecondaryIndexColumn] { columns.withLock { $0 } }

  /// - Throws: `invalidOption` if there is no column, or one of a name that is not allowed.
  func check(_ indexName: String) throws(DatabaseError) {
    var names: Set<String> = []
    for name in columnNames() {
      let folded = name.lowercased()
      guard !name.isEmpty, !QueryScope.rowIDNames.contains(folded), names.insert(folded).inserted else {
        throw DatabaseError(
          .invalidOption,
          """
          The index “\(indexName)” cannot have a column “\(name)”: the names of columns differ, not in case alone, are \
          not empty, and none of them is rowid, oid or _rowid_. Choose another name.
          """)
      }
    }
    guard !names.isEmpty else {
      throw DatabaseError(.invalidOption, "The index “\(indexName)” has no column. Call `addColumn(_:with:)` before.")
    }
  }
}
