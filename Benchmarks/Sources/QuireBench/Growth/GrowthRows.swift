// The rows of stores that outgrow memory: each can be made alone, from its number.

internal import Foundation
internal import QuireTesting

/// Rows of 24 random bytes of key and 150 of value, without end.
///
/// The bytes are those that a `RowBlock` of the same seed has: what a `SeededRandom` gives after any number of draws is
/// known without drawing, because each draw adds the same to its state.
struct GrowthRows: Sendable {
  static let rowByteCount = RowBlock.keyByteCount + 150
  private static let stateStep: UInt64 = 0x9e37_79b9_7f4a_7c15
  /// Words that a row touches at the most: it may begin and end within one.
  private static let wordsPerRow = (rowByteCount + 7) / 8 + 1

  let seed: UInt64
  /// Where the values come from once they have been updated.
  private var seedOfUpdates: UInt64 { seed &+ 0x5eed }

  /// Which of a row's two values.
  enum Version { case first, updated }

  /// Runs `body` with the key and the value of a row, side by side.
  @inline(__always)
  func withRow<Result>(
    _ index: Int, _ version: Version = .first, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(byteCount: Self.wordsPerRow * 8, alignment: 8) { words in
      let start = index * Self.rowByteCount
      let rowSeed = version == .first ? seed : seedOfUpdates
      var random = SeededRandom(seed: rowSeed &+ Self.stateStep &* UInt64(start / 8))
      for offset in stride(from: 0, to: words.count, by: 8) {
        words.storeBytes(of: random.next(), toByteOffset: offset, as: UInt64.self)
      }
      let first = start % 8
      return body(UnsafeRawBufferPointer(rebasing: words[first..<(first + Self.rowByteCount)]))
    }
  }

  /// Writes a row; the key is the same in both versions.
  func fill(_ index: Int, _ version: Version, _ target: UnsafeMutableRawBufferPointer) {
    withRow(index, version) { target.copyMemory(from: $0) }
    if version == .updated { fillKey(index, target) }
  }

  /// Writes the key of a row.
  func fillKey(_ index: Int, _ target: UnsafeMutableRawBufferPointer) {
    withRow(index) { row in
      target.copyMemory(from: UnsafeRawBufferPointer(rebasing: row[..<RowBlock.keyByteCount]))
    }
  }

  /// What stores add up for the value of a row.
  func valueSum(_ index: Int, _ version: Version = .first) -> UInt64 {
    withRow(index, version) { QuireBench.sum(of: UnsafeRawBufferPointer(rebasing: $0[RowBlock.keyByteCount...])) }
  }

  /// The first eight bytes of a key: with rows as many as any disk holds they decide the order of keys.
  func head(_ index: Int) -> UInt64 { withRow(index) { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) } }

  /// The rows of `range`.
  func block(_ range: Range<Int>) -> RowBlock {
    RowBlock(count: range.count) { fill(range.lowerBound + $0, .first, $1) }
  }

  /// Rows by their numbers.
  func block(_ indices: [Int], _ version: Version = .first) -> RowBlock {
    RowBlock(count: indices.count) { fill(indices[$0], version, $1) }
  }

  /// The rows of `range` with keys that ascend over all `count` rows: the head of each is its number, spread over all
  /// numbers there are, and the rest is as random as ever.
  func sortedBlock(_ range: Range<Int>, of count: Int) -> RowBlock {
    let gap = UInt64.max / UInt64(count)
    return RowBlock(count: range.count) { place, target in
      fill(range.lowerBound + place, .first, target)
      target.storeBytes(of: (UInt64(range.lowerBound + place) &* gap).bigEndian, as: UInt64.self)
    }
  }

  /// The keys of rows by their numbers.
  func keys(_ indices: [Int]) -> KeyList { KeyList(count: indices.count) { fillKey(indices[$0], $1) } }

  /// What a store holds that holds the rows of `range` and no others.
  func contents(_ range: Range<Int>) -> Contents {
    Contents(count: range.count, sum: range.reduce(0) { $0 &+ valueSum($1) })
  }
}

/// All numbers below a count, each once, in an order that jumps about.
struct ShuffledNumbers: Sendable {
  let count: Int
  private let step: Int

  /// The numbers below `count`, which must be positive.
  init(count: Int) {
    self.count = count
    // The golden section, as far as it shares no divisor with the count.
    var step = max(1, Int(Double(count) * 0.618_033_988_749_895))
    while Self.greatestDivisor(step, count) != 1 { step += 1 }
    self.step = step
  }

  /// The number at a place of the order.
  subscript(place: Int) -> Int { place % count * step % count }

  private static func greatestDivisor(_ first: Int, _ second: Int) -> Int {
    var (large, small) = (first, second)
    while small != 0 { (large, small) = (small, large % small) }
    return large
  }
}

/// Numbers below a count, drawn so that few of them are drawn often: the one of rank r as often as 1 / r^0.99 says.
struct SkewedNumbers {
  private static let exponent = 0.01
  private let order: ShuffledNumbers
  private let span: Double
  private var random: SeededRandom

  /// Draws numbers below `count`; equal seeds give equal numbers. Ranks are spread over the numbers.
  init(count: Int, seed: UInt64) {
    order = ShuffledNumbers(count: count)
    span = pow(Double(count), Self.exponent) - 1
    random = SeededRandom(seed: seed)
  }

  /// The next number: the inverse of the distribution, which is taken as continuous.
  mutating func next() -> Int {
    let share = Double(random.next() >> 11) / 9_007_199_254_740_992
    let rank = Int(pow(1 + span * share, 1 / Self.exponent)) - 1
    return order[min(max(0, rank), order.count - 1)]
  }
}

/// Ranges of rows in key order with the sum that they must give, known without any store and without all keys in
/// memory.
struct GrowthRanges {
  static let length = 10
  /// How many times the mean distance of keys is looked at beyond a start: fewer than ten rows in there do not happen.
  private static let window: UInt64 = 64

  /// The rows at which `count` ranges begin.
  static func starts(_ count: Int, of rows: Int, seed: UInt64) -> [Int] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in random.below(rows) }
  }

  /// The sum of all values of the ranges that begin at the rows `starts`, in a store of the first `count` rows.
  /// O(n log of the number of starts), and memory for 64 rows per start.
  static func sum(_ rows: GrowthRows, count: Int, starts: [Int]) -> UInt64 {
    let heads = starts.map { rows.head($0) }.sorted()
    guard !heads.isEmpty else { return 0 }
    let reach = UInt64.max / UInt64(count) >= UInt64.max / window ? UInt64.max : UInt64.max / UInt64(count) * window
    var near: [(head: UInt64, index: Int)] = []
    for index in 0..<count {
      let head = rows.head(index)
      let below = partition(heads.count) { heads[$0] > head }
      if below > 0, head - heads[below - 1] <= reach { near.append((head, index)) }
    }
    near.sort { $0.head < $1.head }
    var total: UInt64 = 0
    for head in heads {
      let first = partition(near.count) { near[$0].head >= head }
      for row in near[first..<min(first + length, near.count)] { total &+= rows.valueSum(row.index) }
    }
    return total
  }

  /// The first number below `count` for which `isBeyond` holds, which then holds for all that follow; `count` if none.
  private static func partition(_ count: Int, _ isBeyond: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBeyond(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
