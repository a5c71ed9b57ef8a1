// Walking an index in the order that a query asks for.

internal import QuireDatabase

/// A path whose entries are in the order of a query, forwards or backwards.
struct OrderedPath {
  let path: AccessPath
  let isReversed: Bool
  /// Whether entries that are equal in the order have keys that are equal but for the row's number.
  let isWhole: Bool
}

extension IndexView {
  /// How a path gives an order; nil if it does not.
  func ordered(_ path: AccessPath, by order: [KeyColumn]) -> OrderedPath? {
    guard path.isOrdered, path.isDistinct, !order.isEmpty else { return nil }
    let columns = list.indexes[path.index].columns
    let fixed = Set(columns.prefix(path.fixedColumns).map(\.column.id))
    let asked = order.filter { !fixed.contains($0.column.id) }
    let own = columns.dropFirst(path.fixedColumns)
    // Where nothing is left to be ordered by, rows of all spans are equal, and no span has all of them.
    guard !asked.isEmpty || path.spans.count == 1 else { return nil }
    guard asked.count <= own.count, zip(asked, own).allSatisfy({ $0.column.id == $1.column.id }) else { return nil }
    let turned = zip(asked, own).map { $0.isDescending != $1.isDescending }
    guard Set(turned).count <= 1 else { return nil }
    return OrderedPath(path: path, isReversed: turned.first ?? false, isWhole: asked.count == own.count)
  }

  /// The rows of a path in its order, from some place on and no more than the limit; nil if the order is not to be
  /// trusted.
  func rowIDs(_ ordered: OrderedPath, by order: [KeyColumn], from offset: Int, limit: Int) throws -> [RowID]? {
    var found: [RowID] = []
    let isTrusted = try walk(ordered, by: order, from: offset) { rowID in
      found.append(rowID)
      return found.count < limit
    }
    return isTrusted ? found : nil
  }

  /// Calls `body` with the rows of a path in its order, those that are equal in it in the order of their numbers, until
  /// it returns false. Returns false without having come to an end if an entry may hold a value that was cut: then the
  /// order of keys need not be that of values.
  func walk(
    _ ordered: OrderedPath, by order: [KeyColumn], from offset: Int,
    _ body: (RowID) throws -> Bool
  ) throws -> Bool {
    let tree = try trees.tree(ordered.path.index)
    if case .many(let spans, _) = ordered.path.spans, ordered.isWhole, !ordered.isReversed, offset == 0 {
      return try walkForwards(tree, spans, body)
    }
    var skipped = offset
    let spans = ordered.path.spans.list
    for span in ordered.isReversed ? spans.reversed() : spans {
      if ordered.isWhole, !ordered.isReversed, skipped == 0 {
        guard let isDone = try walkForwards(tree, span, body) else { return false }
        if isDone { return true }
        continue
      }
      let count = try trees.count(span, in: ordered.path.index)
      if skipped >= count {
        skipped -= count
        continue
      }
      let start = try tree.reading(from: span.lower, upTo: span.upper) {
        span.lower.isEmpty ? 0 : try tree.rank(of: span.lower)
      }
      switch try walkRuns(tree, span, ordered, order, start..<start + count, &skipped, body) {
      case .untrusted: return false
      case .done: return true
      case .behind: continue
      }
    }
    return true
  }

  /// How a walk through runs ended: with an entry that may hold a value that was cut, with what the caller wanted, or
  /// behind the last one.
  private enum RunEnd { case untrusted, done, behind }

  private func walkRuns(
    _ tree: ExtensionTree<[UInt8]>, _ span: KeySpan, _ ordered: OrderedPath, _ order: [KeyColumn],
    _ ranks: Range<Int>, _ skipped: inout Int, _ body: (RowID) throws -> Bool
  ) throws -> RunEnd {
    var walk = RunWalk(
      tree: tree, trees: trees, index: ordered.path.index, ranks: ranks, isReversed: ordered.isReversed)
    let prefix = { (rowID: RowID) throws in try self.prefix(of: rowID, ordered, order) }
    // Ranks count as a look at the span alone; what the caller reads of the rows of a run is noted by itself.
    func next() throws -> RunWalk.Run? {
      try tree.reading(from: span.lower, upTo: span.upper) {
        try walk.next(ordered.isWhole ? nil : prefix, skipping: skipped)
      }
    }
    while let run = try next() {
      guard !run.mayBeCut else { return .untrusted }
      for rowID in run.rowIDs.dropFirst(run.skippedInside) where try !body(rowID) { return .done }
      skipped = 0
    }
    return .behind
  }

  /// Calls `body` with the rows of the entries of many spans until it returns false. Returns false if an entry may hold
  /// a value that was cut.
  private func walkForwards(
    _ tree: ExtensionTree<[UInt8]>, _ spans: ByteSpans, _ body: (RowID) throws -> Bool
  ) throws -> Bool {
    var isTrusted = true
    try tree.forEachKey(in: spans) { key in
      guard key.byteCount < IndexKey.columnByteCount + IndexKey.rowIDByteCount, let rowID = IndexKey.rowID(key) else {
        isTrusted = false
        return false
      }
      return try body(rowID)
    }
    return isTrusted
  }

  /// Calls `body` with the rows of the entries of a span until it returns false. Whether it did so; nil if an entry may
  /// hold a value that was cut.
  private func walkForwards(
    _ tree: ExtensionTree<[UInt8]>, _ span: KeySpan, _ body: (RowID) throws -> Bool
  ) throws -> Bool? {
    var (isDone, isTrusted) = (false, true)
    try tree.forEach(from: span.lower, upTo: span.upper, limit: 16) { key, _ in
      guard key.byteCount < IndexKey.columnByteCount + IndexKey.rowIDByteCount, let rowID = IndexKey.rowID(key) else {
        isTrusted = false
        return false
      }
      isDone = try !body(rowID)
      return !isDone
    }
    return isTrusted ? isDone : nil
  }

  /// The bytes that the keys of all rows begin with that are equal to one row in the order.
  private func prefix(
    of rowID: RowID, _ ordered: OrderedPath, _ order: [KeyColumn]
  ) throws -> [UInt8] {
    let columns = list.indexes[ordered.path.index].columns
    let fixed = ordered.path.fixedColumns
    let fixedIDs = Set(columns.prefix(fixed).map(\.column.id))
    let asked = columns.dropFirst(fixed).prefix(order.count { !fixedIDs.contains($0.column.id) })
    assert(asked.allSatisfy { $0.column.id.kind == .value }, "an order asks for one of several elements")
    // Not of the record: it does not tell which of several elements is fixed.
    let prefix = try trees.records.withValue(for: rowID) { bytes in
      try withRecord(rowID, bytes) { record in
        asked.reduce(into: ordered.path.fixedPrefix) { $0 += $1.keyBytes(value($1.column.id, record)) }
      }
    }
    guard let prefix else { throw noRecord(rowID) }
    return prefix
  }
}

/// Goes through the entries of a range of ranks in runs of those that are equal in an order.
private struct RunWalk {
  struct Run {
    /// In the order of their numbers.
    let rowIDs: [RowID]
    /// How many at the front were to be skipped.
    let skippedInside: Int
    let mayBeCut: Bool
  }

  let tree: ExtensionTree<[UInt8]>
  /// Make the errors for entries that cannot be.
  let trees: IndexTrees
  let index: Int
  /// What is still to come.
  var ranks: Range<Int>
  let isReversed: Bool

  /// The next run, after as many rows as `skipping` says; nil at the end.
  ///
  /// - Parameter prefix: gives the bytes with which the keys of a row's run begin; without it these are the key's own
  ///   but for the row's number.
  mutating func next(_ prefix: ((RowID) throws -> [UInt8])?, skipping: Int) throws -> Run? {
    guard skipping < ranks.count else { return nil }
    let rank = isReversed ? ranks.upperBound - 1 - skipping : ranks.lowerBound + skipping
    let cursor = try tree.cursor()
    guard try cursor.seek(toIndex: rank), let key = cursor.key else { return nil }
    guard let rowID = IndexKey.rowID(key) else { throw trees.shortKey(in: index) }
    let begin = try prefix?(rowID) ?? Array(key.dropLast(IndexKey.rowIDByteCount))
    // Else the run would be elsewhere.
    guard key.starts(with: begin) else { throw trees.otherKey(rowID, in: index) }
    let mayBeCut = key.count >= IndexKey.columnByteCount + IndexKey.rowIDByteCount
    let low = max(ranks.lowerBound, try tree.rank(of: begin))
    let high = min(ranks.upperBound, try begin.endOfPrefix.map { try tree.rank(of: $0) } ?? ranks.upperBound)
    // Where keys are out of order, or counts wrong, a run may seem to be elsewhere than its entry.
    guard low <= rank, rank < high else { throw trees.otherKey(rowID, in: index) }
    let run = low..<high
    assert(run.upperBound <= ranks.upperBound, "a run ends behind what is still to come")
    let skippedInside: Int
    if isReversed {
      skippedInside = skipping - (ranks.upperBound - run.upperBound)
      ranks = ranks.lowerBound..<run.lowerBound
    } else {
      skippedInside = rank - run.lowerBound
      ranks = run.upperBound..<ranks.upperBound
    }
    var rowIDs: [RowID] = []
    rowIDs.reserveCapacity(min(run.count, RowFinder.mostReserved))
    let start = run.lowerBound == rank ? key : try firstKey(cursor, at: run.lowerBound)
    try tree.forEach(from: start, upTo: nil, limit: run.count) { key, _ in
      guard let rowID = IndexKey.rowID(key) else { throw trees.shortKey(in: index) }
      rowIDs.append(rowID)
      return rowIDs.count < run.count
    }
    if prefix != nil { rowIDs.sort() }
    return Run(rowIDs: rowIDs, skippedInside: skippedInside, mayBeCut: mayBeCut)
  }

  private func firstKey(_ cursor: ExtensionCursor<[UInt8]>, at rank: Int) throws -> [UInt8] {
    guard try cursor.seek(toIndex: rank), let key = cursor.key else { throw trees.shortKey(in: index) }
    return key
  }
}
