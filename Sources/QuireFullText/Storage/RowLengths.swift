// The lengths of rows, in chunks of neighbours.

internal import QuireDatabase

/// The lengths of 256 rows whose numbers follow each other: in tokens, of all fields together.
///
/// As bytes: two for each row, the lower one first, without those behind the last row that has a length.
struct LengthChunk: Hashable {
  static let rowCount = 256
  /// Stands for lengths of this and above, which the row's record has.
  static let long: UInt16 = .max

  /// All of them, or none.
  private(set) var lengths: [UInt16] = []

  init() {}

  /// Whether bytes are those of a chunk: of as many rows as there can be, the last of which has a length.
  static func isWell(_ bytes: RawSpan) -> Bool {
    let count = bytes.byteCount / 2
    guard bytes.byteCount % 2 == 0, (1...rowCount).contains(count) else { return false }
    return unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 2 * count - 2, as: UInt16.self) != 0
  }

  /// The length at a place of the bytes of a chunk.
  static func length(_ place: Int, of bytes: RawSpan) -> UInt16 {
    guard 2 * place + 1 < bytes.byteCount else { return 0 }
    return UInt16(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 2 * place, as: UInt16.self))
  }

  /// The chunk of bytes; nil if they break the format.
  init?(_ bytes: RawSpan) {
    guard Self.isWell(bytes) else { return nil }
    let count = bytes.byteCount / 2
    lengths = unsafe [UInt16](unsafeUninitializedCapacity: Self.rowCount) { target, initialized in
      unsafe target.update(repeating: 0)
      unsafe bytes.withUnsafeBytes { unsafe UnsafeMutableRawBufferPointer(target).copyMemory(from: $0) }
      for index in 0..<count { unsafe target[index] = UInt16(littleEndian: target[index]) }
      initialized = Self.rowCount
    }
  }

  /// The number of the chunk that a row is in: that of the row, as keys have it, without the lowest byte.
  @inline(__always) static func number(of row: RowID) -> UInt64 { row.ordered >> 8 }
  /// Where in its chunk a row is.
  @inline(__always) static func place(of row: RowID) -> Int { Int(truncatingIfNeeded: row.ordered & 0xff) }

  /// The key of a chunk.
  static func key(_ number: UInt64) -> [UInt8] {
    var key: [UInt8] = []
    key.appendBigEndian(number)
    return key
  }

  /// The number of the chunk of a key; nil if it is none.
  static func number(ofKey key: RawSpan) -> UInt64? {
    guard key.byteCount == 8 else { return nil }
    let number = UInt64(bigEndian: unsafe key.unsafeLoadUnaligned(as: UInt64.self))
    return number >> 56 == 0 ? number : nil
  }

  /// The length of a row at a place; `long` for one that its record tells.
  subscript(place: Int) -> UInt16 {
    @inline(__always) get { lengths.isEmpty ? 0 : lengths[place] }
    set {
      if lengths.isEmpty {
        if newValue == 0 { return }
        lengths = [UInt16](repeating: 0, count: Self.rowCount)
      }
      lengths[place] = newValue
    }
  }

  /// The bytes of the chunk; none if no row has a length.
  var bytes: [UInt8] {
    guard let last = lengths.lastIndex(where: { $0 != 0 }) else { return [] }
    return unsafe lengths.withUnsafeBytes { lengths in
      unsafe [UInt8](unsafeUninitializedCapacity: 2 * (last + 1)) { target, initialized in
        unsafe UnsafeMutableRawBufferPointer(target).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: lengths[..<(2 * (last + 1))]))
        if UInt16(1).littleEndian != 1 { for place in 0...last { unsafe target.swapAt(2 * place, 2 * place + 1) } }
        initialized = 2 * (last + 1)
      }
    }
  }
}

/// Reads lengths of rows, and keeps the chunks that it has read: for one query, or for what a transaction merges at a
/// time. Good until the lengths change.
final class RowLengths {
  private let trees: FullTextTrees
  private var chunks: [UInt64: LengthChunk] = [:]
  // The chunk that was asked for last: most rows come in order. Unchecked: one thread, and no closure has them.
  @exclusivity(unchecked) private var lastNumber: UInt64 = .max
  @exclusivity(unchecked) private var last = LengthChunk()
  // The chunk of which one row was asked for, and which was not kept for that.
  @exclusivity(unchecked) private var askedNumber: UInt64 = .max

  /// So many chunks are kept beside those of the rows that are asked for together: some MiB.
  private static let keptCount = 1 << 13

  init(_ trees: FullTextTrees) { self.trees = trees }

  /// The length of a row, in tokens of all its fields; 0 of one that has none.
  @inline(__always)
  func length(of row: RowID) throws -> Int {
    let number = LengthChunk.number(of: row)
    let length = unsafe number == lastNumber ? last[LengthChunk.place(of: row)] : try length(of: row, number)
    return length == LengthChunk.long ? try longLength(of: row) : Int(length)
  }

  /// The length of a row of another chunk than the one that was asked for last. The first time only that length is
  /// read: of many rows that are far from each other, no neighbours are asked for.
  @inline(never) private func length(of row: RowID, _ number: UInt64) throws -> UInt16 {
    guard unsafe askedNumber != number, chunks[number] == nil else {
      try find(number)
      return unsafe last[LengthChunk.place(of: row)]
    }
    unsafe askedNumber = number
    let key = LengthChunk.key(number)
    return try trees.lengths.withValue(for: key) { bytes in
      guard LengthChunk.isWell(bytes) else { throw damagedChunk(key) }
      return LengthChunk.length(LengthChunk.place(of: row), of: bytes)
    } ?? 0
  }

  /// Appends the codes of the lengths of rows that ascend: chunks that were not read before are looked up side by side.
  func appendCodes(of rows: UnsafeBufferPointer<RowID>, to codes: RawBuffer<UInt8>) throws {
    try unsafe readChunks(of: rows)
    for index in 0..<rows.count {
      let row = unsafe rows[index]
      let length = try chunk(LengthChunk.number(of: row))[LengthChunk.place(of: row)]
      codes.append(LengthCode.code(of: length == LengthChunk.long ? try longLength(of: row) : Int(length)))
    }
  }

  private func readChunks(of rows: UnsafeBufferPointer<RowID>) throws {
    if chunks.count > Self.keptCount { chunks.removeAll(keepingCapacity: true) }
    var numbers: [UInt64] = []
    var number = unsafe lastNumber
    for index in 0..<rows.count {
      let own = unsafe LengthChunk.number(of: rows[index])
      if own == number { continue }
      number = own
      if chunks[own] == nil { numbers.append(own) }
    }
    let keys = numbers.map { LengthChunk.key($0) }
    try trees.lengths.withValues(for: keys) { index, bytes in
      var found: LengthChunk? = LengthChunk()
      if let bytes { found = LengthChunk(bytes) }
      guard let found else { throw damagedChunk(keys[index]) }
      chunks[numbers[index]] = found
    }
  }

  private func damagedChunk(_ key: [UInt8]) -> FullTextError {
    trees.damaged(FullTextTrees.lengthsName, key, "a chunk of lengths breaks the format")
  }

  /// The chunk of a number, as it is stored.
  func chunk(_ number: UInt64) throws -> LengthChunk {
    if unsafe number != lastNumber { try find(number) }
    return unsafe last
  }

  @inline(never) private func find(_ number: UInt64) throws {
    if let known = chunks[number] {
      unsafe (lastNumber, last) = (number, known)
      return
    }
    let found = try read(number)
    chunks[number] = found
    unsafe (lastNumber, last) = (number, found)
  }

  private func read(_ number: UInt64) throws -> LengthChunk {
    let key = LengthChunk.key(number)
    let found = try trees.lengths.withValue(for: key) { bytes in
      guard let chunk = LengthChunk(bytes) else { throw damagedChunk(key) }
      return chunk
    }
    return found ?? LengthChunk()
  }

  @inline(never) private func longLength(of row: RowID) throws -> Int {
    guard let record = try trees.record(of: row), record.length >= UInt64(LengthChunk.long) else {
      throw trees.damaged(FullTextTrees.lengthsName, row.orderedBytes, "\(row) is long there, and has no such record")
    }
    return Int(record.length)
  }

  /// Forgets what it has read: lengths have changed.
  func forget() {
    chunks.removeAll(keepingCapacity: true)
    unsafe (lastNumber, last, askedNumber) = (.max, LengthChunk(), .max)
  }
}
