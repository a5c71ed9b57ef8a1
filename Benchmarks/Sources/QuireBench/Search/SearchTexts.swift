// The texts that full text is measured on: packages of Debian, and any number of texts made of theirs.

internal import Foundation
internal import QuireDatabase
internal import QuireTesting

/// A text of three fields: a package with its description in one line and its long description.
struct SearchText: SynthesizedCodable, Sendable, Equatable {
  var name: String
  var summary: String
  var body: String

  /// The same text with another last word.
  func changed(_ number: Int) -> SearchText {
    var text = self
    if let space = text.body.lastIndex(of: " ") { text.body = String(text.body[..<space]) }
    text.body += " other\(number % 1000)"
    return text
  }

  /// The bytes of all fields.
  var byteCount: Int { name.utf8.count + summary.utf8.count + body.utf8.count }
}

/// Texts by number: first those of a file, then as many as are asked for, made of their names, summaries and sentences.
///
/// A made text has as many sentences as some text of the file, each from anywhere in it, so that lengths and how often
/// words occur stay about as they are. Words do not become more: what grows is how many texts have them.
final class SearchTexts: Sendable {
  /// Those of the file.
  let originals: [SearchText]
  private let sentences: [Substring]
  /// How many sentences each of `originals` has.
  private let lengths: [Int]
  private let seed: UInt64

  /// Reads the file that `make-search-texts` writes.
  ///
  /// - Parameter limit: takes texts from all over the file, so many at most.
  init(path: String, limit: Int = .max, seed: UInt64 = 1) throws {
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    let every = max(1, lines.count / max(1, limit))
    originals = try stride(from: 0, to: lines.count, by: every).prefix(limit).map { number in
      let fields = lines[number].split(separator: "\t", omittingEmptySubsequences: false)
      try expect(fields.count >= 4, "\(path), line \(number + 1): number, name, summary and description are missing")
      return SearchText(name: String(fields[1]), summary: String(fields[2]), body: String(fields[3]))
    }
    try expect(!originals.isEmpty, "\(path) has no texts: see Benchmarks/make-search-texts")
    var (sentences, lengths): ([Substring], [Int]) = ([], [])
    for text in originals {
      let own = text.body.split(separator: ". ")
      sentences += own
      lengths.append(own.count)
    }
    (self.sentences, self.lengths, self.seed) = (sentences, lengths, seed)
  }

  /// The text of a number; the same for all runs and stores.
  subscript(number: Int) -> SearchText { number < originals.count ? originals[number] : made(number) }

  /// Writes the texts of these numbers as the file has them that they were read from.
  func write(_ numbers: Range<Int>, to path: String) throws {
    try expect(FileManager.default.createFile(atPath: path, contents: nil), "\(path) cannot be made")
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    for first in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 1000) {
      let lines = (first..<min(numbers.upperBound, first + 1000)).map { number in
        let text = self[number]
        return "\(number + 1)\t\(text.name)\t\(text.summary)\t\(text.body)\n"
      }
      try file.write(contentsOf: Data(lines.joined().utf8))
    }
    try file.close()
  }

  private func made(_ number: Int) -> SearchText {
    var random = SeededRandom(seed: seed &+ UInt64(number) &* 0x9e37_79b9)
    let name = originals[random.below(originals.count)].name
    let summary = originals[random.below(originals.count)].summary
    let body = (0..<lengths[random.below(lengths.count)]).map { _ in sentences[random.below(sentences.count)] }
    return SearchText(
      name: "\(name)-r\(number / originals.count)", summary: summary, body: body.joined(separator: ". "))
  }
}
