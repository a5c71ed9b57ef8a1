// Reading the postings that a collector has gathered.
//
// The postings of a term stand one behind the other, in ascending order of rows:
//
//     varint   number of the row, less that of the row before; of the first one the number itself
//     u8       code of the length of the row
//     …        the posting in the form of `RecentCodec`

internal import QuireDatabase

/// Reads postings of a term, whose bytes come in parts that may divide one.
///
/// A part is read where it lies; only what is divided is put together elsewhere.
@safe struct PostingStream {
  /// The part at hand, or what is put together of several.
  private var bytes = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
  private var offset = 0
  private let window = ByteBuilder()
  private var isInWindow = false
  /// The number of the row that was read last; 0 before the first one.
  private var lastRow: UInt64 = 0
  /// Rows are above this one: in bytes that were stored they may be anything.
  private var bound: Int64 = 0

  /// Forgets what was not read.
  mutating func begin() {
    unsafe bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    (offset, isInWindow, lastRow, bound) = (0, false, 0, 0)
  }

  /// Goes on with postings that were gathered by themselves, of rows above those before.
  mutating func beginRun() {
    assert(isAtEnd, "the bytes of a posting are left over")
    lastRow = 0
  }

  /// Whether everything was read: not if something is no posting, or of a row that is not above the one before.
  var isAtEnd: Bool { unsafe offset == bytes.count }

  /// Appends the next postings, so many at most; returns how many there were.
  ///
  /// - Parameter next: the next part, good until the one after it is asked for; nil behind the last one.
  mutating func read(_ limit: Int, into postings: BlockPostings, _ next: () -> UnsafeRawBufferPointer?) -> Int {
    var count = 0
    while true {
      var reader = unsafe ByteReader(bytes, at: offset)
      while count < limit, let gap = reader.varint(), let code = reader.byte() {
        let row = Int64(bitPattern: lastRow &+ gap)
        guard row > bound, postings.append(&reader, row: RowID(row), code: code) else { break }
        (lastRow, bound, offset) = (UInt64(bitPattern: row), row, reader.offset)
        count += 1
      }
      if count == limit { return count }
      guard unsafe take(next) else { return count }
    }
  }

  /// The row of the posting that is read next; nil behind the last one.
  mutating func nextRow(_ next: () -> UnsafeRawBufferPointer?) -> RowID? {
    while true {
      var reader = unsafe ByteReader(bytes, at: offset)
      if let gap = reader.varint() { return RowID(Int64(bitPattern: lastRow &+ gap)) }
      guard unsafe take(next) else { return nil }
    }
  }

  /// Reads the next posting, and returns its row and what stands behind that, good until something is read again; nil
  /// behind the last one.
  ///
  /// - Parameter scratch: postings that nobody needs.
  mutating func copyNext(
    _ scratch: BlockPostings, _ next: () -> UnsafeRawBufferPointer?
  ) -> (row: RowID, bytes: UnsafeRawBufferPointer)? {
    while true {
      var reader = unsafe ByteReader(bytes, at: offset)
      scratch.removeAll()
      if let gap = reader.varint() {
        let (row, start) = (RowID(Int64(bitPattern: lastRow &+ gap)), reader.offset)
        if let code = reader.byte(), scratch.append(&reader, row: row, code: code) {
          (lastRow, bound, offset) = (UInt64(bitPattern: row.rawValue), row.rawValue, reader.offset)
          return unsafe (row, UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
        }
      }
      guard unsafe take(next) else { return nil }
    }
  }

  /// Keeps what was not read of a part that is good no longer.
  mutating func keepRest() {
    if isInWindow { return }
    window.removeAll()
    unsafe window.append(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    unsafe bytes = window.bytes
    (offset, isInWindow) = (0, true)
  }

  /// Puts more parts behind what was not read; false if there are none.
  private mutating func take(_ next: () -> UnsafeRawBufferPointer?) -> Bool {
    let restCount = unsafe bytes.count - offset
    if restCount == 0 {
      guard let part = unsafe next() else { return false }
      unsafe bytes = unsafe part
      (offset, isInWindow) = (0, false)
      return true
    }
    if isInWindow { window.removeFirst(offset) } else { keepRest() }
    // What is long is not read again for each part.
    repeat {
      guard let part = unsafe next() else { break }
      unsafe window.append(part)
    } while window.count < 2 * restCount
    (offset, isInWindow) = (0, true)
    unsafe bytes = window.bytes
    return window.count > restCount
  }
}
