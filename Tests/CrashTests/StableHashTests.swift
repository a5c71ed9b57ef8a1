// The hash must never change: digests and traces in bug reports refer to it.

import QuireTesting
import Testing

@Suite struct StableHashTests {
  private func hash(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
    var hash = StableHash(seed: seed)
    hash.combine(bytes)
    return hash.value
  }

  @Test func everyBitCounts() {
    for count in [1, 7, 8, 9, 16, 63, 64, 65, 130, 200] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
      var hashes = Set([hash(bytes), hash(bytes, seed: 1), hash(bytes + [0])])
      for bit in 0..<count * 8 {
        var changed = bytes
        changed[bit / 8] ^= 1 << UInt8(bit % 8)
        hashes.insert(hash(changed))
      }
      #expect(hashes.count == count * 8 + 3)
    }
  }

  @Test func zerosOfAllLengthsDiffer() {
    #expect(Set((0..<300).map { hash([UInt8](repeating: 0, count: $0)) }).count == 300)
  }

  @Test func differencesSpread() {
    // A change of one bit must change about half of the bits of the hash.
    var changedBitCount = 0
    for bit in 0..<512 {
      var bytes = [UInt8](repeating: 5, count: 64)
      let before = hash(bytes)
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      changedBitCount += (hash(bytes) ^ before).nonzeroBitCount
    }
    #expect(changedBitCount > 512 * 28 && changedBitCount < 512 * 36)
  }

  @Test func knownAnswers() {
    #expect(hash([]) == 0x1b2e_6e90_970d_73a1)
    #expect(hash(Array("Quire".utf8)) == 0xda9a_3cc4_2195_3b1f)
    #expect(hash((0..<100).map { UInt8($0) }) == 0xcc5a_de78_73de_a0be)
    var text = StableHash()
    text.combine("Quire")
    #expect(text.value == hash(Array("Quire".utf8)))
  }
}
