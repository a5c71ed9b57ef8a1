// Building a full text from the rows that are there, in bounded memory.

internal import QuireDatabase
internal import QuireText

/// Builds a full text that is not ready.
///
/// A first, short write transaction empties everything; from then on hooks note what changes in "recent" and "changed",
/// which say how rows differ from what they were then. A read transaction takes the tokens of all rows in, and sorts
/// what is made of them. A last write transaction stores it page by page, and makes the full text ready. Until then no
/// search sees anything. After a crash, when building is stopped, or when all rows are removed at once meanwhile, it
/// begins anew.
struct FullTextBuilder<Object: Sendable, Metadata: Sendable> {
  let fullText: FullText<Object, Metadata>
  let database: Database
  let progress: (Database.Progress) throws -> Void
  /// What a read transaction has of the full text, ready or not.
  let trees: (ReadTransaction) throws -> FullTextTrees
  /// What follows a write transaction.
  let upkeep: (WriteTransaction) throws -> FullTextUpkeep

  private var layout: TextLayout { fullText.layout }
  /// After so many rows progress is reported.
  private static var reportedCount: Int { 1 << 12 }
  /// The memory of sorters, in bytes.
  private static var sortedByteCount: Int { 4 << 20 }

  func run() throws {
    while let clearCount = try begin() {
      guard let made = try make(clearCount) else { continue }
      try report(made.rowCount, made.rowCount)
      try finish(made, clearCount)
    }
  }

  // MARK: The beginning

  /// Empties everything, and has hooks note what changes from here on; nil if the full text is ready.
  ///
  /// - Returns: how often all rows had been removed at once by then.
  private func begin() throws -> Int? {
    // Nothing is written where nothing is to be done.
    if try database.read({ try trees($0).state == .ready }) { return nil }
    return try database.write { tx in
      let upkeep = try upkeep(tx)
      try upkeep.begin(.building)
      return try upkeep.trees.clearCount
    }
  }

  // MARK: The rows

  /// What is made of the rows, sorted.
  private struct Made {
    let blocks: ExtensionSorter<[UInt8]>
    let positions: ExtensionSorter<[UInt8]>
    let records: RowRecords
    /// How many rows there were.
    var rowCount = 0
  }

  /// Makes everything of the rows of a snapshot; nil if all rows were removed at once since the beginning.
  private func make(_ clearCount: Int) throws -> Made? {
    let count = try database.read { $0[fullText.collection].count }
    try report(0, count)
    let memory = Self.sortedByteCount
    var made = Made(
      blocks: try database.sorter(of: [UInt8].self, memory: memory),
      positions: try database.sorter(of: [UInt8].self, memory: memory),
      records: RowRecords(
        rows: try database.sorter(of: RowID.self, memory: memory / 4),
        lengths: try database.sorter(of: [UInt8].self, memory: memory / 4)))
    return try database.read { tx in
      let trees = try trees(tx)
      guard try trees.state == .building, try trees.clearCount == clearCount else { return nil }
      let changes = try trees.recent.count == 0 ? nil : SnapshotChanges(trees)
      var maker = BlockMaker(layout.form, blocks: made.blocks, positions: made.positions, changes: changes)
      let rows = tx[fullText.collection]
      made.rowCount = rows.count
      var pieces = PostingPieces(layout.form, database, byteLimit: fullText.building.gatheredByteCount)
      try collect(rows, made.rowCount, made.records, &pieces)
      try pieces.makeBlocks(&maker) { try report(made.rowCount, made.rowCount) }
      return made
    }
  }

  /// Takes the tokens of all rows in.
  private func collect(
    _ rows: some RowReading<Object, Metadata>, _ total: Int, _ records: RowRecords, _ pieces: inout PostingPieces
  ) throws {
    let reader = FieldReader(rows, halves: fullText.fields.needsMetadata ? [.object, .metadata] : .object)
    let collector = pieces.collector
    var done = 0
    try withoutActuallyEscaping(report) { report in
      try reader.forEachRow { rowID, _ in
        try add(reader, collector)
        let (record, isInBounds) = collector.endRow(rowID)
        guard isInBounds else {
          throw FullTextError.tooManyTokens(
            fullText: layout.name, field: layout.fieldNames[0], row: try reader.row().key)
        }
        if let record { try records.add(record, of: rowID) }
        try pieces.spillIfFull()
        done += 1
        if done % Self.reportedCount == 0 { try report(done, total) }
        return true
      }
    }
    try records.end()
  }

  /// Takes the tokens of the row in that a reader has come to.
  private func add(_ reader: FieldReader<Object, Metadata>, _ collector: PostingCollector) throws {
    let metadata = try fullText.fields.needsMetadata ? reader.row().metadata : nil
    try fullText.fields.forEachText(of: try reader.object(), metadata) { field, text in
      guard try collector.add(text, field: field, layout.tokenizer) else {
        throw FullTextError.tooManyTokens(
          fullText: layout.name, field: layout.fieldNames[field], row: try reader.row().key)
      }
    }
  }

  private func report(_ done: Int, _ total: Int) throws {
    try progress(Database.Progress(phase: .building, done: done, total: total))
  }

  // MARK: The end

  /// Stores everything, brings in what has happened to rows meanwhile, and makes the full text ready; or does nothing
  /// if all rows were removed at once meanwhile.
  private func finish(_ made: Made, _ clearCount: Int) throws {
    try database.write { tx in
      let upkeep = try upkeep(tx)
      let trees = upkeep.trees
      guard try trees.state == .building, try trees.clearCount == clearCount else { return }
      // Pages are full: what comes later touches few of them, and those are divided then.
      try trees.blocks.load(made.blocks, leafFill: 1)
      try trees.positions.load(made.positions, leafFill: 1)
      try trees.rows.load(made.records.rows, leafFill: 1)
      try trees.lengths.load(made.records.lengths, leafFill: 1)
      try trees.setTotalLength(made.records.totalLength)
      try trees.applyChangedRecords()
      try upkeep.setState(.ready)
    }
  }
}
