// Handing a consumer all rows of a feed's collections, before it follows the changes.
//
// The rows go over in the order of the key index, some at a time, each time from the newest snapshot; the changes are
// followed from the first of these on. What was read too new is told once more, and what has changed behind the walk is
// told for the first time.

public import QuireStorage

/// How far a bootstrap has come. The consumer's to keep, in the transaction that stores the rows.
///
/// Its bytes: a cursor, 1 if no more rows follow or else 0, where the walk through the rows is, and four bytes of
/// XXH3-64 of all that.
public struct BootstrapPosition: Hashable, Sendable {
  /// Where the changes are followed from when all rows have gone over.
  public let cursor: FeedCursor
  /// Whether all rows have gone over.
  public let isComplete: Bool
  /// The entry of the key index that went over last.
  let key: [UInt8]

  /// Puts a position together.
  package init(_ cursor: FeedCursor, isComplete: Bool, _ key: [UInt8]) {
    self.cursor = cursor
    self.isComplete = isComplete
    self.key = key
  }

  /// The position in bytes, for a consumer to keep.
  public var bytes: [UInt8] {
    let bytes = cursor.bytes + [isComplete ? 1 : 0] + key
    return bytes + UInt32(truncatingIfNeeded: FeedHash.hash(bytes, seed: 1)).bigEndianBytes
  }

  /// Takes the bytes of a position, which may be any; nil if they are none.
  public init?(bytes: some Collection<UInt8>) {
    let bytes = Array(bytes)
    let end = bytes.count - 4
    guard let place = FeedCursor.byteCount(of: bytes), end > place, bytes[place] <= 1,
      UInt32(bigEndianBytes: bytes[end...]) == UInt32(truncatingIfNeeded: FeedHash.hash(Array(bytes[..<end]), seed: 1)),
      let cursor = FeedCursor(bytes: bytes[..<place])
    else { return nil }
    self.init(cursor, isComplete: bytes[place] == 1, Array(bytes[(place + 1)..<end]))
  }
}

extension BootstrapPosition: CustomStringConvertible, LosslessStringConvertible, Codable {
  /// The position in hexadecimal digits.
  public var description: String { HexadecimalText.text(bytes) }

  /// Takes the text of a position, which may be any; nil if it is none.
  public init?(_ text: String) {
    guard let bytes = HexadecimalText.bytes(text) else { return nil }
    self.init(bytes: bytes)
  }

  /// Writes the text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }

  /// Reads the text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let position = BootstrapPosition(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is no position of a bootstrap.")
    }
    self = position
  }
}

/// Some of the rows of a feed's collections, for a consumer that has none yet.
///
/// ```swift
/// var position: BootstrapPosition?
/// repeat {
///   let batch = try db.bootstrap(of: feed, after: position)
///   for row in try batch.rows(in: .songs) { try copy(row) }
///   position = batch.position
/// } while position?.isComplete == false
/// cursor = position?.cursor
/// ```
///
/// The changes are followed from `position.cursor` on. The consumer has the state of one commit once the feed has come
/// past the last batch's `csn`, or `nextChanges` returns nil. A step costs what reading its rows costs, and holds
/// nothing afterwards; the position is good in another run of the program.
public struct BootstrapBatch: Sendable {
  /// Where the bootstrap is when the rows have gone over; to be stored with them.
  public let position: BootstrapPosition
  /// The snapshot that the rows are from. A row that a change behind it has changed is told again.
  public let csn: CSN
  /// The rows, each as a change that inserts it.
  public let rows: [FeedChange]

  /// The rows of a collection, with its types.
  ///
  /// - Throws: `collectionMismatch` if they are of other coders than the collection says.
  public func rows<Object, Metadata>(
    in collection: RowCollection<Object, Metadata>
  ) throws(DatabaseError) -> [RowFeedChange<Object, Metadata>] {
    guard let context = rows.first?.context else { return [] }
    return try FeedBatch(
      feed: context.feed, mode: context.mode, cursor: position.cursor, csn: csn, changes: rows, endsCommit: true,
      isCatchingUp: !position.isComplete, context: context
    ).changes(in: collection)
  }
}

/// One step of a bootstrap.
struct FeedBootstrap {
  let reader: FeedReader
  let limit: FeedLimit

  func next(after position: BootstrapPosition?) throws(DatabaseError) -> BootstrapBatch {
    let (reader, limit) = (reader, limit)
    return try reader.withDurableSnapshot { state, tree, record in
      let newest = (try tree.newest() ?? record.base).position
      let cursor = position?.cursor ?? record.cursor(newest)
      _ = try reader.start(cursor, &tree, record)
      // Rows that went over under one name would be told of under another.
      if record.renamed > cursor.csn.rawValue {
        throw DatabaseError(
          .cursorForeign,
          """
          A collection was renamed since the bootstrap of the feed “\(reader.feed.definition.name)” began. Begin anew, \
          with no rows.
          """,
          path: reader.core.path)
      }
      let context = FeedContext(
        reader.core, feed: reader.feed.definition.name, keeping: record.keeping, mode: .state,
        salt: try reader.salt(state))
      if let position, position.isComplete { return BootstrapBatch(position: position, csn: state.csn, rows: []) }
      var walk = BootstrapWalk(state, reader.feed.definition.collections, context)
      let end = try walk.run(behind: position?.key, limit)
      // What the rows are from is proved with the beginning, from where the changes are followed.
      let seen = cursor.position == newest ? nil : newest
      let shown = record.cursor(cursor.position, toldCount: cursor.toldCount, seen: seen)
      return BootstrapBatch(
        position: BootstrapPosition(shown, isComplete: end == nil, end ?? []), csn: state.csn, rows: walk.rows)
    }
  }
}

/// A walk through the key index.
private struct BootstrapWalk {
  private let state: TransactionState
  private let collections: CollectionFilter
  private let context: FeedContext
  private var rowReader: FeedRowReader
  private(set) var rows: [FeedChange] = []

  init(_ state: TransactionState, _ collections: CollectionFilter, _ context: FeedContext) {
    self.state = state
    self.collections = collections
    self.context = context
    rowReader = FeedRowReader(state)
  }

  /// Reads rows behind a key of the index. Returns the key of the last one; nil if there are no more.
  mutating func run(behind first: [UInt8]?, _ limit: FeedLimit) throws -> [UInt8]? {
    var cursor = try state.cursor(state.trees.keys)
    var isOnEntry: Bool
    if let first {
      isOnEntry = try cursor.seek(first) ? try cursor.next() : cursor.isOnEntry
    } else {
      isOnEntry = try cursor.seekFirst()
    }
    var byteCount = 0
    var last: [UInt8]?
    while isOnEntry {
      if rows.count >= max(1, limit.rows) || byteCount >= max(1, limit.bytes) { return last ?? first }
      guard let key = try cursor.readKey(), let value = try cursor.value,
        let id = UInt32(bigEndianBytes: key.prefix(CollectionID.byteCount)).map({ CollectionID($0) }),
        let rowID = Int64(littleEndianBytes: value).flatMap({ RowID(stored: $0) }), id.rawValue < .max
      else { throw RowView.damaged() }
      let name = try state.name(of: id)
      guard collections.contains(name) else {
        isOnEntry = try cursor.seek(id.end) || cursor.isOnEntry
        continue
      }
      guard let text = String(validating: key.dropFirst(CollectionID.byteCount), as: UTF8.self) else {
        throw RowView.damaged()
      }
      let row = try rowReader.value(id, rowID, text, name)
      rows.append(
        FeedChange(
          .inserted, state.csn.rawValue, name, text, rowID, FeedValues(new: row, old: nil, context)))
      byteCount += 32 + key.count + row.bytes.count
      last = key
      isOnEntry = try cursor.next()
    }
    return nil
  }
}
