// Rows outlive the types that they were written from.

import Foundation
import QuireDatabase
import Testing

@Suite("Rows of older and newer types")
struct CodingEvolutionTests {
  struct First: Codable, Equatable {
    var name: String
    var age: Int32
    var gone: [String]
    var note: String?
  }
  struct Second: Codable, Equatable {
    var note: String?
    var nickname: String?
    var age: Int
    var name: String
  }
  struct Strict: Codable { var name: String, added: Int }

  @Test func fieldsAreAddedRemovedAndReordered() throws {
    let first = First(name: "n", age: -7, gone: ["x"], note: nil)
    #expect(try recoded(first, as: Second.self) == Second(note: nil, nickname: nil, age: -7, name: "n"))
    #expect(try recoded([first], as: [Second].self).first?.name == "n")
    let second = Second(note: "m", nickname: "k", age: 3, name: "n")
    #expect(throws: DecodingError.self) { try recoded(second, as: First.self) }
  }

  @Test func aMissingFieldIsNamed() throws {
    let error = #expect(throws: DecodingError.self) {
      try recoded(["one": First(name: "n", age: 1, gone: [], note: nil)], as: [String: Strict].self)
    }
    guard case .keyNotFound(let key, let context) = try #require(error) else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(key.stringValue == "added" && context.codingPath.map(\.stringValue) == ["one"])
  }

  struct One<Value: Codable & Sendable>: Codable, Sendable { var value: Value }

  private func changed<From: Codable & Sendable, To: Codable & Sendable>(_ value: From, to type: To.Type) throws -> To {
    try recoded(One(value: value), as: One<To>.self).value
  }

  @Test func typesThatLoseNothingChange() throws {
    #expect(try changed(Int8(-3), to: Int64.self) == -3)
    #expect(try changed(UInt64.max, to: Int128.self) == Int128(UInt64.max))
    #expect(try changed(Int128(5), to: UInt8.self) == 5)
    #expect(try changed(3, to: Double.self) == 3)
    #expect(try changed(-3.0, to: Int.self) == -3)
    #expect(try changed(Float(0.5), to: Double.self) == 0.5)
    #expect(try changed(0.5, to: Float.self) == 0.5)
    #expect(try changed(Double.nan, to: Float.self).isNaN)
    #expect(try changed(7, to: Int?.self) == 7)
    #expect(try changed(Int?.some(7), to: Int.self) == 7)
    #expect(try changed([UInt8](0...9), to: [Int].self) == Array(0...9))
    #expect(try changed([1, 2], to: [UInt8].self) == [1, 2])
    #expect(try changed(Data([1, 2]), to: [UInt8].self) == [1, 2])
    #expect(try changed([1, 200], to: Data.self) == Data([1, 200]))
    #expect(try changed(Set(["a"]), to: [String].self) == ["a"])
    #expect(try changed(["value": 4], to: One<Int>.self).value == 4)
    #expect(try changed(One(value: 4), to: [String: Int].self) == ["value": 4])
  }

  @Test func typesThatLoseSomethingDoNotChange() throws {
    #expect(throws: DecodingError.self) { try changed(300, to: UInt8.self) }
    #expect(throws: DecodingError.self) { try changed(-1, to: UInt.self) }
    #expect(throws: DecodingError.self) { try changed(0.1, to: Float.self) }
    #expect(throws: DecodingError.self) { try changed(1.5, to: Int.self) }
    #expect(throws: DecodingError.self) { try changed(Int.max, to: Double.self) }
    #expect(throws: DecodingError.self) { try changed("1", to: Int.self) }
    #expect(throws: DecodingError.self) { try changed(1, to: Bool.self) }
    #expect(throws: DecodingError.self) { try changed(true, to: Int.self) }
    #expect(throws: DecodingError.self) { try changed([1], to: Int.self) }
    let error = #expect(throws: DecodingError.self) { try changed([["a": 1], ["a": 300]], to: [[String: Int8]].self) }
    guard case .typeMismatch(_, let context) = try #require(error) else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(context.codingPath.map(\.stringValue) == ["value", "1", "a"])
  }

  // MARK: Upgrades

  struct SongV1: Codable, Equatable { var name: String }
  struct SongV2: Codable, Equatable { var title: String, minutes: Int }
  struct Song: Codable, Equatable { var title: String, seconds: Int }

  private static let two: @Sendable (RowCoder<SongV2>) -> RowCoder<SongV2> = { coder in
    coder.upgrading(from: SongV1.self) { SongV2(title: $0.name, minutes: 0) }
  }
  private static let three: @Sendable (RowCoder<Song>) -> RowCoder<Song> = { coder in
    coder.upgrading(from: SongV1.self) { Song(title: $0.name, seconds: 0) }
      .upgrading(from: SongV2.self) { Song(title: $0.title, seconds: $0.minutes * 60) }
  }

  /// The coders of three versions of a program.
  struct Coders: Sendable, CustomTestStringConvertible {
    var first: RowCoder<SongV1>, second: RowCoder<SongV2>, third: RowCoder<Song>
    var testDescription: String { first.identity.description }
  }

  @Test(arguments: [
    Coders(first: .binary, second: two(.binary), third: three(.binary)),
    Coders(first: .json, second: two(.json), third: three(.json)),
    Coders(first: .propertyList, second: two(.propertyList), third: three(.propertyList)),
  ])
  func upgradesLeadToTheNewest(_ coders: Coders) throws {
    let context = RowCodingContext(schema: RowSchema())
    let oldest = try encoded(SongV1(name: "a"), coders.first, context)
    let older = try encoded(SongV2(title: "b", minutes: 2), coders.second, context)
    let newest = try encoded(Song(title: "c", seconds: 7), coders.third, context)
    #expect(try decoded(oldest, coders.second, context) == SongV2(title: "a", minutes: 0))
    #expect(try decoded(oldest, coders.third, context) == Song(title: "a", seconds: 0))
    #expect(try decoded(older, coders.third, context) == Song(title: "b", seconds: 120))
    #expect(try decoded(newest, coders.third, context) == Song(title: "c", seconds: 7))
    #expect(throws: (any Error).self) { try decoded(newest, coders.second, context) }
    #expect(throws: (any Error).self) { try decoded(newest, coders.first, context) }
  }

  @Test func aCustomCoderUpgradesFromBinary() throws {
    let custom = RowCoder<Song>(
      encode: { Array("\($0.title)/\($0.seconds)".utf8) },
      decode: { bytes in
        let text = bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.split(separator: "/")
        return Song(title: String(text[0]), seconds: Int(text[1]) ?? 0)
      })
    let context = RowCodingContext(schema: RowSchema())
    #expect(try encoded(Song(title: "c", seconds: 7), custom, context) == Array("c/7".utf8))
    let upgraded = Self.three(custom)
    let newest = try encoded(Song(title: "c", seconds: 7), upgraded, context)
    #expect(try decoded(newest, upgraded, context) == Song(title: "c", seconds: 7))
    let oldest = try encoded(SongV1(name: "a"), .binary, context)
    #expect(try decoded(oldest, upgraded, context) == Song(title: "a", seconds: 0))
  }

  @Test func whatAnUpgradeThrowsIsThrown() throws {
    let coder = RowCoder<Song>.binary.upgrading(from: SongV1.self) { _ in throw CancellationError() }
    let context = RowCodingContext(schema: RowSchema())
    let oldest = try encoded(SongV1(name: "a"), .binary, context)
    #expect(throws: CancellationError.self) { try decoded(oldest, coder, context) }
  }

  @Test func identitiesTellCodersApart() {
    let plain = RowCoder<Song>.binary
    #expect(plain.identity == RowCoder<Song>.binary.identity && plain.identity != RowCoder<Song>.json.identity)
    #expect(plain.identity != Self.three(plain).identity && Self.three(plain).identity == Self.three(plain).identity)
    let other = plain.upgrading(from: SongV2.self) { Song(title: $0.title, seconds: 0) }
    #expect(other.identity != plain.upgrading(from: SongV1.self) { Song(title: $0.name, seconds: 0) }.identity)
    #expect(Self.three(.json).identity.description == "JSON with 2 upgrades")
  }

  // MARK: The other forms

  @Test func otherFormsGiveBackWhatTheyGot() throws {
    let context = RowCodingContext(schema: RowSchema())
    let song = Song(title: "ü/\"", seconds: -1)
    for coder in [RowCoder<Song>.json, .propertyList] {
      #expect(try decoded(encoded(song, coder, context), coder, context) == song)
      #expect(throws: (any Error).self) { try decoded([1, 2, 3], coder, context) }
      #expect(throws: (any Error).self) { try decoded([], coder, context) }
    }
    #expect(try encoded(song, .json, context) == Array(#"{"seconds":-1,"title":"ü/\""}"#.utf8))
    let dates = [Date(), Date(timeIntervalSinceReferenceDate: 0.1), .distantPast, Date(timeIntervalSince1970: 1e-9)]
    for date in dates {
      let bytes = try encoded(date, .timestamp, context)
      #expect(try bytes.count == 8 && decoded(bytes, .timestamp, context) == date)
      #expect(try decoded(encoded([date], .json, context), .json, context) == [date])
    }
    #expect(throws: RowFormError.timestampLength(7)) {
      try decoded([UInt8](repeating: 0, count: 7), .timestamp, context)
    }
    for bytes in [[], [0], [UInt8](0...255)] as [[UInt8]] {
      #expect(try encoded(bytes, .bytes, context) == bytes && decoded(bytes, .bytes, context) == bytes)
      #expect(try encoded(Data(bytes), .bytes, context) == bytes && decoded(bytes, .bytes, context) == Data(bytes))
    }
    #expect(context.schema.names.isEmpty)
  }
}
