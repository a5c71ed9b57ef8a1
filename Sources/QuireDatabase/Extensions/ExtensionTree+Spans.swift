// Walking through many parts of a tree, of which some or most may be empty.

internal import QuireStorage

extension ExtensionTree where Key == [UInt8] {
  /// Calls `body` with the keys of the entries in some spans, in order, until it returns false, where they lie. Spans
  /// without entries cost next to nothing: from each entry the walk goes on at the first span that ends above it.
  ///
  /// An observed read counts as one of everything from the first span to the last.
  ///
  /// - Parameters:
  ///   - spans: in ascending order, none within another.
  ///   - body: may read, and change nothing; the bytes are good until it returns.
  /// - Throws: also what `body` throws, and `mutatedDuringIteration` if it has changed something.
  public func forEachKey(in spans: ByteSpans, _ body: (RawSpan) throws -> Bool) throws {
    try state.check()
    guard spans.count > 0 else { return }
    noteRead(from: spans.lower(0), upTo: spans.upper(spans.count - 1))
    switch backing {
    case .stored(let tree): try namingWalk { try state.forEachKey(in: tree, spans, body) }
    case .memory, .missing:
      var goesOn = true
      for index in 0..<spans.count where goesOn {
        try forEach(from: spans.lower(index), upTo: spans.upper(index)) { key, _ in
          goesOn = try body(key)
          return goesOn
        }
      }
    }
  }

  /// The number of entries in some spans. Costs as `forEachKey`, but of a span with many entries no more than O(log n).
  public func count(in spans: ByteSpans) throws -> Int {
    try state.check()
    guard spans.count > 0 else { return 0 }
    noteRead(from: spans.lower(0), upTo: spans.upper(spans.count - 1))
    switch backing {
    case .stored(let tree):
      var total = 0
      try namingWalk { total = try state.count(in: tree, spans) }
      return total
    case .memory, .missing:
      return try (0..<spans.count).reduce(0) { try $0 + count(from: spans.lower($1), upTo: spans.upper($1)) }
    }
  }
}

extension StorageTransaction {
  /// Calls `body` with the keys of a tree in some spans.
  fileprivate func forEachKey(in tree: Tree, _ spans: ByteSpans, _ body: (RawSpan) throws -> Bool) throws {
    var cursor = try cursor(tree)
    lentCount &+= 1
    defer { lentCount &-= 1 }
    var (next, upper) = (0, [UInt8]())
    while try advance(&cursor, spans, &next) {
      let goesOn =
        spans.copyUpper(next, to: &upper)
        ? try unsafe upper.withUnsafeBytes { try unsafe cursor.forEachKey(below: $0, body) }
        : try unsafe cursor.forEachKey(below: nil, body)
      if !goesOn { return }
      next += 1
    }
  }

  /// The number of entries of a tree in some spans.
  fileprivate func count(in tree: Tree, _ spans: ByteSpans) throws -> Int {
    var cursor = try cursor(tree)
    let treeCount = try count(of: tree)
    var (total, next, upper) = (0, 0, [UInt8]())
    while try advance(&cursor, spans, &next) {
      let isBounded = spans.copyUpper(next, to: &upper)
      let inSpan: Int
      if isBounded, let passed = try unsafe upper.withUnsafeBytes({ try unsafe cursor.skipInLeaf(below: $0) }) {
        inSpan = passed
      } else {
        // They end in another leaf: two ways down tell how many these are.
        inSpan = try (isBounded ? rank(upper, in: tree) : treeCount) - rank(spans.lower(next), in: tree)
      }
      // Spans are apart: together they have no more entries than the tree.
      guard inSpan >= 0, inSpan <= treeCount - total else { throw StorageError.keysOutOfOrder() }
      total += inSpan
      next += 1
    }
    return total
  }

  /// Goes to the first entry in span `next`, or in one behind it, which is the next one then; false if there is none.
  private func advance(_ cursor: inout Cursor, _ spans: ByteSpans, _ next: inout Int) throws -> Bool {
    while next < spans.count {
      let found = try unsafe spans.withLowerBytes(next) { lower in
        try unsafe cursor.advance(to: lower) { key in
          unsafe key.withUnsafeBytes { key in
            let index = unsafe spans.firstIndex(endingAbove: key, from: next)
            let isInside = unsafe index < spans.count && spans.begins(index, atOrBelow: key)
            return (index, isInside)
          }
        }
      }
      guard let (index, isInside) = found else { return false }
      // Of keys in order, the one that was found is not below the span that was looked for.
      guard index > next || isInside else { throw StorageError.keysOutOfOrder() }
      next = index
      if isInside { return true }
    }
    return false
  }
}
