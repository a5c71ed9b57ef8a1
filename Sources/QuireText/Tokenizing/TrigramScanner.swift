// Cuts texts into all runs of three characters.

/// Cuts one text into all runs of three scalars.
struct TrigramScanner {
  private let text: ByteView
  private let kinds: KindTable
  private let folding: FoldTable
  private let keepsCase: Bool
  private var buffer: TokenBuffer

  init(_ text: ByteView, _ buffer: TokenBuffer, keepingCase: Bool) {
    (self.text, self.buffer, keepsCase) = (text, buffer, keepingCase)
    kinds = UnicodeTables.shared.kinds
    // Simple folding of case, as FTS5's trigram has it.
    folding = FoldTable.unicode61[DiacriticRemoval.none.rawValue]
  }

  /// Calls `body` with all tokens.
  mutating func scan(_ body: (RawSpan, TokenPlace) throws -> Void) throws {
    /// Where the last two scalars begin, and how many bytes the last but one and the last have in the buffer.
    var (first, second, firstCount, secondCount) = (0, 0, 0, 0)
    var (index, number) = (0, 0)
    while index < text.count {
      let (scalar, length) = text.scalar(at: index)
      let begin = buffer.count
      append(scalar, index..<index + length)
      let count = buffer.count - begin
      if number >= 2 {
        try buffer.lend { try body($0, TokenPlace(range: first..<index + length)) }
        buffer.removeFirst(firstCount)
      }
      (first, second) = number == 0 ? (index, index) : number == 1 ? (first, index) : (second, index)
      (firstCount, secondCount) = number == 0 ? (count, 0) : number == 1 ? (firstCount, count) : (secondCount, count)
      number = min(2, number + 1)
      index += length
    }
  }

  private mutating func append(_ scalar: UInt32, _ range: Range<Int>) {
    if scalar < 0x80 {
      let isCapital = !keepsCase && (0x41...0x5a).contains(scalar)
      buffer.append(UInt8(isCapital ? scalar | 0x20 : scalar))
    } else if !keepsCase, kinds[scalar].isFolded61, let place = folding.place(of: scalar) {
      buffer.append(folding, at: place)
    } else if range.count == 1 {
      buffer.append(scalar: scalar)
    } else {
      buffer.append(text, range)
    }
  }
}
