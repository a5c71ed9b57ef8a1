// Comparing what is stored of a full text with the rows.

internal import QuireDatabase
internal import QuireText

/// Compares a full text with the rows: first it takes in what each row should have, then it compares that with what is
/// stored, in order, in the memory of the sorter.
struct TextVerifier {
  private let trees: FullTextTrees
  private let form: PostingForm
  private let sorter: ExtensionSorter<[UInt8]>
  private let lengths: RowLengths
  private var document = DocumentTerms()
  private var posting = PostingList()
  private var documentCount = 0
  private var totalLength: UInt64 = 0

  /// The memory for postings, in bytes.
  private static let sortedByteCount = 16 << 20

  init(_ trees: FullTextTrees) throws {
    self.trees = trees
    form = trees.layout.form
    sorter = try trees.store.database.sorter(of: [UInt8].self, memory: Self.sortedByteCount)
    lengths = RowLengths(trees)
  }

  // MARK: Rows

  /// Takes in a row that has these texts.
  mutating func add(
    _ row: RowID, _ key: String, _ forEachText: ((Int, RawSpan) throws -> Void) throws -> Void
  ) throws {
    try document.read(key, trees.layout, forEachText)
    let stored = try trees.record(of: row)
    guard stored == document.record else {
      throw trees.damaged(
        FullTextTrees.rowsName, row.orderedBytes,
        stored == nil ? "there is no record of “\(key)”" : "the record of “\(key)” is not that of its tokens")
    }
    let length = try lengths.length(of: row)
    guard UInt64(length) == stored?.length ?? 0 else {
      throw trees.damaged(
        FullTextTrees.lengthsName, row.orderedBytes, "“\(key)” has \(stored?.length ?? 0) tokens, and \(length) there")
    }
    guard let stored else { return }
    documentCount += 1
    totalLength += stored.length
    for place in 0..<document.termCount {
      posting.removeAll()
      document.append(place, of: row, to: &posting, form)
      try sorter.append(TermKeys.block(document.term(place), row), RecentCodec.encode(posting, 0, form))
    }
  }

  // MARK: Comparing

  /// Compares what was taken in with what is stored.
  func finish() throws {
    try compareTotals()
    let stored = try StoredPostings(trees)
    var index = 0
    try sorter.forEach { key, value in
      guard let parsed = TermKeys.parseBlock(key), let row = parsed.lastRow else {
        preconditionFailure("a key was made that is none")
      }
      if index == stored.list.count {
        guard try stored.next() else { throw missing(key, row) }
        index = 0
      }
      try compare(stored, index, key, row, value)
      index += 1
    }
    if index < stored.list.count { throw stray(stored, index) }
    if try stored.next() { throw stray(stored, 0) }
    guard try trees.positions.count == stored.apartCount else {
      throw trees.damaged(FullTextTrees.positionsName, [], "there are positions of no block")
    }
  }

  private func compare(
    _ stored: StoredPostings, _ index: Int, _ key: RawSpan, _ row: RowID, _ value: RawSpan
  ) throws {
    let term = stored.term ?? []
    let found = TermKeys.block(term, stored.list.rowIDs[index])
    let wanted = key.copied
    guard found == wanted else {
      throw found.lexicographicallyPrecedes(wanted) ? stray(stored, index) : missing(key, row)
    }
    guard RecentCodec.encode(stored.list, index, form) == value.copied else {
      throw trees.damaged(
        FullTextTrees.blocksName, found, "the posting of \(row) is not that of its tokens")
    }
  }

  private func missing(_ key: RawSpan, _ row: RowID) -> FullTextError {
    trees.damaged(FullTextTrees.blocksName, key.copied, "there is no posting of \(row)")
  }

  private func stray(_ stored: StoredPostings, _ index: Int) -> FullTextError {
    let row = stored.list.rowIDs[index]
    return trees.damaged(
      FullTextTrees.blocksName, TermKeys.block(stored.term ?? [], row), "there is a posting that \(row) does not have")
  }

  private func compareTotals() throws {
    guard try trees.rows.count == documentCount else {
      throw trees.damaged(FullTextTrees.rowsName, [], "there are records of rows that are gone")
    }
    guard try trees.totalLength == totalLength else {
      throw trees.damaged("values", [], "the lengths of all rows are not \(try trees.totalLength), but \(totalLength)")
    }
    var count = 0
    try trees.lengths.forEach(from: nil, upTo: nil) { key, value in
      guard LengthChunk.number(ofKey: key) != nil, let chunk = LengthChunk(value) else {
        throw trees.damaged(FullTextTrees.lengthsName, key.copied, "a chunk of lengths breaks the format")
      }
      count += chunk.lengths.count { $0 != 0 }
      return true
    }
    guard count == documentCount else {
      throw trees.damaged(FullTextTrees.lengthsName, [], "there are lengths of rows that are gone")
    }
    guard try trees.changed.count == 0 else {
      throw trees.damaged(FullTextTrees.changedName, [], "what has changed while it was built is still noted")
    }
    // The tree of parts is not looked at: where it is not there, a write transaction would make it.
    guard try trees.walked == WalkedRows() else {
      throw trees.damaged("values", [], "it is ready, and there is still noted how far building has come")
    }
  }
}
