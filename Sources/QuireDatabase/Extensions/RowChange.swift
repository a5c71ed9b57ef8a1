// What hooks are told about a row.

internal import QuireStorage

/// One row that is about to change, or that has just changed, as an extension's hook is told.
///
/// Good until the hook returns. Object and metadata are decoded when they are asked for and not before; those that the
/// app has just handed over are passed on as they are.
public struct RowChange {
  /// What happens to a row.
  public enum Kind: Hashable, Sendable {
    /// A new row is stored.
    case insert
    /// A row is stored whole in the place of another.
    case update
    /// The object is replaced; the metadata stay.
    case replaceObject
    /// The metadata are replaced or taken away; the object stays.
    case replaceMetadata
    /// The object is reported as changed.
    case touchObject
    /// The metadata are reported as changed.
    case touchMetadata
    /// Both halves are reported as changed.
    case touchRow
    /// The row is removed.
    case remove

    /// Whether something is stored.
    public var isStore: Bool {
      switch self {
      case .insert, .update, .replaceObject, .replaceMetadata: true
      default: false
      }
    }

    /// What of the row is stored or touched; nothing of one that is removed.
    public var halves: ChangedHalves {
      switch self {
      case .insert, .update: [.storedObject, .storedMetadata]
      case .replaceObject: .storedObject
      case .replaceMetadata: .storedMetadata
      case .touchObject: .touchedObject
      case .touchMetadata: .touchedMetadata
      case .touchRow: [.touchedObject, .touchedMetadata]
      case .remove: []
      }
    }

    /// Whether an extension that reads `halves` has to hear of it. One that reads the key alone need not know what
    /// happens to a row that stays.
    func concerns(_ halves: ChangedHalves) -> Bool {
      self == .insert || self == .remove || !halves.isDisjoint(with: self.halves)
    }
  }

  /// What happens.
  public let kind: Kind
  /// The row's number; nil before an insert, which gives it.
  public let rowID: RowID?
  /// The name of the collection.
  public let collection: String
  /// The key in the collection.
  public let key: String
  let transaction: TransactionState
  let content: RowContent
  /// What the row was before, as far as somebody has asked; nil once it has changed.
  let before: RowBefore?

  init(
    _ kind: Kind, _ rowID: RowID?, _ key: String, _ collection: String, _ transaction: TransactionState,
    _ content: RowContent, before: RowBefore? = nil
  ) {
    self.before = before
    self.kind = kind
    self.rowID = rowID
    self.key = key
    self.collection = collection
    self.transaction = transaction
    self.content = content
  }

  /// The change of the same row as another one.
  func with(_ kind: Kind, _ content: RowContent) -> RowChange {
    RowChange(kind, rowID, key, collection, transaction, content)
  }

  /// Where the row is.
  public var rowKey: RowKey { RowKey(collection, key) }

  /// The transaction that the row changes in, as a reading one, which shows its changes so far.
  public var readTransaction: ReadTransaction { ReadTransaction(state: transaction) }

}

/// The halves of a row before a change, each decoded once for all extensions that ask.
final class RowBefore {
  /// A half that was decoded; metadata may be none.
  private struct Known { let half: Any? }

  /// How often the transaction had changed something when they were decoded: a hook may change the row meanwhile.
  private var mutationCount = -1
  private var known: [RowHalf: Known] = [:]

  /// A half that is known; else what `read` gives.
  func half<Half>(
    _ half: RowHalf, _ transaction: TransactionState, _ read: () throws -> Half?
  ) rethrows -> Half? {
    if mutationCount != transaction.mutationCount { (mutationCount, known) = (transaction.mutationCount, [:]) }
    if let known = known[half] { return known.half as? Half }
    let found = try read()
    known[half] = Known(half: found)
    return found
  }
}

/// Where the halves of a changed row come from.
@usableFromInline enum RowContent {
  /// From the app, which has just handed one or both over; what is nil outside stands in the trees, and metadata that
  /// are nil inside are none.
  case given(object: Any?, metadata: Any??)
  /// From bytes that were read already, in the form of the row tree.
  case bytes([UInt8])
  /// From a row that is being stored and was handed over encoded, in the form of the row tree.
  case encoded([UInt8])
  /// From the trees.
  case stored
  /// The row is not there any more.
  case gone
}
