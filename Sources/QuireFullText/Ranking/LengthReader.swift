// The lengths of rows, as rankings ask for them.

internal import QuireDatabase
internal import Synchronization

/// The lengths of 256 rows whose numbers follow each other, in memory that its owner frees; those that the row's record
/// tells are `LengthChunk.long`.
// Sendable: safe because nobody changes the memory once it is made.
@safe struct KeptLengths: @unchecked Sendable {
  private let base: UnsafeMutablePointer<UInt16>

  /// - Parameter lengths: all of them, or none, which stands for rows without tokens.
  init(_ lengths: [UInt16]) {
    assert(lengths.isEmpty || lengths.count == LengthChunk.rowCount, "a chunk has another number of rows")
    unsafe base = .allocate(capacity: LengthChunk.rowCount)
    unsafe base.initialize(repeating: 0, count: LengthChunk.rowCount)
    for place in lengths.indices { unsafe base[place] = lengths[place] }
  }

  @inline(__always) subscript(place: Int) -> UInt16 {
    assert((0..<LengthChunk.rowCount).contains(place), "a length is read that the chunk does not have")
    return unsafe base[place]
  }

  func free() { unsafe base.deallocate() }
}

/// Lengths of rows that were read by searches of one state of a full text, for the others: chunks of 256 rows, nil for
/// those that were not read.
final class LengthTable: Sendable {
  /// The lengths of all rows together.
  let totalLength: UInt64
  private let chunks = Mutex<[KeptLengths?]>([])
  /// The number of the first chunk of rows that are numbered from 1, and how many are kept from there on.
  private static let firstNumber = LengthChunk.number(of: RowID(0))
  private static let chunkLimit: UInt64 = 1 << 14

  /// - Parameter totalLength: the lengths of all rows together.
  init(totalLength: UInt64) { self.totalLength = totalLength }

  deinit { chunks.withLock { for chunk in $0 { chunk?.free() } } }

  /// The table of a transaction's state. The total of all lengths is set with every change of a length, so that a table
  /// is kept until then.
  static func known(to trees: FullTextTrees) throws -> LengthTable {
    try trees.store.keeping { LengthTable(totalLength: try trees.totalLength) }
  }

  /// The chunks that were read so far; good as long as the table is there.
  var known: [KeptLengths?] { chunks.withLock { $0 } }

  /// The place of a chunk in the table; nil if it has none.
  @inline(__always)
  static func place(_ number: UInt64) -> Int? {
    number >= firstNumber && number - firstNumber < chunkLimit ? Int(truncatingIfNeeded: number - firstNumber) : nil
  }

  /// Keeps the lengths of a chunk, and returns them as the table has them.
  func keep(_ lengths: [UInt16], at place: Int) -> KeptLengths {
    chunks.withLock { chunks in
      if place >= chunks.count { chunks += repeatElement(nil, count: place + 1 - chunks.count) }
      if let kept = chunks[place] { return kept }
      let kept = KeptLengths(lengths)
      chunks[place] = kept
      return kept
    }
  }
}

/// Reads lengths of rows for one ranking.
struct LengthReader {
  private let index: TermIndex
  private let table: LengthTable
  /// What the table had in the beginning.
  private let known: [KeptLengths?]
  /// What was read since: chunks of the table, and others.
  private var read: [UInt64: KeptLengths] = [:]
  /// Those of the chunks that have no place in the table.
  private var others: OtherLengths?
  // The chunk that was asked for last: most rows come in order. No chunk has the number before the first one.
  private var number: UInt64 = .max
  private var chunk: KeptLengths?

  init(_ index: TermIndex, _ table: LengthTable) { (self.index, self.table, known) = (index, table, table.known) }

  /// The length of a row, in tokens of all its fields; 0 of one that has none.
  @inline(__always)
  mutating func length(of row: RowID) throws -> Int {
    if LengthChunk.number(of: row) != number { try find(LengthChunk.number(of: row)) }
    guard let length = chunk?[LengthChunk.place(of: row)] else { return 0 }
    return length == LengthChunk.long ? try longLength(of: row) : Int(length)
  }

  @inline(__always)
  private mutating func find(_ wanted: UInt64) throws {
    if let place = LengthTable.place(wanted), place < known.count, let kept = known[place] {
      (number, chunk) = (wanted, kept)
    } else {
      try findUnknown(wanted)
    }
  }

  @inline(never)
  private mutating func findUnknown(_ wanted: UInt64) throws {
    if let found = read[wanted] {
      (number, chunk) = (wanted, found)
      return
    }
    let key = LengthChunk.key(wanted)
    let found = try index.trees.lengths.withValue(for: key) { bytes in
      guard let chunk = LengthChunk(bytes) else {
        throw index.trees.damaged(FullTextTrees.lengthsName, key, "a chunk of lengths breaks the format")
      }
      return chunk.lengths
    }
    // Rows without a chunk have no tokens.
    let kept = keep(found ?? [], wanted)
    read[wanted] = kept
    (number, chunk) = (wanted, kept)
  }

  private mutating func keep(_ lengths: [UInt16], _ number: UInt64) -> KeptLengths {
    if let place = LengthTable.place(number) { return table.keep(lengths, at: place) }
    let others = others ?? OtherLengths()
    self.others = others
    return others.keep(lengths)
  }

  @inline(never)
  private func longLength(of row: RowID) throws -> Int {
    guard let record = try index.trees.record(of: row), record.length >= UInt64(LengthChunk.long) else {
      throw index.trees.damaged(
        FullTextTrees.lengthsName, row.orderedBytes, "\(row) is long there, and has no such record")
    }
    return Int(record.length)
  }
}

/// Owns lengths that stand in no table.
private final class OtherLengths {
  private var chunks: [KeptLengths] = []

  deinit { for chunk in chunks { chunk.free() } }

  func keep(_ lengths: [UInt16]) -> KeptLengths {
    let kept = KeptLengths(lengths)
    chunks.append(kept)
    return kept
  }
}
