// Texts made of stored bytes.

import QuireTesting
import Testing

@testable import QuireDatabase

@Suite struct StoredTextTests {
  /// The text of some bytes, which lie at an address that is not aligned.
  private func text(_ bytes: [UInt8]) -> String? {
    unsafe ([0] + bytes).withUnsafeBytes { unsafe String(storedUTF8: UnsafeRawBufferPointer(rebasing: $0[1...])) }
  }

  private func isUTF8(_ bytes: [UInt8]) -> Bool { unsafe bytes.withUnsafeBytes { unsafe $0.isUTF8 } }

  /// Where it is false, texts are right all the same, and slow.
  @Test func knowsTheLayoutOfShortStrings() {
    #expect(ShortText.isLaidOutAsKnown)
  }

  @Test func asciiOfEachLength() throws {
    var random = SeededRandom(seed: 41)
    for count in 0...70 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...0x7f, using: &random) }
      let expected = String(decoding: bytes, as: UTF8.self)
      let made = try #require(text(bytes))
      #expect(made == expected && Array(made.utf8) == bytes && made.hashValue == expected.hashValue)
      #expect(made.utf8.count == count && made + "x" == expected + "x" && made.hasSameBytes(as: expected))
      #expect(count > ShortText.byteCount || made.words == expected.words)
      #expect(isUTF8(bytes))
    }
  }

  @Test func bytesThatAreNoUTF8AtEachPlace() {
    for count in 1...40 {
      for place in 0..<count {
        for bad in [0x80, 0xbf, 0xc0, 0xc3, 0xf5, 0xff] as [UInt8] {
          var bytes = [UInt8](repeating: 0x61, count: count)
          bytes[place] = bad
          #expect(text(bytes) == nil && !isUTF8(bytes), "\(bad) at \(place) of \(count)")
        }
      }
    }
  }

  @Test func otherLettersAtEachPlace() {
    for letter in ["é", "€", "𝄞", "e\u{301}", "\u{feff}"] {
      for before in 0...20 {
        for after in 0...20 {
          let expected = String(repeating: "a", count: before) + letter + String(repeating: "b", count: after)
          let bytes = Array(expected.utf8)
          #expect(text(bytes).map { Array($0.utf8) } == bytes && isUTF8(bytes))
          // Without its last byte a letter is none.
          let cut = Array(bytes[..<(before + letter.utf8.count - 1)])
          #expect(letter == "e\u{301}" || text(cut) == nil)
        }
      }
    }
  }

  private static func numbers(_ name: String) -> RowCollection<Int, NoMetadata> { .init(name) }

  /// Bounds that share the collection's first bytes with all keys, and those that do not.
  @Test(arguments: [false, true]) func walksEndAtTheirBounds(isReversed: Bool) throws {
    let db = try Database.inMemory()
    defer { try? db.close() }
    let keys = ["\0", "a", "abcdefgh", "abcdefghijklmno", "abcdefghijklmnop", "b", "é", "🎵", "\u{10ffff}"]
    try db.write { tx throws in
      for name in ["one", "two", "three"] { for key in keys { try tx[Self.numbers(name)].set(1, for: key) } }
    }
    let sorted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    func ordered(_ keys: [String]) -> [String] { isReversed ? keys.reversed() : keys }
    try db.read { tx throws in
      for name in ["one", "two", "three"] {
        let rows = tx[Self.numbers(name)]
        #expect(Array(isReversed ? rows.keys.reversed() : rows.keys) == ordered(sorted))
        for end in sorted {
          let range = rows.keys(..<end)
          #expect(
            Array(isReversed ? range.reversed() : range)
              == ordered(sorted.filter { $0.utf8.lexicographicallyPrecedes(end.utf8) }))
        }
      }
    }
  }

  /// The bound behind all keys of a collection whose number ends in 255 is shorter than the number of a collection.
  @Test func everyKeyBeginsWithNothing() throws {
    let db = try Database.inMemory()
    defer { try? db.close() }
    let names = (0..<600).map { "collection \($0)" }
    try db.write { tx throws in
      for name in names { for key in ["a", "b"] { try tx[Self.numbers(name)].set(1, for: key) } }
    }
    try db.read { tx throws in
      for name in names {
        let keys = tx[Self.numbers(name)].keys(prefix: "")
        #expect(Array(keys) == ["a", "b"] && Array(keys.reversed()) == ["b", "a"], "\(name)")
      }
    }
  }
}
