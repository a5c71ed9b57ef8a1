// Letters of words, and sets of them.

/// A letter of a word that is stemmed: a Unicode scalar, or a byte that is no part of one.
struct Letter: Hashable, Sendable, ExpressibleByUnicodeScalarLiteral {
  /// The scalar's value; of a byte that is no part of a scalar, 0x11_0000 and its value.
  let code: UInt32

  init(unicodeScalarLiteral scalar: Unicode.Scalar) { code = scalar.value }

  init(code: UInt32) {
    assert(code < Self.firstStrayByte + 256)
    self.code = code
  }

  /// A letter for a byte that is no part of a scalar.
  init(strayByte byte: UInt8) { code = Self.firstStrayByte + UInt32(byte) }

  /// Where the codes of bytes that are no part of a scalar begin: behind those of all scalars.
  static let firstStrayByte: UInt32 = 0x11_0000
}

/// Letters below U+0100, which are all that the rules of the languages name.
struct LetterSet: Sendable {
  private let bits: (UInt64, UInt64, UInt64, UInt64)

  /// The letters of a text, all of them below U+0100.
  init(_ letters: String) {
    var bits: [UInt64] = [0, 0, 0, 0]
    for scalar in letters.unicodeScalars {
      precondition(scalar.value < 256, "Rules name letters of Latin 1 alone")
      bits[Int(scalar.value >> 6)] |= 1 << UInt64(scalar.value & 63)
    }
    self.bits = (bits[0], bits[1], bits[2], bits[3])
  }

  /// Whether a letter is among them.
  @inline(__always) func contains(_ letter: Letter) -> Bool {
    let bit = UInt64(letter.code & 63)
    switch letter.code >> 6 {
    case 0: return bits.0 >> bit & 1 != 0
    case 1: return bits.1 >> bit & 1 != 0
    case 2: return bits.2 >> bit & 1 != 0
    case 3: return bits.3 >> bit & 1 != 0
    default: return false
    }
  }
}
