// Changes of postings that wait in memory.

internal import QuireDatabase

/// What has happened to postings since they were last put into the trees: in the order in which it happened.
///
/// It only grows, until all of it is taken, so that going back to a savepoint cuts off its end.
struct GatheredPostings {
  /// One thing that has happened to the posting of a row.
  struct Change {
    /// The first eight bytes of the term as a number that has their order.
    let prefix: UInt64
    /// Where the term is in `bytes`; the value of the posting that comes stands behind it.
    let start: Int
    let row: RowID
    let byteCount: UInt8
    /// Whether the posting that was there is void.
    let goes: Bool
    /// How many bytes the value of the posting has that comes; negative if none does.
    let valueCount: Int
  }

  /// Where the end was.
  struct Mark: Hashable {
    fileprivate let changeCount: Int
    fileprivate let byteCount: Int
    fileprivate let lengthCount: Int
    fileprivate let totalAdded: UInt64
    fileprivate let totalRemoved: UInt64
  }

  private(set) var changes: [Change] = []
  private var bytes: [UInt8] = []
  /// Lengths that rows have got; of one that is there twice the last one counts.
  private(set) var lengths: [(row: RowID, length: UInt64)] = []
  /// The lengths that were added to that of all rows, and taken away from it.
  private(set) var totalAdded: UInt64 = 0
  private(set) var totalRemoved: UInt64 = 0

  var isEmpty: Bool { changes.isEmpty && lengths.isEmpty && totalAdded == 0 && totalRemoved == 0 }

  /// About how many bytes of memory it takes.
  var byteCount: Int {
    bytes.count + changes.count * MemoryLayout<Change>.stride + lengths.count * 16
  }

  // MARK: Adding

  /// Makes room for the changes of a few rows at once, if there are none yet.
  private mutating func makeRoom() {
    guard changes.isEmpty else { return }
    changes.reserveCapacity(64)
    bytes.reserveCapacity(1 << 10)
  }

  /// Notes that the posting of a row goes, of the term at a place of the row as it was.
  mutating func add(_ document: DocumentTerms, _ place: Int, _ row: RowID, goes: Bool) {
    makeRoom()
    let start = bytes.count
    unsafe document.withTerm(place) { unsafe bytes.append(contentsOf: $0) }
    changes.append(
      Change(
        prefix: document.prefix(place), start: start, row: row, byteCount: UInt8(bytes.count - start), goes: goes,
        valueCount: -1))
  }

  /// Notes that a posting of a row comes, of the term at a place of the row as it is now.
  ///
  /// - Parameter goes: whether there was one.
  mutating func add(_ document: DocumentTerms, _ place: Int, _ row: RowID, goes: Bool, _ form: PostingForm) {
    makeRoom()
    let start = bytes.count
    unsafe document.withTerm(place) { unsafe bytes.append(contentsOf: $0) }
    let valueStart = bytes.count
    document.appendValue(place, to: &bytes, form)
    changes.append(
      Change(
        prefix: document.prefix(place), start: start, row: row, byteCount: UInt8(valueStart - start), goes: goes,
        valueCount: bytes.count - valueStart))
  }

  /// Notes that a row has got another length.
  mutating func add(length: UInt64, before: UInt64, of row: RowID) {
    if length == before { return }
    lengths.append((row, length))
    totalAdded += length
    totalRemoved += before
  }

  // MARK: Savepoints

  var mark: Mark {
    Mark(
      changeCount: changes.count, byteCount: bytes.count, lengthCount: lengths.count, totalAdded: totalAdded,
      totalRemoved: totalRemoved)
  }

  /// Forgets what has come since.
  mutating func cut(to mark: Mark) {
    assert(mark.changeCount <= changes.count && mark.byteCount <= bytes.count, "a mark is behind the end")
    changes.removeLast(changes.count - mark.changeCount)
    bytes.removeLast(bytes.count - mark.byteCount)
    lengths.removeLast(lengths.count - mark.lengthCount)
    (totalAdded, totalRemoved) = (mark.totalAdded, mark.totalRemoved)
  }

  // MARK: In order

  /// Calls `body` with the key that a change has in "recent".
  @inline(__always)
  func withRecentKey<Result>(_ change: Change, isAdded: Bool, _ body: (RawSpan) throws -> Result) rethrows -> Result {
    let count = Int(change.byteCount)
    return try unsafe withUnsafeTemporaryAllocation(byteCount: count + 10, alignment: 8) { key in
      unsafe bytes.withUnsafeBytes {
        unsafe key.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[change.start..<change.start + count]))
      }
      unsafe key[count] = 0
      unsafe key[count + 1] = isAdded ? 1 : 2
      unsafe key.storeBytes(of: change.row.ordered.bigEndian, toByteOffset: count + 2, as: UInt64.self)
      return try unsafe body(UnsafeRawBufferPointer(key).bytes)
    }
  }

  /// The term of a change.
  func term(_ change: Change) -> ArraySlice<UInt8> { bytes[change.start..<change.start + Int(change.byteCount)] }

  /// Calls `body` with the value of the posting that comes by a change.
  func withValue<Result>(_ change: Change, _ body: (RawSpan) throws -> Result) rethrows -> Result {
    let start = change.start + Int(change.byteCount)
    assert(change.valueCount >= 0, "a posting that comes has no value")
    return try unsafe body(bytes.span.bytes.extracting(start..<start + change.valueCount))
  }

  /// Calls `body` with the changes of each term, in the order of terms: one for each row, in the order of rows, which
  /// says how the posting is now beside how it was before all of them.
  func forEachTerm(_ body: (_ term: ArraySlice<UInt8>, _ changes: ArraySlice<Change>) throws -> Void) rethrows {
    let ordered = netChanges()
    var start = 0
    while start < ordered.count {
      var end = start + 1
      while end < ordered.count, hasSameTerm(ordered[start], ordered[end]) { end += 1 }
      try body(term(ordered[start]), ordered[start..<end])
      start = end
    }
  }

  private func hasSameTerm(_ left: Change, _ right: Change) -> Bool {
    left.prefix == right.prefix && left.byteCount == right.byteCount
      && (left.byteCount <= 8 || term(left) == term(right))
  }

  /// The changes in the order of terms and rows, those of one posting put together.
  private func netChanges() -> [Change] {
    let order = orderedIndexes()
    var net: [Change] = []
    net.reserveCapacity(changes.count)
    for index in order {
      let change = changes[Int(index)]
      if let last = net.last, last.row == change.row, hasSameTerm(last, change) {
        // The first one says whether something was there, the last one what is there now.
        net.removeLast()
        guard last.goes || change.valueCount >= 0 else { continue }
        net.append(
          Change(
            prefix: change.prefix, start: change.start, row: change.row, byteCount: change.byteCount, goes: last.goes,
            valueCount: change.valueCount))
      } else {
        net.append(change)
      }
    }
    return net
  }

  /// The indexes of the changes in the order of terms, of rows, and of what has happened.
  private func orderedIndexes() -> [Int32] {
    // A row brings its terms in order.
    if changes.indices.dropFirst().allSatisfy({ precedes($0 - 1, $0) }) { return changes.indices.map { Int32($0) } }
    var order = changes.indices.map { (prefix: changes[$0].prefix, index: Int32($0)) }
    order.sort {
      $0.prefix != $1.prefix ? $0.prefix < $1.prefix : precedes(Int($0.index), Int($1.index))
    }
    return order.map(\.index)
  }

  /// Whether one change comes before another one: by term, then by row, then as they have happened.
  private func precedes(_ left: Int, _ right: Int) -> Bool {
    let (first, second) = (changes[left], changes[right])
    if first.prefix != second.prefix { return first.prefix < second.prefix }
    if first.byteCount > 8 || second.byteCount > 8 {
      let order = unsafe bytes.withUnsafeBytes { bytes in
        unsafe ByteOrder.compare(
          UnsafeRawBufferPointer(rebasing: bytes[first.start..<first.start + Int(first.byteCount)]),
          UnsafeRawBufferPointer(rebasing: bytes[second.start..<second.start + Int(second.byteCount)]))
      }
      if order != 0 { return order < 0 }
    } else if first.byteCount != second.byteCount {
      return first.byteCount < second.byteCount
    }
    if first.row != second.row { return first.row < second.row }
    return left < right
  }
}
