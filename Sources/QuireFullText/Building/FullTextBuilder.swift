// Building a full text from the rows that are there, in bounded memory.

internal import QuireDatabase
internal import QuireText

/// Builds a full text that is not ready.
///
/// A first, short write transaction empties everything; from then on hooks note what changes in "recent" and "changed",
/// which say how rows differ from what they were then. Read transactions take the tokens of all rows in, as many each
/// time as memory has room for, and what they have made of them a write transaction puts into "parts", with how far
/// they have come. One more read transaction makes blocks of all parts, in order. A last write transaction stores these
/// page by page, and makes the full text ready. Until then no search sees anything.
///
/// When building is stopped, or after a crash, it goes on behind the last part. What fits into memory is no part, and
/// is read again. Where all rows are removed at once meanwhile, it begins anew.
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
    while let course = try begin() {
      guard let made = try make(course) else { continue }
      try report(made.rowCount, made.rowCount)
      try finish(made, course)
    }
  }

  // MARK: The beginning

  /// What building goes by from one transaction to the next.
  private struct Course {
    /// How often all rows had been removed at once when it began.
    let clearCount: Int
    /// What is stored in parts.
    var walked: WalkedRows
  }

  /// Goes on with what was begun, or empties everything, and has hooks note what changes from here on; nil if the full
  /// text is ready.
  private func begin() throws -> Course? {
    // Nothing is written where nothing is to be done.
    let (isReady, course) = try database.read { tx -> (Bool, Course?) in
      let trees = try trees(tx)
      let state = try trees.state
      guard state == .building, try trees.definition == layout.definition else { return (state == .ready, nil) }
      return (false, Course(clearCount: try trees.clearCount, walked: try trees.walked))
    }
    if isReady || course != nil { return course }
    return try database.write { tx in
      let upkeep = try upkeep(tx)
      try upkeep.begin(.building)
      return Course(clearCount: try upkeep.trees.clearCount, walked: WalkedRows())
    }
  }

  /// Whether the full text is on the same course still in a transaction.
  private func isOn(_ course: Course, _ trees: FullTextTrees) throws -> Bool {
    try trees.state == .building && trees.clearCount == course.clearCount
  }

  // MARK: The rows

  /// What is made of the rows, sorted.
  private struct Made {
    let blocks: ExtensionSorter<[UInt8]>
    let positions: ExtensionSorter<[UInt8]>
    /// The records of all rows; nil if they are stored.
    let records: RowRecords?
    /// How many rows there were.
    let rowCount: Int
  }

  /// What is made of some rows, sorted.
  private struct Part {
    let pieces: ExtensionSorter<[UInt8]>
    let records: RowRecords
    /// How far the walk has come with them.
    let walked: WalkedRows
    let isLast: Bool
  }

  /// What a walk has come to.
  private enum Step {
    case part(Part)
    /// There are rows, and no parts of them.
    case all(Made)
    /// There are no more rows than the parts have.
    case end
    /// All rows were removed at once since the beginning.
    case cleared
  }

  /// Makes everything of the rows; nil if all rows were removed at once since the beginning.
  private func make(_ begun: Course) throws -> Made? {
    var course = begun
    // Rows that come while it builds are stored by who writes them. They have the highest numbers: once so many rows
    // have been walked through as there are now, what is left is theirs, however fast they come.
    let limit = try course.walked.rowCount + database.read { $0[fullText.collection].count }
    let collector = PostingCollector(layout.form, byteLimit: fullText.building.gatheredByteCount)
    while true {
      let total = try database.read { $0[fullText.collection].count }
      try report(min(course.walked.rowCount, total), total)
      switch try step(course, collector, limit: limit) {
      case .cleared: return nil
      case .all(let made): return made
      case .end: return try merge(course)
      case .part(let part):
        guard try store(part, course) else { return nil }
        course.walked = part.walked
        if part.isLast {
          try report(total, total)
          return try merge(course)
        }
      }
    }
  }

  /// Takes rows of a snapshot in, and makes a part of them, or all that there is to make where they are all rows.
  private func step(_ course: Course, _ collector: PostingCollector, limit: Int) throws -> Step {
    let memory = Self.sortedByteCount
    return try database.read { tx in
      let trees = try trees(tx)
      guard try isOn(course, trees) else { return .cleared }
      let records = RowRecords(
        rows: try database.sorter(of: RowID.self, memory: memory / 4),
        lengths: try database.sorter(of: [UInt8].self, memory: memory / 4),
        above: course.walked.last == nil ? nil : RowLengths(trees))
      let rows = tx[fullText.collection]
      let total = rows.count
      var walked = course.walked
      collector.removeAll()
      let isLast = try collect(rows, total, records, collector, &walked, limit: limit)
      let changes = try trees.recent.count == 0 ? nil : SnapshotChanges(trees)
      if isLast, course.walked.partCount == 0 {
        var (maker, made) = try makeMaker(changes, records, rowCount: total)
        var stream = PostingStream()
        var termCount = 0
        unsafe try collector.forEachTerm { term, parts in
          var parts = parts
          try unsafe maker.begin(term)
          stream.begin()
          try unsafe maker.add(&stream) { unsafe parts.next() }
          termCount += 1
          if termCount % Self.reportedCount == 0 { try report(total, total) }
        }
        try maker.end()
        return .all(made)
      }
      if walked == course.walked { return .end }
      guard walked.partCount < UInt32.max else { throw trees.damaged("values", [], "there are too many parts") }
      let sorter = try database.sorter(of: [UInt8].self, memory: 2 * memory)
      var pieces = PostingPieces(layout.form, sorter, changes: changes)
      try pieces.append(collector, part: UInt32(walked.partCount))
      walked.partCount += 1
      return .part(Part(pieces: sorter, records: records, walked: walked, isLast: isLast))
    }
  }

  /// Takes the tokens of rows in, until there are no more, or memory is full; returns whether these were the last ones.
  private func collect(
    _ rows: some RowReading<Object, Metadata>, _ total: Int, _ records: RowRecords, _ collector: PostingCollector,
    _ walked: inout WalkedRows, limit: Int
  ) throws -> Bool {
    let reader = FieldReader(rows, halves: fullText.fields.needsMetadata ? [.object, .metadata] : .object)
    let byteLimit = fullText.building.gatheredByteCount
    var (now, isFull, isLast) = (walked, false, true)
    try withoutActuallyEscaping(report) { report in
      try reader.forEachRow(above: now.last ?? RowID(.min)) { rowID, _ in
        if now.rowCount >= limit { return false }
        if isFull {
          isLast = false
          return false
        }
        try add(reader, collector)
        let (record, isInBounds) = collector.endRow(rowID)
        guard isInBounds else {
          throw FullTextError.tooManyTokens(
            fullText: layout.name, field: layout.fieldNames[0], row: try reader.row().key)
        }
        if let record { try records.add(record, of: rowID) }
        now.last = rowID
        now.rowCount += 1
        if now.rowCount % Self.reportedCount == 0 { try report(min(now.rowCount, total), total) }
        isFull = collector.byteCount >= byteLimit
        return true
      }
    }
    try records.end()
    walked = now
    return isLast
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

  // MARK: Parts

  /// Stores a part; false, and it does nothing, if all rows were removed at once meanwhile.
  private func store(_ part: Part, _ course: Course) throws -> Bool {
    try database.write { tx in
      let trees = try upkeep(tx).trees
      guard try isOn(course, trees) else { return false }
      try trees.parts.load(part.pieces, leafFill: 1)
      try store(part.records, trees)
      try trees.setWalked(part.walked)
      return true
    }
  }

  /// Makes blocks of all parts; nil if all rows were removed at once meanwhile.
  private func merge(_ course: Course) throws -> Made? {
    try database.read { tx in
      let trees = try trees(tx)
      guard try isOn(course, trees) else { return nil }
      let total = tx[fullText.collection].count
      let changes = try trees.recent.count == 0 ? nil : SnapshotChanges(trees)
      var (maker, made) = try makeMaker(changes, nil, rowCount: total)
      var merger = try PartMerger(trees)
      try merger.makeBlocks(&maker) { try report(total, total) }
      return made
    }
  }

  private func makeMaker(
    _ changes: SnapshotChanges?, _ records: RowRecords?, rowCount: Int
  ) throws -> (BlockMaker, Made) {
    let made = Made(
      blocks: try database.sorter(of: [UInt8].self, memory: Self.sortedByteCount),
      positions: try database.sorter(of: [UInt8].self, memory: Self.sortedByteCount), records: records,
      rowCount: rowCount)
    return (BlockMaker(layout.form, blocks: made.blocks, positions: made.positions, changes: changes), made)
  }

  // MARK: The end

  /// Stores everything, brings in what has happened to rows meanwhile, and makes the full text ready; or does nothing
  /// if all rows were removed at once meanwhile.
  private func finish(_ made: Made, _ course: Course) throws {
    try database.write { tx in
      let upkeep = try upkeep(tx)
      let trees = upkeep.trees
      guard try isOn(course, trees) else { return }
      // Pages are full: what comes later touches few of them, and those are divided then.
      try trees.blocks.load(made.blocks, leafFill: 1)
      try trees.positions.load(made.positions, leafFill: 1)
      if let records = made.records {
        try store(records, trees)
      } else {
        try trees.parts.removeAll()
        try trees.setWalked(WalkedRows())
      }
      try trees.applyChangedRecords()
      try upkeep.setState(.ready)
    }
  }

  /// Stores the records and lengths of rows that were walked past.
  private func store(_ records: RowRecords, _ trees: FullTextTrees) throws {
    try trees.rows.load(records.rows, leafFill: 1)
    try trees.lengths.load(records.lengths, leafFill: 1)
    let (sum, overflow) = try trees.totalLength.addingReportingOverflow(records.totalLength)
    guard !overflow else { throw trees.damaged("values", [], "the total length is more than there can be") }
    try trees.setTotalLength(sum)
  }
}
