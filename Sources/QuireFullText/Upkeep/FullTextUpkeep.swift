// Keeping a full text as the rows are, in a write transaction.

internal import QuireDatabase

/// A full text in one write transaction, without the types of the rows.
///
/// Invariants, after each hook:
/// 1. Trees and `gathered` together say of every row that the extension follows what its tokens say; so do the trees
///    alone after `flush`.
/// 2. `before` has the texts of rows that are about to change, whose tokens are in the trees and in `gathered`.
final class FullTextUpkeep {
  let trees: FullTextTrees
  let form: PostingForm
  private(set) var state: FullTextTrees.State
  /// Made when something is folded first.
  private(set) lazy var folder = PostingFolder(trees, lengths)
  private let lengths: RowLengths
  var layout: TextLayout { trees.layout }
  /// What has happened since the last `flush`.
  private(set) var gathered = GatheredPostings()
  /// How many entries "recent" has got that nobody has paid for.
  var recentlyWritten = 0
  /// The texts of rows whose change was announced.
  private var before: [RowID: RowTexts] = [:]
  /// The keys of rows that are about to be inserted, while the full text is built.
  private var announced: Set<String> = []
  /// Marks of savepoints that go back to what is gathered now.
  private var marks: [WeakMark] = []

  /// Beyond so many bytes what is gathered is put into the trees.
  private static let gatheredByteCount = 4 << 20

  init(_ trees: FullTextTrees) throws {
    self.trees = trees
    form = trees.layout.form
    state = try trees.state
    lengths = RowLengths(trees)
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
    before[row] = try RowTexts(forEachText)
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
    let stored = try stored(of: row)
    var texts: RowTexts?
    if let old, let record = stored.record, state == .ready, let forEachText {
      let new = try RowTexts(forEachText)
      if new == old { return }
      if try edit(row, key, old, new, record) { return }
      texts = new
    }
    var new = SpareDocuments.take()
    try new.read(key, layout) { body in
      if let texts { try texts.forEachText(body) } else { try forEachText?(body) }
    }
    try replace(row, key, old, with: new, stored, isInsert: isInsert || isNew)
    SpareDocuments.give(new)
    if gathered.byteCount > Self.gatheredByteCount { try flush() }
  }

  /// Puts the tokens that a row has now in the place of those of its old texts.
  private func replace(
    _ row: RowID, _ key: String, _ oldTexts: RowTexts?, with new: DocumentTerms,
    _ stored: (record: TextRecord?, isKnown: Bool), isInsert: Bool
  ) throws {
    var old: DocumentTerms?
    if let oldTexts {
      var document = SpareDocuments.take()
      try document.read(key, layout, oldTexts.forEachText)
      old = document
    }
    // Also where a change is told again, and nothing has changed since.
    let isSame = stored.record != nil && new.record == stored.record && (old == nil || old?.record == stored.record)
    if !isSame {
      try check(old, stored, row, key, isInsert: isInsert)
      // Where nothing is stored, nothing goes: of such a row no insert was heard.
      let hasOld = stored.record != nil || !stored.isKnown
      try change(
        row, from: hasOld ? old : nil, to: new, new.record, stored.record?.length ?? old?.record?.length ?? 0)
    }
    if let old { SpareDocuments.give(old) }
  }

  /// Takes in a change of one text, of which only what differs is compared. Returns false, and has done nothing, if the
  /// change is another one, or if the row has become shorter: then limits are looked at of all its terms.
  private func edit(
    _ row: RowID, _ key: String, _ old: RowTexts, _ new: RowTexts, _ record: TextRecord
  ) throws -> Bool {
    guard let textEdit = new.edit(from: old) else { return false }
    let edit = try DocumentEdit(key, layout, new, before: old, textEdit, in: SpareDocuments.take())
    guard let newRecord = edit.newRecord, edit.oldRecord == record,
      LengthCode.code(of: Int(clamping: newRecord.length)) >= LengthCode.code(of: Int(clamping: record.length))
    else { return false }
    if newRecord != record {
      var (oldTerms, newTerms) = (SpareDocuments.take(), SpareDocuments.take())
      edit.copyChangedTerms(to: &oldTerms, &newTerms)
      try change(row, from: oldTerms, to: newTerms, newRecord, record.length)
      SpareDocuments.give(oldTerms)
      SpareDocuments.give(newTerms)
    }
    SpareDocuments.give(edit.takeMemory())
    if gathered.byteCount > Self.gatheredByteCount { try flush() }
    return true
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
  ///
  /// - Parameters:
  ///   - old: the terms before, or those that may differ.
  ///   - new: the terms now, or those that may differ.
  ///   - record: of all tokens now; nil if there are none.
  private func change(
    _ row: RowID, from old: DocumentTerms?, to new: DocumentTerms, _ record: TextRecord?, _ oldLength: UInt64
  ) throws {
    let (oldLength, newLength) = (old == nil ? 0 : oldLength, record?.length ?? 0)
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
      try trees.changed.put(record?.bytes ?? [], for: row)
    } else {
      if let record {
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
    for (row, texts) in before {
      let stored = try stored(of: row)
      var document = DocumentTerms()
      try document.read("\(row)", layout, texts.forEachText)
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
    lengths.forget()
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
    lengths.forget()
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
    lengths.forget()
    try trees.store.removeAllEntries()
    guard state != .unbuilt else { return }
    try trees.setTotalLength(0)
    try trees.setWalked(WalkedRows())
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
    lengths.forget()
  }

  /// Has savepoints that are open keep what is gathered, before it is gone.
  private func keepForMarks() {
    for mark in marks { mark.mark?.kept = gathered }
    marks.removeAll()
  }

  private final class Mark {
    let end: GatheredPostings.Mark
    let before: [RowID: RowTexts]
    let announced: Set<String>
    let recentlyWritten: Int
    /// What was gathered when it was put into the trees; nil if it is gathered still.
    var kept: GatheredPostings?

    init(
      _ end: GatheredPostings.Mark, _ before: [RowID: RowTexts], _ announced: Set<String>, _ recentlyWritten: Int
    ) {
      (self.end, self.before, self.announced, self.recentlyWritten) = (end, before, announced, recentlyWritten)
    }
  }

  private struct WeakMark { weak var mark: Mark? }
}
