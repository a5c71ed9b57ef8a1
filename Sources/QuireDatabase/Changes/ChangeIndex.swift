// A change log put in order: what happened to each row, all in all.

internal import QuireStorage

/// What happened to one row in one transaction, all in all.
public struct RowSummary: Sendable {
  var halves: RowHalves = []
  /// Whether the row is new. With ``isRemoved``, one of its key was there before, and is gone.
  public internal(set) var isInserted = false
  /// Whether the row was removed, at least for a while.
  public internal(set) var isRemoved = false

  /// Whether a half of the row was stored or touched, or the row removed.
  public func concerns(_ halves: RowHalves) -> Bool {
    isRemoved || !self.halves.isDisjoint(with: halves)
  }

  /// Adds one more thing that happened to the row.
  fileprivate mutating func note(_ kind: ChangeLog.Kind) {
    switch kind {
    case .inserted:
      isInserted = true
      halves = [.object, .metadata]
    case .changed(let halves), .touched(let halves):
      self.halves.formUnion(halves)
    case .removed:
      self = RowSummary(isRemoved: true)
    }
  }
}

/// A change log, looked up by collection and key.
struct ChangeIndex: Sendable {
  struct Collection: Sendable {
    var rows: [ByteString: RowSummary] = [:]
    var isCleared = false
  }

  let collections: [ByteString: Collection]
  let isAllCleared: Bool

  /// Puts a log in order, in time and memory in proportion to its length.
  init(_ log: ChangeLog, _ names: [CollectionID: String]) {
    var builder = ChangeIndexBuilder(names)
    log.forEach { builder.note($0) }
    self = builder.finish()
  }

  fileprivate init(collections: [ByteString: Collection], isAllCleared: Bool) {
    self.collections = collections
    self.isAllCleared = isAllCleared
  }
}

/// A change index in the making.
///
/// Invariant: nothing else refers to the buffers of its dictionaries, so that each entry changes them in place. The
/// type cannot be copied, with or without optimisation: the compiler refuses a call that would need a second builder
/// while an entry is being changed.
struct ChangeIndexBuilder: ~Copyable {
  private let names: [CollectionID: String]
  private(set) var collections: [ByteString: ChangeIndex.Collection] = [:]
  private var isAllCleared = false

  init(_ names: [CollectionID: String]) { self.names = names }

  /// Adds the next entry of the log.
  mutating func note(_ entry: ChangeLog.Entry) {
    switch entry {
    case .row(let kind, let id, _, let key):
      guard let name = names[id] else { return }
      collections[ByteString(name), default: ChangeIndex.Collection()].rows[ByteString(key), default: RowSummary()]
        .note(kind)
    case .cleared(let id):
      guard let name = names[id] else { return }
      collections[ByteString(name)] = ChangeIndex.Collection(isCleared: true)
    case .clearedAll:
      collections.removeAll()
      isAllCleared = true
    }
  }

  /// What the entries amount to.
  consuming func finish() -> ChangeIndex {
    ChangeIndex(collections: collections, isAllCleared: isAllCleared)
  }
}
