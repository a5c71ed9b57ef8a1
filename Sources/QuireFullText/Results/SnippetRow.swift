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
  /// For each group of the search, whether its places are shown.
  let isShown: [Bool]

  /// The first of the best pieces; nil if nothing was found.
  ///
  /// - Parameter covered: phrases that count as places alone.
  func best(_ size: Int, covered: Set<Int>) -> SnippetPiece? {
    var best: SnippetPiece?
    for (number, field) in fields.enumerated() {
      for text in field.texts.indices {
        let windows = SnippetWindows(
          instances: field.instances(inText: text, ofGroups: isShown), size: size, text: field.texts[text],
          covered: covered)
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
    let instances = fields[piece.field].instances(inText: piece.text, ofGroups: isShown)
    return Set(instances.lazy.filter { $0.first >= piece.start && $0.first < piece.start + size }.map(\.phrase))
  }
}
