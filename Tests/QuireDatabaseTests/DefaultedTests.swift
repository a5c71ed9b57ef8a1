// Fields with defaults, over the coders that rows can have.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

private struct Before: Codable, Equatable {
  var title: String
}

private enum FiveStars: DefaultProvider { static let defaultValue = 5 }

private enum Genre: String, Codable, DefaultProvider {
  case jazz, other
  static let defaultValue = Genre.other
}

private struct After: Codable, Hashable {
  var title: String
  @Defaulted<Int> var plays = 0
  @Defaulted<[String]> var tags = []
  @Defaulted<FiveStars> var stars = 5
  @Defaulted<Genre> var genre = .jazz
  @Defaulted<[String: Int]> var counts = [:]
  @Defaulted<Bool> var isLoved = true
  @Defaulted<Double> var volume = 1
}

/// The same fields without the wrapper.
private struct Plain: Codable, Equatable {
  var title: String
  var plays: Int
  var tags: [String]
  var stars: Int
  var genre: Genre
  var counts: [String: Int]
  var isLoved: Bool
  var volume: Double
}

private struct Outer: Codable, Equatable {
  var list: [After]
}

private struct OuterBefore: Codable {
  var list: [Before]
}

@Suite("Fields with defaults") struct DefaultedTests {
  private static let full = After(
    title: "a", plays: 3, tags: ["x"], stars: 1, genre: .jazz, counts: ["k": 2], isLoved: true, volume: 0.5)

  /// `value` as read by the same kind of coder for another type: binary, JSON, and Foundation's own.
  private func read<From: Codable & Sendable, To: Codable & Sendable>(_ value: From, as _: To.Type) throws -> [To] {
    let json = try decoded(
      encoded(value, RowCoder<From>.json, RowCodingContext(schema: RowSchema())), RowCoder<To>.json,
      RowCodingContext(schema: RowSchema()))
    let foundation = try PropertyListDecoder().decode(To.self, from: PropertyListEncoder().encode(value))
    return [try recoded(value, as: To.self), json, foundation]
  }

  @Test func missingFieldsAreTheirDefaults() throws {
    let expected = After(
      title: "a", plays: 0, tags: [], stars: 5, genre: .other, counts: [:], isLoved: false, volume: 0)
    for value in try read(Before(title: "a"), as: After.self) { #expect(value == expected) }
    for value in try read(OuterBefore(list: [Before(title: "a")]), as: Outer.self) {
      #expect(value == Outer(list: [expected]))
    }
  }

  @Test func theFieldsThatAreThereAreRead() throws {
    for value in try read(Self.full, as: After.self) { #expect(value == Self.full) }
    #expect(After(title: "a").stars == 5 && After(title: "a").isLoved)
  }

  @Test func theWrapperIsNotStored() throws {
    let plain = Plain(
      title: "a", plays: 3, tags: ["x"], stars: 1, genre: .jazz, counts: ["k": 2], isLoved: true, volume: 0.5)
    for value in try read(Self.full, as: Plain.self) { #expect(value == plain) }
    for value in try read(plain, as: After.self) { #expect(value == Self.full) }
    let context = RowCodingContext(schema: RowSchema())
    #expect(try encoded(Self.full, .binary, context) == encoded(plain, .binary, context))
  }

  @Test func onlyWhatIsMissingHasADefault() throws {
    struct Text: Codable { var title: String, plays: String }
    #expect(throws: DecodingError.self) { try recoded(Text(title: "a", plays: "many"), as: After.self) }
    #expect(throws: DecodingError.self) { try recoded(Nothing(), as: After.self) }
    let null = Data(#"{"title": "a", "plays": null}"#.utf8)
    #expect(try JSONDecoder().decode(After.self, from: null).plays == 0)
  }

  @Test func rowsOfAnOlderTypeAreReadAndUpdated() throws {
    let folder = try TestFolder()
    let path = folder.url.path + "/library.quire"
    let old = RowCollection<Before, Before>("songs")
    let new = RowCollection<After, After>("songs")
    let before = try Database(at: path)
    try before.write { tx in try tx[old].set(Before(title: "a"), metadata: Before(title: "m"), for: "s") }
    try before.close()
    let after = try Database(at: path)
    try after.write { tx in
      try tx[new].update("s") { song in song.plays += 1 }
      try tx[new].replaceMetadata(After(title: "m", stars: 2), for: "s")
    }
    let row = try after.read { tx in try tx[new].row("s") }
    #expect(row?.object == After(title: "a", plays: 1, stars: 5, genre: .other, isLoved: false, volume: 0))
    #expect(row?.metadata?.stars == 2)
  }
}

private struct Nothing: Codable {}
