// What the tests of upkeep share.

import Foundation
import QuireDatabase
@testable import QuireFullText
import QuireTesting
import QuireText
import Testing

/// A row of the tests, with fields of every kind.
struct Memo: SynthesizedCodable, Sendable, Equatable {
  var title: String
  var body: String?
  var tags: [String]
}

struct Remark: Codable, Sendable, Equatable { var text: String }

extension RowCollection where Object == Memo, Metadata == Remark {
  static var memos: Self { .init("memos") }
}

typealias MemoText = FullText<Memo, Remark>

/// Cuts at what is no ASCII letter or digit, and folds case.
struct PlainTokenizer: Tokenizer {
  var identity = "plain/1"
  /// Whether each word is also there without its last letter, at the same position.
  var hasOtherForms = false

  func forEachToken(
    in text: RawSpan, for purpose: TokenPurpose, _ body: (_ term: RawSpan, _ place: TokenPlace) throws -> Void
  ) throws {
    var word: [UInt8] = []
    for index in 0...text.byteCount {
      let byte = index < text.byteCount ? unsafe text.unsafeLoad(fromByteOffset: index, as: UInt8.self) : 32
      switch byte {
      case 0x41...0x5a: word.append(byte | 0x20)
      case 0x30...0x39, 0x61...0x7a, 0x80...: word.append(byte)
      default:
        if word.isEmpty { continue }
        let range = index - word.count..<index
        try unsafe body(word.span.bytes, TokenPlace(range: range))
        if hasOtherForms, word.count > 1 {
          word.removeLast()
          try unsafe body(word.span.bytes, TokenPlace(range: range, step: 0))
        }
        word.removeAll()
      }
    }
  }
}

extension FullText where Object == Memo, Metadata == Remark {
  /// The full text of the tests.
  static func memos(
    _ detail: PostingDetail = .positions, version: String = "1", tokenizer: some Tokenizer = PlainTokenizer()
  ) -> Self {
    FullText("memos.text", over: .memos, version: version, tokenizer: tokenizer, detail: detail) {
      SearchField("title", \.title, weight: 4)
      SearchField("body", \.body)
      SearchField("tags", each: \.tags)
      SearchField("remark", metadata: \.text)
    }
  }
}

extension Database {
  /// Verifies a full text in a snapshot.
  func verify(_ text: MemoText) throws {
    try read { tx in try tx.access(to: text).verify() }
  }
}

extension SeededRandom {
  /// A text of words, of which the first ones are frequent.
  mutating func words(_ count: Int, of vocabulary: Int) -> String {
    (0..<count).map { _ in word(of: vocabulary) }.joined(separator: " ")
  }

  mutating func word(of vocabulary: Int) -> String {
    let bits = next()
    // About as often as its number is small.
    let number = Int(Double(vocabulary) * pow(Double(bits >> 11) / Double(1 << 53), 3))
    return number % 7 == 3 ? "w\(number)longword\(number)" : "w\(number)"
  }

  mutating func memo(_ vocabulary: Int) -> Memo {
    Memo(
      title: words(below(4), of: vocabulary), body: oneIn(5) ? nil : words(below(oneIn(20) ? 200 : 20), of: vocabulary),
      tags: (0..<below(3)).map { _ in words(below(3), of: vocabulary) })
  }
}

/// The error of a full text that `body` throws, by itself or as the cause of a database's.
func fullTextError(_ body: () throws -> Void) -> FullTextError? {
  do { try body() } catch let error as DatabaseError { return error.cause as? FullTextError } catch {
    return error as? FullTextError
  }
  return nil
}
