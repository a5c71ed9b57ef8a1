// Cuts texts into words.

/// Cuts one text into words and into runs of pairs.
struct WordScanner {
  private let text: ByteView
  private let kinds: KindTable
  private let segmenter: WordSegmenter
  /// Folds all tokens but those that are stemmed.
  private var folder: WordFolder
  /// Whether letters with an apostrophe between them are one word.
  private let joinsAtApostrophes: Bool
  /// What stems words, and folds them with their accents before; nil if nothing does.
  private var stemming: (stemmer: WordStemmer, folder: WordFolder)?
  private var buffer: TokenBuffer
  private let purpose: TokenPurpose
  /// The range of the character that waits in the buffer, and whether it is a run of its own.
  private var waiting = (range: 0..<0, isAlone: false)

  init(
    _ text: ByteView, _ buffer: TokenBuffer, _ purpose: TokenPurpose, keepingAccents: Bool, keepingCase: Bool,
    stemming language: StemmingLanguage? = nil
  ) {
    assert(language == nil || !keepingCase, "what is stemmed is in lower case")
    (self.text, self.buffer, self.purpose) = (text, buffer, purpose)
    folder = WordFolder(text, keepingAccents: keepingAccents, keepingCase: keepingCase)
    kinds = folder.kinds
    joinsAtApostrophes = language?.knowsApostrophes ?? false
    segmenter = WordSegmenter(text, kinds, .search(joinsAtApostrophes: joinsAtApostrophes))
    stemming = language.map { language in
      (
        WordStemmer(language, keepingAccents: keepingAccents),
        WordFolder(text, keepingAccents: true, keepingCase: false)
      )
    }
  }

  /// Calls `body` with all tokens.
  mutating func scan(_ body: (RawSpan, TokenPlace) throws -> Void) throws {
    var index = 0
    while index < text.count {
      let byte = text[index]
      if byte < 0x80 {
        if Self.isWordByte(byte) {
          index = try scanBytes(from: index, body)
        } else {
          index += 1
        }
        continue
      }
      let (scalar, _) = text.scalar(at: index)
      if kinds[scalar].isUnspaced {
        index = try scanRun(from: index, body)
      } else {
        index = try scanSegment(from: index, body)
      }
    }
    try finish(body)
  }

  @inline(__always) private static func isWordByte(_ byte: UInt8) -> Bool { isLetter(byte) || isDigit(byte) }

  @inline(__always) private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
  @inline(__always) private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  /// Cuts a word that begins with a byte of ASCII. Returns where it ends.
  private mutating func scanBytes(
    from start: Int, _ body: (RawSpan, TokenPlace) throws -> Void
  ) throws -> Int {
    buffer.removeAll()
    let limit = min(text.count, start + TokenBuffer.limit)
    var index = start
    while index < limit {
      let byte = text[index]
      if Self.isWordByte(byte) {
        buffer.append(folder.fold(byte))
      } else if byte >= 0x80 {
        return try scanSegment(from: start, body)
      } else if joins(byte, at: index) {
        if text[index + 1] >= 0x80 { return try scanSegment(from: start, body) }
        buffer.append(byte)
      } else {
        break
      }
      index += 1
    }
    // A longer word, or one that may go on.
    if index == limit, index < text.count { return try scanSegment(from: start, body) }
    // Without letters above ASCII there are no accents: what is not stemmed is folded already.
    _ = stemming?.stemmer.stem(&buffer)
    if buffer.count > 0 { try emit(start..<index, body) }
    return index
  }

  /// Whether a byte of ASCII, behind a byte of a word, joins it with what follows, or may do so if that is not ASCII.
  @inline(__always) private func joins(_ byte: UInt8, at index: Int) -> Bool {
    switch byte {
    case UInt8(ascii: "."), UInt8(ascii: "'"), UInt8(ascii: ","), UInt8(ascii: ";"): break
    default: return false
    }
    guard index + 1 < text.count else { return false }
    let (last, next) = (text[index - 1], text[index + 1])
    if Self.isDigit(last) { return Self.isDigit(next) || next >= 0x80 }
    return byte == UInt8(ascii: "'") && joinsAtApostrophes && (Self.isLetter(next) || next >= 0x80)
  }

  /// Cuts whatever begins somewhere, by the rules. Returns where it ends.
  private mutating func scanSegment(
    from start: Int, _ body: (RawSpan, TokenPlace) throws -> Void
  ) throws -> Int {
    let segment = segmenter.segment(at: start)
    if segment.bits & ScalarKind.wordMaking != 0 {
      fold(start..<segment.end)
      if buffer.count > 0 { try emit(start..<segment.end, body) }
    }
    return segment.end
  }

  /// Puts the token of a word into the buffer.
  private mutating func fold(_ word: Range<Int>) {
    buffer.removeAll()
    if stemming != nil {
      stemming?.folder.append(word, to: &buffer, limit: TokenBuffer.limit)
      if stemming?.stemmer.stem(&buffer) == true { return }
      buffer.removeAll()
    }
    folder.append(word, to: &buffer, limit: TokenBuffer.limit)
  }

  /// Cuts a run of characters without spaces into pairs. Returns where it ends.
  private mutating func scanRun(from start: Int, _ body: (RawSpan, TokenPlace) throws -> Void) throws -> Int {
    buffer.removeAll()
    var (first, isAlone) = (start..<characterEnd(from: start), true)
    folder.append(first, to: &buffer, limit: TokenBuffer.characterLimit)
    while first.upperBound < text.count {
      let (scalar, _) = text.scalar(at: first.upperBound)
      guard kinds[scalar].isUnspaced else { break }
      let second = first.upperBound..<characterEnd(from: first.upperBound)
      let firstCount = buffer.count
      folder.append(second, to: &buffer, limit: TokenBuffer.characterLimit)
      try emit(first.lowerBound..<second.upperBound, body)
      buffer.removeFirst(firstCount)
      (first, isAlone) = (second, false)
    }
    if purpose == .document {
      try emit(first, body)
    } else {
      try flushWaiting(body)
      buffer.keepWaiting()
      waiting = (first, isAlone)
    }
    return first.upperBound
  }

  /// Where the character ends that begins somewhere: behind its marks.
  private func characterEnd(from start: Int) -> Int {
    var end = start + text.scalar(at: start).length
    while end < text.count, text[end] >= 0x80 {
      let (scalar, length) = text.scalar(at: end)
      guard kinds[scalar].continuesCharacter else { break }
      end += length
    }
    return end
  }

  @inline(__always) private mutating func emit(
    _ range: Range<Int>, _ body: (RawSpan, TokenPlace) throws -> Void
  ) throws {
    if buffer.waitingCount > 0 { try flushWaiting(body) }
    try buffer.lend { try body($0, TokenPlace(range: range)) }
  }

  /// The last character of a run that other tokens follow is a token of its own, as in a document: what follows stands
  /// behind it.
  private mutating func flushWaiting(_ body: (RawSpan, TokenPlace) throws -> Void) throws {
    if buffer.waitingCount == 0 { return }
    let range = waiting.range
    try buffer.lendWaiting { try body($0, TokenPlace(range: range)) }
  }

  /// At the end of a query that nothing follows, the last character of a run is in the last pair; one that is alone
  /// means all pairs that begin with it.
  private mutating func finish(_ body: (RawSpan, TokenPlace) throws -> Void) throws {
    if buffer.waitingCount == 0 { return }
    if purpose == .queryBeginning { return try flushWaiting(body) }
    let (range, isAlone) = waiting
    if isAlone {
      try buffer.lendWaiting { try body($0, TokenPlace(range: range, isPrefix: true)) }
    } else {
      buffer.dropWaiting()
    }
  }
}
