// What counts as read of the trees of extensions.

import QuireTesting
import Testing

@testable import QuireDatabase

@Suite struct TreeReadsTests {
  @Test("Parts of trees overlap as their keys do")
  func partsOverlap() {
    var random = SeededRandom(seed: 11)
    for _ in 0..<3000 {
      func interval() -> ByteInterval {
        let (one, two) = (UInt8(random.below(40)), UInt8(random.below(40)))
        if random.below(9) == 0 { return ByteInterval(lower: [one], upper: nil) }
        return random.below(2) == 0 ? ByteInterval([one]) : ByteInterval(lower: [min(one, two)], upper: [max(one, two)])
      }
      let lists = (0..<2).map { _ in (0..<random.below(5)).map { _ in interval() } }
      var parts = [TreeParts(), TreeParts()]
      for (index, list) in lists.enumerated() { for one in list { parts[index].insert(one, limit: 100) } }
      // Bytes and bytes with a zero behind stand for all keys that bounds tell apart.
      let keys: [[UInt8]] = (0..<41 as Range<UInt8>).flatMap { key -> [[UInt8]] in [[key], [key, 0]] }
      let isShared = keys.contains { key in
        lists.allSatisfy { list in list.contains { !$0.isEmpty && $0.overlaps(ByteInterval(key)) } }
      }
      #expect(parts[0].overlaps(parts[1]) == isShared, "\(lists)")
    }
  }
}
