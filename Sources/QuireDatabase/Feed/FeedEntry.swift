// An entry of a feed: the changes of one commit, or of a part of it. The value under the commit's number and the part's
// (`FeedKeys`); all numbers little-endian:
//
//     byte 0          1, the version of the form
//     byte 1          1 if no more entries of the commit follow, else 0; other bits are errors
//     bytes 2 to 3    0
//     bytes 4 to 7    the number of changes
//     bytes 8 to 15   the chain of the entry before
//     bytes 16 to 23  random bits of the opening that has written it
//     bytes 24 to 31  when, in microseconds since 1970
//     bytes 32 to 39  what all entries of the feed's life up to this one, and with it, take in the file (`FeedSpace`)
//     bytes 40 to 47  the changes of all of them
//     bytes 48 to 55  the commits of all of them
//     then            the changes, as `FeedBody.swift` has them, in a stored form of `ValueCompression`
//
// The chain of an entry is XXH3-64 of its bytes, seeded with the chain of the entry before; that of the first one is
// seeded with the feed's epoch.

internal import QuireStorage

/// What stands before the changes of an entry.
struct FeedEntryHead {
  static let byteCount = 56
  private static let version: UInt8 = 1

  /// Whether no more entries of the commit follow.
  var endsCommit: Bool
  var changeCount: UInt32
  var previousChain: UInt64
  var run: UInt64
  var time: Int64
  var bytes: UInt64
  var changes: UInt64
  var commits: UInt64

  /// Puts the head in the place of the first bytes of `entry`.
  func write(to entry: inout [UInt8]) {
    assert(entry.count > Self.byteCount, "an entry has no room for its head")
    unsafe entry.withUnsafeMutableBytes { entry in
      func store(_ number: some FixedWidthInteger & BitwiseCopyable, at offset: Int) {
        unsafe entry.storeBytes(of: number.littleEndian, toByteOffset: offset, as: type(of: number))
      }
      store(UInt32(Self.version) | (endsCommit ? 1 << 8 : 0), at: 0)
      store(changeCount, at: 4)
      store(previousChain, at: 8)
      store(run, at: 16)
      store(time, at: 24)
      store(bytes, at: 32)
      store(changes, at: 40)
      store(commits, at: 48)
    }
  }

  init(
    endsCommit: Bool, changeCount: UInt32, previousChain: UInt64, run: UInt64, time: Int64, bytes: UInt64,
    changes: UInt64, commits: UInt64
  ) {
    self.endsCommit = endsCommit
    self.changeCount = changeCount
    self.previousChain = previousChain
    self.run = run
    self.time = time
    (self.bytes, self.changes, self.commits) = (bytes, changes, commits)
  }

  /// Reads the head of an entry, which may be any bytes.
  init(_ entry: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard entry.count > Self.byteCount, unsafe entry[0] == Self.version, unsafe entry[1] <= 1,
      unsafe entry[2] == 0, unsafe entry[3] == 0
    else { throw FeedEntryHead.damaged("An entry has no head.") }
    func word(_ offset: Int) -> UInt64 {
      UInt64(littleEndian: unsafe entry.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    endsCommit = unsafe entry[1] == 1
    changeCount = UInt32(littleEndian: unsafe entry.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    (previousChain, run, time) = (word(8), word(16), Int64(bitPattern: word(24)))
    (bytes, changes, commits) = (word(32), word(40), word(48))
  }

  /// What is known at the entry.
  func mark(_ csn: UInt64, _ part: UInt32, _ entry: UnsafeRawBufferPointer) -> FeedMark {
    FeedMark(
      position: FeedPosition(csn: csn, part: part, chain: unsafe FeedHash.hash(entry, seed: previousChain)), time: time,
      bytes: bytes, changes: changes, commits: commits)
  }

  /// The error for bytes of a feed that break its form.
  static func damaged(_ what: String) -> DatabaseError {
    DatabaseError(
      .damagedRow, "\(what) A change feed breaks its form. Verify the database, and have its consumers begin anew.")
  }
}

/// An entry as it is read: its head, its mark, and its changes.
struct FeedEntry {
  let head: FeedEntryHead
  let mark: FeedMark
  let body: FeedBody

  /// Reads an entry, which may be any bytes.
  init(_ csn: UInt64, _ part: UInt32, _ bytes: RawSpan) throws {
    (head, mark) = try Self.headAndMark(csn, part, bytes)
    let decoded: [UInt8]
    do { decoded = try ValueCompression.decode(bytes.extracting(FeedEntryHead.byteCount...)) } catch {
      throw FeedEntryHead.damaged("The changes of commit \(csn) do not decompress: \(error).")
    }
    body = FeedBody(bytes: decoded)
  }

  /// The head alone, and what is known at the entry.
  static func headAndMark(_ csn: UInt64, _ part: UInt32, _ bytes: RawSpan) throws -> (FeedEntryHead, FeedMark) {
    try unsafe bytes.withUnsafeBytes { bytes in
      let head = try unsafe FeedEntryHead(bytes)
      return (head, unsafe head.mark(csn, part, bytes))
    }
  }
}
