// The words that begin with a text, with the number of rows that have each.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Completion of words")
struct CompletionTests {
  @Test(
    "Words come in order with exact counts, also those that have just come and gone",
    .enabled(if: TestSize.hasSlowTests, "slow"), arguments: [UInt64](1...3))
  func counts(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let db = try database((0..<400).map { _ in random.article(300) })
    for _ in 0..<3 {
      for _ in 0..<10 {
        try db.write { tx in
          try tx[.articles].set(random.article(320), for: "a\(random.below(410))")
          try tx[.articles].remove("a\(random.below(410))")
        }
      }
      try db.read { tx in
        var rowCounts: [String: Int] = [:]
        for row in tx[.articles].rows {
          for word in Set("\(row.object.title) \(row.object.body)".split(separator: " ")) {
            rowCounts[String(word), default: 0] += 1
          }
        }
        for prefix in ["", "w", "w1", "w29", "W2", "x"] {
          let expected = rowCounts.filter { $0.key.hasPrefix(prefix.lowercased()) }.sorted { $0.key < $1.key }
          let terms = try tx[.articles].terms(beginningWith: prefix)
          #expect(terms.map(\.text) == expected.map(\.key) && terms.map(\.rowCount) == expected.map(\.value))
          let frequent = expected.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }
          #expect(try terms.mostFrequent(5).map(\.text) == frequent.prefix(5).map(\.key))
          #expect(terms.prefix(3).map(\.text) == expected.prefix(3).map(\.key))
        }
      }
    }
    try db.close()
  }

  @Test("Words are completed in the form in which they are compared")
  func folded() throws {
    let db = try database(bodies: "Éclair étude", "eclair")
    try db.read { tx in
      for (text, expected) in [("É", ["eclair 2", "etude 1"]), ("the écl", ["eclair 2"]), ("...", [])] {
        let terms = try tx[.articles].terms(beginningWith: text).map { "\($0.text) \($0.rowCount)" }
        #expect(terms == expected, "\(text)")
      }
    }
    try db.close()
  }
}
