// Postings that wait for their blocks: in memory, and sorted in a temporary file as far as they do not fit.

internal import QuireDatabase

/// Gathers postings in a collector, and puts what does not fit into a sorter, in pieces of a few kilobytes.
///
/// A piece has the key term ‖ 0 ‖ first row, and as its value a stream of postings as `PostingStream` reads them.
struct PostingPieces {
  let collector: PostingCollector
  private let database: Database
  private let byteLimit: Int
  private var sorter: ExtensionSorter<[UInt8]>?

  /// A piece has about so many bytes.
  private static let pieceByteCount = 2_048
  private static let sortedByteCount = 8 << 20
  /// After so many terms somebody is told.
  private static let reportedCount = 1 << 12

  /// - Parameter byteLimit: the memory for postings.
  init(_ form: PostingForm, _ database: Database, byteLimit: Int) {
    collector = PostingCollector(form, byteLimit: byteLimit)
    (self.database, self.byteLimit) = (database, byteLimit)
  }

  /// Puts the postings into the sorter if they have come to the limit of memory.
  mutating func spillIfFull() throws {
    if collector.byteCount >= byteLimit { try spill() }
  }

  private mutating func spill() throws {
    let sorter = try self.sorter ?? database.sorter(of: [UInt8].self, memory: Self.sortedByteCount)
    self.sorter = sorter
    var (stream, list) = (PostingStream(collector.form), PostingList())
    var (key, piece) = ([UInt8](), [UInt8]())
    unsafe try collector.forEachTerm { term, parts in
      var (parts, last): (PostingParts, Int64) = (parts, 0)
      stream.begin()
      while unsafe stream.read(into: &list, { unsafe parts.next() }) {
        let row = list.rowIDs[0]
        list.removeAll()
        if piece.isEmpty {
          key.removeAll(keepingCapacity: true)
          unsafe key.append(contentsOf: term)
          key.append(0)
          key.appendBigEndian(row.ordered)
          last = 0
        }
        piece.appendVarint(UInt64(bitPattern: row.rawValue &- last))
        piece += stream.lastBytes
        last = row.rawValue
        if piece.count >= Self.pieceByteCount {
          unsafe try sorter.append(key.span.bytes, piece)
          piece.removeAll(keepingCapacity: true)
        }
      }
      if !piece.isEmpty { unsafe try sorter.append(key.span.bytes, piece) }
      piece.removeAll(keepingCapacity: true)
    }
    collector.removeAll()
  }

  /// Has blocks made of all postings, term by term.
  ///
  /// - Parameter report: called now and then.
  mutating func makeBlocks(_ maker: inout BlockMaker, _ report: () throws -> Void) throws {
    if sorter != nil { try spill() }
    var stream = PostingStream(collector.form)
    var termCount = 0
    func tell() throws {
      termCount += 1
      if termCount % Self.reportedCount == 0 { try report() }
    }
    if let sorter {
      var known: [UInt8] = []
      try sorter.forEach { key, value in
        try unsafe key.withUnsafeBytes { key in
          let term = unsafe UnsafeRawBufferPointer(rebasing: key.dropLast(9))
          if unsafe !known.withUnsafeBytes({ unsafe ByteOrder.areEqual($0, term) }) {
            unsafe known = [UInt8](term)
            try unsafe maker.begin(term)
            try tell()
          }
        }
        stream.begin()
        try unsafe value.withUnsafeBytes { bytes in
          var rest: UnsafeRawBufferPointer? = unsafe bytes
          try unsafe maker.add(&stream) {
            defer { unsafe rest = nil }
            return unsafe rest
          }
        }
      }
    } else {
      unsafe try collector.forEachTerm { term, parts in
        var parts = parts
        try unsafe maker.begin(term)
        stream.begin()
        try unsafe maker.add(&stream) { unsafe parts.next() }
        try tell()
      }
    }
    try maker.end()
  }
}
