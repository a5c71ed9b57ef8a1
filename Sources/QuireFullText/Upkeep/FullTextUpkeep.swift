// Keeping a full text as the rows are, in a write transaction.

internal import QuireDatabase

/// A full text in one write transaction, without the types of the rows.
///
/// Invariants, after each hook:
/// 1. Trees and `gathered` together say of every row that the extension follows what its tokens say; so do the trees
///    alone after `flush`.
/// 2. `before` has the tokens of rows that are about to change, as they are in the trees and in `gathered`.
final class FullTextUpkeep {
  let trees: FullTextTrees
  let form: PostingForm
  private(set) var state: FullTextTrees.State
  var folder: PostingFolder
  var layout: TextLayout { trees.layout }
  /// What has happened since the last `flush`.
  private(set) var gathered = GatheredPostings()
  /// How many entries "recent" has got that nobody has paid for.
  var recentlyWritten = 0
  /// The tokens of rows whose change was announced.
  private var before: [RowID: DocumentTerms] = [:]
  /// The keys of rows that are about to be inserted, while the full text is built.
  private var announced: Set<String> = []
  private var spare: [DocumentTerms] = []
  /// Marks of savepoints that go back to what is gathered now.
  private var marks: [WeakMark] = []

  /// So many documents that are not used are kept.
  private static let spareCount = 4
  /// Beyond so many bytes what is gathered is put into the trees.
  private static let gatheredByteCount = 4 << 20

  init(_ trees: FullTextTrees) throws {
    self.trees = trees
    form = trees.layout.form
    state = try trees.state
    folder = PostingFolder(trees)
  }

  // MARK: Building

  /// Begins anew with nothing, in a state.
  func begin(_ state: FullTextTrees.State) throws {
    try clear()
    try trees.store.removeValues(beginningWith: "")
    try trees.setDefinition(layout.definition)
    try setState(state)
  }

  /// Goes on in another state.
  func setState(_ state: FullTextTrees.State) throws {
    assert(gathered.isEmpty, "the meaning of what is gathered changes")
    try trees.setState(state)
    self.state = state
  }

  /// Takes in a row that was there before and has these texts.
  func build(_ row: RowID, _ key: String, _ forEachText: ((Int, RawSpan) throws -> Void) throws -> Void) throws {
    try withoutActuallyEscaping(forEachText) { try didChange(row, key, isInsert: true, $0) }
  }

  // MARK: Hooks

  /// A row is about to be inserted.
  func willInsert(_ key: String) {
    if state == .building { announced.insert(key) }
  }

  /// A row is about to change that has these texts.
  func willChange(
    _ row: RowID, _ key: String, _ forEachText: ((Int, RawSpan) throws -> Void) throws -> Void
  ) throws {
    // Of a change within a change the outer one was announced with the tokens that are stored. Of a row whose insert
    // was not heard of there are none.
    guard state != .unbuilt, before[row] == nil, !announced.contains(key) else { return }
    var document = spare.popLast() ?? DocumentTerms()
    try document.read(key, layout, forEachText)
    before[row] = document
  }

  /// A row has changed and has these texts now; nil if it is gone.
  ///
  /// - Throws: `FullTextError.foreignTokens` if its old texts have other tokens than those that are stored for it.
  func didChange(
    _ row: RowID, _ key: String, isInsert: Bool, _ forEachText: (((Int, RawSpan) throws -> Void) throws -> Void)?
  ) throws {
    guard state != .unbuilt else { return }
    let isNew = !announced.isEmpty && announced.remove(key) != nil
    var old = before.removeValue(forKey: row)
    if isInsert || isNew { old = nil }
    var new = spare.popLast() ?? DocumentTerms()
    try new.read(key, layout) { try forEachText?($0) }
    let stored = try stored(of: row)
    // Also where a change is told again, and nothing has changed since.
    let isSame = stored.record != nil && new.record == stored.record && (old == nil || old?.record == stored.record)
    if !isSame {
      try check(old, stored, row, key, isInsert: isInsert || isNew)
      // Where nothing is stored, nothing goes: of such a row no insert was heard.
      let hasOld = stored.record != nil || !stored.isKnown
      try change(row, from: hasOld ? old : nil, to: new, stored.record?.length ?? old?.record?.length ?? 0)
    }
    if spare.count < Self.spareCount {
      spare.append(new)
      if let old { spare.append(old) }
    }
    if gathered.byteCount > Self.gatheredByteCount { try flush() }
  }

  /// What is stored of a row; while the full text is built that is not known of all.
  private func stored(of row: RowID) throws -> (record: TextRecord?, isKnown: Bool) {
    if state == .ready { return (try trees.record(of: row), true) }
    let found = try trees.changed.withValue(for: row) { bytes in
      bytes.byteCount == 0 ? nil : try trees.record(bytes, of: row, inTree: FullTextTrees.changedName)
    }
    guard let found else { return (nil, false) }
    return (found, true)
  }

  /// Throws unless the tokens of a row before its change are those that are stored.
  private func check(
    _ old: DocumentTerms?, _ stored: (record: TextRecord?, isKnown: Bool), _ row: RowID, _ key: String, isInsert: Bool
  ) throws {
    guard let record = stored.record else { return }
    if isInsert {
      throw trees.damaged(FullTextTrees.rowsName, row.orderedBytes, "the row is new and has a record, “\(key)”")
    }
    guard old?.record == record else { throw FullTextError.foreignTokens(fullText: layout.name, row: key) }
  }

  /// Notes how the postings of a row differ from those before.
  private func change(_ row: RowID, from old: DocumentTerms?, to new: DocumentTerms, _ oldLength: UInt64) throws {
    let (oldLength, newLength) = (old == nil ? 0 : oldLength, new.record?.length ?? 0)
    // Blocks have limits of what their rows are made of: a row that is shorter than before may be beyond them.
    let isShorter = LengthCode.code(of: Int(clamping: newLength)) < LengthCode.code(of: Int(clamping: oldLength))
    let oldCount = old?.termCount ?? 0
    var (oldPlace, newPlace) = (0, 0)
    // Out of its place, where each look at it costs more.
    var waiting = GatheredPostings()
    swap(&waiting, &gathered)
    defer { swap(&waiting, &gathered) }
    while oldPlace < oldCount || newPlace < new.termCount {
      var order = oldPlace == oldCount ? 1 : -1
      if let old, oldPlace < oldCount, newPlace < new.termCount { order = old.order(oldPlace, beside: new, newPlace) }
      if order < 0, let old {
        waiting.add(old, oldPlace, row, goes: true)
        oldPlace += 1
        continue
      }
      var isNeeded = true
      if order == 0, let old {
        isNeeded = !new.hasSamePosting(newPlace, as: old, oldPlace, form)
        if !isNeeded, isShorter { isNeeded = try !isWithinLimits(new, newPlace, row) }
        oldPlace += 1
      }
      if isNeeded { waiting.add(new, newPlace, row, goes: order == 0, form) }
      newPlace += 1
    }
    if state == .building {
      try trees.changed.put(new.record?.bytes ?? [], for: row)
    } else {
      if let record = new.record {
        try trees.rows.put(record.bytes, for: row)
      } else if old != nil {
        try trees.rows.remove(row)
      }
      waiting.add(length: newLength, before: oldLength, of: row)
    }
  }

  /// Whether a row is within the limits of the block that has a posting of it, if one has, with the length that it has
  /// now.
  private func isWithinLimits(_ document: DocumentTerms, _ place: Int, _ row: RowID) throws -> Bool {
    // While it is built nobody knows the blocks, which may be made with the length before.
    guard state == .ready else { return false }
    let pair = LimitPair(frequency: document.frequency(place, form), length: Int(clamping: document.length))
    return try folder.isWithinLimits(pair, row, of: document.term(place))
  }

  /// Throws `damaged` unless `before` has the tokens that are stored. What the trees say of rows,
  /// `FullTextReader.verify` compares.
  func checkInvariants() throws {
    for (row, document) in before {
      let stored = try stored(of: row)
      guard stored.record == nil || stored.record == document.record else {
        throw trees.damaged(FullTextTrees.rowsName, row.orderedBytes, "the row was announced with other tokens")
      }
    }
    let marks = marks.compactMap(\.mark)
    assert(marks.allSatisfy { $0.kept == nil }, "a savepoint waits for what it has already")
  }

  // MARK: Into the trees

  /// Puts everything that was gathered into the trees.
  func flush() throws {
    guard !gathered.isEmpty else { return }
    keepForMarks()
    let waiting = gathered
    gathered = GatheredPostings()
    if state == .ready { try storeLengths(waiting) }
    try storePostings(waiting)
  }

  private func storeLengths(_ waiting: GatheredPostings) throws {
    guard !waiting.lengths.isEmpty else { return }
    folder.lengths.forget()
    var changed: [UInt64: LengthChunk] = [:]
    for (row, length) in waiting.lengths {
      let number = LengthChunk.number(of: row)
      var chunk = try changed[number] ?? folder.lengths.chunk(number)
      chunk[LengthChunk.place(of: row)] = UInt16(clamping: length)
      changed[number] = chunk
    }
    for (number, chunk) in changed.sorted(by: { $0.key < $1.key }) {
      let bytes = chunk.bytes
      if bytes.isEmpty {
        try trees.lengths.remove(LengthChunk.key(number))
      } else {
        try trees.lengths.put(bytes, for: LengthChunk.key(number))
      }
    }
    folder.lengths.forget()
    let (sum, overflow) = try trees.totalLength.addingReportingOverflow(waiting.totalAdded)
    guard !overflow, sum >= waiting.totalRemoved else {
      throw trees.damaged("values", [], "the total length is less than the lengths of the rows")
    }
    try trees.setTotalLength(sum - waiting.totalRemoved)
  }

  /// All rows were removed at once.
  func clear() throws {
    keepForMarks()
    gathered = GatheredPostings()
    before = [:]
    announced = []
    folder.lengths.forget()
    try trees.store.removeAllEntries()
    guard state != .unbuilt else { return }
    try trees.setTotalLength(0)
    if state == .building { try trees.setClearCount(trees.clearCount + 1) }
  }

  // MARK: Savepoints

  /// What `restore` goes back to.
  func makeMark() -> Any? {
    let mark = Mark(gathered.mark, before, announced, recentlyWritten)
    marks.removeAll { $0.mark == nil }
    marks.append(WeakMark(mark: mark))
    return mark
  }

  /// Goes back to a mark of a savepoint.
  func restore(_ mark: Any?) {
    guard let mark = mark as? Mark else { return }
    if let kept = mark.kept { gathered = kept }
    gathered.cut(to: mark.end)
    (before, announced, recentlyWritten) = (mark.before, mark.announced, mark.recentlyWritten)
    marks.removeAll { $0.mark == nil }
    folder.lengths.forget()
  }

  /// Has savepoints that are open keep what is gathered, before it is gone.
  private func keepForMarks() {
    for mark in marks { mark.mark?.kept = gathered }
    marks.removeAll()
  }

  private final class Mark {
    let end: GatheredPostings.Mark
    let before: [RowID: DocumentTerms]
    let announced: Set<String>
    let recentlyWritten: Int
    /// What was gathered when it was put into the trees; nil if it is gathered still.
    var kept: GatheredPostings?

    init(
      _ end: GatheredPostings.Mark, _ before: [RowID: DocumentTerms], _ announced: Set<String>, _ recentlyWritten: Int
    ) {
      (self.end, self.before, self.announced, self.recentlyWritten) = (end, before, announced, recentlyWritten)
    }
  }

  private struct WeakMark { weak var mark: Mark? }
}
