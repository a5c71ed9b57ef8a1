// The Unicode tables and rules against the tests of the standard.

import Foundation
@testable import QuireText
import QuireTesting
import Testing

/// The lines of a fixture of this repository, without comments, in fields.
func unicodeFixture(_ name: String) throws -> [[Substring]] {
  let repository = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  let text = try String(contentsOf: repository.appending(path: "Fixtures/unicode-15/\(name)"), encoding: .utf8)
  return text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    .map { $0.split(separator: ";", omittingEmptySubsequences: false) }
}

/// Numbers in hexadecimal.
func scalars(_ text: Substring) throws -> [UInt32] {
  try text.split(separator: " ").map { try #require(UInt32($0, radix: 16)) }
}

/// Scalars in UTF-8.
func bytes(_ scalars: some Sequence<UInt32>) -> [UInt8] {
  var bytes: [UInt8] = []
  for scalar in scalars { forEachByte(of: scalar) { bytes.append($0) } }
  return bytes
}

/// Calls `body` with bytes as a text.
func withText<Result>(_ bytes: [UInt8], _ body: (ByteView) -> Result) -> Result? {
  bytes.withUnsafeBytes { buffer in ByteView(buffer).map(body) }
}

extension Normalizer {
  /// The decomposed form of a text.
  func decomposed(_ text: [UInt32]) -> [UInt32] {
    var scalars: [UInt32] = []
    for scalar in text { decompose(scalar, into: &scalars) }
    reorder(&scalars)
    return scalars
  }

  /// The composed form of a text.
  func composed(_ text: [UInt32]) -> [UInt32] {
    var scalars = decomposed(text)
    compose(&scalars)
    return scalars
  }
}

/// All scalars but the surrogates, or some of them.
var manyScalars: some Sequence<UInt32> {
  stride(from: 0, to: 0x11_0000 as UInt32, by: TestSize.isFull ? 1 : 13).lazy.filter { $0 >> 11 != 0x1b }
}

@Suite("Unicode") struct UnicodeTests {
  private let tables = UnicodeTables.shared

  @Test("Words end where the tests of the standard say")
  func wordBreaks() throws {
    let cases = try unicodeFixture("word-breaks.txt").map { try #require($0.first) }
    #expect(cases.count > 1800)
    for line in cases {
      let fields = line.split(separator: " ")
      var (text, expected): ([UInt8], [Int]) = ([], [])
      for field in fields {
        if field == "/" { expected.append(text.count) }
        if field != "/", field != "+" { text += bytes(try scalars(field)) }
      }
      let found = withText(text) { view in
        let segmenter = WordSegmenter(view, tables.kinds, .standard)
        var ends = [0]
        while let last = ends.last, last < text.count { ends.append(segmenter.segment(at: last).end) }
        return ends
      }
      #expect(found == expected, "\(line)")
    }
  }

  @Test("Case is folded as the standard says")
  func caseFolding() throws {
    let lines = try unicodeFixture("case-folding.txt")
    #expect(lines.count == tables.caseFolding.count)
    for line in lines {
      let scalar = try #require(scalars(line[0]).first)
      #expect(tables.caseFolding(scalar).map(Array.init) == (try scalars(line[1])), "\(line)")
    }
  }

  @Test("Texts are decomposed and composed as the tests of the standard say")
  func normalization() throws {
    let lines = try unicodeFixture("normalization.txt")
    #expect(lines.count > 4000)
    var singles: Set<UInt32> = []
    for line in lines {
      let (source, decomposed) = (try scalars(line[0]), try scalars(line[2]))
      let composed = line[1].isEmpty ? source : try scalars(line[1])
      if source.count == 1 { singles.formUnion(source) }
      for text in [source, composed, decomposed] {
        #expect(tables.normalizer.decomposed(text) == decomposed, "\(line)")
        #expect(tables.normalizer.composed(text) == composed, "\(line)")
      }
    }
    let syllables: Range<UInt32> = 0xac00..<0xd7a4
    for scalar in manyScalars where !singles.contains(scalar) && !syllables.contains(scalar) {
      #expect(tables.normalizer.decomposed([scalar]) == [scalar])
      #expect(tables.normalizer.composed([scalar]) == [scalar])
    }
  }

  @Test("Syllables of Hangul are taken apart and put together")
  func hangul() {
    let parts = tables.normalizer.decomposed([0xac00, 0xac01, 0xd7a3])
    #expect(parts == [0x1100, 0x1161, 0x1100, 0x1161, 0x11a8, 0x1112, 0x1175, 0x11c2])
    for syllable in stride(from: 0xac00 as UInt32, to: 0xd7a4, by: TestSize.isFull ? 1 : 7) {
      let parts = tables.normalizer.decomposed([syllable])
      #expect(parts.count == ((syllable - 0xac00) % 28 == 0 ? 2 : 3))
      #expect(tables.normalizer.composed(parts) == [syllable])
    }
  }

  @Test(
    "Bytes are read as the standard library reads them, where they are UTF-8; others count one by one",
    .enabled(if: TestSize.hasSlowTests, "slow"))
  func utf8() {
    var random = SeededRandom(seed: 15)
    for _ in 0..<TestSize.trials(200_000) {
      let text = (0..<random.below(8)).map { _ in Self.randomByte(&random) }
      withText(text) { view in
        var index = 0
        while index < text.count {
          let (scalar, length) = view.scalar(at: index)
          let piece = text[index..<index + length]
          let valid = String(validating: piece, as: UTF8.self)
          #expect(valid.map { Array($0.unicodeScalars.map(\.value)) } ?? [0xfffd] == [scalar])
          if valid == nil {
            #expect(length == 1)
            let longer = (2...4).filter { index + $0 <= text.count }.map { text[index..<index + $0] }
            #expect(longer.allSatisfy { String(validating: $0, as: UTF8.self) == nil })
          }
          index += length
        }
      }
    }
  }

  private static func randomByte(_ random: inout SeededRandom) -> UInt8 {
    switch random.below(4) {
    case 0: UInt8(random.below(0x80))
    case 1: UInt8(0xc0 + random.below(0x40))
    default: UInt8(0x80 + random.below(0x40))
    }
  }

  @Test("The tables are small")
  func size() { #expect(tables.kinds.byteCount < 80 << 10) }
}
