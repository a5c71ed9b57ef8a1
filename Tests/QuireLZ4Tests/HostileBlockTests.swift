// Blocks that nobody has encoded: each is refused or is what it says, and nothing outside is touched.

import QuireLZ4
import QuireTesting
import Testing

@Suite struct HostileBlockTests {
  /// Five literals, which end a block.
  static let end: [UInt8] = [0x50, 1, 2, 3, 4, 5]

  @Test("Matches may overlap what they make, at every distance", arguments: 1...40)
  func matchesOverlap(distance: Int) {
    let pattern = (1...distance).map { UInt8($0) }
    for length in [4, 5, 7, 8, 9, 15, 16, 17, 18, 19, 31, 33, 64, 100, 273, 274] {
      // Twelve bytes more, so that the match may begin where it does.
      let value = pattern + (0..<length).map { pattern[$0 % distance] }
      #expect(decoded(Self.block(pattern, distance, length), value.count + 12) == value + Self.last)
      // The same where the pattern is the dictionary.
      #expect(
        decoded(Self.block([], distance, length), length + 12, dictionary: pattern)
          == value.dropFirst(distance) + Self.last)
    }
  }

  private static let last = (1...12).map { UInt8($0) }

  /// A block of literals, a match, and twelve literals.
  private static func block(_ literals: [UInt8], _ distance: Int, _ length: Int) -> [UInt8] {
    func more(_ count: Int) -> [UInt8] {
      count < 15 ? [] : [UInt8](repeating: 255, count: (count - 15) / 255) + [UInt8((count - 15) % 255)]
    }
    let token = UInt8(min(15, literals.count) << 4 | min(15, length - 4))
    return [token] + more(literals.count) + literals + [UInt8(distance), 0] + more(length - 4) + [0xc0] + last
  }

  @Test(
    "A block that breaks a rule is refused",
    arguments: [
      // No sequence, and none that ends.
      ([], 0), ([], 5), ([0x10], 1), ([0x50, 1, 2, 3, 4], 5), ([0xf0], 15), ([0xf0, 255], 270), ([0xf0, 255, 255], 20),
      // Nothing is exactly one token.
      ([0, 0], 0), ([1], 0), ([0x10, 1], 0),
      // More or less than is wanted, and bytes behind the end.
      ([0x10, 1], 2), ([0x20, 1, 2], 1), ([0x10, 1, 0], 1), ([0x10, 1, 0x10, 2], 2),
      // An offset of 0, and ones that lead in front of the value.
      ([0x1f, 7, 0, 0, 0, 0x50, 7, 7, 7, 7, 7], 25), ([0x13, 7, 2, 0] + end, 13), ([0x03, 1, 0] + end, 12),
      ([0x13, 7, 255, 255] + end, 13),
      // A match that begins within the last twelve bytes, or ends within the last five.
      ([0x12, 7, 1, 0] + end, 12), ([0x15, 7, 1, 0, 0x30, 1, 2, 3], 13), ([0x18, 7, 1, 0, 0], 13),
      ([0x1c, 7, 1, 0] + end, 21),
      // No offset, half of one, no length, no last literals.
      ([0x13, 7], 13), ([0x13, 7, 1], 13), ([0x1f, 7, 1, 0], 25), ([0x1f, 7, 1, 0, 255], 280), ([0x13, 7, 1, 0], 8),
    ] as [([UInt8], Int)])
  func ruleIsKept(block: [UInt8], byteCount: Int) {
    #expect(decoded(block, byteCount) == nil)
  }

  @Test("Lengths without end are refused before they are added up")
  func endlessLengths() {
    let many = [UInt8](repeating: 255, count: 100_000)
    #expect(decoded([0xf0] + many, 1_000) == nil)
    #expect(decoded([0x1f, 7, 1, 0] + many + Self.end, 1_000) == nil)
  }

  @Test("A dictionary is referred to up to its beginning, and no further")
  func dictionaryHasABeginning() {
    let dictionary = Content.noise.bytes(300)
    func block(_ offset: Int) -> [UInt8] { [0x04, UInt8(offset & 255), UInt8(offset >> 8), 0xc0] + Self.last }
    #expect(decoded(block(300), 20, dictionary: dictionary) == dictionary.prefix(8) + Self.last)
    #expect(decoded(block(301), 20, dictionary: dictionary) == nil)
    let repeated = (0..<8).map { dictionary[297 + $0 % 3] }
    #expect(decoded(block(3), 20, dictionary: dictionary) == repeated + Self.last)
  }

  @Test("Every block that is cut short is refused")
  func cutBlocksAreRefused() throws {
    let value = Content.text.bytes(700)
    let block = try #require(encoded(value))
    for byteCount in 0..<block.count { #expect(decoded(Array(block.prefix(byteCount)), value.count) == nil) }
  }

  @Test("Every length but the right one is refused")
  func wrongLengthsAreRefused() throws {
    let value = Content.text.bytes(300)
    let block = try #require(encoded(value))
    for byteCount in 0..<600 where byteCount != 300 { #expect(decoded(block, byteCount) == nil) }
  }

  @Test("Noise touches nothing outside")
  func noiseIsHarmless() {
    var random = SeededRandom(seed: 11)
    let dictionary = Content.text.bytes(100)
    for _ in 0..<TestSize.trials(200_000, divisor: 50) {
      let block = Content.noise.bytes(random.below(40), seed: random.next())
      // The borders are looked at in there.
      _ = decoded(block, random.below(80), dictionary: random.oneIn(2) ? dictionary : [])
    }
  }
}
