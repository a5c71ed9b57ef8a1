// How inputs are changed: the fuzzer's own ways, on a part that somebody chooses.

import QuireTesting

/// One change of an input.
struct Mutation {
  /// Random choices of this change.
  var random: SeededRandom
  /// How long the result may be.
  let limit: Int
  /// The fuzzer's change of some bytes, which may become so many.
  private let change: ([UInt8], Int) -> [UInt8]

  init(seed: UInt64, limit: Int, _ change: @escaping ([UInt8], Int) -> [UInt8]) {
    random = SeededRandom(seed: seed)
    self.limit = limit
    self.change = change
  }

  /// One time in so many.
  mutating func isOneIn(_ count: Int) -> Bool { random.oneIn(count) }

  /// Whether checksums are mended: three times of four, so that bytes get behind them.
  mutating func mends() -> Bool { !random.oneIn(4) }

  /// A change of all bytes.
  func whole(_ bytes: [UInt8]) -> [UInt8] { change(bytes, limit) }

  /// A change of the bytes of a range, in the place of which the result stands.
  ///
  /// - Parameter keepsLength: whether it is cut or filled with zeros to the length that it had.
  func part(_ range: Range<Int>, of bytes: [UInt8], keepsLength: Bool = false) -> [UInt8] {
    let room = keepsLength ? range.count : max(range.count, limit - (bytes.count - range.count))
    var changed = change(Array(bytes[range]), max(1, room))
    if keepsLength {
      changed = Array(changed.prefix(range.count))
      changed += [UInt8](repeating: 0, count: range.count - changed.count)
    }
    var result = bytes
    result.replaceSubrange(range, with: changed)
    return Array(result.prefix(limit))
  }

  /// A range inside of `range`, of at most so many bytes.
  mutating func piece(of range: Range<Int>, atMost most: Int) -> Range<Int> {
    guard !range.isEmpty else { return range }
    let start = range.lowerBound + random.below(range.count)
    return start..<min(range.upperBound, start + 1 + random.below(most))
  }
}
