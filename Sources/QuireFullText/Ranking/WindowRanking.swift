// The best rows of a few phrases, of which all or any have to be there: only where limits allow a score that is needed.

internal import QuireDatabase

/// Finds the best rows of some lists, of those that are in all of them or in any.
///
/// Rows are divided into windows, at the ends of the blocks of all lists. No row of a window has a score above the sum
/// of the limits of the blocks in it. The windows with the highest limits come first, and those that are below the
/// score of the last row that is wanted are not read at all. In a window, rows that are in none but lists whose limits
/// together are below that score are passed over, too.
@safe struct WindowRanking {
  /// Rows behind those of the window before, up to one.
  private struct Window {
    var first: RowID
    var last: RowID
  }

  private let lists: [RankedList]
  private let needsAll: Bool
  private let rule: RankingRule
  private var lengths: LengthReader
  /// Keeps those of some rows that may be found at all; nil if all may. Rows are in no order from one call to the next.
  private let filter: ((inout [RowID]) throws -> Void)?
  private var windows: [Window] = []
  private var best: BestRows
  private var parts: [Part]
  /// The lists, in the order in which a row's score is put together.
  private var order: [Int]
  private var offered: [ScoredRow] = []

  /// A list in the window at hand.
  ///
  /// Its addresses are good as long as the list is asked for no other block: each list stands in one part.
  @safe private struct Part {
    /// The block that has rows there; negative if none has.
    var entry = -1
    /// No score there is above.
    var limit = 0.0
    /// How much the phrase says.
    let rarity: Double
    /// Whether rows are read that are in no list before this one.
    var leads = true
    var isOpen = false
    /// The rows of the block; the next one, and where those of the window end.
    var rows = unsafe UnsafeBufferPointer<RowID>(start: nil, count: 0)
    var place = 0
    var end = 0
    /// Nil before they are asked for.
    var frequencies: UnsafePointer<Double>?
    /// What the list counts in the row at hand; nil if that was not found out.
    var score: Double?

    /// The next row in the window; nil if there is none.
    @inline(__always) var next: RowID? { place < end ? unsafe rows[place] : nil }
  }

  init(
    _ lists: [RankedList], needsAll: Bool, _ rule: RankingRule, _ lengths: LengthReader, limit: Int,
    filter: ((inout [RowID]) throws -> Void)?
  ) {
    (self.lists, self.needsAll, self.rule, self.lengths, self.filter) = (lists, needsAll, rule, lengths, filter)
    best = BestRows(capacity: limit)
    parts = lists.map { unsafe Part(rarity: $0.rarity) }
    order = lists.indices.sorted { lists[$0].rowCount < lists[$1].rowCount }
  }

  /// The best rows, the best one first.
  mutating func run() throws -> [ScoredRow] {
    guard best.capacity > 0 else { return [] }
    var pulse = SearchPulse()
    var queue = WindowQueue(findWindows())
    while let (index, limit) = queue.next() {
      if limit < best.threshold { break }
      let count = best.count
      try read(windows[index])
      try pulse.beat(PostingForm.blockCount + best.count - count)
    }
    return best.sorted
  }

  // MARK: Windows

  /// Divides the rows, and returns the limit of each window.
  private mutating func findWindows() -> [Double] {
    var limits: [Double] = []
    var next = Array(repeating: 0, count: lists.count)
    var first = RowID(.min)
    while true {
      var last: RowID?
      for (index, list) in lists.enumerated() where next[index] < list.entries.count {
        last = last.map { min($0, list.entries[next[index]].lastRow) } ?? list.entries[next[index]].lastRow
      }
      guard let last else { return limits }
      var (limit, count) = (0.0, 0)
      for (index, list) in lists.enumerated() where next[index] < list.entries.count {
        let entry = list.entries[next[index]]
        if entry.firstRow <= last {
          limit += entry.limit
          count += 1
        }
        if entry.lastRow == last { next[index] += 1 }
      }
      if !needsAll || count == lists.count {
        windows.append(Window(first: first, last: last))
        limits.append(limit)
      }
      guard let behind = last.next else { return limits }
      first = behind
    }
  }

  // MARK: Reading

  private mutating func read(_ window: Window) throws {
    for index in lists.indices {
      let entries = lists[index].entries
      let entry = lists[index].firstEntry(endingAtOrAbove: window.first)
      let hasRows = entry < entries.count && entries[entry].firstRow <= window.last
      parts[index].isOpen = false
      (parts[index].entry, parts[index].limit) = hasRows ? (entry, entries[entry].limit) : (-1, 0)
    }
    offered.removeAll(keepingCapacity: true)
    if needsAll || lists.count == 1 {
      try readLed(by: order[0], window)
    } else {
      sortByLimit()
      chooseLeads()
      if parts[order[1]].leads { try readAny(window) } else { try readLed(by: order[0], window) }
    }
    try take()
  }

  /// Puts the lists with the highest limits first. Most often they are in order: each moves to its place by itself.
  private mutating func sortByLimit() {
    for place in 1..<order.count {
      let index = order[place]
      var target = place
      while target > 0, parts[order[target - 1]].limit < parts[index].limit {
        order[target] = order[target - 1]
        target -= 1
      }
      order[target] = index
    }
  }

  /// Finds out of which lists rows can be good enough that are in none before them.
  private mutating func chooseLeads() {
    var sum = 0.0
    for place in order.indices.reversed() {
      sum += parts[order[place]].limit
      parts[order[place]].leads = sum >= best.threshold
    }
  }

  /// Reads the rows of a list in the window, unless that was done.
  @inline(__always)
  private mutating func open(_ index: Int, _ window: Window) throws {
    if !parts[index].isOpen { try openUnread(index, window) }
  }

  @inline(never)
  private mutating func openUnread(_ index: Int, _ window: Window) throws {
    var part = parts[index]
    part.isOpen = true
    unsafe part.frequencies = nil
    if part.entry < 0 {
      (part.place, part.end) = (0, 0)
    } else {
      let rows = try unsafe lists[index].rows(at: part.entry)
      unsafe part.rows = unsafe rows
      part.place = unsafe rows.firstIndex(atOrAbove: window.first, from: 0)
      part.end = unsafe rows.lastIndex(atOrBelow: window.last, from: part.place)
    }
    parts[index] = part
  }

  /// Goes to a row in a list; false if it is not there. Rows are asked for in ascending order.
  private mutating func find(_ row: RowID, _ index: Int, _ window: Window) throws -> Bool {
    try open(index, window)
    guard let next = parts[index].next else { return false }
    if next < row {
      let found = unsafe parts[index].rows.firstIndex(atOrAbove: row, from: parts[index].place)
      parts[index].place = min(found, parts[index].end)
    }
    return parts[index].next == row
  }

  /// The weighted frequencies of the rows of a list that has rows in the window.
  @inline(__always)
  private mutating func frequencies(_ index: Int) throws -> UnsafePointer<Double> {
    if let known = unsafe parts[index].frequencies { return unsafe known }
    let read = try unsafe lists[index].frequencies(at: parts[index].entry)
    unsafe parts[index].frequencies = unsafe read
    return unsafe read
  }

  /// The score of the row that a list is at.
  private mutating func score(_ index: Int, norm: Double) throws -> Double {
    let frequency = try unsafe frequencies(index)[parts[index].place]
    return rule.score(parts[index].rarity, frequency, norm: norm)
  }

  /// Reads the rows of a list that have a score high enough with what the others allow: the only list, one of lists
  /// that all have to be there, or one that alone leads.
  private mutating func readLed(by lead: Int, _ window: Window) throws {
    try open(lead, window)
    guard parts[lead].place < parts[lead].end else { return }
    let (rows, frequencies, rarity) = try unsafe (parts[lead].rows, frequencies(lead), parts[lead].rarity)
    var others = 0.0
    for index in parts.indices where index != lead { others += parts[index].limit }
    var known = -Double.infinity
    var least = 0.0
    for place in parts[lead].place..<parts[lead].end {
      if best.threshold != known {
        known = best.threshold
        least = rule.leastFrequency(rarity, score: known - others)
      }
      let frequency = unsafe frequencies[place]
      if frequency < least { continue }
      let row = unsafe rows[place]
      let norm = rule.norm(length: try lengths.length(of: row))
      let score = rule.score(rarity, frequency, norm: norm)
      if rule.isBelow(score + others, known) { continue }
      parts[lead].score = score
      if lists.count > 1, try !findOthers(row, score + others, norm, lead, window) { continue }
      offer(row)
    }
  }

  /// Finds what the other lists count in a row; false if one is missing that has to be there, or if the score cannot be
  /// high enough.
  private mutating func findOthers(
    _ row: RowID, _ limit: Double, _ norm: Double, _ lead: Int, _ window: Window
  ) throws -> Bool {
    var rest = limit
    for place in 0..<order.count {
      let index = order[place]
      if index == lead { continue }
      parts[index].score = nil
      if try find(row, index, window) {
        let score = try score(index, norm: norm)
        parts[index].score = score
        rest += score - parts[index].limit
      } else {
        if needsAll { return false }
        rest -= parts[index].limit
      }
      if rule.isBelow(rest, best.threshold) { return false }
    }
    return true
  }

  /// Takes a row by the scores that the lists have found for it.
  private mutating func offer(_ row: RowID) {
    // Always in the same order, as sums of floating-point numbers depend on it.
    var score = 0.0
    for index in parts.indices { score += parts[index].score ?? 0 }
    if score < best.threshold { return }
    if filter == nil { best.offer(row, score) } else { offered.append(ScoredRow(row: row, score: score)) }
  }

  /// Reads the rows that are in any of several lists that lead.
  private mutating func readAny(_ window: Window) throws {
    for index in order where parts[index].leads { try open(index, window) }
    while true {
      var least: RowID?
      for place in 0..<order.count {
        let index = order[place]
        guard parts[index].leads, let row = parts[index].next else { continue }
        least = least.map { min($0, row) } ?? row
      }
      guard let row = least else { return }
      try score(row, window)
      for index in parts.indices where parts[index].leads && isAt(row, index) { parts[index].place += 1 }
    }
  }

  /// Takes a row that some of the lists are at if its score is high enough: it is put together list by list, as long as
  /// the limits of those that are left allow it to be.
  private mutating func score(_ row: RowID, _ window: Window) throws {
    var rest = 0.0
    for index in parts.indices where !parts[index].leads || isAt(row, index) { rest += parts[index].limit }
    if rule.isBelow(rest, best.threshold) { return }
    let norm = rule.norm(length: try lengths.length(of: row))
    for place in 0..<order.count {
      let index = order[place]
      parts[index].score = nil
      if parts[index].leads {
        guard isAt(row, index) else { continue }
      } else {
        guard try find(row, index, window) else {
          rest -= parts[index].limit
          if rule.isBelow(rest, best.threshold) { return }
          continue
        }
      }
      let score = try score(index, norm: norm)
      parts[index].score = score
      rest += score - parts[index].limit
      if rule.isBelow(rest, best.threshold) { return }
    }
    offer(row)
  }

  @inline(__always) private func isAt(_ row: RowID, _ index: Int) -> Bool { parts[index].next == row }

  /// Takes those of the rows that may be found.
  private mutating func take() throws {
    guard let filter, !offered.isEmpty else { return }
    offered.removeAll { $0.score < best.threshold }
    var rows = offered.map(\.row)
    try filter(&rows)
    var next = 0
    for scored in offered where next < rows.count && rows[next] == scored.row {
      best.offer(scored.row, scored.score)
      next += 1
    }
  }
}

/// Numbers of windows, those with the highest limits first: a heap.
struct WindowQueue {
  private struct Entry {
    var limit: Double
    var index: Int
  }

  private var heap: [Entry]

  init(_ limits: [Double]) {
    heap = limits.enumerated().map { Entry(limit: $1, index: $0) }
    for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { sink(index) }
  }

  /// The next window and its limit; nil if there is none.
  mutating func next() -> (index: Int, limit: Double)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink(0)
    }
    return (first.index, first.limit)
  }

  private mutating func sink(_ start: Int) {
    var index = start
    while true {
      var greatest = index
      for below in 2 * index + 1..<min(2 * index + 3, max(2 * index + 1, heap.count))
      where heap[below].limit > heap[greatest].limit {
        greatest = below
      }
      if greatest == index { return }
      heap.swapAt(greatest, index)
      index = greatest
    }
  }
}
