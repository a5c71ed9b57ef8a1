// Folds pieces of a text into a buffer.

/// Folds pieces of a text by one table, and composes where that may be needed.
struct WordFolder {
  let text: ByteView
  let kinds: KindTable
  private let folding: FoldTable
  let keepsCase: Bool
  /// Reused from one piece to the next.
  private var scalars: [UInt32] = []

  init(_ text: ByteView, keepingAccents: Bool, keepingCase: Bool) {
    self.text = text
    kinds = UnicodeTables.shared.kinds
    folding = FoldTable.words(keepingAccents: keepingAccents, keepingCase: keepingCase)
    keepsCase = keepingCase
  }

  /// What a byte of ASCII is folded to.
  @inline(__always) func fold(_ byte: UInt8) -> UInt8 {
    !keepsCase && byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
  }

  /// Appends a piece of the text, folded, up to `limit` bytes.
  mutating func append(_ range: Range<Int>, to buffer: inout TokenBuffer, limit: Int) {
    let begin = buffer.count
    var (index, isPlain, mayCompose) = (range.lowerBound, false, false)
    while index < range.upperBound, buffer.count - begin < limit {
      let byte = text[index]
      if byte < 0x80 {
        buffer.append(fold(byte))
        (index, isPlain) = (index + 1, true)
        continue
      }
      let (scalar, length) = text.scalar(at: index)
      let kind = kinds[scalar]
      if kind.isFolded, let place = folding.place(of: scalar) {
        buffer.append(folding, at: place)
        if folding.mayCompose(at: place) { mayCompose = true }
        isPlain = false
      } else {
        if length == 1 { buffer.append(scalar: scalar) } else { buffer.append(text, index..<index + length) }
        // A mark right behind a letter stands where it belongs; behind another mark, it may not.
        if kind.mayCompose || kind.isCombining && !isPlain { mayCompose = true }
        isPlain = !kind.isCombining
      }
      index += length
    }
    if mayCompose { compose(&buffer, from: begin, limit: limit) }
    buffer.cut(to: begin + limit)
  }

  /// Puts what has been folded into its composed form.
  private mutating func compose(_ buffer: inout TokenBuffer, from begin: Int, limit: Int) {
    let normalizer = UnicodeTables.shared.normalizer
    scalars.removeAll(keepingCapacity: true)
    buffer.withView(from: begin) { view in
      var index = 0
      while index < view.count {
        let (scalar, length) = view.scalar(at: index)
        normalizer.decompose(scalar, into: &scalars)
        index += length
      }
    }
    normalizer.reorder(&scalars)
    normalizer.compose(&scalars)
    buffer.removeAll(from: begin)
    for scalar in scalars where buffer.count - begin < limit { buffer.append(scalar: scalar) }
  }
}
