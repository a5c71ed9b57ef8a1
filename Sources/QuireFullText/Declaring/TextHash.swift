// Numbers that differ where bytes do.

/// A hash of 64 bits of a stream of numbers and bytes, the same in every process and on every machine; it is stored.
///
/// Each word of eight bytes is multiplied in, as in Wang Yi's wyhash: two halves of a product of 128 bits, one upon the
/// other. It is good against accidents, and no secret.
struct TextHash {
  private static let first: UInt64 = 0xa076_1d64_78bd_642f
  private static let second: UInt64 = 0xe703_7ed1_a0b4_28db

  private var state: UInt64 = 0x8ebc_6af0_9c88_c6e3

  /// Takes in a number.
  @inline(__always) mutating func add(_ word: UInt64) {
    let product = (state ^ Self.first).multipliedFullWidth(by: word ^ Self.second)
    // The state itself remains in it, so that no word makes it forget the ones before.
    state = (product.high ^ product.low) &+ state &* 0x9e37_79b9_7f4a_7c15
  }

  /// Takes in bytes, and how many they are.
  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    while offset + 8 <= bytes.count {
      unsafe add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset += 8
    }
    var rest: UInt64 = 0
    for unsafe(index, byte) in unsafe bytes[offset...].enumerated() { rest |= UInt64(byte) << UInt64(index * 8) }
    // The number of bytes tells a last word that ends in zeros from a shorter one.
    add(rest)
    add(UInt64(bytes.count))
  }

  /// The hash of what was taken in so far.
  @inline(__always) var value: UInt64 {
    let product = (state ^ Self.second).multipliedFullWidth(by: Self.first)
    return product.high ^ product.low
  }

  /// Sixteen digits that differ where bytes do.
  static func digits(of bytes: [UInt8]) -> String {
    var hash = TextHash()
    unsafe bytes.withUnsafeBytes { unsafe hash.add($0) }
    let digits = String(hash.value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
