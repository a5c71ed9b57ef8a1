// What declarations of full texts say, and what is refused.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

@Suite("Declarations of full texts")
struct DeclaringTests {
  private func refusal(_ fields: [SearchField<Memo, Remark>]) throws -> FullTextError? {
    let db = try Database.inMemory()
    let text = MemoText("memos.text", over: .memos, tokenizer: PlainTokenizer()) { for field in fields { field } }
    return fullTextError { try db.register(text) }
  }

  @Test("Fields are 1 to 64, with names that differ and weights that are none below zero")
  func fieldsAreChecked() throws {
    let field = { (number: Int) in SearchField<Memo, Remark>("f\(number)", \.title) }
    #expect(try refusal([]) == .fieldCount(fullText: "memos.text", count: 0))
    #expect(try refusal((0..<65).map(field)) == .fieldCount(fullText: "memos.text", count: 65))
    #expect(try refusal((0..<64).map(field)) == nil)
    #expect(
      try refusal([SearchField("a", \.title), SearchField("A", \.title)])
        == .nameUsedTwice(fullText: "memos.text", field: "A"))
    #expect(
      try refusal([SearchField("a", \.title, weight: -1)])
        == .badWeight(fullText: "memos.text", field: "a", weight: -1))
  }

  @Test("A field gives its texts, wherever they come from")
  func fieldsGiveTexts() throws {
    let isLong = true
    let text = MemoText("memos.text", over: .memos, tokenizer: .unicode61()) {
      SearchField("title", \.title, weight: 2)
      SearchField("body", \.body)
      SearchField("tags", each: \.tags)
      SearchField("remark", metadata: \.text)
      if isLong {
        SearchField("upper") { memo in memo.title.uppercased() }
        SearchField("both") { memo, remark in remark.map { memo.title + $0.text } }
      }
      for number in 1...2 { SearchField("n\(number)", each: { memo, _ in memo.tags.map { $0 + "\(number)" } }) }
    }
    #expect(text.fieldNames == ["title", "body", "tags", "remark", "upper", "both", "n1", "n2"])
    let memo = Memo(title: "night", body: nil, tags: ["a", "b"])
    let remark = Remark(text: "train")
    let texts = try (0..<8).map { try text.fields.texts(ofField: $0, memo, remark) }
    #expect(texts == [["night"], [], ["a", "b"], ["train"], ["NIGHT"], ["nighttrain"], ["a1", "b1"], ["a2", "b2"]])
    #expect(try text.fields.texts(ofField: 3, memo, nil) == [])
    #expect(try text.fields.texts(ofField: 5, memo, nil) == [])
  }

  @Test("Only the halves are followed that texts are made of")
  func halvesAreThoseOfFields() {
    let object = MemoText("a", over: .memos, tokenizer: PlainTokenizer()) { SearchField("title", \.title) }
    let metadata = MemoText("a", over: .memos, tokenizer: PlainTokenizer()) { SearchField("r", metadata: \.text) }
    #expect(object.halves == .storedObject)
    #expect(metadata.halves == .storedMetadata)
    #expect(MemoText.memos().halves == [.storedObject, .storedMetadata])
  }

  @Test("Another tokenizer, detail or field is another version, and another weight is none")
  func versionsFollowDefinitions() {
    let plain = MemoText.memos()
    #expect(plain.version == MemoText.memos().version)
    #expect(plain.version != MemoText.memos(.rows).version)
    #expect(plain.version != MemoText.memos(version: "2").version)
    #expect(plain.version != MemoText.memos(tokenizer: PlainTokenizer(identity: "plain/2")).version)
    func one(_ name: String, _ weight: Double) -> MemoText {
      MemoText("a", over: .memos, tokenizer: PlainTokenizer()) { SearchField(name, \.title, weight: weight) }
    }
    #expect(one("a", 1).version == one("a", 2).version)
    #expect(one("a", 1).version != one("b", 1).version)
  }

  @Test("A full text is built anew when it is declared otherwise, and kept when it is not")
  func otherDefinitionsAreBuiltAnew() throws {
    let folder = try MemoFolder()
    let path = folder.path("db")
    func open(_ text: MemoText) throws -> [UInt8]? {
      let db = try Database(at: path)
      defer { try? db.close() }
      if try db.read({ $0[.memos].count }) == 0 {
        try db.write { tx in try tx[.memos].set(Memo(title: "Night", body: "train", tags: []), for: "a") }
      }
      try db.register(text)
      try db.verify(text)
      return try db.read { tx in try tx.access(to: text).trees().definition }
    }
    let first = try open(.memos())
    #expect(try open(.memos()) == first)
    let other = try open(.memos(tokenizer: PlainTokenizer(identity: "plain/2", hasOtherForms: true)))
    #expect(other != first)
    #expect(try open(.memos(.frequencies)) != first)
    #expect(try open(.memos()) == first)
  }

  @Test("A definition says what was declared, and no bytes trap")
  func definitionsAreRead() {
    let definition = TextDefinition(fieldNames: ["a", "", "größe"], detail: .frequencies, tokenizer: "words/1")
    #expect(TextDefinition(definition.bytes) == definition)
    var random = SeededRandom(seed: 7)
    for _ in 0..<2000 {
      var bytes = definition.bytes
      for _ in 0...random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      if random.oneIn(3) { bytes.removeLast(random.below(bytes.count)) }
      if let read = TextDefinition(bytes) { #expect(TextDefinition(read.bytes) == read) }
    }
  }
}

/// A folder that is gone when nobody has it any more.
final class MemoFolder {
  private let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("quire-text-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}
