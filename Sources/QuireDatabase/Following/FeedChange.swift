// One change that a feed tells of, without the types of the app and with them.

public import QuireStorage

/// One change that a feed tells of.
public struct FeedChange: Sendable {
  /// What happened.
  public enum Kind: Hashable, Sendable {
    /// A row was stored under a key that had none.
    case inserted
    /// Halves of a row were stored.
    case changed(RowHalves)
    /// A row was removed.
    case removed
    /// All rows of the collection were removed.
    case cleared
    /// All rows of all collections of the feed were removed.
    case clearedAll
    /// The rows of the collection `from` are those of the collection now, which had none, or none any more.
    case renamed(from: String)
  }

  /// What happened.
  public let kind: Kind
  /// The commit that it happened in; following states, the last one that the batch tells of.
  public let csn: CSN
  /// The collection; empty if all are concerned.
  public let collection: String
  /// The key of the row; empty if it is not about one.
  public let key: String
  /// The number of the row.
  public let rowID: RowID?
  /// The values, if some are told. Behind a reference, as most changes of most feeds have none.
  private let values: FeedValues?

  var new: FeedValue? { values?.new }
  var old: FeedValue? { values?.old }

  init(
    _ kind: Kind, _ csn: UInt64, _ collection: String, _ key: String = "", _ rowID: RowID? = nil,
    _ values: FeedValues? = nil
  ) {
    self.kind = kind
    self.csn = CSN(csn)
    self.collection = collection
    self.key = key
    self.rowID = rowID
    self.values = values
  }

  /// Whether the rows of a collection are others because of it.
  func concerns(_ name: String) -> Bool {
    switch kind {
    case .clearedAll: true
    case .renamed(let from): from.hasSameBytes(as: name) || collection.hasSameBytes(as: name)
    default: collection.hasSameBytes(as: name)
    }
  }

  /// The row as it was stored, read without its types; nil if the change has stored none, or the feed keeps none.
  ///
  /// - Throws: `decodingFailed` with collection and key.
  public func newRow() throws(DatabaseError) -> ValueRow? { try row(new) }

  /// The row as it was before the commit, read without its types; nil if there was none, or the feed keeps none.
  ///
  /// - Throws: `decodingFailed` with collection and key.
  public func oldRow() throws(DatabaseError) -> ValueRow? { try row(old) }

  /// What values are read with; nil if there are none.
  var context: FeedContext? { values?.context }

  private func row(_ value: FeedValue?) throws(DatabaseError) -> ValueRow? {
    guard let value, let rowID, let context else { return nil }
    return ValueRow(
      key: key, rowID: rowID, object: try value.half(.object, key, context),
      metadata: value.halves.metadata == nil ? nil : try value.half(.metadata, key, context))
  }
}

/// One change of a collection, with its types.
public struct RowFeedChange<Object: Sendable, Metadata: Sendable>: Sendable {
  let change: FeedChange
  let collection: RowCollection<Object, Metadata>

  /// What happened.
  public var kind: FeedChange.Kind { change.kind }
  /// The commit that it happened in; following states, the last one that the batch tells of.
  public var csn: CSN { change.csn }
  /// The name that the collection had then: an older one until the renaming is told. Empty if all are concerned. A
  /// consumer that keeps rows by the names of their collections, and renames them when it is told to, goes by this.
  public var collectionName: String { change.collection }
  /// The key of the row; empty if it is not about one.
  public var key: String { change.key }
  /// The number of the row.
  public var rowID: RowID? { change.rowID }

  /// The row as it was stored, decoded when asked; nil if the change has stored none, or the feed keeps none.
  ///
  /// - Throws: `decodingFailed` with collection and key; `missingKey`, `notAuthentic` and `notEncrypted` of encrypted
  ///   collections.
  public var new: Row<Object, Metadata>? { get throws(DatabaseError) { try row(change.new) } }

  /// The row as it was before the commit, decoded when asked; nil if there was none, or the feed keeps none.
  ///
  /// - Throws: as `new`.
  public var old: Row<Object, Metadata>? { get throws(DatabaseError) { try row(change.old) } }

  private func row(_ value: FeedValue?) throws(DatabaseError) -> Row<Object, Metadata>? {
    guard let value, let rowID = change.rowID, let context = change.context else { return nil }
    let key = change.key
    let object = try value.decode(Object.self, .object, collection.untyped.objects, key, context)
    let metadata =
      value.halves.metadata == nil
      ? nil : try value.decode(Metadata.self, .metadata, collection.untyped.metadata, key, context)
    return Row(key: key, rowID: rowID, object: object, metadata: metadata)
  }
}
