// What salvaging a database tells: what is lost, what may be old, and what is made anew.

package import QuireStorage

/// Something that a salvaged database lacks, or has otherwise than the damaged one had it.
package struct SalvageFinding: Sendable {
  /// What has happened to it.
  package enum Kind: String, Sendable {
    /// A row that the database had, and which is not in the new one.
    case lostRow = "lost row"
    /// Rows within a range of numbers; those that the key index knows are told as lost rows as well.
    case lostRows = "lost rows"
    /// A row that is in the new database as it was once; it may have been changed or removed since.
    case oldRow = "old row"
    /// A row that no checksum proves.
    case unprovenRow = "unproven row"
    /// The name of a collection, with its fields and coders; its rows stand under another one.
    case lostName = "lost name"
    /// Something else that is stored once and that nothing tells again.
    case lostContent = "lost content"
    /// The newest commits, of which the files have no proof.
    case lostCommits = "lost commits"
    /// Damaged, and made anew from rows, or for the app to make anew.
    case madeAnew = "made anew"
    /// Left out on purpose.
    case leftOut = "left out"
  }

  package let kind: Kind
  /// The collection, where it is one.
  package var collection: String?
  /// The key, where it is one row.
  package var key: String?
  /// The row's number.
  package var row: Int64?
  /// The numbers of the first row that may be lost, and of the one behind the last; nil: no bound.
  package var firstRow: Int64?
  package var endRow: Int64?
  /// How many rows or entries, where that is known.
  package var count: Int?
  /// The damaged page, where it is one.
  package var page: UInt64?
  /// What has happened, and what helps where something does.
  package let reason: String

  /// Something that is no row.
  package init(_ kind: Kind, _ reason: String, count: Int? = nil) {
    (self.kind, self.reason, self.count) = (kind, reason, count)
  }

  /// One row.
  package init(_ kind: Kind, row: Int64?, _ collection: String?, _ key: String?, _ reason: String) {
    self.init(kind, reason)
    (self.row, self.collection, self.key) = (row, collection, key)
  }

  /// What the engine has found.
  package init(_ kind: Kind, _ loss: SalvageLoss, _ reason: String) {
    self.init(kind, reason, count: loss.count)
    page = loss.page?.rawValue
  }

  /// Whether something is not as it was in the newest state of the damaged database.
  package var isLoss: Bool { kind != .madeAnew && kind != .leftOut }
}

/// What became of the rows of one collection.
package struct SalvagedRowCount: Sendable {
  /// The name in the new database.
  package let collection: String
  /// Rows in the new database, old ones included.
  package let kept: Int
  /// Those of them that may be old.
  package let old: Int
  /// Rows that are known to be lost.
  package let lost: Int
}

/// What salvaging has come to.
package struct SalvageOutcome: Sendable {
  /// What the damaged files were read by.
  package let source: SalvageSource
  /// The collections of which rows were kept or are known to be lost, in the order of their names.
  package let collections: [SalvagedRowCount]
  /// Rows in the new database.
  package let rowCount: Int
  /// Entries in the new database that are no rows: of extensions, and of trees that are no rows' at all.
  package let entryCount: Int
  /// How many of the findings are losses.
  package let lossCount: Int
  /// What the check of the new database has found; nothing, but where a row is stored as no coder reads it.
  package let defects: [DatabaseError]
}
