// The postings of a collector, cut into the pieces that "parts" has.

internal import QuireDatabase

/// Cuts what a collector has into pieces of a few kilobytes, which make a part of "parts".
///
/// The value of a piece are bytes as `PostingStream` reads them; a posting may go on in the next piece.
struct PostingPieces {
  /// Left out is what was added since building began: the part is one of the blocks, and those are of the beginning.
  private let changes: SnapshotChanges?
  private let sorter: ExtensionSorter<[UInt8]>
  private let scratch: BlockPostings
  private var key: [UInt8] = []
  private var piece: [UInt8] = []
  private var number: UInt32 = 0

  /// A piece has about so many bytes.
  private static let byteCount = 2_048

  init(_ form: PostingForm, _ sorter: ExtensionSorter<[UInt8]>, changes: SnapshotChanges?) {
    (self.sorter, self.changes) = (sorter, changes)
    scratch = BlockPostings(form)
  }

  /// Has the sorter take in the pieces of all terms.
  mutating func append(_ collector: PostingCollector, part: UInt32) throws {
    var cut = self
    unsafe try collector.forEachTerm { term, parts in try unsafe cut.append(term, parts, part) }
    self = cut
  }

  private mutating func append(_ term: UnsafeRawBufferPointer, _ parts: PostingParts, _ part: UInt32) throws {
    key.removeAll(keepingCapacity: true)
    key += TermKeys.start(ofPart: part)
    unsafe key.append(contentsOf: term)
    key.append(0)
    number = 0
    while let changed = changes?.term, unsafe changed.withUnsafeBytes({ unsafe ByteOrder.precedes($0, term) }) {
      try changes?.advance()
    }
    if let changes, !changes.added.isEmpty, let changed = changes.term,
      unsafe changed.withUnsafeBytes({ unsafe ByteOrder.areEqual($0, term) })
    {
      try append(parts, without: changes.added)
    } else {
      var parts = parts
      while let bytes = unsafe parts.next() {
        if piece.count >= Self.byteCount { try endPiece() }
        unsafe piece.append(contentsOf: bytes)
      }
    }
    if !piece.isEmpty { try endPiece() }
  }

  /// Appends the postings of a term without those of some rows, which ascend.
  private mutating func append(_ parts: PostingParts, without rows: [RowID]) throws {
    var (stream, parts) = (PostingStream(), parts)
    var (place, last): (Int, Int64) = (0, 0)
    while let (row, bytes) = unsafe stream.copyNext(scratch, { unsafe parts.next() }) {
      while place < rows.count, rows[place] < row { place += 1 }
      if place < rows.count, rows[place] == row { continue }
      if piece.count >= Self.byteCount { try endPiece() }
      piece.appendVarint(UInt64(bitPattern: row.rawValue &- last))
      unsafe piece.append(contentsOf: bytes)
      last = row.rawValue
    }
  }

  private mutating func endPiece() throws {
    key.appendBigEndian(number)
    unsafe try sorter.append(key.span.bytes, piece)
    key.removeLast(4)
    piece.removeAll(keepingCapacity: true)
    number += 1
  }
}
