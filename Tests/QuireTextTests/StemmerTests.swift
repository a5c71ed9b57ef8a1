// Stemmers against libstemmer's stems, and what no word may do to them.

import Foundation
import QuireTesting
import Testing

@testable import QuireText

@Suite struct StemmerTests {
  private static let repository = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Where a folder with all words of the lists is, if somebody asks for those.
  private static let allStems = ProcessInfo.processInfo.environment["QUIRE_STEMS"]

  /// The words of a folder whose stems are not those that stand behind them.
  private func differences(_ language: StemmingLanguage, in folder: URL) throws -> (count: Int, differing: [String]) {
    let data = try Data(contentsOf: folder.appending(path: "\(language.rawValue).txt"))
    let lines = data.split(separator: UInt8(ascii: "\n"))
    var stemmer = Stemmer(language)
    var differing: [String] = []
    for line in lines {
      let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
      var bytes = Array(fields[0])
      stemmer.stem(&bytes)
      if !bytes.elementsEqual(fields[1]) {
        differing.append(String(decoding: line, as: UTF8.self) + " " + String(decoding: bytes, as: UTF8.self))
      }
    }
    return (lines.count, differing)
  }

  @Test("Stems are those of libstemmer", arguments: StemmingLanguage.allCases)
  func fixture(language: StemmingLanguage) throws {
    let (count, differing) = try differences(language, in: Self.repository.appending(path: "Fixtures/stems"))
    #expect(count > 3_000)
    #expect(differing.prefix(20) == [])
  }

  @Test(
    "Stems of all words of the lists are those of libstemmer", .enabled(if: allStems != nil),
    arguments: StemmingLanguage.allCases)
  func everyWord(language: StemmingLanguage) throws {
    let (count, differing) = try differences(language, in: URL(filePath: try #require(Self.allStems)))
    #expect(count > 400_000)
    #expect(differing.count == 0)
    #expect(differing.prefix(40) == [])
  }

  /// Its stem, by a stemmer of its own.
  private func stem(_ bytes: [UInt8], _ language: StemmingLanguage) -> [UInt8] {
    var (stemmer, stem) = (Stemmer(language), bytes)
    stemmer.stem(&stem)
    return stem
  }

  @Test("Words of no letter or of one stay as they are", arguments: StemmingLanguage.allCases)
  func shortWords(language: StemmingLanguage) {
    #expect(stem([], language) == [])
    // Capital letters are marks of the rules, not letters of words.
    for byte in UInt8.min...UInt8.max where !"YUIH".utf8.contains(byte) { #expect(stem([byte], language) == [byte]) }
    #expect(stem(Array("中".utf8), language) == Array("中".utf8))
  }

  @Test("Any bytes have a stem that is no longer than they are", arguments: StemmingLanguage.allCases)
  func anyBytes(language: StemmingLanguage) {
    var random = SeededRandom(seed: 29)
    var stemmer = Stemmer(language)
    let pieces = "aeiouylnstdgrhqmb'éèëïßäü".unicodeScalars.map { Array(String($0).utf8) }
    for _ in 0..<TestSize.trials(200_000, divisor: 25) {
      var word: [UInt8] = []
      for _ in 0..<Int.random(in: 0...14, using: &random) {
        if Int.random(in: 0..<10, using: &random) == 0 {
          word.append(UInt8.random(in: 0...255, using: &random))
        } else if let piece = pieces.randomElement(using: &random) {
          word += piece
        }
      }
      var found = word
      stemmer.stem(&found)
      #expect(found.count <= word.count, "\(word)")
    }
  }

  @Test("Bytes that are no UTF-8 stay as they are", arguments: StemmingLanguage.allCases)
  func strayBytes(language: StemmingLanguage) {
    let strays: [[UInt8]] = [
      [0xFF], [0xC3], [0xE2, 0x82], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
    ]
    for stray in strays {
      #expect(stem(Array("k".utf8) + stray, language) == Array("k".utf8) + stray)
      #expect(stem(stray + Array("krk".utf8), language) == stray + Array("krk".utf8))
    }
  }

  @Test("Words of ten thousand letters are stemmed, in time for their length", arguments: StemmingLanguage.allCases)
  func longWords(language: StemmingLanguage) throws {
    for text in ["a", "y", "u", "s", "ß", "ë", "qu", "ui", "ie", "ment", "lich", "'"] {
      let word = Array(String(repeating: text, count: TestSize.isFull ? 10_000 : 3_000).utf8)
      #expect(stem(word, language).count <= word.count)
    }
    let growth = try Effort.growth(of: TestSize.isFull ? 4_000 : 1_500, by: 16) { count in
      let word = Array(String(repeating: "aëß'", count: count).utf8)
      return { _ = stem(word, language) }
    }
    #expect(growth < 64, "linear is 16, quadratic 256")
  }

  @Test("A stemmer forgets the word before")
  func reused() {
    var stemmer = Stemmer(.english)
    for (word, stem) in [("nationalities", "nation"), ("at", "at"), ("running", "run"), ("", ""), ("sky", "sky")] {
      var bytes = Array(word.utf8)
      stemmer.stem(&bytes)
      #expect(String(decoding: bytes, as: UTF8.self) == stem)
    }
  }
}
