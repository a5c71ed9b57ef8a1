// Pieces of the texts of a row.

/// A piece of a text of a row, by its first token.
struct SnippetPiece {
  /// The number of the field among those that are looked at, and of the text in the field.
  let field: Int
  let text: Int
  let start: Int
  /// As of `SnippetWindow`.
  let score: Int

  /// The pieces in the order of the row, those of the same text that touch each other put together; with the number of
  /// tokens of each.
  static func joined(_ pieces: [SnippetPiece], size: Int) -> [(piece: SnippetPiece, size: Int)] {
    var joined: [(piece: SnippetPiece, size: Int)] = []
    for piece in pieces.sorted(by: { ($0.field, $0.text, $0.start) < ($1.field, $1.text, $1.start) }) {
      if let (last, lastSize) = joined.last, (last.field, last.text) == (piece.field, piece.text),
        piece.start <= last.start + lastSize
      {
        joined[joined.count - 1].size = max(lastSize, piece.start - last.start + size)
      } else {
        joined.append((piece, size))
      }
    }
    return joined
  }
}

/// The fields of a row that are looked at.
struct SnippetRow {
  let fields: [SnippetField]
  let shown: ShownPhrases
  /// For each field and text, the places that are shown, in the order of their first tokens.
  let places: [[[SnippetPlace]]]

  init(_ fields: [SnippetField], _ shown: ShownPhrases) {
    (self.fields, self.shown) = (fields, shown)
    places = fields.map { $0.places(shown) }
  }

  /// The first of the best pieces; nil if nothing was found.
  ///
  /// - Parameter covered: phrases that count as places alone.
  func best(_ size: Int, covered: Set<Int>) -> SnippetPiece? {
    var best: SnippetPiece?
    for (number, field) in fields.enumerated() {
      for text in field.texts.indices {
        let windows = SnippetWindows(
          places: places[number][text], size: size, text: field.texts[text], shown: shown, covered: covered)
        guard let window = windows.best(), window.score > best?.score ?? 0 else { continue }
        best = SnippetPiece(field: number, text: text, start: window.start, score: window.score)
      }
    }
    return best
  }

  /// The beginning of the first text.
  func beginning() -> SnippetPiece {
    SnippetPiece(field: fields.firstIndex { !$0.strings.isEmpty } ?? 0, text: 0, start: 0, score: 0)
  }

  /// The phrases that begin in a piece.
  func phrases(of piece: SnippetPiece, _ size: Int) -> Set<Int> {
    let tokens = piece.start..<piece.start + size
    return Set(
      places[piece.field][piece.text].lazy.filter { tokens.contains(Int($0.first)) }.map { Int($0.phrase) })
  }
}
