// The documents that searches are compared over.

import Foundation
import QuireDatabase
import QuireText

/// The packages of the fixture, as texts.
enum OracleDocuments {
  static let fields = ["name", "summary", "maintainer", "depends"]

  /// The texts of all packages, in the order of the fields.
  static let packages: [[String]] = {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = repository.appendingPathComponent("Fixtures/debian-packages.txt")
    guard let text = try? String(contentsOf: path, encoding: .utf8) else { return [] }
    let labels = ["Package: ", "Description: ", "Maintainer: ", "Depends: "]
    var packages: [[String]] = []
    for stanza in text.split(separator: "\n\n") {
      var texts = labels.map { _ in "" }
      for line in stanza.split(separator: "\n") {
        guard let field = labels.firstIndex(where: line.hasPrefix) else { continue }
        texts[field] = String(line.dropFirst(labels[field].count))
      }
      if !texts[0].isEmpty { packages.append(texts) }
    }
    return packages
  }()
}

extension Tokenizer {
  /// The tokens of a text, each with its position and whether it stands for those that begin with it.
  func tokens(of text: String, for purpose: TokenPurpose) throws -> [OracleToken] {
    var tokens: [OracleToken] = []
    var position = -1
    let bytes = Array(text.utf8)
    try forEachToken(in: bytes.span.bytes, for: purpose) { term, place in
      position = tokens.isEmpty ? 0 : position + place.step
      let term = term.withUnsafeBytes { $0.filter { $0 != 0 } }
      if !term.isEmpty {
        tokens.append(OracleToken(term: term, position: position, isPrefix: place.isPrefix))
      }
    }
    return tokens
  }
}

/// A token of a text or of a phrase.
struct OracleToken: Hashable {
  var term: [UInt8]
  var position: Int
  var isPrefix: Bool
}
