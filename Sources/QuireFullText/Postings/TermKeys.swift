// The keys of the trees of postings: terms, and what stands behind them.
//
//     "blocks", "positions":  term  00  R of the block's last row (8 bytes)
//     "blocks", a head:       term  00  eight zero bytes
//     "recent", added:        term  00  01  R
//     "recent", removed:      term  00  02  R
//     "parts":                P  term  00  N
//
// R is the number of the row, the highest byte first, with its sign bit turned, as `RowID.orderedBytes` has it. Rows
// are numbered from 1, so that no R is zero. Terms have no zero bytes, so that the first one ends the term, and all
// keys of a term stand together, in front of those of the terms that begin with it. P is the number of a part, and N
// that of a piece among those of the term in the part, with four bytes each, the highest first.

internal import QuireDatabase

/// Makes and cuts the keys of the trees of postings.
enum TermKeys {
  /// So many bytes a term has at the most.
  static let maximumByteCount = 255

  // MARK: Terms

  /// Puts the term of a token in the place of `term`: without zero bytes, and cut after 255 bytes, or before where a
  /// character would be divided. It is empty if the token is no term.
  static func cut(_ token: RawSpan, to term: inout [UInt8]) {
    term.removeAll(keepingCapacity: true)
    unsafe token.withUnsafeBytes { bytes in
      let hasZeros = unsafe bytes.contains(0)
      if !hasZeros && bytes.count <= maximumByteCount {
        unsafe term.append(contentsOf: bytes)
      } else {
        unsafe term.append(contentsOf: bytes.lazy.filter { $0 != 0 }.prefix(maximumByteCount + 1))
      }
    }
    guard term.count > maximumByteCount else { return }
    // A byte 10xxxxxx goes on with a character, which has three of them at the most.
    var end = maximumByteCount
    while end > maximumByteCount - 4, term[end] & 0xc0 == 0x80 { end -= 1 }
    if term[end] & 0xc0 == 0x80 { end = maximumByteCount }
    term.removeSubrange(end...)
    assert(!term.isEmpty && term.count <= maximumByteCount, "a term was cut wrongly")
  }

  /// The term of a token; empty if it is none.
  static func term(of token: RawSpan) -> [UInt8] {
    var term: [UInt8] = []
    cut(token, to: &term)
    return term
  }

  // MARK: Keys

  /// The key of a block whose last row is `lastRow`.
  static func block(_ term: some Collection<UInt8>, _ lastRow: RowID) -> [UInt8] {
    assert(lastRow.ordered != 0, "a row has the place of a head")
    return key(term, [], lastRow.ordered)
  }

  /// The key of a term's head.
  static func head(_ term: some Collection<UInt8>) -> [UInt8] { key(term, [], 0) }

  /// The key of a posting that was added.
  static func added(_ term: some Collection<UInt8>, _ row: RowID) -> [UInt8] { key(term, [1], row.ordered) }

  /// The key of the note that the posting in the blocks is void.
  static func removed(_ term: some Collection<UInt8>, _ row: RowID) -> [UInt8] { key(term, [2], row.ordered) }

  private static func key(_ term: some Collection<UInt8>, _ kind: [UInt8], _ row: UInt64) -> [UInt8] {
    var key: [UInt8] = []
    key.reserveCapacity(term.count + 10)
    key += term
    key.append(0)
    key += kind
    key.appendBigEndian(row)
    return key
  }

  // MARK: Ranges

  /// From which key on, and up to which, a tree has the entries of a term.
  static func range(ofTerm term: some Collection<UInt8>) -> (lower: [UInt8], upper: [UInt8]) {
    (Array(term) + [0], Array(term) + [1])
  }

  /// The same of its postings that were added.
  static func range(addedTo term: some Collection<UInt8>) -> (lower: [UInt8], upper: [UInt8]) {
    (Array(term) + [0, 1], Array(term) + [0, 2])
  }

  /// The same of its postings in the blocks that are void.
  static func range(removedFrom term: some Collection<UInt8>) -> (lower: [UInt8], upper: [UInt8]) {
    (Array(term) + [0, 2], Array(term) + [0, 3])
  }

  /// The same of all terms that begin with `prefix`; no bound if none is needed.
  static func range(ofPrefix prefix: some Collection<UInt8>) -> (lower: [UInt8], upper: [UInt8]?) {
    var upper = Array(prefix)
    while let last = upper.last, last == 0xff { upper.removeLast() }
    guard let last = upper.popLast() else { return (Array(prefix), nil) }
    upper.append(last + 1)
    return (Array(prefix), upper)
  }

  // MARK: Parts

  /// What a key of "blocks" or "positions" names; nil if it is no such key.
  static func parseBlock(_ key: RawSpan) -> BlockKey? {
    unsafe key.withUnsafeBytes { key in
      // The term of a key of nine bytes would be empty.
      guard key.count > 9, unsafe key[key.count - 9] == 0 else { return nil }
      let count = key.count - 9
      guard count <= maximumByteCount, unsafe !key[..<count].contains(0) else { return nil }
      let row = unsafe UInt64(bigEndian: key.loadUnaligned(fromByteOffset: count + 1, as: UInt64.self))
      return BlockKey(termByteCount: count, lastRow: row == 0 ? nil : RowID(ordered: row))
    }
  }

  /// What a key of "recent" names; nil if it is no such key.
  static func parseRecent(_ key: RawSpan) -> RecentKey? {
    unsafe key.withUnsafeBytes { key in
      guard key.count > 10, unsafe key[key.count - 10] == 0 else { return nil }
      let count = key.count - 10
      guard count <= maximumByteCount, unsafe !key[..<count].contains(0) else { return nil }
      let kind = unsafe key[count + 1]
      guard kind == 1 || kind == 2 else { return nil }
      let row = unsafe UInt64(bigEndian: key.loadUnaligned(fromByteOffset: count + 2, as: UInt64.self))
      return RecentKey(termByteCount: count, isAdded: kind == 1, row: RowID(ordered: row))
    }
  }

  /// What a key of "parts" names; nil if it is no such key.
  static func parsePiece(_ key: RawSpan) -> PieceKey? {
    unsafe key.withUnsafeBytes { key in
      let count = key.count - 9
      guard count > 0, count <= maximumByteCount, unsafe key[count + 4] == 0, unsafe !key[4..<count + 4].contains(0)
      else { return nil }
      let part = unsafe UInt32(bigEndian: key.loadUnaligned(as: UInt32.self))
      let number = unsafe UInt32(bigEndian: key.loadUnaligned(fromByteOffset: count + 5, as: UInt32.self))
      return PieceKey(part: part, termByteCount: count, number: number)
    }
  }

  /// What the keys of all pieces of a part begin with; none of an earlier part is at or above it.
  static func start(ofPart part: UInt32) -> [UInt8] {
    var key: [UInt8] = []
    key.appendBigEndian(part)
    return key
  }
}

/// What a key of "blocks" or "positions" names.
struct BlockKey: Hashable {
  /// So many bytes at the beginning of the key are the term.
  let termByteCount: Int
  /// The last row of the block; nil if the key is that of a head.
  let lastRow: RowID?
}

/// What a key of "recent" names.
struct RecentKey: Hashable {
  /// So many bytes at the beginning of the key are the term.
  let termByteCount: Int
  /// Whether the posting was added; if not, that in the blocks is void.
  let isAdded: Bool
  let row: RowID
}

/// What a key of "parts" names.
struct PieceKey: Hashable {
  let part: UInt32
  /// So many bytes behind the number of the part are the term.
  let termByteCount: Int
  /// Which of the pieces of the term in the part it is.
  let number: UInt32
}

extension RowID {
  /// The number with its sign bit turned: the order of these numbers is that of rows.
  @inline(__always) var ordered: UInt64 { UInt64(bitPattern: rawValue) ^ 1 << 63 }

  @inline(__always) init(ordered: UInt64) { self.init(Int64(bitPattern: ordered ^ 1 << 63)) }
}
