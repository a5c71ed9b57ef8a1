// Takes the endings off words on their way to tokens.

/// Stems the words of one text, and takes their accents off where these are not kept.
///
/// Stemmers look at accents, so that words come here with them: `größer` is stemmed as it is written, and only then
/// becomes `gross`.
struct WordStemmer {
  private var stemmer: Stemmer
  private let kinds: KindTable
  /// What takes accents off; nil if they are kept.
  private let folding: FoldTable?
  /// Reused from one word to the next.
  private var word: [UInt8] = []
  private let loan: StemCache.Loan

  init(_ language: StemmingLanguage, keepingAccents: Bool) {
    stemmer = Stemmer(language)
    kinds = UnicodeTables.shared.kinds
    folding = keepingAccents ? nil : FoldTable.words(keepingAccents: false, keepingCase: false)
    loan = StemCache.Loan(language, keepingAccents: keepingAccents)
  }

  /// Puts the stem of the word in a buffer in its place, if it is of letters and apostrophes alone; the word has been
  /// folded with its accents. Returns whether it is, else the buffer stays.
  mutating func stem(_ buffer: inout TokenBuffer) -> Bool {
    guard let word = buffer.shortWord else { return stemWord(&buffer) }
    if let stem = loan.cache.stem(of: word) {
      buffer.replace(by: stem)
      return true
    }
    let isStemmed = stemWord(&buffer)
    if isStemmed, let stem = buffer.shortWord { loan.cache.keep(stem, of: word) }
    return isStemmed
  }

  private mutating func stemWord(_ buffer: inout TokenBuffer) -> Bool {
    guard takeWord(buffer) else { return false }
    stemmer.stem(&word)
    // What is all ending is its own stem.
    if word.isEmpty { return folding == nil }
    buffer.removeAll()
    appendWord(&buffer)
    buffer.cut(to: TokenBuffer.limit)
    return true
  }

  /// Takes the word over from a buffer, without an elided article in front of it; false if it is not of letters.
  private mutating func takeWord(_ buffer: TokenBuffer) -> Bool {
    word.removeAll(keepingCapacity: true)
    guard let apostrophe = apostrophe(in: buffer) else { return false }
    buffer.lend { bytes in unsafe bytes.withUnsafeBytes { unsafe word.append(contentsOf: $0) } }
    if apostrophe < word.count, isElision(apostrophe) { word.removeFirst(apostrophe + 1) }
    return !word.isEmpty
  }

  /// Where the first apostrophe of a word stands, at its end if it has none; nil if it is not of letters alone.
  private func apostrophe(in buffer: TokenBuffer) -> Int? {
    var (index, apostrophe, isWord) = (0, buffer.count, true)
    buffer.withView(from: 0) { view in
      while index < view.count, isWord {
        let byte = view[index]
        if byte >= 0x80 {
          let (scalar, length) = view.scalar(at: index)
          isWord = kinds[scalar].isLetter
          index += length
          continue
        }
        if byte == UInt8(ascii: "'") {
          apostrophe = min(apostrophe, index)
        } else {
          isWord = (byte | 0x20) &- UInt8(ascii: "a") < 26
        }
        index += 1
      }
    }
    return isWord ? apostrophe : nil
  }

  /// Whether what stands in front of an apostrophe is an article or the like that has lost its vowel to the word behind
  /// it: `l'avion` is found by `avion`.
  private func isElision(_ apostrophe: Int) -> Bool {
    let elided: [StaticString] =
      switch stemmer.language {
      case .english, .german, .spanish: []
      case .french: Self.french
      case .italian: Self.italian
      }
    return elided.contains { text in
      text.withUTF8Buffer { bytes in
        unsafe bytes.count == apostrophe && word.starts(with: bytes)
      }
    }
  }

  private static let french: [StaticString] = [
    "l", "d", "j", "m", "t", "s", "n", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu",
  ]
  private static let italian: [StaticString] = [
    "l", "un", "d", "c", "m", "t", "s", "v", "gl", "dell", "nell", "sull", "all", "dall", "coll", "quell", "quest",
    "bell", "sant", "agl", "dagl", "degl", "negl", "sugl",
  ]

  /// Appends the stem, folded.
  private func appendWord(_ buffer: inout TokenBuffer) {
    guard let folding else {
      for byte in word.prefix(TokenBuffer.limit + 4) { buffer.append(byte) }
      return
    }
    unsafe word.withUnsafeBytes { bytes in
      guard let view = unsafe ByteView(bytes) else { return }
      var index = 0
      while index < view.count, buffer.count < TokenBuffer.limit {
        let byte = view[index]
        if byte < 0x80 {
          buffer.append(byte)
          index += 1
          continue
        }
        let (scalar, length) = view.scalar(at: index)
        if kinds[scalar].isFolded, let place = folding.place(of: scalar) {
          buffer.append(folding, at: place)
        } else if length == 1 {
          buffer.append(scalar: scalar)
        } else {
          buffer.append(view, index..<index + length)
        }
        index += length
      }
    }
  }
}
