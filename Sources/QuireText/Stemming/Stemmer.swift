// Stems of words in UTF-8.

/// Takes the endings off words of one language.
///
/// It keeps a buffer for the letters of a word, so that a stemmer that is used for the words of a text allocates
/// nothing for each of them. It belongs to one thread at a time.
struct Stemmer {
  let language: StemmingLanguage
  private var word = StemmedWord()

  init(_ language: StemmingLanguage) { self.language = language }

  /// Puts the stem of a word in its place.
  ///
  /// - Parameter bytes: a word in lower case in UTF-8, composed, with its accents; any other bytes are allowed, and
  ///   those that are no UTF-8 stay as they are. Its stem may be as long as the word, or a byte longer.
  /// - Complexity: O(number of bytes).
  mutating func stem(_ bytes: inout [UInt8]) {
    decode(bytes)
    switch language {
    case .english: word.stemEnglish()
    case .german: word.stemGerman()
    case .french: word.stemFrench()
    case .spanish: word.stemSpanish()
    case .italian: word.stemItalian()
    }
    encode(&bytes)
  }

  /// Has the letters be those of a word.
  private mutating func decode(_ bytes: [UInt8]) {
    word.letters.removeAll(keepingCapacity: true)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x80 {
        word.letters.append(Letter(code: UInt32(byte)))
        index += 1
      } else {
        let (letter, length) = Self.letter(of: bytes, at: index)
        word.letters.append(letter)
        index += length
      }
    }
  }

  /// The letter that begins at `index` with a byte that is not ASCII, and its length in bytes.
  private static func letter(of bytes: [UInt8], at index: Int) -> (letter: Letter, length: Int) {
    let first = bytes[index]
    let stray = (Letter(strayByte: first), 1)
    let length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0
    guard length > 0, index + length <= bytes.count else { return stray }
    var code = UInt32(first) & (0x7F >> UInt32(length))
    for byte in bytes[index + 1..<index + length] {
      guard byte & 0xC0 == 0x80 else { return stray }
      code = code << 6 | UInt32(byte & 0x3F)
    }
    // What takes fewer bytes, and halves of UTF-16's pairs, are no scalars.
    guard let scalar = Unicode.Scalar(code), UTF8.width(scalar) == length else { return stray }
    return (Letter(code: code), length)
  }

  /// Has the bytes be those of the letters.
  private func encode(_ bytes: inout [UInt8]) {
    bytes.removeAll(keepingCapacity: true)
    for letter in word.letters {
      let code = letter.code
      switch code {
      case ..<0x80: bytes.append(UInt8(code))
      case ..<0x800:
        bytes.append(UInt8(0xC0 | code >> 6))
        bytes.append(UInt8(0x80 | code & 0x3F))
      case ..<0x1_0000:
        bytes.append(UInt8(0xE0 | code >> 12))
        bytes.append(UInt8(0x80 | code >> 6 & 0x3F))
        bytes.append(UInt8(0x80 | code & 0x3F))
      case ..<Letter.firstStrayByte:
        bytes.append(UInt8(0xF0 | code >> 18))
        bytes.append(UInt8(0x80 | code >> 12 & 0x3F))
        bytes.append(UInt8(0x80 | code >> 6 & 0x3F))
        bytes.append(UInt8(0x80 | code & 0x3F))
      default: bytes.append(UInt8(code - Letter.firstStrayByte))
      }
    }
  }
}
