// Packed numbers that are read in stretches.

@testable import QuireFullText
import QuireTesting
import Testing

@Suite("Packed numbers") struct PackedCursorTests {
  @Test("Stretches have the numbers that were packed, whatever is left out between them", arguments: [false, true])
  func stretches(_ maySplit: Bool) throws {
    var random = SeededRandom(seed: maySplit ? 1 : 2)
    for trial in 0..<TestSize.trials(2_000, least: 400) {
      let numbers = Self.numbers(&random)
      let bytes = Self.packed(numbers, maySplit: maySplit)
      let ranges = Self.ranges(numbers.count, &random)
      let found = try #require(Self.read(bytes, numbers.count, ranges), "trial \(trial)")
      #expect(found == ranges.map { Array(numbers[$0]) }, "trial \(trial)")
    }
  }

  @Test("Bits that flip below a cursor end in a refusal or in other numbers", arguments: [false, true])
  func flips(_ maySplit: Bool) {
    var random = SeededRandom(seed: maySplit ? 3 : 4)
    for _ in 0..<TestSize.trials(2_000, least: 300) {
      let numbers = Self.numbers(&random)
      var bytes = Self.packed(numbers, maySplit: maySplit)
      let layout = Self.layout(bytes, numbers.count)
      // The layout has checked other bytes than those that are read.
      for _ in 0..<1 + random.below(8) { bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8)) }
      if random.oneIn(4) { bytes.removeLast(random.below(bytes.count)) }
      let ranges = Self.ranges(numbers.count, &random)
      if let layout, let found = Self.read(layout, bytes, ranges) { #expect(found.map(\.count) == ranges.map(\.count)) }
    }
  }

  /// Numbers of some width, of which a few may be large.
  private static func numbers(_ random: inout SeededRandom) -> [UInt64] {
    let (width, count) = (UInt64(random.below(58)), [1, 2, 15, 16, 17, 127, 1 + random.below(700)][random.below(7)])
    let share = 2 + random.below(40)
    return (0..<count).map { _ in
      let bits = random.oneIn(share) ? min(63, width + UInt64(random.below(20))) : width
      return random.next() & (1 << bits - 1)
    }
  }

  private static func packed(_ numbers: [UInt64], maySplit: Bool) -> [UInt8] {
    let builder = ByteBuilder()
    unsafe numbers.withUnsafeBufferPointer { unsafe PackedNumbers.append($0, maySplit: maySplit, to: builder) }
    return builder.copied
  }

  /// Stretches that ascend, with nothing or something between them, and empty ones among them.
  private static func ranges(_ count: Int, _ random: inout SeededRandom) -> [Range<Int>] {
    var (ranges, next): ([Range<Int>], Int) = ([], 0)
    while next < count {
      let start = min(count, next + (random.oneIn(2) ? 0 : random.below(200)))
      next = min(count, start + random.below(40))
      ranges.append(start..<next)
      if ranges.count > 200 { break }
    }
    return ranges
  }

  private static func layout(_ bytes: [UInt8], _ count: Int) -> PackedLayout? {
    unsafe bytes.withUnsafeBytes { bytes in
      var reader = unsafe ByteReader(bytes)
      return PackedLayout(&reader, count: count)
    }
  }

  private static func read(_ bytes: [UInt8], _ count: Int, _ ranges: [Range<Int>]) -> [[UInt64]]? {
    layout(bytes, count).flatMap { read($0, bytes, ranges) }
  }

  private static func read(_ layout: PackedLayout, _ bytes: [UInt8], _ ranges: [Range<Int>]) -> [[UInt64]]? {
    unsafe bytes.withUnsafeBytes { bytes in
      guard var cursor = unsafe PackedCursor(layout, bytes) else { return nil }
      var found: [[UInt64]] = []
      for range in ranges {
        var isRead = true
        let numbers = unsafe [UInt64](unsafeUninitializedCapacity: max(1, range.count)) { target, count in
          if let base = target.baseAddress { isRead = unsafe cursor.read(range, into: base) }
          count = range.count
        }
        guard isRead else { return nil }
        found.append(numbers)
      }
      return found
    }
  }
}
