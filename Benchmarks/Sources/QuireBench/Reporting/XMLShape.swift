// As much of XML as it takes to see whether a picture can be opened.

internal import Foundation

/// The tags of a document.
struct XMLDocumentShape {
  /// Whether every tag that opens is closed in its order, and nothing but tags uses angle brackets.
  let isBalanced: Bool

  init(contentsOf path: String) throws {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    var open: [Substring] = []
    var isSound = true
    for piece in text.split(separator: "<", omittingEmptySubsequences: true) {
      guard let end = piece.firstIndex(of: ">"), !piece[piece.index(after: end)...].contains(">") else {
        isSound = false
        break
      }
      let tag = piece[..<end]
      if tag.hasPrefix("/") {
        isSound = open.popLast() == tag.dropFirst()
      } else if !tag.hasSuffix("/") {
        open.append(tag.prefix { $0 != " " })
      }
      if !isSound { break }
    }
    isBalanced = isSound && open.isEmpty && !text.isEmpty
  }
}
