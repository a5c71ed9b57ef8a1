// Rows with a phrase of single terms.

internal import QuireDatabase

/// A phrase of single terms.
///
/// Rows that have all of the terms are found first, as far as the blocks at hand reach; positions are read of these
/// alone.
final class ScannedPhrase: PlacedRows {
  /// One for each term, however often it stands in the phrase.
  private let scans: [TermScan]
  private let shape: PhraseShape
  /// The terms, those of the fewest rows first.
  private let order: [Int]
  private let fields: FieldMask
  /// Reads blocks as they are stored.
  private let reader: PlainPhraseReader
  /// Rows that have all terms, and where each is in the blocks of the terms.
  private let rows = RawBuffer<RowID>()
  private let columns: [RawBuffer<Int32>]
  /// Which of the rows are in the block of the term that is looked for.
  private let hits = RawBuffer<Int32>()
  /// The fields in which each of the rows has all terms.
  private let masks = RawBuffer<FieldMask>()
  /// Where the row at hand is in the block of each term.
  private let indexes = RawBuffer<Int>()
  // Unchecked: for one thread, and no closure changes what a call around it reads.
  /// Whether the scans are where `rows` were found.
  @exclusivity(unchecked) private var isCurrent = false
  /// Where the phrase begins in the row at hand.
  @exclusivity(unchecked) private var places: [FieldPlace] = []
  /// The same in one field.
  private let starts = RawBuffer<UInt32>()
  @exclusivity(unchecked) private var pulse = SearchPulse()

  /// - Parameters:
  ///   - phrase: its elements are single terms.
  ///   - scan: makes what reads the postings of a term; called once for each.
  init(_ phrase: TermPhrase, fields: FieldMask, _ scan: ([UInt8]) throws -> TermScan) rethrows {
    let shape = PhraseShape(phrase)
    let scans = try shape.distinctTerms.map(scan)
    (self.shape, self.scans, self.fields) = (shape, scans, fields)
    reader = PlainPhraseReader(scans, shape)
    order = scans.indices.sorted { scans[$0].rowCount < scans[$1].rowCount }
    columns = scans.map { _ in RawBuffer() }
    for _ in scans { indexes.append(0) }
  }

  var limit: Int { scans[order[0]].rowCount }

  // MARK: Rows with all terms

  func fillCandidates(_ batch: inout [RowID], from first: RowID) throws {
    batch.removeAll(keepingCapacity: true)
    let lead = scans[order[0]]
    var first = first
    while try lead.seek(first) {
      let block = lead.block
      var next = lead.index
      let isMore = try unsafe gather(block.rows, &next, from: 1)
      if rows.count > 0 {
        unsafe batch.append(contentsOf: rows.values)
        return
      }
      guard isMore, let behind = next < block.count ? block.row(next) : block.lastRow?.next else { return }
      first = behind
    }
    unsafe isCurrent = false
  }

  /// Finds the next rows that have all terms, as far as the blocks at hand reach.
  ///
  /// - Parameters:
  ///   - driver: rows that ascend: of no others it is found out. Without a term of `order` before `from`.
  ///   - next: the first of them that is of interest; in the end the first that was not looked at.
  ///   - from: in `order`, the first term that has to be looked for; the block of one before it is the driver.
  /// - Returns: false if no rows are left behind those that were found.
  private func gather(_ driver: UnsafeBufferPointer<RowID>, _ next: inout Int, from: Int) throws -> Bool {
    rows.removeAll()
    unsafe isCurrent = true
    while next < driver.count {
      try unsafe pulse.beat(order.count)
      let row = unsafe driver[next]
      // Where all blocks have rows.
      var (first, last) = unsafe (row, driver[driver.count - 1])
      for place in from..<order.count {
        let scan = scans[order[place]]
        guard try scan.seek(row) else { return false }
        first = max(first, scan.block.row(scan.index))
        last = min(last, scan.block.row(scan.block.count - 1))
      }
      next = unsafe driver.firstIndex(atOrAbove: first, from: next)
      if first > last { continue }
      let end = unsafe driver.lastIndex(atOrBelow: last, from: next)
      try unsafe pulse.beat((end - next) * order.count)
      unsafe intersect(driver, next..<end, from)
      next = end
      if rows.count > 0 { return true }
    }
    return true
  }

  /// Finds the rows of a part of the driver that are in the blocks of all terms.
  private func intersect(_ driver: UnsafeBufferPointer<RowID>, _ range: Range<Int>, _ from: Int) {
    let count = range.count
    rows.removeAll(reserving: count)
    if count == 0 { return }
    unsafe rows.base.update(from: driver.baseAddress.unsafelyUnwrapped + range.lowerBound, count: count)
    rows.setCount(count)
    if from > 0 {
      let column = columns[order[0]]
      column.removeAll(reserving: count)
      let base = unsafe column.base
      for index in 0..<count { unsafe base[index] = Int32(truncatingIfNeeded: range.lowerBound &+ index) }
      column.setCount(count)
    }
    for place in from..<order.count where rows.count > 0 { keepCommon(place) }
  }

  /// Keeps those rows that are in the block of a term, and notes where.
  private func keepCommon(_ place: Int) {
    let (scan, column, count) = (scans[order[place]], columns[order[place]], rows.count)
    let (others, start) = unsafe (scan.block.rows, scan.index)
    column.removeAll(reserving: count)
    let (target, mine) = unsafe (column.base, rows.base)
    var (kept, index, other) = (0, 0, start)
    if place == 0 || place == 1 && !isFar(count, others.count - start) {
      // Step by step, without branches that cannot be foreseen.
      let first = place == 0 ? nil : columns[order[0]]
      let theirs = unsafe first?.base
      while index < count, other < others.count {
        let (row, otherRow) = unsafe (mine[index], others[other])
        unsafe mine[kept] = row
        unsafe target[kept] = Int32(truncatingIfNeeded: other)
        if let theirs = unsafe theirs { unsafe theirs[kept] = unsafe theirs[index] }
        kept &+= row == otherRow ? 1 : 0
        index &+= row <= otherRow ? 1 : 0
        other &+= otherRow <= row ? 1 : 0
      }
      first?.setCount(kept)
    } else {
      hits.removeAll(reserving: count)
      let from = unsafe hits.base
      while index < count {
        let row = unsafe mine[index]
        other = unsafe others.firstIndex(atOrAbove: row, from: other)
        if other == others.count { break }
        unsafe mine[kept] = row
        unsafe target[kept] = Int32(truncatingIfNeeded: other)
        unsafe from[kept] = Int32(truncatingIfNeeded: index)
        kept &+= unsafe others[other] == row ? 1 : 0
        index &+= 1
      }
      // Where all stay, they are where they were: of a thousand words most have nothing to say.
      if kept < count { unsafe keep(from, kept, before: place) }
    }
    rows.setCount(kept)
    column.setCount(kept)
  }

  /// Leaves in the columns in front of a term what `from` says, by its indexes.
  private func keep(_ from: UnsafePointer<Int32>, _ kept: Int, before place: Int) {
    for before in 0..<place {
      let column = columns[order[before]]
      let base = unsafe column.base
      for index in 0..<kept { unsafe base[index] = unsafe base[Int(from[index])] }
      column.setCount(kept)
    }
  }

  /// Whether so few rows are looked for among so many that looking for each is less than going through all.
  private func isFar(_ count: Int, _ otherCount: Int) -> Bool { count * 8 < otherCount }

  // MARK: Rows with the phrase

  func find(_ row: RowID, _ places: inout [FieldPlace]) throws {
    unsafe isCurrent = false
    places.removeAll(keepingCapacity: true)
    for term in order {
      let scan = scans[term]
      guard try scan.seek(row), scan.block.row(scan.index) == row else { return }
      unsafe indexes.base[term] = scan.index
    }
    var common = fields
    for (term, scan) in scans.enumerated() {
      try scan.block.readFrequencies()
      common &= unsafe scan.block.mask(indexes.base[term])
    }
    if try hasPhrase(common, true) { places += unsafe self.places }
  }

  func keep(_ batch: inout [RowID]) throws { try keep(&batch, allPlaces: false) { _, _ in } }

  func keep(_ batch: inout [RowID], _ body: (RowID, [FieldPlace]) throws -> Void) throws {
    try keep(&batch, allPlaces: true, body)
  }

  private func keep(
    _ batch: inout [RowID], allPlaces: Bool, _ body: (RowID, [FieldPlace]) throws -> Void
  ) throws {
    guard let first = batch.first, let last = batch.last else { return }
    var kept = 0
    // Most often these are the rows that were told last.
    if unsafe isCurrent && rows.count > 0 && rows.base[0] <= first && rows.base[rows.count - 1] >= last {
      var next = 0
      try keepFound(&batch, &kept, &next, allPlaces, body)
    } else {
      let wanted = batch
      try unsafe wanted.withUnsafeBufferPointer { wanted in
        var next = 0
        var isMore = true
        while isMore, next < wanted.count {
          isMore = try unsafe gather(wanted, &next, from: 0)
          var place = 0
          if rows.count > 0 { try keepFound(&batch, &kept, &place, allPlaces, body) }
        }
      }
      unsafe isCurrent = false
    }
    batch.removeSubrange(kept...)
  }

  /// Puts those rows of `rows` that have the phrase, and are in the batch from `next` on, behind the first `kept` ones
  /// of the batch.
  private func keepFound(
    _ batch: inout [RowID], _ kept: inout Int, _ next: inout Int, _ allPlaces: Bool,
    _ body: (RowID, [FieldPlace]) throws -> Void
  ) throws {
    try unsafe pulse.beat(rows.count * scans.count)
    try findCommonFields()
    if batch.count != rows.count { leaveOut(batch, &next) }
    let isPlain = scans.allSatisfy(\.block.isPlain)
    if isPlain && !allPlaces {
      try reader.keep(columns, masks)
      return keepMasked(&batch, &kept)
    }
    if isPlain { try reader.readPositions(columns, masks) }
    for index in 0..<rows.count {
      let common = unsafe masks.base[index]
      if common == 0 { continue }
      for term in 0..<columns.count { unsafe indexes.base[term] = Int(columns[term].base[index]) }
      guard try isPlain ? findPlainPlaces(common) : hasPhrase(common, allPlaces) else { continue }
      let row = unsafe rows.base[index]
      if allPlaces { try body(row, unsafe places) }
      batch[kept] = row
      kept += 1
    }
  }

  /// Puts those of the rows that have a mask behind the first `kept` rows of the batch.
  private func keepMasked(_ batch: inout [RowID], _ kept: inout Int) {
    let (count, masks, rows) = unsafe (rows.count, masks.base, rows.base)
    kept = unsafe batch.withUnsafeMutableBufferPointer { batch in
      var next = kept
      for index in 0..<count where unsafe masks[index] != 0 {
        unsafe batch[next] = rows[index]
        next &+= 1
      }
      return next
    }
  }

  /// Leaves out those of the rows that are not in the batch from `next` on.
  private func leaveOut(_ batch: [RowID], _ next: inout Int) {
    for index in 0..<rows.count {
      let row = unsafe rows.base[index]
      next = batch.firstIndex(atOrAbove: row, from: next)
      if next == batch.count || batch[next] != row { unsafe masks.base[index] = 0 }
    }
  }

  /// Finds the fields in which all terms are, for each of the rows.
  private func findCommonFields() throws {
    let count = rows.count
    masks.removeAll(reserving: count)
    masks.setCount(count)
    let target = unsafe masks.base
    unsafe target.update(repeating: fields, count: count)
    for (term, scan) in scans.enumerated() {
      let (block, column) = unsafe (scan.block, columns[term].base)
      try block.readFrequencies()
      if block.isPlain {
        let view = block.view
        for index in 0..<count { unsafe target[index] &= view.mask(Int(column[index])) }
      } else {
        for index in 0..<count { unsafe target[index] &= block.mask(Int(column[index])) }
      }
    }
  }

  /// Finds the places of the phrase in the row at hand, in some fields, in which all terms are: in blocks as they are
  /// stored, whose positions were read. False if there are none.
  private func findPlainPlaces(_ common: FieldMask) throws -> Bool {
    unsafe places.removeAll(keepingCapacity: true)
    var common = common
    while common != 0 {
      let field = common.trailingZeroBitCount
      common &= common &- 1
      let starts = try unsafe reader.starts(indexes.base, field, isOne: false)
      appendStarts(starts, field)
    }
    return unsafe !places.isEmpty
  }

  private func appendStarts(_ starts: RawBuffer<UInt32>, _ field: Int) {
    for index in 0..<starts.count {
      unsafe places.append(FieldPlaces.place(field: field, position: starts.base[index]))
    }
  }

  /// Whether the row at hand has the phrase in some fields, in which all terms are.
  ///
  /// - Parameter allPlaces: whether to find all places; if not, one does.
  private func hasPhrase(_ common: FieldMask, _ allPlaces: Bool) throws -> Bool {
    if allPlaces { unsafe places.removeAll(keepingCapacity: true) }
    var (common, isFound) = (common, false)
    while common != 0 {
      let field = common.trailingZeroBitCount
      common &= common - 1
      try findStarts(field)
      if starts.count == 0 { continue }
      if !allPlaces { return true }
      isFound = true
      appendStarts(starts, field)
    }
    return isFound
  }

  /// Finds where the phrase begins in a field that all terms have.
  private func findStarts(_ field: Int) throws {
    let starts = starts
    starts.removeAll()
    if let matcher = shape.matcher, try findStarts(matcher, field) { return }
    let first = shape.terms[0]
    try unsafe scans[first].block.forEachPosition(indexes.base[first], field) { position in
      if shape.isAtStart && position > 0 { return false }
      starts.append(position)
      return true
    }
    for element in 1..<max(1, shape.terms.count) where starts.count > 0 {
      let term = shape.terms[element]
      try unsafe pulse.beat(starts.count)
      try starts.keepStarts(followedAt: shape.offsets[element], isOne: false) { body in
        try unsafe scans[term].block.forEachPosition(indexes.base[term], field, body)
      }
    }
  }

  /// The same of a phrase whose terms repeat, all of whose tokens are looked at once; false if that does not tell.
  private func findStarts(_ matcher: SequenceMatcher, _ field: Int) throws -> Bool {
    matcher.removeAll()
    for (term, scan) in scans.enumerated() {
      try unsafe scan.block.forEachPosition(indexes.base[term], field) { position in
        matcher.add(position, term)
        return true
      }
    }
    try unsafe pulse.beat(matcher.count)
    return matcher.findStarts(starts, isAtStart: shape.isAtStart, isOne: false)
  }
}
