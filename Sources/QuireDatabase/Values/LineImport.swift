// Storing the lines of an export, some thousands in each transaction.

/// A line that was not stored.
package struct BadLine: Error, Hashable, Sendable, CustomStringConvertible {
  /// Its number, from 1.
  package let number: Int
  /// Why it was not.
  package let reason: String
  /// The line; the beginning of one that is too long; nothing where lines are missing.
  package let bytes: [UInt8]
  /// Whether it cannot be passed over, as it tells that other lines are missing.
  package let isEndOfAll: Bool

  /// The number and the reason.
  package var description: String { "line \(number): \(reason)" }

  /// The line with its number and the reason, as JSON.
  package var json: String {
    let number = RowValue.Field("line", .integer(Int128(number)))
    return RowValue.record([number, RowValue.Field("reason", .text(reason)), content]).json
  }

  /// The line as a field: `text`, or `bytes` if it is no UTF-8.
  package var content: RowValue.Field {
    String(validating: bytes, as: UTF8.self).map { RowValue.Field("text", .text($0)) }
      ?? RowValue.Field("bytes", .bytes(bytes))
  }
}

/// Stores the lines of an export in a database.
///
/// Each line stands for itself, so that it can be left out. Kept between lines is what was noted of collections, and a
/// count for each.
package struct LineImport {
  /// What a batch has come to.
  package enum Outcome: Hashable, Sendable {
    /// There may be more lines.
    case goesOn
    /// All lines are stored.
    case isComplete
    /// All lines in front of this one are stored, or lines are missing there.
    case stopped(BadLine)
  }

  /// Whether rows are stored over those that are there; else such a line is a bad one.
  private let replaces: Bool
  private let longestLine: Int
  private let batchRowCount: Int
  private let batchByteCount: Int
  private var lines: LineReader
  private var tally = ExportTally()
  private var notes: [ByteString: CollectionNotes] = [:]
  private var counts: [ByteString: Int] = [:]
  /// How many of the rows were stored over others.
  private var replacedCounts: [ByteString: Int] = [:]
  /// The collections in the order in which their first rows came.
  private var names: [String] = []
  /// How many lines were passed over.
  package private(set) var badCount = 0

  /// An import of lines that `read` gives piece by piece, as that of a ``LineReader``.
  package init(
    replaces: Bool, longestLine: Int, batchRowCount: Int = 10_000, batchByteCount: Int = 8 << 20,
    read: @escaping (Int) throws -> [UInt8]
  ) {
    self.replaces = replaces
    self.longestLine = longestLine
    self.batchRowCount = batchRowCount
    self.batchByteCount = batchByteCount
    lines = LineReader(limit: longestLine, read: read)
  }

  /// How many rows of each collection were stored, in the order in which their first rows came.
  package var rowCounts: [(collection: String, rows: Int)] { names.map { ($0, counts[ByteString($0)] ?? 0) } }

  /// How many keys of each collection got a row that had none, in the same order.
  package var newRowCounts: [(collection: String, rows: Int)] {
    rowCounts.map { ($0.collection, $0.rows - (replacedCounts[ByteString($0.collection)] ?? 0)) }
  }

  /// How many rows were stored.
  package var rowCount: Int { counts.values.reduce(0, +) }

  /// How many bytes were read.
  package var byteCount: Int { lines.byteCount }

  /// Stores lines until a batch is full.
  ///
  /// - Parameter skip: called with each line that does not fit, and is passed over then; without it the first such line
  ///   ends the import. Lines that an export lacks end it always.
  /// - Throws: what reading and the disk throw, and what `skip` throws: the transaction is to be rolled back.
  package mutating func storeBatch(in tx: WriteTransaction, skip: ((BadLine) throws -> Void)?) throws -> Outcome {
    var opened: [ByteString: WritableValues] = [:]
    let (startCount, startByteCount) = (lines.count, lines.byteCount)
    while lines.count - startCount < batchRowCount, lines.byteCount - startByteCount < batchByteCount {
      guard let line = try lines.next() else { return end() }
      guard let bad = try store(line, in: tx, &opened) else { continue }
      guard let skip, !bad.isEndOfAll else { return .stopped(bad) }
      badCount += 1
      try skip(bad)
    }
    return .goesOn
  }

  /// What the import has come to where there are no more lines.
  private func end() -> Outcome {
    do throws(RowLineError) { try tally.finish() } catch {
      return .stopped(BadLine(number: lines.count + 1, reason: error.description, bytes: [], isEndOfAll: true))
    }
    return .isComplete
  }

  /// Stores a line. Returns it if it does not fit.
  private mutating func store(
    _ line: LineReader.Line, in tx: WriteTransaction, _ opened: inout [ByteString: WritableValues]
  ) throws -> BadLine? {
    func bad(_ reason: String, _ bytes: [UInt8], isEndOfAll: Bool = false) -> BadLine {
      BadLine(number: lines.count, reason: reason, bytes: bytes, isEndOfAll: isEndOfAll)
    }
    switch line {
    case .tooLong(let beginning):
      tally.countUnreadable()
      return bad("It has more than \(longestLine) bytes. A larger --longest-line permits it.", beginning)
    case .whole(let bytes):
      // Between lines there may be empty ones.
      if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x0d || $0 == 0x09 }) { return nil }
      let line: RowLine
      do {
        line = try RowLine(lines.count == 1 ? Self.withoutMark(bytes) : bytes)
      } catch let error as any Error & CustomStringConvertible {
        tally.countUnreadable()
        return bad(error.description, bytes)
      }
      do throws(RowLineError) { try tally.count(line) } catch {
        return bad(error.description, bytes, isEndOfAll: true)
      }
      do {
        try store(line, in: tx, &opened)
        return nil
      } catch let error as RowLineError {
        return bad(error.description, bytes)
      } catch let error as DatabaseError where Self.ofOneLine.contains(error.code) {
        return bad(error.description, bytes)
      }
    }
  }

  /// The first line without the mark of UTF-8 that some programs write in front of it.
  private static func withoutMark(_ bytes: [UInt8]) -> [UInt8] {
    bytes.starts(with: [0xef, 0xbb, 0xbf]) ? Array(bytes.dropFirst(3)) : bytes
  }

  /// What a line can be to blame for.
  private static let ofOneLine: Set<DatabaseError.Code> = [
    .keyTooLong, .nameTooLong, .valueTooLong, .encodingFailed, .collectionMismatch, .missingKey, .invalidOption,
  ]

  private mutating func store(
    _ line: RowLine, in tx: WriteTransaction, _ opened: inout [ByteString: WritableValues]
  ) throws {
    switch line {
    case .notes(let collection, let new):
      if let known = notes[ByteString(collection)], known != new {
        throw RowLineError("The notes of the collection “\(collection)” stand in another line, and differ.")
      }
      notes[ByteString(collection)] = new
      opened[ByteString(collection)] = nil
    case .row(let collection, let key, let object, let metadata):
      let values = try opened[ByteString(collection)] ?? self.values(in: collection, tx)
      opened[ByteString(collection)] = values
      if try !values.insert(object, metadata: metadata, for: key) {
        guard replaces else {
          throw RowLineError(
            "There is a row “\(key)” in “\(collection)” already. With --replace it is stored over that.")
        }
        try values.set(object, metadata: metadata, for: key)
        replacedCounts[ByteString(collection), default: 0] += 1
      }
      if counts[ByteString(collection)] == nil { names.append(collection) }
      counts[ByteString(collection), default: 0] += 1
    case .end: break
    }
  }

  private func values(in collection: String, _ tx: WriteTransaction) throws(RowLineError) -> WritableValues {
    // A transaction that has failed to open a collection is over.
    guard collection.utf8.count <= Limits.collectionNameByteCount else {
      throw RowLineError("The name of the collection has more than \(Limits.collectionNameByteCount) bytes.")
    }
    return notes[ByteString(collection)].map { tx.values(in: collection, as: $0) } ?? tx.values(in: collection)
  }
}
