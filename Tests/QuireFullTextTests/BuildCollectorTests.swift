// Gathering the postings of many rows in memory.

import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

/// Cuts at spaces; a word may have any other bytes. Each third word stands at the place of the one before it.
private struct SpaceTokenizer: Tokenizer {
  var identity: String { "space" }

  func forEachToken(
    in text: RawSpan, for purpose: TokenPurpose, _ body: (_ term: RawSpan, _ place: TokenPlace) throws -> Void
  ) throws {
    let bytes = text.withUnsafeBytes { [UInt8]($0) }
    var (start, count) = (0, 0)
    for index in 0...bytes.count where index == bytes.count || bytes[index] == 32 {
      defer { start = index + 1 }
      if start == index { continue }
      count += 1
      let term = Array(bytes[start..<index])
      try body(term.span.bytes, TokenPlace(range: start..<index, step: count % 3 == 0 ? 0 : count % 7 == 0 ? 3 : 1))
    }
  }
}

@Suite("Collecting postings") struct BuildCollectorTests {
  private func word(_ random: inout SeededRandom) -> [UInt8] {
    switch random.below(30) {
    case 0: [UInt8](repeating: UInt8(33 + random.below(90)), count: random.below(700))
    case 1: [0, 0]
    case 2: [0, 97, 0, UInt8(98 + random.below(3))]
    default: Array("w\(random.below(1 + random.below(300)))".utf8)
    }
  }

  @Test(
    "Rows get the records and postings that they get one by one", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: BlockTests.forms)
  func equalsDocumentTerms(_ form: PostingForm) throws {
    var random = SeededRandom(seed: UInt64(form.fieldCount))
    let collector = PostingCollector(form, byteLimit: 1 << 10)
    var document = DocumentTerms()
    for round in 0..<3 {
      var expected: [[UInt8]: PostingList] = [:]
      var row = Int64(1 + random.below(300))
      for _ in 0..<TestSize.trials(60, divisor: 6) {
        document.begin()
        for field in 0..<form.fieldCount where random.oneIn(1 + form.fieldCount / 4) {
          for _ in 0..<random.below(3) {
            let text = Array(
              (0..<random.below(random.oneIn(20) ? 3_000 : 30)).map { _ in word(&random) }.joined(separator: [32]))
            let isAdded = try document.add(text.span.bytes, field: field, SpaceTokenizer())
            let isCollected = try collector.add(text.span.bytes, field: field, SpaceTokenizer())
            #expect(isAdded && isCollected)
          }
        }
        document.finish()
        let (record, isInBounds) = collector.endRow(RowID(row))
        #expect(record == document.record && isInBounds)
        for place in 0..<document.termCount {
          document.append(place, of: RowID(row), to: &expected[document.term(place), default: PostingList()], form)
        }
        row += Int64(1 + random.below(1 << random.below(40)))
      }
      #expect(try collected(collector) == expected, "round \(round)")
      #expect(collector.byteCount > 1 << 12)
      collector.removeAll()
    }
  }

  /// What a collector gives, whose terms have to be in order.
  private func collected(_ collector: PostingCollector) throws -> [[UInt8]: PostingList] {
    var found: [[UInt8]: PostingList] = [:]
    var last: [UInt8] = []
    var stream = PostingStream()
    let postings = BlockPostings(collector.form)
    collector.forEachTerm { bytes, parts in
      let term = [UInt8](bytes)
      #expect(last.lexicographicallyPrecedes(term))
      last = term
      var (parts, list) = (parts, PostingList())
      stream.begin()
      repeat {
        postings.removeAll()
        _ = stream.read(1 + term.count % 9, into: postings, { parts.next() })
        list.append(postings)
      } while postings.count > 0
      found[term] = list
    }
    return found
  }
}
