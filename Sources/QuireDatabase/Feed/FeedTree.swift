// Finding entries in the tree of a feed.

internal import QuireStorage

/// A walk through the tree of a feed, in one transaction of either kind.
struct FeedTree: ~Copyable {
  private var cursor: Cursor

  init(_ cursor: consuming Cursor) { self.cursor = cursor }

  /// The record of the feed; nil if there is none.
  mutating func record() throws -> FeedRecord? {
    guard try cursor.seek(FeedKeys.record), let bytes = try cursor.value else { return nil }
    return try FeedRecord(bytes)
  }

  /// The form of values with this hash.
  mutating func form(_ hash: UInt64) throws -> [UInt8]? {
    guard try cursor.seek(FeedKeys.form(hash)) else { return nil }
    return try cursor.value
  }

  /// The hashes of all forms of values.
  mutating func forms() throws -> Set<UInt64> {
    var found: Set<UInt64> = []
    var isOnEntry = try cursor.seek(FeedKeys.forms) || cursor.isOnEntry
    while isOnEntry, let key = try cursor.readKey(), key.starts(with: FeedKeys.forms) {
      guard let hash = UInt64(bigEndianBytes: key.dropFirst(FeedKeys.forms.count)) else { break }
      found.insert(hash)
      isOnEntry = try cursor.next()
    }
    return found
  }

  // MARK: Entries

  /// What is known at the newest entry; nil if there is none.
  mutating func newest() throws -> FeedMark? {
    guard try cursor.seekLast() else { return nil }
    return try mark()
  }

  /// What is known at the oldest entry; nil if there is none.
  mutating func oldest() throws -> FeedMark? {
    let isExact = try cursor.seek(FeedKeys.entries)
    guard isExact || cursor.isOnEntry else { return nil }
    return try mark()
  }

  /// The newest commit that has told the feed nothing, as it is noted; 0 if none is.
  mutating func heard() throws -> UInt64 {
    guard try cursor.seek(FeedKeys.heard), let bytes = try cursor.value else { return 0 }
    guard let csn = UInt64(littleEndianBytes: bytes[...]) else {
      throw FeedEntryHead.damaged("What a feed has heard of makes no sense.")
    }
    return csn
  }

  /// What is known at the entry in front of which `index` keys of the tree stand; nil if there is none.
  mutating func mark(at index: Int) throws -> FeedMark? {
    guard try cursor.seek(toIndex: index) else { return nil }
    return try mark()
  }

  /// What is known at the entry of a commit's part; nil if there is none.
  mutating func mark(_ csn: UInt64, _ part: UInt32) throws -> FeedMark? {
    guard try cursor.seek(FeedKeys.entry(csn, part)) else { return nil }
    return try mark()
  }

  /// Goes to the first entry behind a position, and returns whether there is one.
  mutating func seek(behind position: FeedPosition) throws -> Bool {
    let isExact = try cursor.seek(FeedKeys.entry(position.csn, position.part))
    if isExact { return try cursor.next() && isOnEntry() }
    return try cursor.isOnEntry && isOnEntry()
  }

  /// Goes to the next entry, and returns whether there is one.
  mutating func next() throws -> Bool { try cursor.next() && isOnEntry() }

  /// The entry that the walk is on.
  func entry() throws -> FeedEntry {
    guard let key = try cursor.readKey(), let (csn, part) = FeedKeys.entry(key),
      let entry = try cursor.withValue({ try FeedEntry(csn, part, $0) })
    else { throw FeedEntryHead.damaged("An entry is missing.") }
    guard entry.mark.position.csn > 0 else { throw FeedEntryHead.damaged("An entry is of no commit.") }
    return entry
  }

  /// What is known at the entry that the walk is on; nil if it is on none.
  func mark() throws -> FeedMark? {
    guard let key = try cursor.readKey(), let (csn, part) = FeedKeys.entry(key) else { return nil }
    return try cursor.withValue { try FeedEntry.headAndMark(csn, part, $0).1 }
  }

  private func isOnEntry() throws -> Bool {
    guard let key = try cursor.readKey() else { return false }
    return key.count == FeedKeys.entryByteCount
  }
}
