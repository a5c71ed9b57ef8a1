// Folding of recent postings into blocks.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Merging of postings")
struct MergingTests {
  private func database(_ text: MemoText) throws -> Database {
    let db = try Database.inMemory()
    try db.register(text)
    return db
  }

  /// The numbers of entries of the trees.
  private func counts(_ text: MemoText, _ db: Database) throws -> (blocks: Int, recent: Int, positions: Int) {
    try db.read { tx in
      let trees = try tx.access(to: text).trees()
      return (try trees.blocks.count, try trees.recent.count, try trees.positions.count)
    }
  }

  private func memo(_ number: Int, _ word: String = "common") -> Memo {
    Memo(title: "\(word) t\(number)", body: String(repeating: "x ", count: number % 50), tags: [])
  }

  @Test("Merging leaves nothing recent, whatever was there", arguments: PostingDetail.allCases)
  func mergingTakesAll(detail: PostingDetail) throws {
    let text = MemoText.memos(detail)
    let db = try database(text)
    var random = SeededRandom(seed: 5)
    for round in 0..<6 {
      for _ in 0..<30 {
        try db.write { tx in try tx[.memos].set(random.memo(60), for: "k\(random.below(40 + round * 30))") }
      }
      let before = try counts(text, db).recent
      #expect(before > 0)
      #expect(try db.write { tx in try tx.access(to: text).merge() } == before)
      #expect(try counts(text, db).recent == 0)
      try db.verify(text)
    }
  }

  @Test("Merging in small pieces goes on where it was, and comes to an end")
  func mergingInPieces() throws {
    let text = MemoText.memos()
    let db = try database(text)
    var random = SeededRandom(seed: 6)
    for _ in 0..<60 { try db.write { tx in try tx[.memos].set(random.memo(80), for: "k\(random.below(50))") } }
    var last = try counts(text, db).recent
    while last > 0 {
      let folded = try db.write { tx in try tx.access(to: text).merge(count: 7) }
      let now = try counts(text, db).recent
      #expect(folded >= min(7, last) && now == last - folded)
      try db.verify(text)
      last = now
    }
    #expect(try db.write { tx in try tx.access(to: text).merge() } == 0)
  }

  @Test("Commits keep what is recent bounded")
  func recentIsBounded() throws {
    let pace = MergingPace(foldedCount: 8, recentTermCount: 16, leastRecentCount: 500, mostRecentCount: 500)
    let text = MemoText.memos().merging(pace)
    let db = try database(text)
    var random = SeededRandom(seed: 8)
    var most = 0
    for number in 0..<(TestSize.isFull ? 400 : 160) {
      try db.write { tx in try tx[.memos].set(random.memo(3000), for: "k\(number % 100)") }
      most = max(most, try counts(text, db).recent)
      if number % 50 == 0 { try db.verify(text) }
    }
    #expect(most < 800)
    try db.verify(text)
  }

  @Test("What a long text has brought is folded by the commits behind it, and never becomes too much")
  func paceOfLongTexts() {
    let pace = MergingPace()
    #expect(pace.foldedCount(excess: 63, written: 5_000) == 0)
    #expect(pace.foldedCount(excess: 64, written: 1) == 64)
    #expect(pace.foldedCount(excess: 5_000, written: 5_000) == 256)
    #expect(pace.foldedCount(excess: 8_193, written: 45) == 256)
    #expect(pace.foldedCount(excess: 8_193, written: 2_500) == 5_000)
    #expect(pace.foldedCount(excess: 8_193, written: 5_000) == 8_193)
    var random = SeededRandom(seed: 12)
    let renewed = (0..<8_000).count { _ in
      pace.isRenewed(RowID(Int64(random.below(1 << 20))), losing: RowID(Int64(random.below(1 << 20))))
    }
    #expect((850...1_150).contains(renewed), "limits are made anew \(renewed) times")
    // One long text of some, and nothing but long ones: commits keep up with both.
    for oneIn in [1, 20] {
      var (excess, most, folded) = (0, 0, 0)
      for number in 0..<2_000 {
        let written = number % oneIn == 0 ? 3_000 : 100
        excess += written
        most = max(most, excess)
        folded = pace.foldedCount(excess: excess, written: written)
        excess -= folded
        #expect(folded <= (oneIn == 1 ? 6_000 : most <= 8_192 ? 256 : 6_000))
      }
      #expect(most <= 8_192 + 2 * 3_000)
    }
  }

  @Test("A term of many rows is folded by itself")
  func frequentTermsAreFolded() throws {
    let text = MemoText.memos().merging(MergingPace(recentTermCount: 8))
    let db = try database(text)
    for number in 0..<300 { try db.write { tx in try tx[.memos].set(memo(number), for: "k\(number)") } }
    let recent = try db.read { tx in
      try tx.access(to: text).trees().recent.count(from: Array("common".utf8) + [0], upTo: Array("common".utf8) + [1])
    }
    #expect(recent < 64)
    try db.verify(text)
  }

  @Test(
    "Blocks are full where rows come one behind the other, and are joined where they become few",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func blocksAreDividedAndJoined() throws {
    let text = MemoText.memos().merging(MergingPace(foldedCount: 1))
    let db = try database(text)
    func blockCount() throws -> Int {
      try db.read { tx in
        let range = TermKeys.range(ofTerm: Array("common".utf8))
        return try tx.access(to: text).trees().blocks.count(from: range.lower, upTo: range.upper)
      }
    }
    for start in stride(from: 0, to: 1280, by: 40) {
      try db.write { tx in for number in start..<start + 40 { try tx[.memos].set(memo(number), for: "k\(number)") } }
    }
    // Ten full blocks, and the head.
    #expect(try blockCount() == 11)
    try db.verify(text)
    var random = SeededRandom(seed: 9)
    var rest = Array(0..<1280)
    while rest.count > 3 {
      try db.write { tx in
        for _ in 0..<min(60, rest.count - 3) {
          try tx[.memos].remove("k\(rest.remove(at: random.below(rest.count)))")
        }
      }
      try db.verify(text)
      #expect(try blockCount() <= rest.count / 16 + 2)
    }
    #expect(try blockCount() == 1)
    try db.write { tx in try tx[.memos].removeAll() }
    #expect(try counts(text, db) == (0, 0, 0))
    try db.verify(text)
  }

  @Test("Rows that change in the middle divide blocks, and a row that becomes shorter stays within limits")
  func rowsInTheMiddleChange() throws {
    let text = MemoText.memos().merging(MergingPace(foldedCount: 1))
    let db = try database(text)
    try db.write { tx in for number in 0..<600 { try tx[.memos].set(memo(number, "other"), for: "k\(number)") } }
    var random = SeededRandom(seed: 10)
    for _ in 0..<TestSize.trials(40, divisor: 8) {
      try db.write { tx in
        for _ in 0..<20 {
          let number = random.below(600)
          var changed = memo(number, random.oneIn(2) ? "common" : "other")
          // Shorter and longer, with the same words.
          changed.body = String(repeating: "x ", count: random.below(60))
          try tx[.memos].set(changed, for: "k\(number)")
        }
      }
      try db.verify(text)
    }
    try db.write { tx in try tx.access(to: text).merge() }
    try db.verify(text)
  }

  @Test("Rows of many fields, of which each lacks some, change among others", arguments: [4, 6])
  func manyFieldsChange(count: Int) throws {
    let fields = (0..<count).map { "f\($0)" }
    let text = PaperText.papers(fields).merging(MergingPace(foldedCount: 1))
    let db = try Database.inMemory()
    try db.register(text)
    var random = SeededRandom(seed: 11)
    func paper() -> Paper {
      let texts = fields.map { _ in
        (0..<random.below(4)).map { _ in random.oneIn(2) ? "common" : "w\(random.below(3))" }.joined(separator: " ")
      }
      return Paper(texts: texts)
    }
    try db.write { tx in for number in 0..<250 { try tx[.papers].set(paper(), for: "\(number)") } }
    for _ in 0..<TestSize.trials(20, divisor: 5) {
      try db.write { tx in
        for _ in 0..<10 {
          let key = "\(random.below(260))"
          if random.oneIn(5) { try tx[.papers].remove(key) } else { try tx[.papers].set(paper(), for: key) }
        }
      }
      try db.read { tx in try tx.access(to: text).verify() }
    }
    try db.close()
  }

  @Test("Postings are divided into blocks that have room")
  func piecesAreBlocks() {
    for count in 0..<1000 {
      for isTail in [false, true] {
        let pieces = PostingFolder.pieces(of: count, isTail: isTail)
        #expect(pieces.map(\.count).reduce(0, +) == count)
        #expect(pieces.allSatisfy { (1...128).contains($0.count) })
        if isTail { #expect(pieces.dropLast().allSatisfy { $0.count == 128 }) }
      }
    }
  }

  @Test("What waits in memory is put together as it has happened")
  func gatheredChangesArePutTogether() throws {
    var random = SeededRandom(seed: 11)
    let form = PostingForm(fieldCount: 1, detail: .positions)
    let layout = TextLayout("t", "c", [("f", 1)], PlainTokenizer(), .positions, .storedObject)
    for _ in 0..<50 {
      var gathered = GatheredPostings()
      // Of each posting: whether there was one, and the number of the one that is there.
      var before: [String: Bool] = [:]
      var now: [String: Int?] = [:]
      let count = 1 + random.below(60)
      for _ in 0..<count {
        let (term, row) = ("longterm\(random.below(4))", RowID(Int64(1 + random.below(3))))
        let name = "\(term) \(row.rawValue)"
        let isThere = now[name].map { $0 != nil } ?? random.oneIn(2)
        if before[name] == nil { before[name] = isThere }
        let comes = !isThere || random.oneIn(2)
        var document = DocumentTerms()
        let number = 1 + random.below(5)
        try document.read("k", layout) { body in
          var text = String(repeating: term + " ", count: number)
          try text.withUTF8 { try unsafe body(0, UnsafeRawBufferPointer($0).bytes) }
        }
        if comes {
          gathered.add(document, 0, row, goes: isThere, form)
        } else {
          gathered.add(document, 0, row, goes: true)
        }
        now[name] = .some(comes ? number : nil)
      }
      var lastName = ""
      var seen: Set<String> = []
      gathered.forEachTerm { term, changes in
        for change in changes {
          let name = String(decoding: term, as: UTF8.self) + " \(change.row.rawValue)"
          #expect(lastName < name)
          lastName = name
          seen.insert(name)
          #expect(change.goes == before[name])
          var list = PostingList()
          if change.valueCount >= 0 {
            #expect(gathered.withValue(change) { RecentCodec.decode($0, row: change.row, form, to: &list) })
          }
          #expect((list.positions.isEmpty ? nil : list.positions.count) == now[name] ?? nil)
        }
      }
      for (name, wasThere) in before where !seen.contains(name) { #expect(!wasThere && now[name] == .some(nil)) }
    }
  }
}
