// What is noted about a feed, in its tree under `FeedKeys.record`. All numbers little-endian:
//
//     byte 0          1, the version of the form
//     byte 1          what is kept of rows, as `ChangeFeed.Keeping` numbers it
//     bytes 2 to 17   the identity of the database
//     bytes 18 to 25  the epoch
//     then            the base: commit (8), part (4), chain (8), time, bytes, changes and commits (8 each)
//     then            whether there was something before the base (1): entries that have expired, rows, another life
//     then            what was released: commit (8) and part (4)
//     then            the newest commit that has renamed a collection (8)
//     then            the collections: 0 for all, 1 for these, 2 for all but these, 3 for those that a closure knows
//                     (1), their number (4), and for each the length of its name (4) and the name
//
// The base is the last entry that has expired, or where the feed began. A record whose database is another one is of
// no use: it came here with a backup.

internal import QuireStorage

/// What is noted about a feed.
struct FeedRecord: Hashable {
  private static let version: UInt8 = 1

  var lineage: DatabaseID
  var epoch: UInt64
  var keeping: ChangeFeed.Keeping
  /// What cursors at the beginning of what is kept have behind them.
  var base: FeedMark
  /// Whether there was something before the base that the feed does not tell of: entries that have expired, rows from
  /// before it began, or an earlier life of it. Who has nothing cannot begin to follow it then.
  var lacksBeginning = false
  /// Up to where consumers need nothing; its chain says nothing.
  var released = FeedPosition(csn: 0, part: 0, chain: 0)
  /// The newest commit that has renamed a collection; 0 if none has.
  var renamed: UInt64 = 0
  var collections: CollectionFilter.Stored
  /// Whether a closure says which collections they are; `collections` are any then.
  let asksClosure: Bool

  /// The record of a feed that begins with a commit, behind which its first entry will stand.
  init(_ feed: ChangeFeed, _ lineage: DatabaseID, epoch: UInt64, csn: UInt64, time: Int64) {
    self.lineage = lineage
    self.epoch = epoch
    keeping = feed.keeping
    collections = feed.collections.stored
    asksClosure = feed.collections.asksClosure
    base = FeedMark(
      position: FeedPosition(csn: csn, part: 0, chain: epoch), time: time, bytes: 0, changes: 0, commits: 0)
  }

  /// Whether it is of this feed as it is described now.
  func fits(_ feed: ChangeFeed, _ lineage: DatabaseID) -> Bool {
    self.lineage == lineage && keeping == feed.keeping && collections == feed.collections.stored
      && asksClosure == feed.collections.asksClosure
  }

  /// The stored form.
  var bytes: [UInt8] {
    var bytes: [UInt8] = [Self.version, keeping.rawValue]
    for word in [lineage.high, lineage.low, epoch, base.position.csn] { bytes += word.littleEndianBytes }
    bytes += base.position.part.littleEndianBytes
    bytes += base.position.chain.littleEndianBytes
    bytes += base.time.littleEndianBytes
    for word in [base.bytes, base.changes, base.commits] { bytes += word.littleEndianBytes }
    bytes.append(lacksBeginning ? 1 : 0)
    bytes += released.csn.littleEndianBytes
    bytes += released.part.littleEndianBytes
    bytes += renamed.littleEndianBytes
    let (form, names): (UInt8, Set<ByteString>) =
      switch collections {
      case .any: (asksClosure ? 3 : 0, [])
      case .only(let names): (1, names)
      case .except(let names): (2, names)
      }
    bytes.append(form)
    bytes += UInt32(truncatingIfNeeded: names.count).littleEndianBytes
    for name in names.map(\.string).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
      bytes += UInt32(truncatingIfNeeded: name.utf8.count).littleEndianBytes
      bytes.append(contentsOf: name.utf8)
    }
    return bytes
  }

  /// Reads the stored form, which may be any bytes.
  init(_ bytes: [UInt8]) throws(DatabaseError) {
    var reader = FeedRecordReader(rest: bytes[...])
    guard reader.number(UInt8.self) == Self.version, let keeping = reader.number(UInt8.self),
      let keeping = ChangeFeed.Keeping(rawValue: keeping), let high = reader.number(UInt64.self),
      let low = reader.number(UInt64.self), let epoch = reader.number(UInt64.self), let base = reader.mark(),
      base.position.csn > 0,
      let lacksBeginning = reader.number(UInt8.self), lacksBeginning <= 1, let released = reader.number(UInt64.self),
      let releasedPart = reader.number(UInt32.self), let renamed = reader.number(UInt64.self),
      let (collections, asksClosure) = reader.collections(), reader.rest.isEmpty
    else { throw FeedEntryHead.damaged("The record of a feed makes no sense.") }
    self.keeping = keeping
    lineage = DatabaseID(high: high, low: low)
    self.epoch = epoch
    self.base = base
    self.lacksBeginning = lacksBeginning == 1
    self.released = FeedPosition(csn: released, part: releasedPart, chain: 0)
    self.renamed = renamed
    self.collections = collections
    self.asksClosure = asksClosure
  }

  /// The cursor of a position in this life of the feed.
  func cursor(_ position: FeedPosition, toldCount: UInt32 = 0, seen: FeedPosition? = nil) -> FeedCursor {
    FeedCursor(lineage, epoch, position, toldCount: toldCount, seen: seen)
  }
}

private struct FeedRecordReader {
  var rest: ArraySlice<UInt8>

  mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
    let byteCount = Number.bitWidth / 8
    defer { rest = rest.dropFirst(byteCount) }
    return Number(littleEndianBytes: rest.prefix(byteCount))
  }

  mutating func mark() -> FeedMark? {
    guard let csn = number(UInt64.self), let part = number(UInt32.self), let chain = number(UInt64.self),
      let time = number(Int64.self), let bytes = number(UInt64.self), let changes = number(UInt64.self),
      let commits = number(UInt64.self)
    else { return nil }
    return FeedMark(
      position: FeedPosition(csn: csn, part: part, chain: chain), time: time, bytes: bytes, changes: changes,
      commits: commits)
  }

  mutating func collections() -> (CollectionFilter.Stored, asksClosure: Bool)? {
    guard let form = number(UInt8.self), let count = number(UInt32.self) else { return nil }
    var names: Set<ByteString> = []
    for _ in 0..<count {
      guard let byteCount = number(UInt32.self), rest.count >= Int(byteCount),
        let name = String(validating: rest.prefix(Int(byteCount)), as: UTF8.self)
      else { return nil }
      names.insert(ByteString(name))
      rest = rest.dropFirst(Int(byteCount))
    }
    switch form {
    case 0, 3: return names.isEmpty ? (.any, form == 3) : nil
    case 1: return (.only(names), false)
    case 2: return (.except(names), false)
    default: return nil
    }
  }
}
