// A map says what collections, keys and fields are called, and what columns hold.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct MapImportTests {
  private let folder: TestFolder
  private let target: String

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private struct Player: Codable, Equatable, Sendable {
    var name: String
    var birthday: Date
    var price: Decimal
    var isCaptain: Bool
    var joined: Date
  }

  private func players() throws -> SampleFile {
    try SampleFile(
      folder,
      [
        """
        CREATE TABLE player (id INTEGER PRIMARY KEY, team TEXT, full_name TEXT, born INTEGER, price REAL, captain,
          joined REAL, password TEXT, flag BOOLEAN)
        """,
        "INSERT INTO player VALUES (1, 'a|b', 'Ж', 1795824000, 9.95, 1, 2461372.5, 'secret', 1)",
        "CREATE TABLE cache (a)", "INSERT INTO cache VALUES (1)",
      ])
  }

  private func file(_ text: String) throws -> String {
    let path = folder.url.appendingPathComponent("map.json").path
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test func namesKeysAndTypesAreTheMaps() throws {
    let sample = try players()
    let map = try ImportMap(
      at: try file(
        #"""
        {"player": {"collection": "players", "key": ["team", "full_name"], "fields": {
          "full_name": "name", "born": {"name": "birthday", "as": "seconds since 1970"}, "price": {"as": "decimal"},
          "captain": {"name": "isCaptain", "as": "bool"}, "joined": {"as": "Julian day"}, "password": null,
          "flag": {"as": "stored"}}}, "cache": null}
        """#))
    let report = try Importer(into: target).run(try TableSource(sample.path, besides: target, map: map))
    #expect(report.rowCounts.map(\.collection) == ["players"] && report.stopped == nil)
    #expect(report.leftOut.map(\.name).sorted() == ["cache", "player.password"])
    #expect(report.coercions == ["bool": 1, "date": 2, "decimal": 1])
    let day = Date(timeIntervalSince1970: 1_795_824_000)
    let db = try Database(at: target)
    try db.read { tx throws in
      let key = #"a\|b|Ж"#
      #expect(
        try tx[RowCollection<Player, NoMetadata>("players")].get(key)
          == Player(name: "Ж", birthday: day, price: Decimal(string: "9.95") ?? 0, isCaptain: true, joined: day))
      let value = try #require(try tx.values(in: "players").row(key)?.object.value)
      #expect(value["password"] == nil && value["flag"] == 1 && value["id"] == 1)
    }
    try db.close()
  }

  @Test func aDecimalIsANumberInFull() {
    let others = [
      "", "-", ".", "1.2.3", "2026-11-28", "123.45-", "1e", "1e+", "1e5e", "e5", "1-2", "+-1", " 1", "1 ", "0x10",
      "1" + String(repeating: "0", count: 37) + "23", "1." + String(repeating: "3", count: 38), "1e128", "1e99999",
      String(repeating: "0", count: 201),
    ]
    for text in others { #expect(FieldType.decimal.value(text) == nil, "\(text)") }
    let numbers = [
      ("-12.50", -12.5), ("+7", 7), (".5", 0.5), ("5.", 5), ("00012", 12), ("1.5e3", 1500), ("25E-2", 0.25),
    ]
    for (text, number) in numbers {
      let value = FieldType.decimal.value(text)
      #expect(value != nil && value == FieldType.decimal.value("\(number)"), "\(text)")
    }
    let longest = FieldType.decimal.value(String(repeating: "9", count: 38))
    #expect(longest?["length"] == 8 && longest?["exponent"] == 0)
  }

  @Test func aValueThatIsNotOfTheTypeDoesNotFit() throws {
    let sample = try players()
    let map = try ImportMap(["player": ["fields": ["full_name": ["as": "seconds since 1970"]]]])
    let report = try Importer(into: target).run(
      try TableSource(sample.path, besides: target, only: ["player"], map: map))
    #expect(report.stopped?.reason == "“Ж” in “full_name” is no seconds since 1970.")
  }

  @Test func unknownNamesAreRefusedWithTheKnownOnes() throws {
    let sample = try players()
    func told(_ map: RowValue) throws -> String {
      try #require(throws: ImportError.self) {
        try TableSource(sample.path, besides: target, map: try ImportMap(map))
      }.description
    }
    #expect(try told(["plaer": nil]).contains("names “plaer”") && told(["plaer": nil]).contains("“cache”, “player”"))
    let column = try told(["cache": ["fields": ["b": "c"]]])
    #expect(column.contains("the column “b” of “cache”, which has “a”"))
    #expect(try told(["player": ["key": "nobody"]]).contains("“nobody”"))
    #expect(try told(["player": ["fields": ["born": "id"]]]).contains("would be called “id”"))
    #expect(try told(["player": ["feilds": [:]]]).contains("may have “collection”, “key” and “fields”"))
    #expect(try told(["player": ["fields": ["born": ["as": "day"]]]]).contains("Julian day"))
    #expect(try told(["player": ["fields": ["born": ["nome": "x"]]]]).contains("may have “name” and “as”"))
    #expect(try told(["player": ["collection": 7]]).contains("is no name"))
    #expect(try told(["player": ["key": []]]).contains("names no column"))
    #expect(try told(["player", "cache"]).contains("is no record"))
  }

  @Test func aFileThatIsNoMapIsTold() throws {
    func told(_ text: String) throws -> String {
      let path = try file(text)
      return try #require(throws: ImportError.self) { try ImportMap(at: path) }.description
    }
    #expect(try told("").contains("map.json"))
    #expect(try told("{").contains("byte 1"))
    #expect(try told(#"{"a": null, "a": {}}"#).contains("“a” twice"))
    #expect(try told(String(repeating: "[", count: 100_000)).contains("inside one another"))
  }

  @Test func columnsOfTextsAndOfEntities() throws {
    let rows = folder.url.appendingPathComponent("rows.csv").path
    try Data("id,born,note\n7,1795824000123,\nx,0,y\n".utf8).write(to: URL(fileURLWithPath: rows))
    let map = try ImportMap([
      "t": ["key": "id", "fields": ["id": nil, "born": ["name": "day", "as": "milliseconds since 1970"]]]
    ])
    let report = try Importer(into: target).run(try CSVSource(rows, collection: "t", map: map))
    #expect(report.coercions == ["date": 2])
    let db = try Database(at: target)
    try db.read { tx throws in
      let value = try #require(try tx.values(in: "t").row("7")?.object.value)
      #expect(value.record?.map(\.name) == ["day"])
      #expect(value["day"]?.date == Date(timeIntervalSince1970: 1_795_824_000.123))
    }
    try db.close()
    var form = CSVSource.Form()
    form.key = ["id"]
    let error = try #require(throws: ImportError.self) { try CSVSource(rows, collection: "t", form: form, map: map) }
    #expect(error.description.contains("leave one of them out"))
  }

  @Test func entitiesOfOneTableHaveMapsOfTheirOwn() throws {
    let sample = try SampleFile(
      folder,
      [
        "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
        "INSERT INTO Z_PRIMARYKEY VALUES (1, 'Item', 0, 3), (2, 'Note', 1, 0), (3, 'Old', 1, 0)",
        "CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTITLE VARCHAR, ZTITLE1 VARCHAR)",
        "INSERT INTO ZITEM VALUES (1, 1, 1, 'a', NULL), (2, 2, 1, NULL, 'b'), (3, 3, 1, 'c', NULL)",
      ])
    func source(_ map: RowValue) throws -> CoreDataSource {
      try CoreDataSource(sample.path, besides: target, map: try ImportMap(map))
    }
    let report = try Importer(into: target).run(
      source([
        "Item": ["collection": "items", "fields": ["TITLE": "title"]],
        "Note": ["fields": ["TITLE1": "title", "TITLE": nil, "Z_PK": "id"]], "Old": nil,
      ]))
    #expect(report.stopped == nil && report.leftOut.map(\.name).contains("Old"))
    let db = try Database(at: target)
    try db.read { tx throws in
      #expect(try tx.values(in: "items").row("1")?.object.value == ["title": "a"])
      #expect(try tx.values(in: "Note").row("2")?.object.value == ["id": 2, "title": "b"])
      #expect(try tx.values(in: "Old").count() == 0)
    }
    try db.close()
    let key = try #require(throws: ImportError.self) { try source(["Note": ["key": "TITLE"]]) }
    #expect(key.description.contains("stay keys"))
    let twice = try #require(throws: ImportError.self) {
      try source(["Note": ["fields": ["TITLE1": "title", "ZTITLE1": nil]]])
    }
    #expect(twice.description.contains("“ZTITLE1” of “Note” twice"))
    let name = try #require(throws: ImportError.self) { try source(["ITEM": nil]) }
    #expect(name.description.contains("“Item”, “Note”, “Old”"))
  }
}
