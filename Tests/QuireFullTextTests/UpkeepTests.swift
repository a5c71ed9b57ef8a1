// What happens to a full text when rows change.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Synchronization
import Testing

@Suite("Upkeep of full texts")
struct UpkeepTests {
  private func database(_ text: MemoText, _ memos: [Memo]) throws -> Database {
    let db = try Database.inMemory()
    try db.register(text)
    try db.write { tx in for (number, memo) in memos.enumerated() { try tx[.memos].set(memo, for: "m\(number)") } }
    return db
  }

  private func memo(_ title: String, _ body: String? = nil, _ tags: [String] = []) -> Memo {
    Memo(title: title, body: body, tags: tags)
  }

  /// All postings of a term: rows with their fields and positions.
  private func postings(_ term: String, _ text: MemoText, _ db: Database) throws -> [String] {
    try db.read { tx in
      let stored = try StoredPostings(tx.access(to: text).trees())
      var found: [String] = []
      while try stored.next() {
        guard stored.term == [UInt8](term.utf8) else { continue }
        for index in 0..<stored.list.count {
          let key = try tx.access(to: text).trees().store.row(stored.list.rowIDs[index])?.key ?? "?"
          let positions = stored.list.positions[stored.list.positionRange(index)]
          found.append("\(key) \(stored.list.masks[index]) \(Array(positions))")
        }
      }
      return found
    }
  }

  @Test("A posting says in which fields a term stands, and where")
  func postingsHavePlaces() throws {
    let text = MemoText.memos()
    let db = try database(text, [memo("Night train night", "the night", ["night", "x y", "", "night"])])
    // Between two tags a position stays free.
    #expect(try postings("night", text, db) == ["m0 7 [0, 2, 1, 0, 6]"])
    #expect(try postings("y", text, db) == ["m0 4 [3]"])
    #expect(try db.read { try $0.access(to: text).documentCount } == 1)
    #expect(try db.read { try $0.access(to: text).trees().totalLength } == 9)
  }

  @Test("Forms at one position count once in the length, and a form that is there twice is one")
  func formsShareAPosition() throws {
    struct Doubling: Tokenizer {
      var identity: String { "doubling" }
      func forEachToken(
        in text: RawSpan, for purpose: TokenPurpose, _ body: (RawSpan, TokenPlace) throws -> Void
      ) throws {
        try PlainTokenizer().forEachToken(in: text, for: purpose) { term, place in
          try body(term, place)
          try body(term, TokenPlace(range: place.range, step: 0))
        }
      }
    }
    let text = MemoText.memos(tokenizer: Doubling())
    let db = try database(text, [memo("a b a")])
    #expect(try postings("a", text, db) == ["m0 1 [0, 2]"])
    #expect(try db.read { try $0.access(to: text).trees().totalLength } == 3)
    try db.verify(text)
  }

  @Test("A change writes the terms that differ, and no others")
  func changesWriteWhatDiffers() throws {
    let text = MemoText.memos()
    let db = try database(text, [memo("a b c d e", "f g")])
    func recent() throws -> Int { try db.read { try $0.access(to: text).trees().recent.count } }
    let before = try recent()
    try db.write { tx in try tx[.memos].set(memo("a b c d e", "f g h"), for: "m0") }
    #expect(try recent() == before + 1)
    try db.write { tx in try tx[.memos].set(memo("a b c d e", "f g h"), metadata: nil, for: "m0") }
    #expect(try recent() == before + 1)
    try db.verify(text)
  }

  @Test("Tokens that are not those stored are told, and nothing is damaged")
  func foreignTokensAreTold() throws {
    final class Switch: Sendable { let isOn = Atomic(false) }
    let toggle = Switch()
    let text = MemoText("memos.text", over: .memos, tokenizer: PlainTokenizer()) {
      SearchField("title") { memo in toggle.isOn.load(ordering: .relaxed) ? memo.title + " odd" : memo.title }
    }
    let db = try database(text, [memo("night"), memo("train")])
    toggle.isOn.store(true, ordering: .relaxed)
    let error = fullTextError { try db.write { tx in try tx[.memos].set(memo("other"), for: "m0") } }
    #expect(error == .foreignTokens(fullText: "memos.text", row: "m0"))
    #expect(fullTextError { try db.write { tx in _ = try tx[.memos].remove("m1") } } != nil)
    toggle.isOn.store(false, ordering: .relaxed)
    try db.verify(text)
    #expect(try db.read { try $0[.memos].get("m0")?.title } == "night")
    try db.write { tx in try tx[.memos].set(memo("other"), for: "m0") }
    try db.verify(text)
  }

  @Test("An error of a field's closure fails the transaction, and nothing of it remains")
  func closuresMayThrow() throws {
    struct Refused: Error {}
    let text = MemoText("memos.text", over: .memos, tokenizer: PlainTokenizer()) {
      SearchField("title") { memo in
        if memo.title == "bad" { throw Refused() }
        return memo.title
      }
    }
    let db = try database(text, [memo("night")])
    for number in 0..<3 {
      let error = #expect(throws: DatabaseError.self) {
        try db.write { tx in
          try tx[.memos].set(memo("good"), for: "m0")
          if number == 1 { try tx.access(to: text).reader.verify() }
          try tx[.memos].set(memo("bad"), for: "m1")
        }
      }
      #expect(error?.code == .extensionFailed)
      #expect(error?.cause is Refused)
      try db.verify(text)
      #expect(try postings("good", text, db) == [])
    }
  }

  @Test("Rows of coders of an app's own are found as they are read back")
  func lossyCodersAreReadBack() throws {
    struct Stem: Codable, Sendable { var word: String }
    let coder = RowCoder<Stem>(
      encode: { Array($0.word.prefix(3).utf8) },
      decode: { bytes in
        let letters = (0..<bytes.byteCount).map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
        return Stem(word: String(decoding: letters, as: UTF8.self))
      })
    let stems = RowCollection<Stem, NoMetadata>("stems", coder: coder)
    let text = FullText<Stem, NoMetadata>("stems.text", over: stems, tokenizer: PlainTokenizer()) {
      SearchField("word", \.word)
    }
    let db = try Database.inMemory()
    try db.register(text)
    try db.write { tx in try tx[stems].set(Stem(word: "abcdef"), for: "a") }
    try db.read { tx in try tx.access(to: text).verify() }
    try db.write { tx in
      try tx[stems].set(Stem(word: "xyzuvw"), for: "a")
      try tx[stems].set(Stem(word: "abcdef"), for: "b")
    }
    try db.read { tx in
      try tx.access(to: text).verify()
      let stored = try StoredPostings(tx.access(to: text).trees())
      var terms: [String] = []
      while try stored.next() { terms.append(String(decoding: stored.term ?? [], as: UTF8.self)) }
      #expect(terms == ["abc", "xyz"])
    }
  }

  @Test(
    "Terms without end, zeros, and more tokens than a length has bits for are kept right",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func oddTextsAreKept() throws {
    let text = MemoText.memos()
    let long = String(repeating: "ä", count: 1000)
    let many = (0..<70_000).map { "t\($0 % 300)" }.joined(separator: " ")
    let db = try database(
      text, [memo(long + "x", many), memo(long), memo("a\0b", many + " end"), memo(""), memo("\0")])
    try db.verify(text)
    // The first 255 bytes, without half of a letter.
    #expect(try postings(String(repeating: "ä", count: 127), text, db).count == 2)
    try db.write { tx in try tx[.memos].set(memo("short"), for: "m0") }
    try db.verify(text)
    try db.write { tx in
      try tx.access(to: text).merge()
      try tx[.memos].set(memo("short", many), for: "m1")
    }
    try db.verify(text)
    try db.write { tx in try tx[.memos].remove(["m0", "m1", "m2", "m3", "m4"]) }
    try db.verify(text)
    #expect(try db.read { try $0.access(to: text).trees().lengths.count } == 0)
  }

  @Test("More positions than there are numbers is an error")
  func positionsAreBounded() throws {
    struct Leaping: Tokenizer {
      var identity: String { "leaping" }
      func forEachToken(
        in text: RawSpan, for purpose: TokenPurpose, _ body: (RawSpan, TokenPlace) throws -> Void
      ) throws {
        try PlainTokenizer().forEachToken(in: text, for: purpose) { term, place in
          try body(term, TokenPlace(range: place.range, step: 1 << 30))
        }
      }
    }
    let text = MemoText.memos(tokenizer: Leaping())
    let db = try database(text, [memo("a b c d")])
    try db.verify(text)
    let error = fullTextError { try db.write { tx in try tx[.memos].set(memo("", "a b c d e"), for: "n") } }
    #expect(error == .tooManyTokens(fullText: "memos.text", field: "body", row: "n"))
    try db.verify(text)
  }

  @Test("Hooks that change the row at hand, before the full text hears of it, leave it right")
  func nestedChangesAreFollowed() throws {
    for number in 0..<6 {
      let text = MemoText.memos()
      let db = try Database.inMemory()
      var hooks = Hooks("hooks", collections: .only(["memos"]))
      hooks.didModify = { tx, change, flags in
        guard flags.contains(.changedObject), let memo = try change.object(in: .memos), memo.title.hasPrefix("w1")
        else {
          return
        }
        switch number {
        case 0: try tx[.memos].set(Memo(title: "nested", body: memo.title, tags: []), for: change.key)
        case 1: try tx[.memos].remove(change.key)
        case 2: try tx[.memos].set(Memo(title: "beside", body: nil, tags: []), for: change.key + "+")
        case 3:
          try? tx.savepoint {
            try tx[.memos].set(Memo(title: "undone", body: nil, tags: []), for: change.key)
            throw CancellationError()
          }
        case 4: try tx[.memos].replaceMetadata(Remark(text: "nested \(memo.title)"), for: change.key)
        default:
          try tx[.memos].remove(change.key)
          try tx[.memos].set(Memo(title: "again", body: memo.title, tags: []), for: change.key)
        }
      }
      hooks.willModify = { tx, change, _ in
        guard number == 2, change.kind != .insert, try tx[.memos].contains("other") else { return }
        try tx[.memos].remove("other")
      }
      try db.register(hooks)
      try db.register(text)
      var random = SeededRandom(seed: UInt64(number))
      for _ in 0..<20 {
        try db.write { tx in
          try tx[.memos].set(Memo(title: "other", body: nil, tags: []), for: "other")
          for _ in 0..<10 { try tx[.memos].set(random.memo(20), for: "k\(random.below(8))") }
          if random.oneIn(3) { try tx[.memos].remove("k\(random.below(8))") }
        }
        try db.verify(text)
      }
    }
  }

  @Test("A savepoint that is rolled back takes back what was gathered, put into trees or cleared in it")
  func savepointsAreUndone() throws {
    let text = MemoText.memos()
    let db = try database(text, [memo("a b"), memo("b c")])
    struct Abort: Error {}
    for number in 0..<8 {
      try db.write { tx in
        try tx[.memos].set(memo("before \(number)"), for: "x")
        try? tx.savepoint {
          try tx[.memos].set(memo("inside"), for: "y")
          if number & 1 != 0 { try tx.access(to: text).reader.verify() }
          try? tx.savepoint {
            try tx[.memos].set(memo("deeper"), for: "x")
            if number & 2 != 0 { try tx.access(to: text).reader.verify() }
            throw Abort()
          }
          if number & 4 != 0 { try tx[.memos].removeAll() }
          throw Abort()
        }
        try tx[.memos].set(memo("after"), for: "z\(number)")
      }
      try db.verify(text)
    }
    #expect(try postings("before", text, db) == ["x 1 [0]"])
    #expect(try postings("inside", text, db) == [])
    #expect(try postings("after", text, db).count == 8)
  }

  @Test("The first search after a change stores what has changed, which ends a walk that is under way")
  func searchesInsideOfWalks() throws {
    let text = MemoText.memos()
    let db = try database(text, [memo("a"), memo("b"), memo("c")])
    func walk(_ tx: WriteTransaction) throws -> Int {
      var count = 0
      for _ in tx[.memos].rows {
        try tx.access(to: text).reader.verify()
        count += 1
      }
      // A loop cannot throw: an error in it is thrown by the next call.
      _ = try tx[.memos].contains("")
      return count
    }
    try db.write { tx in
      #expect(try walk(tx) == 3)
      try tx[.memos].set(memo("d"), for: "d")
      _ = try tx.access(to: text).reader.documentCount
      #expect(try walk(tx) == 4)
    }
    let error = #expect(throws: DatabaseError.self) {
      try db.write { tx in
        try tx[.memos].set(memo("e"), for: "e")
        _ = try walk(tx)
      }
    }
    #expect(error?.code == .mutatedDuringIteration)
    try db.verify(text)
  }

  @Test("A snapshot shows the full text that it had, and opening again shows the newest")
  func snapshotsAndOpenings() throws {
    let folder = try MemoFolder()
    let text = MemoText.memos()
    let path = folder.path("db")
    var db = try Database(at: path)
    try db.register(text)
    try db.write { tx in try tx[.memos].set(memo("night train"), for: "a") }
    var pin: PinnedSnapshot? = try db.pin()
    try db.write { tx in try tx[.memos].set(memo("day"), for: "a") }
    try db.verify(text)
    try pin?.read { tx in
      try tx.access(to: text).verify()
      #expect(try tx.access(to: text).trees().totalLength == 2)
    }
    pin = nil
    try db.close()
    db = try Database(at: path)
    try db.register(text)
    try db.verify(text)
    #expect(try postings("day", text, db) == ["a 1 [0]"])
    try db.close()
  }
}
