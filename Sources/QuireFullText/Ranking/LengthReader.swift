// The lengths of rows, as rankings ask for them.

internal import QuireDatabase
internal import Synchronization

/// Lengths of rows that were read by searches of one state of a full text, for the others: chunks of 256 rows.
final class LengthTable: Sendable {
  /// The lengths of the rows of a chunk; those that the row's record tells are `LengthChunk.long`. Empty if it was not
  /// read.
  typealias Chunk = [UInt16]

  private let chunks = Mutex<[Chunk]>([])
  /// The number of the first chunk of rows that are numbered from 1, and how many are kept from there on.
  private static let firstNumber = LengthChunk.number(of: RowID(0))
  private static let chunkLimit: UInt64 = 1 << 14

  /// The table of a transaction's state. The total of all lengths is set with every change of a length, so that a table
  /// is kept until then.
  static func known(to trees: FullTextTrees) throws -> LengthTable { try trees.store.keeping { LengthTable() } }

  /// The chunks that were read so far.
  var known: [Chunk] { chunks.withLock { $0 } }

  /// The place of a chunk in the table; nil if it has none.
  @inline(__always)
  static func place(_ number: UInt64) -> Int? {
    number >= firstNumber && number - firstNumber < chunkLimit ? Int(truncatingIfNeeded: number - firstNumber) : nil
  }

  func keep(_ chunk: Chunk, at place: Int) {
    chunks.withLock { chunks in
      if place >= chunks.count { chunks += repeatElement([], count: place + 1 - chunks.count) }
      chunks[place] = chunk
    }
  }
}

/// Reads lengths of rows for one ranking.
struct LengthReader {
  private let index: TermIndex
  private let table: LengthTable
  /// What the table had in the beginning.
  private let known: [LengthTable.Chunk]
  /// What was read since.
  private var read: [UInt64: LengthTable.Chunk] = [:]
  // The chunk that was asked for last: most rows come in order.
  private var number: UInt64 = .max
  private var chunk: LengthTable.Chunk = []

  init(_ index: TermIndex, _ table: LengthTable) { (self.index, self.table, known) = (index, table, table.known) }

  /// The length of a row, in tokens of all its fields; 0 of one that has none.
  @inline(__always)
  mutating func length(of row: RowID) throws -> Int {
    if LengthChunk.number(of: row) != number { try find(LengthChunk.number(of: row)) }
    let length = chunk[LengthChunk.place(of: row)]
    return length == LengthChunk.long ? try longLength(of: row) : Int(length)
  }

  @inline(never)
  private mutating func find(_ wanted: UInt64) throws {
    number = wanted
    let place = LengthTable.place(wanted)
    if let place, place < known.count, !known[place].isEmpty {
      chunk = known[place]
      return
    }
    if let found = read[wanted] {
      chunk = found
      return
    }
    let key = LengthChunk.key(wanted)
    let found = try index.trees.lengths.withValue(for: key) { bytes in
      guard let chunk = LengthChunk(bytes) else {
        throw index.trees.damaged(FullTextTrees.lengthsName, key, "a chunk of lengths breaks the format")
      }
      return chunk.lengths
    }
    chunk = found ?? []
    // Rows without a chunk have no tokens.
    if chunk.isEmpty { chunk = Array(repeating: 0, count: LengthChunk.rowCount) }
    read[wanted] = chunk
    if let place { table.keep(chunk, at: place) }
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
