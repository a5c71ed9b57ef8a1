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
    var offset = 0
    while offset + 16 <= bytes.count {
      let first = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      let second = bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self)
      value =
        Self.fold(UInt64(littleEndian: first) ^ 0xa3c5_9b17_64fe_820d, UInt64(littleEndian: second) ^ value)
        &+ (value << 29 | value >> 35)
      offset += 16
    }
    while offset < bytes.count {
      var word: UInt64 = 0
      for index in offset..<min(offset + 8, bytes.count) { word = word << 8 | UInt64(bytes[index]) }
      combine(word)
      offset += 8
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
