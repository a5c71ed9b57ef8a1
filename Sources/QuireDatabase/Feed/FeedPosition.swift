// Where an entry of a feed is, and what is known there.

/// Where an entry is in its feed, with what proves that it is the same entry.
struct FeedPosition: Hashable, Sendable {
  /// The commit.
  var csn: UInt64
  /// Which entry of the commit, from 0.
  var part: UInt32
  /// The hash of the entry, seeded with that of the entry before.
  var chain: UInt64

  /// Whether it comes before another one.
  func isBefore(_ other: FeedPosition) -> Bool { (csn, part) < (other.csn, other.part) }
}

/// What is known at an entry: how much the feed has told up to there, since it began.
struct FeedMark: Hashable, Sendable {
  var position: FeedPosition
  /// Microseconds since 1970. Not less than at the entry before, unless the clock was ahead of this by more than the
  /// age that entries may have.
  var time: Int64
  /// What all entries take in the file, as `FeedSpace` counts.
  var bytes: UInt64
  var changes: UInt64
  var commits: UInt64
}

/// The keys of the tree of a feed: the forms of values, what was heard, the record, and then the entries. New entries
/// stand at the end of the tree, where they fill its leaves to the brim.
enum FeedKeys {
  /// What the name of the tree begins with.
  static let treePrefix = "quire.feed."

  /// The name of the feed whose tree has this name; nil if it is the tree of something else. Compares bytes: the name
  /// of a feed may begin with a mark that makes one character with the dot before it.
  static func feedName(_ treeName: String) -> String? {
    guard treeName.utf8.starts(with: treePrefix.utf8) else { return nil }
    return String(decoding: treeName.utf8.dropFirst(treePrefix.utf8.count), as: UTF8.self)
  }

  /// What keys begin with that are no entry's: the number of no commit.
  private static let notes = [UInt8](repeating: 0, count: 8)
  /// The key of the record.
  static let record = notes + [UInt8(ascii: "r")]
  /// The key of the newest commit that the feed has heard of, where that has told it nothing.
  static let heard = notes + [UInt8(ascii: "h")]
  /// What keys of forms begin with.
  static let forms = notes + [UInt8(ascii: "f")]
  /// No entry's key is below it, and no other's above.
  static let entries = entry(1, 0)
  /// How many bytes the key of an entry has.
  static let entryByteCount = 12

  /// The key of an entry.
  static func entry(_ csn: UInt64, _ part: UInt32) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: entryByteCount) { room, count in
      let bytes = UnsafeMutableRawBufferPointer(room)
      unsafe bytes.storeBytes(of: csn.bigEndian, as: UInt64.self)
      unsafe bytes.storeBytes(of: part.bigEndian, toByteOffset: 8, as: UInt32.self)
      count = entryByteCount
    }
  }

  /// The key of the form of values with this hash.
  static func form(_ hash: UInt64) -> [UInt8] { forms + hash.bigEndianBytes }

  /// The entry whose key it is; nil if it is the key of something else.
  static func entry(_ key: [UInt8]) -> (csn: UInt64, part: UInt32)? {
    guard key.count == entryByteCount, let csn = UInt64(bigEndianBytes: key.prefix(8)),
      let part = UInt32(bigEndianBytes: key.suffix(4))
    else { return nil }
    return (csn, part)
  }
}
