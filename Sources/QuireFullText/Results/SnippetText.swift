// The tokens of a text, and which of them were searched for.

internal import QuireDatabase
internal import QuireText

/// One text of a field, cut into tokens.
///
/// Tokens that are another form of the one before are no tokens of their own here.
struct SnippetText {
  /// Where tokens begin and end, in bytes of the text; both ascend.
  var begins: [UInt32] = []
  var ends: [UInt32] = []
  /// The tokens with which sentences begin, ascending; the first token is one.
  var sentences: [UInt32] = []

  var tokenCount: Int { begins.count }
}

/// Cuts the texts of a field into tokens and notes which elements of phrases they are.
struct SnippetScanner {
  private let query: SnippetQuery
  private let field: Int
  private(set) var texts: [SnippetText] = []
  /// For each element of the phrases, its tokens in the order of their positions.
  private(set) var tokens: [[SnippetPlace]]
  /// Elements that have the last token by its beginning: how many bytes that has.
  private var beginnings: [(element: Int, byteCount: Int)] = []
  private var term: [UInt8] = []
  /// The position of the last token, as it is counted where terms are stored.
  private var position = -1

  init(_ query: SnippetQuery, field: Int) {
    (self.query, self.field) = (query, field)
    tokens = Array(repeating: [], count: query.elementCount)
  }

  /// Takes in the next text of the field.
  ///
  /// - Throws: what the tokenizer throws.
  mutating func add(_ text: String, _ tokenizer: some Tokenizer) throws {
    var text = text
    texts.append(SnippetText())
    beginnings.removeAll(keepingCapacity: true)
    // A position stays free, so that no phrase goes from one text into the next.
    if position >= 0 { position += 1 }
    try text.withUTF8 { bytes in
      let bytes = UnsafeRawBufferPointer(bytes)
      var isFirst = true
      try unsafe tokenizer.forEachToken(in: bytes.bytes, for: .document) { token, place in
        TermKeys.cut(token, to: &term)
        unsafe add(place, isFirst: isFirst, bytes)
        isFirst = false
      }
    }
  }

  /// Takes in the token whose term is at hand.
  private mutating func add(_ place: TokenPlace, isFirst: Bool, _ bytes: UnsafeRawBufferPointer) {
    let step = isFirst ? 1 : max(0, place.step)
    guard step <= Int(UInt32.max), position + step < Int(UInt32.max) else { return }
    var range = unsafe Self.whole(place.range, bytes)
    // What lies behind the first 4 GiB of a text is not shown.
    guard range.upperBound <= Int(UInt32.max) else { return }
    let last = texts.count - 1
    if step == 0, texts[last].tokenCount == 0 { return }
    position += step
    if step > 0 {
      // What begins before the token in front of it, of a tokenizer that gives such tokens, is cut off.
      let (begin, end) = (Int(texts[last].begins.last ?? 0), Int(texts[last].ends.last ?? 0))
      range = max(range.lowerBound, begin)..<max(range.upperBound, end)
      unsafe shorten(before: range.lowerBound, bytes)
      if unsafe isSentence(at: range.lowerBound, bytes) {
        texts[last].sentences.append(UInt32(texts[last].tokenCount))
      }
      texts[last].begins.append(UInt32(range.lowerBound))
      texts[last].ends.append(UInt32(range.upperBound))
    }
    let number = UInt32(texts[last].tokenCount - 1)
    let found = SnippetPlace(
      text: UInt32(last), first: number, last: number, position: UInt32(position), lower: UInt32(range.lowerBound),
      upper: UInt32(range.upperBound))
    query.forEachElement(of: term, field: field) { element, prefixByteCount in
      // Two forms of a word may be the same term, or begin alike.
      if tokens[element].last?.position == found.position { return }
      tokens[element].append(found)
      if let prefixByteCount { beginnings.append((element, prefixByteCount)) }
    }
  }

  /// Where tokens overlap, as runs of characters do, has what was asked for by its beginning go without the rest.
  ///
  /// - Parameter begin: where the next token begins.
  private mutating func shorten(before begin: Int, _ bytes: UnsafeRawBufferPointer) {
    for (element, byteCount) in beginnings {
      let last = tokens[element].count - 1
      let (upper, end) = (Int(tokens[element][last].upper), Int(tokens[element][last].lower) + byteCount)
      guard begin < upper, end < upper, unsafe bytes[end] & 0xC0 != 0x80 else { continue }
      tokens[element][last].upper = UInt32(end)
    }
    beginnings.removeAll(keepingCapacity: true)
  }

  /// The bytes of a token, with whole scalars, inside the text.
  private static func whole(_ range: Range<Int>, _ bytes: UnsafeRawBufferPointer) -> Range<Int> {
    func isInside(_ index: Int) -> Bool { unsafe index > 0 && index < bytes.count && bytes[index] & 0xC0 == 0x80 }
    var lower = min(max(0, range.lowerBound), bytes.count)
    var upper = min(max(lower, range.upperBound), bytes.count)
    while isInside(lower) { lower -= 1 }
    while isInside(upper) { upper += 1 }
    return lower..<upper
  }

  /// Whether a sentence begins with the token at `begin`, as FTS5 has it: it is the first one, or a point or a colon
  /// stands before it and white space between. An ideographic full stop needs no white space.
  private func isSentence(at begin: Int, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let text = texts.last, text.tokenCount > 0 else { return true }
    // No further than to the token before: of what lies in front of that, it is not the first one.
    let limit = Int(text.begins[text.tokenCount - 1])
    var index = begin
    while index > limit, unsafe Self.isWhiteSpace(bytes[index - 1]) { index -= 1 }
    guard index > limit else { return false }
    let last = unsafe bytes[index - 1]
    if last == UInt8(ascii: ".") || last == UInt8(ascii: ":") { return index < begin }
    return unsafe index >= 3 && last == 0x82 && bytes[index - 2] == 0x80 && bytes[index - 3] == 0xE3
  }

  private static func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}
