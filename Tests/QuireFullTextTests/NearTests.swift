// NEAR of many phrases, and of equal ones.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Phrases near each other")
struct NearTests {
  /// By the definition: those places of each phrase for which some place is the last one of a match.
  private static func near(_ phrases: [(length: Int64, places: [FieldPlace])], _ distance: Int64) -> [[FieldPlace]] {
    var matching = phrases.map { _ in Set<FieldPlace>() }
    for last in Set(phrases.flatMap(\.places)) {
      let close = phrases.map { phrase in
        phrase.places.filter { $0 <= last && $0 + phrase.length + distance >= last }
      }
      if close.contains(where: \.isEmpty) { continue }
      for (number, places) in close.enumerated() { matching[number].formUnion(places) }
    }
    return matching.map { $0.sorted() }
  }

  @Test("The places that count are those of the definition, of two phrases and of many", arguments: [UInt64](1...4))
  func definition(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<TestSize.trials(2_000, divisor: 4) {
      let count = 1 + random.below(random.oneIn(4) ? 20 : 4)
      let (spread, distance) = (2 + random.below(60), random.below(8))
      let phrases = (0..<count).map { _ in
        let places = (0..<1 + random.below(12)).map { _ in
          FieldPlaces.place(field: random.below(2), position: UInt32(random.below(spread)))
        }
        return (length: Int64(1 + random.below(3)), places: Set(places).sorted())
      }
      var matcher = NearMatcher(tokenCounts: phrases.map { Int($0.length) }, distance: distance)
      // A matcher takes one row after the other.
      for _ in 0..<2 {
        for (number, phrase) in phrases.enumerated() { matcher.set(phrase.places, ofPhrase: number) }
        let isMatch = try matcher.match()
        let expected = Self.near(phrases, Int64(distance))
        #expect(isMatch == !expected[0].isEmpty)
        #expect(phrases.indices.map { matcher.matched(ofPhrase: $0) } == expected, "\(phrases) \(distance)")
      }
    }
  }

  @Test("The least of numbers that change is told, of equal ones the first", arguments: [1, 2, 3, 7, 8, 100])
  func tournament(count: Int) {
    var random = SeededRandom(seed: UInt64(count))
    var numbers = (0..<count).map { _ in Int64(random.below(50)) }
    var tree = TournamentTree(count: count)
    tree.fill({ numbers[$0] }, count: count)
    for _ in 0..<200 {
      #expect(tree.least == numbers.min() && tree.first == numbers.firstIndex(of: tree.least))
      let index = random.below(count)
      numbers[index] = random.oneIn(9) ? .max : Int64(random.below(50))
      tree.set(numbers[index], at: index)
    }
  }

  @Test("Equal phrases in NEAR find and score as by the definition")
  func equalPhrases() throws {
    var random = SeededRandom(seed: 5)
    let documents = (0..<60).map { _ in
      (0..<2).map { _ in (0..<random.below(14)).map { _ in random.pick(["a", "b", "c", "ab"]) }.joined(separator: " ") }
    }
    let db = try database(documents.map { Article(title: $0[0], body: $0[1]) })
    var definition = BruteForceSearch(fields: ["title", "body"], tokenizer: .unicode61())
    try db.read { tx in
      for (number, texts) in documents.enumerated() {
        if let row = try tx[.articles].rowID("a\(number)") { try definition.set(row, texts) }
      }
      let phrases = ["a", "a", "b", "c", "\"a b\"", "\"a a\"", "a*"]
      for _ in 0..<TestSize.trials(400, divisor: 4) {
        let chosen = (0..<2 + random.below(6)).map { _ in random.pick(phrases) }.joined(separator: " ")
        let text = "NEAR(\(chosen), \(random.below(5)))"
        let expression = try SearchExpression(text)
        let found = try tx[.articles].search(expression)
        let expected = try definition.ranked(expression)
        #expect(try found.rowIDs == expected.map(\.row).sorted(), "\(text)")
        let scores = Dictionary(uniqueKeysWithValues: try found.ranked().scores.map { ($0.rowID, $0.score) })
        for (row, score) in expected { #expect(abs(score - (scores[row] ?? -1)) <= 1e-9, "\(text)") }
      }
    }
    try db.close()
  }

  @Test("A search that was cancelled ends inside of a row with many places")
  func cancelled() async {
    let error = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      var matcher = NearMatcher(tokenCounts: [1, 1], distance: 3)
      matcher.set((0..<10_000).map { 20 * $0 }, ofPhrase: 0)
      matcher.set((0..<10_000).map { 20 * $0 + 10 }, ofPhrase: 1)
      return #expect(throws: CancellationError.self) { try matcher.match() }
    }.value
    #expect(error != nil)
  }
}
