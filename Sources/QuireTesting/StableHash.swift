// A hash that is the same on every machine and in every run: for digests of states and for traces. The standard
// library's hasher is seeded anew in every process, so it can prove neither.

/// A running 64-bit hash of words and bytes, by multiplication to 128 bits and folding.
///
/// Good against accidents, not against an adversary. About a nanosecond per word.
package struct StableHash: Hashable, Sendable {
  /// The hash of everything combined so far.
  package private(set) var value: UInt64

  /// Starts from `seed`; different seeds give unrelated hashes.
  package init(seed: UInt64 = 0) { value = seed ^ 0x8e51_3a6f_92c7_04bd }

  /// Adds one word.
  package mutating func combine(_ word: UInt64) {
    value = Self.fold(value ^ 0x71d3_8ac5_5f0e_2b69, word ^ 0xd6a9_0f4c_33b8_e7d1) &+ (value << 23 | value >> 41)
  }

  /// Adds one number.
  package mutating func combine(_ number: Int) { combine(UInt64(bitPattern: Int64(number))) }

  /// Adds bytes and how many they are, so that neighbouring byte strings cannot lend each other bytes.
  package mutating func combine(_ bytes: UnsafeRawBufferPointer) {
    func word(_ offset: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    var offset = 0
    if bytes.count >= 64 {
      // Four chains, so that one multiplication need not wait for the one before it.
      var lanes = (value, value ^ 0x2f8c_51e0_b7d4_396b, value ^ 0x94e7_20bd_6c1f_a583, value ^ 0xc13a_f65e_098d_7b27)
      while offset + 64 <= bytes.count {
        lanes.0 = Self.fold(word(offset) ^ 0xa3c5_9b17_64fe_820d, word(offset + 8) ^ lanes.0)
        lanes.1 = Self.fold(word(offset + 16) ^ 0x5d0e_c972_3fa8_b641, word(offset + 24) ^ lanes.1)
        lanes.2 = Self.fold(word(offset + 32) ^ 0xe86b_1d34_a257_0fc9, word(offset + 40) ^ lanes.2)
        lanes.3 = Self.fold(word(offset + 48) ^ 0x3792_f4a8_d60c_e15b, word(offset + 56) ^ lanes.3)
        offset += 64
      }
      combine(lanes.0 ^ (lanes.1 << 17 | lanes.1 >> 47))
      combine(lanes.2 ^ (lanes.3 << 17 | lanes.3 >> 47))
    }
    while offset + 8 <= bytes.count {
      combine(word(offset))
      offset += 8
    }
    if offset < bytes.count {
      var last: UInt64 = 0
      for index in offset..<bytes.count { last = last << 8 | UInt64(bytes[index]) }
      combine(last)
    }
    combine(bytes.count)
  }

  /// Adds bytes and how many they are.
  package mutating func combine(_ bytes: [UInt8]) { bytes.withUnsafeBytes { combine($0) } }

  /// Adds the UTF-8 form of a text and its length.
  package mutating func combine(_ text: String) {
    var text = text
    text.withUTF8 { combine(UnsafeRawBufferPointer($0)) }
  }

  /// Both halves of the product, laid over each other.
  private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let product = left.multipliedFullWidth(by: right)
    return product.high ^ product.low
  }
}
