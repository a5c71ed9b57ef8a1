// Values without types, and the rows that they are read from.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite struct RowValueTests {
  private struct Track: Codable, Sendable, Equatable {
    struct Part: Codable, Sendable, Equatable { var name: String, start: Float }
    enum Kind: String, Codable, Sendable { case studio, live }

    var title: String
    var plays: Int
    var length: Double
    var added: Date
    var cover: Data
    var id: UUID
    var kind: Kind
    var note: String?
    var big: UInt64
    var parts: [Part]
    var counts: [String: Int]

    static let naima = Track(
      title: "Naima", plays: -3, length: 260.5, added: Date(timeIntervalSinceReferenceDate: 1.5), cover: Data([1, 2]),
      id: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)), kind: .live, note: nil, big: .max,
      parts: [Part(name: "head", start: 0.1)], counts: ["a": 1])
  }

  /// What the binary form has of it.
  private static let stored: RowValue = [
    "title": "Naima", "plays": -3, "length": 260.5, "added": 1.5, "cover": .bytes([1, 2]), "id": .uuid(Track.naima.id),
    "kind": "live", "big": .integer(Int128(UInt64.max)), "parts": [["name": "head", "start": .float(0.1)]],
    "counts": ["a": 1],
  ]

  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  // MARK: Binary rows

  @Test func rowsAreReadWithoutTheirTypes() throws {
    let tracks = RowCollection<Track, Int>("tracks")
    try folder.open().write { tx throws in
      try tx[tracks].set(.naima, metadata: 7, for: "t1")
      let row = try #require(try tx.values(in: "tracks").row("t1"))
      #expect(row.object.value == Self.stored)
    }
    let db = try folder.open()
    try db.read { tx throws in
      let row = try #require(try tx.values(in: "tracks").row("t1"))
      #expect(row.object.value == Self.stored && row.object.coder == .binary && row.object.version == 0)
      #expect(row.metadata?.value == 7)
      #expect(try tx.values(in: "tracks").row("t2") == nil)
      #expect(Array(tx.values(in: "nothing")).isEmpty)
    }
  }

  @Test func theyAreWrittenAsTheirTypesWould() throws {
    let db = try folder.open()
    try db.write { tx throws in try tx[RowCollection<Track, NoMetadata>("tracks")].set(.naima, for: "t1") }
    try db.close()
    // A program that knows no type.
    let other = try folder.open()
    let values = RowCollection<RowValue, RowValue>("tracks")
    try other.write { tx throws in
      var value = try #require(try tx[values].get("t1"))
      #expect(value == Self.stored)
      value["plays"] = 12
      value["note"] = "a note"
      try tx[values].set(value, for: "t1")
      #expect(try tx[values].get("t1") == value)
    }
    try other.close()
    var expected = Track.naima
    (expected.plays, expected.note) = (12, "a note")
    let again = try folder.open()
    let track = try again.read { tx throws in try tx[RowCollection<Track, NoMetadata>("tracks")].get("t1") }
    #expect(track == expected)
  }

  @Test func whatIsStoredComesBackToTheBit() throws {
    let db = try folder.open()
    let values = RowCollection<RowValue, RowValue>("values")
    var random = SeededRandom(seed: 28_000_001)
    let drawn = (0..<TestSize.trials(20_000)).map { _ in
      (RowValue.random(&random), random.oneIn(2) ? RowValue.random(&random) : nil)
    }
    try db.write { tx throws in
      for (index, (object, metadata)) in drawn.enumerated() {
        try tx[values].set(object, metadata: metadata, for: "\(index)")
      }
    }
    try db.close()
    try folder.open().read { tx throws in
      let rows = tx.values(in: "values")
      #expect(try rows.count() == drawn.count)
      for (index, (object, metadata)) in drawn.enumerated() {
        let row = try #require(try rows.row("\(index)"))
        try #require(row.object.value == object && row.metadata?.value == metadata, "value \(index)")
      }
      var walked = 0
      for row in rows where row.object.value == drawn[try #require(Int(row.key))].0 { walked += 1 }
      #expect(walked == drawn.count)
    }
  }

  /// Dictionaries have no end of keys: what is stored without a type notes the columns of rows, and no other names.
  @Test func keysOfDictionariesAreNotNoted() throws {
    let db = try folder.open()
    let values = RowCollection<RowValue, RowValue>("values")
    try db.write { tx throws in
      for number in 0..<600 {
        let inner = RowValue.record([RowValue.Field("user\(number)", .integer(Int128(number)))])
        try tx[values].set(["name": "n", "users": inner], for: "a\(number)")
        try tx[values].set(.record([RowValue.Field("column\(number)", true)]), for: "b\(number)")
      }
    }
    try db.close()
    let again = try folder.open()
    try again.read { tx throws in
      let row = try #require(try tx.values(in: "values").row("a599")?.object.value)
      #expect(row == ["name": "n", "users": ["user599": 599]])
      #expect(try tx.values(in: "values").row("b599")?.object.value == ["column599": true])
    }
    try again.close()
    let engine = try StorageEngine(at: folder.path, options: StorageOptions(isReadOnly: true))
    let format = try engine.read { tx in
      try tx.tree(named: "quire.collections").flatMap { try tx.value(for: "values", in: $0) } ?? []
    }
    try engine.close()
    // 256 names of some ten bytes.
    #expect(format.count > 2_000 && format.count < 4_000)
  }

  // MARK: Other forms

  @Test func otherFormsAreReadAsWhatTheyAre() throws {
    let db = try folder.open()
    let date = Date(timeIntervalSinceReferenceDate: 5.25)
    let upgraded = RowCoder<Track>.json.upgrading(from: Int.self) { _ in .naima }
    try db.write { tx throws in
      try tx[RowCollection<Track, Int>("json", coder: .json)].set(.naima, for: "k")
      try tx[RowCollection<Track, NoMetadata>("upgraded", coder: upgraded)].set(.naima, for: "k")
      try tx[RowCollection<[String: Date], Int>("plist", coder: .propertyList)].set(["at": date], for: "k")
      try tx[RowCollection<Date, NoMetadata>("dates", coder: .timestamp)].set(date, for: "k")
      try tx[RowCollection<[UInt8], NoMetadata>("bytes", coder: .bytes)].set([1, 2, 3], for: "k")
      let custom = RowCoder<Int>(encode: { [UInt8($0)] }, decode: { _ in 0 })
      try tx[RowCollection<Int, NoMetadata>("custom", coder: custom)].set(9, for: "k")
    }
    try db.close()
    try folder.open().read { tx throws in
      func object(_ name: String) throws -> StoredHalf { try #require(try tx.values(in: name).row("k")).object }
      let json = try object("json")
      #expect(json.coder == .json && json.value?["title"] == "Naima" && json.value?["plays"] == -3)
      #expect(try object("upgraded").version == 1 && object("upgraded").value == json.value)
      #expect(try object("plist").value == ["at": .date(date)] && object("plist").coder == .propertyList)
      #expect(try object("dates").value == .date(date) && object("dates").coder == .timestamp)
      #expect(try object("bytes").value == .bytes([1, 2, 3]) && object("bytes").coder == .bytes)
      #expect(try object("custom").content == .custom([9]) && object("custom").value == nil)
    }
  }

  @Test func aMarkInJSONOfTheAppsIsNoMark() throws {
    let db = try folder.open()
    let values = RowCollection<[String: String], NoMetadata>("json", coder: .json)
    try db.write { tx throws in try tx[values].set(["$data": "no base 64"], for: "k") }
    let value = try db.read { tx throws in try tx.values(in: "json").row("k")?.object.value }
    #expect(value == ["$data": "no base 64"])
  }

  /// Bytes of another form than the file notes are an error with collection and key, and the loop ends with it.
  @Test func anotherFormIsAnError() throws {
    let db = try folder.open()
    let json = RowCollection<Int, NoMetadata>("json", coder: .json)
    try db.write { tx throws in
      try tx[json].set(1, for: "a")
      try tx[json].set(2, encoded: [1, 2, 3], for: "b")
    }
    let error = #expect(throws: DatabaseError.self) {
      try db.read { tx throws in _ = try tx.values(in: "json").row("b") }
    }
    #expect(error?.code == .decodingFailed && error?.collection == "json" && error?.key == "b")
    #expect(throws: DatabaseError.self) {
      try db.read { tx throws in
        #expect(tx.values(in: "json").map(\.key) == ["a"])
        _ = try tx[json].contains("a")
      }
    }
  }

  /// Rows of a coder with upgrades stay of the version that they have, and each is stored under its own.
  @Test func versionsStayWhatTheyAre() throws {
    struct Old: Codable { var name: String }
    struct New: Codable, Equatable { var name: String, length: Int }
    let old = RowCollection<Old, NoMetadata>("names")
    let new = RowCollection<New, NoMetadata>(
      "names", coder: .binary.upgrading(from: Old.self) { New(name: $0.name, length: -1) })
    var db = try folder.open()
    try db.write { tx throws in try tx[old].set(Old(name: "a"), for: "old") }
    try db.close()
    db = try folder.open()
    try db.write { tx throws in try tx[new].set(New(name: "b", length: 1), for: "new") }
    try db.close()
    for (key, version) in [("old", 0), ("new", 1)] {
      db = try folder.open()
      let values = RowCollection<RowValue, NoMetadata>("names", coder: .binary.withVersion(version))
      try db.write { tx throws in
        let half = try #require(try tx.values(in: "names").row(key)).object
        #expect(half.version == version && half.coder == .binary)
        var value = try #require(half.value)
        value["name"] = .text(key)
        try tx[values].set(value, for: key)
        #expect(try tx[values].get(key) == value)
      }
      try db.close()
    }
    db = try folder.open()
    try db.read { tx throws in
      #expect(try tx[new].get("old") == New(name: "old", length: -1))
      #expect(try tx[new].get("new") == New(name: "new", length: 1))
    }
  }

  /// A coder of dates that has taken the place of a binary one leaves old rows as they were.
  @Test func rowsOfTheCoderBeforeAreRead() throws {
    var db = try folder.open()
    try db.write { tx throws in try tx[RowCollection<Int, NoMetadata>("dates")].set(4, for: "old") }
    try db.close()
    let upgraded = RowCoder<Date>.timestamp.upgrading(from: Int.self) {
      Date(timeIntervalSinceReferenceDate: Double($0))
    }
    db = try folder.open()
    let dates = RowCollection<Date, NoMetadata>("dates", coder: upgraded)
    try db.write { tx throws in try tx[dates].set(Date(timeIntervalSinceReferenceDate: 5), for: "new") }
    try db.read { tx throws in
      let rows = tx.values(in: "dates")
      #expect(rows.coder == .timestamp && rows.map(\.key) == ["new", "old"])
      #expect(try rows.row("old")?.object.value == 4 && rows.row("old")?.object.coder == .binary)
      #expect(try rows.row("new")?.object.value?.date == Date(timeIntervalSinceReferenceDate: 5))
    }
  }

  /// Lists in XML are read by calls inside one another, without an end to it: none is read, and none is written.
  @Test func propertyListsInXMLAreNotRead() throws {
    let db = try Database.inMemory()
    let depth = 300_000
    let text = "<plist>" + String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
    let lists = RowCollection<[Int], NoMetadata>("lists", coder: .propertyList)
    try db.write { tx throws in
      try tx[lists].set([1], for: "k")
      let half = StoredHalf(.value([1]), coder: .propertyList, encoded: Array((text + "</plist>").utf8))
      // Bytes that do not say the same are passed over.
      try tx.values(in: "lists").set(half, for: "k")
      #expect(try tx[lists].get("k") == [1])
    }
  }

  /// Lists of property lists that contain themselves, or one list over and over.
  @Test(arguments: [1, 2]) func propertyListsThatNeverEnd(width: UInt8) throws {
    let depth = width == 1 ? 1 : 40
    var objects: [[UInt8]] = (0..<depth).map { index in
      [0xa0 | width] + [UInt8](repeating: width == 1 ? 0 : UInt8(index + 1), count: Int(width))
    }
    if width == 2 { objects.append([0x09]) }
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for object in objects {
      offsets.append(UInt8(bytes.count))
      bytes += object
    }
    let table = UInt8(bytes.count)
    bytes += offsets
    bytes += [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, UInt8(objects.count)]
    bytes += [UInt8](repeating: 0, count: 8) + [0, 0, 0, 0, 0, 0, 0, table]
    let db = try folder.open()
    let lists = RowCollection<[Int], NoMetadata>("lists", coder: .propertyList)
    try db.write { tx throws in try tx[lists].set([1], encoded: bytes, for: "k") }
    let error = #expect(throws: DatabaseError.self) {
      try db.read { tx throws in _ = try tx.values(in: "lists").row("k") }
    }
    #expect(error?.code == .decodingFailed && error?.key == "k")
  }

  // MARK: Values

  @Test func fieldsAreFoundAndChanged() {
    var value: RowValue = ["a": 1, "b": [true, nil, 2.5]]
    #expect(value["a"]?.integer == 1 && value["b"]?[2]?.double == 2.5 && value["b"]?[3] == nil && value["c"] == nil)
    value["a"] = nil
    value["c"] = "text"
    #expect(value == ["b": [true, nil, 2.5], "c": "text"])
    #expect(RowValue.integer(260).double == 260 && RowValue.integer(.max).double == nil)
    let twice: RowValue = ["a": 1, "a": 2]
    #expect(twice["a"] == 2)
    var scalar: RowValue = 5
    scalar["a"] = 1
    #expect(scalar == 5 && scalar["a"] == nil && scalar[0] == nil)
    #expect(RowValue.double(0) != .double(-0.0) && RowValue.double(.nan) == .double(.nan))
    #expect(RowValue.text("é") != .text("e\u{301}"))
    #expect(Set([RowValue.integer(1), .double(1), .float(1), .bool(true), .text("1"), .integer(1)]).count == 5)
  }

  @Test func othersCodersTakeThem() throws {
    let value: RowValue = ["a": 1, "b": [true, nil, 2.5, "text"], "c": ["d": -7]]
    let json = try JSONEncoder().encode(value)
    #expect(try JSONDecoder().decode(RowValue.self, from: json) == value)
    let plain: RowValue = ["a": 1, "at": .date(Date(timeIntervalSinceReferenceDate: 4)), "b": [true, 2.5, "text"]]
    let list = try PropertyListEncoder().encode(plain)
    #expect(try PropertyListDecoder().decode(RowValue.self, from: list) == plain)
  }
}
