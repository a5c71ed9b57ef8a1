// Phrases in which words come again and again.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import Testing

extension EdgeTests {
  /// The places where the phrase begins, by its definition.
  private static func starts(_ phrase: [Int], _ tokens: [UInt32: Int], isAtStart: Bool) -> [UInt32] {
    tokens.keys.sorted().filter { start in
      (!isAtStart || start == 0) && phrase.indices.allSatisfy { tokens[start + UInt32($0)] == phrase[$0] }
    }
  }

  @Test(
    "Phrases whose words repeat are found where their definition says", arguments: TestSize.some([1, 2, 3, 4], of: 2))
  func repeatedWords(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var (made, found) = (0, 0)
    for _ in 0..<TestSize.trials(2000, divisor: 20) {
      let alphabet = 1 + random.below(3)
      let part = (0..<1 + random.below(5)).map { _ in random.below(alphabet) }
      let phrase = (0..<6 + random.below(12)).map { part[$0 % part.count] }
      guard let matcher = SequenceMatcher(phrase, offsets: phrase.indices.map { UInt32($0) }) else {
        #expect(phrase.count < 8 || phrase.count < 2 * Set(phrase).count)
        continue
      }
      made += 1
      var tokens: [UInt32: Int] = [:]
      for position in 0..<UInt32(random.below(120)) where !random.oneIn(60) {
        tokens[position] = random.oneIn(20) ? random.below(alphabet) : part[Int(position) % part.count]
      }
      for isAtStart in [false, true] {
        let expected = Self.starts(phrase, tokens, isAtStart: isAtStart)
        for isOne in [false, true] {
          matcher.removeAll()
          for term in Set(phrase).sorted() {
            for position in tokens.keys.sorted() where tokens[position] == term { matcher.add(position, term) }
          }
          let starts = RawBuffer<UInt32>()
          try #require(matcher.findStarts(starts, isAtStart: isAtStart, isOne: isOne))
          let all = (0..<starts.count).map { unsafe starts.base[$0] }
          #expect(all == (isOne ? Array(expected.prefix(1)) : expected), "\(phrase) in \(tokens)")
          found += all.count
        }
      }
    }
    #expect(made > 20 && found > 20)
  }

  @Test("A phrase with gaps, and two words at one place, are looked for word by word")
  func unfitPhrases() {
    let phrase = Array(repeating: 0, count: 8) + [1]
    let matcher = SequenceMatcher(phrase, offsets: (0..<9).map { UInt32($0) })
    for (position, term) in [(3, 0), (4, 0), (4, 1)] as [(UInt32, Int)] { matcher?.add(position, term) }
    #expect(matcher?.findStarts(RawBuffer(), isAtStart: false, isOne: false) == false)
    #expect(SequenceMatcher(phrase, offsets: [0, 1, 2, 3, 4, 5, 6, 7, 9]) == nil)
    #expect(SequenceMatcher(phrase, offsets: [0, 1, 2, 3, 4, 5, 6, 7, .max]) == nil)
  }

  @Test(
    "Phrases whose words repeat are found in fields, at their beginning, near others and before a prefix",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func repeatedPhrases() throws {
    var random = SeededRandom(seed: 5)
    func words(_ count: Int) -> [String] {
      let part = (0..<1 + random.below(4)).map { _ in ["a", "b", "ab"][random.below(3)] }
      return (0..<count).map { random.oneIn(15) ? ["a", "b", "c"][random.below(3)] : part[$0 % part.count] }
    }
    let documents = (0..<80).map { _ in (0..<2).map { _ in words(random.below(60)).joined(separator: " ") } }
    var queries: [String] = []
    for _ in 0..<(TestSize.isFull ? 40 : 10) {
      let phrase = words(2 + random.below(14))
      let text = phrase.joined(separator: " ")
      queries += ["\"\(text)\"", "^\"\(text)\"", "y : \"\(text)\"", "\(phrase.joined(separator: " + ")) *"]
      queries += ["NEAR(\"\(text)\" \"b a\", 3)", "\"\(text)\" NOT \"a a a a a a a a a\""]
    }
    for inBulk in [true, false] {
      let (db, definition) = try pair(documents, ["x", "y"], inBulk: inBulk)
      try compare(db, definition, queries)
      try db.close()
    }
  }

  @Test("A long phrase that is looked for word by word ends when its search is cancelled", arguments: [false, true])
  func cancelledWordByWord(isMerged: Bool) async throws {
    // The last of these words has another one at its place.
    let words = String(repeating: "a ", count: 3000) + "0b b"
    let (db, _) = try pair([[words]], ["x"], StepTokenizer(), inBulk: isMerged)
    let phrase = "\"" + String(repeating: "a ", count: 1500) + "b\""
    await expectCancelled(phrase, db)
    try db.close()
  }

  @Test(
    "A text of as many equal words as the phrase is looked at once", .timeLimit(.minutes(1)),
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func longText() throws {
    let count = 60_000
    let text = Array(repeating: "a", count: count).joined(separator: " ")
    let (db, _) = try pair([[text], [text + " b"]], ["x"])
    let expected = [
      "\"\(text)\"": ["0", "1"], "\"\(text) b\"": ["1"], "\"\(text) a\"": [], "\"\(text) b*\"": ["1"],
      "\"\(text) b\" *": ["1"], "\"a \(text)\" *": [],
    ]
    try db.read { tx in
      for (phrase, keys) in expected {
        let found = try tx[.papers].search(phrase).keys
        #expect(found == keys, "\(phrase.suffix(9))")
      }
    }
    try db.close()
  }
}
