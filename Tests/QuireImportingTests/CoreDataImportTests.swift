// Stores as Core Data lays them out: entities, relationships and external data come over, readable by types.

import Foundation
import QuireDatabase
import QuireImporting
import QuireTesting
import Testing

@Suite struct CoreDataImportTests {
  private struct Trip: Codable, Equatable, Sendable {
    var destination: String
    var begins: Date
    var budget: Decimal?
    var token: UUID
    var owner: String?
    var ownerEntity: String?
    var photo: Data?

    enum CodingKeys: String, CodingKey {
      case destination = "DESTINATION", begins = "BEGINS", budget = "BUDGET", token = "TOKEN", owner = "OWNER"
      case ownerEntity = "OWNER_ENTITY", photo = "PHOTO"
    }
  }

  private let folder: TestFolder
  private let target: String
  private static let file = "E1D2C3B4-0000-4000-8000-00000000ABCD"

  init() throws {
    folder = try TestFolder()
    target = folder.url.appendingPathComponent("new.quire").path
  }

  private static let model = [
    "CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER)",
    """
    INSERT INTO Z_PRIMARYKEY VALUES (1, 'Person', 0, 2), (2, 'Guide', 1, 0), (3, 'Tag', 0, 2), (4, 'Trip', 0, 3),
      (16001, 'CHANGE', 0, 0)
    """,
    "CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB)",
    "CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)",
    "CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)",
    "CREATE TABLE ZPERSON (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR, ZLICENCE INTEGER)",
    "INSERT INTO ZPERSON VALUES (1, 1, 3, 'Ж', NULL), (2, 2, 1, 'Ada', 7)",
    "CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR)",
    "INSERT INTO ZTAG VALUES (1, 3, 1, 'sea'), (2, 3, 1, 'hills')",
    """
    CREATE TABLE ZTRIP (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZDAYS INTEGER, ZOWNER INTEGER,
      Z1_OWNER INTEGER, Z_FOK_OWNER INTEGER, ZBEGINS TIMESTAMP, ZBUDGET DECIMAL, ZDESTINATION VARCHAR, ZTOKEN BLOB,
      ZPHOTO BLOB, ZSHAPE BLOB, ZMAIN INTEGER)
    """,
    "CREATE INDEX ZTRIP_ZMAIN_INDEX ON ZTRIP (ZMAIN)",
    "CREATE INDEX Z_Trip_byDaysIndex ON ZTRIP (ZDAYS COLLATE BINARY ASC)",
    """
    INSERT INTO ZTRIP VALUES
      (1, 4, 1, 5, 2, 2, 1024, 700000000.5, 1999.99, 'Lisbon', x'000102030405460788090a0b0c0d0e0f', x'01ff00',
       x'0102', 3),
      (2, 4, 1, 6, 1, 1, 2048, 86400, 12, 'Graz', x'100102030405460788090a0b0c0d0e0f', CAST(x'02' || '\(file)' AS BLOB),
       x'0203', NULL),
      (3, 4, 1, 7, NULL, NULL, NULL, 0, NULL, 'Oslo', x'200102030405460788090a0b0c0d0e0f', NULL, x'', NULL)
    """,
    """
    CREATE TABLE Z_3TRIPS (Z_3TAGS INTEGER, Z_4TRIPS INTEGER, Z_FOK_4TRIPS INTEGER, PRIMARY KEY (Z_3TAGS, Z_4TRIPS))
    """,
    "INSERT INTO Z_3TRIPS VALUES (1, 1, 1), (1, 2, 2), (2, 1, 3)",
  ]

  /// The store, and its long data in a file beside it.
  private func store(_ more: [String] = []) throws -> SampleFile {
    let sample = try SampleFile(folder, Self.model + more)
    let data = folder.url.appendingPathComponent("source/.a b?_SUPPORT/_EXTERNAL_DATA")
    try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
    try Data("long".utf8).write(to: data.appendingPathComponent(Self.file))
    return sample
  }

  private func imported(_ sample: SampleFile) throws -> ImportReport {
    try Importer(into: target).run(try CoreDataSource(sample.path, besides: target))
  }

  @Test func entitiesAreReadByTypes() throws {
    let sample = try store()
    let before = try Data(contentsOf: URL(fileURLWithPath: sample.path))
    let report = try imported(sample)
    #expect(try Data(contentsOf: URL(fileURLWithPath: sample.path)) == before)
    #expect(report.stopped == nil && report.rowCount == 10)
    let counts = Dictionary(uniqueKeysWithValues: report.rowCounts.map { ($0.collection, $0.rows) })
    #expect(counts == ["Person": 1, "Guide": 1, "Tag": 2, "Trip": 3, "Tag.TRIPS": 3])
    let left = report.leftOut.map(\.name).sorted()
    #expect(left == ["ACHANGE", "Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY"])
    func token(_ first: UInt8) throws -> UUID {
      let digits = (first < 16 ? "0" : "") + String(first, radix: 16)
      return try #require(UUID(uuidString: "\(digits)010203-0405-4607-8809-0A0B0C0D0E0F"))
    }
    let db = try Database(at: target)
    try db.read { tx throws in
      let trips = RowCollection<Trip, NoMetadata>("Trip")
      #expect(
        try tx[trips].get("1")
          == Trip(
            destination: "Lisbon", begins: Date(timeIntervalSinceReferenceDate: 700_000_000.5),
            budget: Decimal(string: "1999.99"), token: token(0), owner: "2", ownerEntity: "Guide",
            photo: Data([255, 0])))
      #expect(
        try tx[trips].get("2")
          == Trip(
            destination: "Graz", begins: Date(timeIntervalSinceReferenceDate: 86_400), budget: 12, token: token(16),
            owner: "1", ownerEntity: "Person", photo: Data("long".utf8)))
      let first = try #require(try tx.values(in: "Trip").row("1")?.object.value)
      // A relationship has an index of its own, an attribute has not; and data that only look like marked ones stay.
      #expect(first["MAIN"] == "3" && first["DAYS"] == 5 && first["OWNER_ORDER"] == 1024)
      #expect(first["SHAPE"] == .bytes([1, 2]))
      #expect(first["Z_ENT"] == nil && first["Z_OPT"] == nil && first["Z_PK"] == nil)
      #expect(try tx.values(in: "Guide").row("2")?.object.value == ["NAME": "Ada", "LICENCE": 7])
      let pair = try tx.values(in: "Tag.TRIPS").row("1|2")?.object.value
      #expect(pair == ["TAGS": "1", "TRIPS": "2", "TRIPS_ORDER": 2])
    }
    try db.close()
  }

  @Test func dataInFilesAreBytesWhateverAMapSays() throws {
    let sample = try store()
    func source(_ type: RowValue) throws -> CoreDataSource {
      let map = try ImportMap(["Trip": ["fields": ["PHOTO": ["name": "photo", "as": type]]]])
      return try CoreDataSource(sample.path, besides: target, map: map)
    }
    for type in ["stored", "text", "uuid"] as [RowValue] {
      let error = try #require(throws: ImportError.self) { try source(type) }
      #expect(error.description.contains("“ZPHOTO” of “Trip”"))
    }
    let report = try Importer(into: target).run(try source("bytes"))
    #expect(report.stopped == nil && report.rowCount == 10)
    let db = try Database(at: target)
    try db.read { tx throws in
      #expect(try tx.values(in: "Trip").row("1")?.object.value?["photo"] == .bytes([255, 0]))
      #expect(try tx.values(in: "Trip").row("2")?.object.value?["photo"] == .bytes(Array("long".utf8)))
    }
    try db.close()
  }

  @Test func aMissingFileIsNamedAndNothingElseIsOpened() throws {
    let sample = try store()
    let path = folder.url.appendingPathComponent("source/.a b?_SUPPORT/_EXTERNAL_DATA/\(Self.file)").path
    try FileManager.default.removeItem(atPath: path)
    let missing = try imported(sample)
    #expect(missing.stopped?.row == "2" && missing.stopped?.reason.contains(Self.file) == true)
    #expect(missing.stopped?.reason.contains("which is not there") == true)
    // A pipe would be waited for, and a link may lead anywhere.
    #expect(mkfifo(path, 0o600) == 0)
    #expect(try imported(sample).stopped?.reason.contains("is no file") == true)
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/passwd")
    #expect(try imported(sample).stopped?.reason.contains("is no file") == true)
    #expect(!FileManager.default.fileExists(atPath: target))
  }

  @Test func aNameThatIsNoUUIDLeadsNowhere() throws {
    let name = "../../../a-name-of-thirty-six-characters"
    let sample = try store(["UPDATE ZTRIP SET ZPHOTO = CAST(x'02' || '\(name.prefix(36))' AS BLOB) WHERE Z_PK = 2"])
    #expect(try imported(sample).stopped?.reason.contains("names no file by a UUID") == true)
  }

  @Test func aFolderThatMayBeMissingIsTold() throws {
    let sample = try store(["UPDATE ZTRIP SET ZPHOTO = x'01ff' WHERE Z_PK = 2"])
    let data = folder.url.appendingPathComponent("source/.a b?_SUPPORT")
    #expect(try !CoreDataSource(sample.path, besides: target).leftOut.contains { $0.name.contains("ZPHOTO") })
    try FileManager.default.removeItem(at: data)
    let told = try CoreDataSource(sample.path, besides: target).leftOut
    #expect(told.contains { $0.name == "the mark of ZTRIP.ZPHOTO" })
  }

  @Test func whatDoesNotFitIsTold() throws {
    let lost = try imported(try store(["UPDATE ZPERSON SET Z_ENT = 9 WHERE Z_PK = 1"]))
    #expect(lost.stopped?.table == "ZPERSON" && lost.stopped?.reason.contains("entity") == true)
    func told(_ statements: [String]) throws -> String {
      try FileManager.default.removeItem(atPath: folder.url.path)
      try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
      let sample = try store(statements)
      return try #require(throws: ImportError.self) { try CoreDataSource(sample.path, besides: target) }.description
    }
    #expect(try told(["UPDATE Z_PRIMARYKEY SET Z_SUPER = 2 WHERE Z_ENT = 1"]).contains("its own parent"))
    #expect(try told(["UPDATE Z_PRIMARYKEY SET Z_NAME = NULL WHERE Z_ENT = 1"]).contains("whose name is empty"))
    #expect(try told(["ALTER TABLE ZTAG RENAME COLUMN Z_ENT TO Z_NONE"]).contains("has no column “Z_ENT”"))
    #expect(try told(["DROP TABLE Z_PRIMARYKEY"]).contains("quire-import sqlite"))
    let view = "CREATE VIEW Z_PRIMARYKEY AS SELECT 1 AS Z_ENT, 'Tag' AS Z_NAME, 0 AS Z_SUPER"
    #expect(try told(["DROP TABLE Z_PRIMARYKEY", view]).contains("quire-import sqlite"))
  }

  @Test func anEntityCalledAsOneOfCoreDatasComesOverOnce() throws {
    let report = try imported(
      try store([
        "INSERT INTO Z_PRIMARYKEY VALUES (5, 'Change', 0, 1), (6, 'Transaction', 0, 1)",
        "INSERT INTO Z_PRIMARYKEY VALUES (16002, 'TRANSACTION', 0, 0)",
        "CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)",
        "CREATE TABLE ZCHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCOINS INTEGER)",
        "CREATE TABLE ZTRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZSUM INTEGER)",
        "INSERT INTO ZCHANGE VALUES (1, 5, 1, 3)", "INSERT INTO ZTRANSACTION VALUES (1, 6, 1, 4)",
      ]))
    #expect(report.stopped == nil && report.rowCount == 12)
    let left = report.leftOut.map(\.name).sorted()
    #expect(left == ["ACHANGE", "ATRANSACTION", "Z_METADATA", "Z_MODELCACHE", "Z_PRIMARYKEY"])
    let db = try Database(at: target)
    try db.read { tx throws in
      #expect(try tx.values(in: "Change").row("1")?.object.value == ["COINS": 3])
      #expect(try tx.values(in: "Transaction").row("1")?.object.value == ["SUM": 4])
    }
    try db.close()
  }

  @Test func columnsThatAreComputedAreTold() throws {
    let sample = try store([
      "ALTER TABLE ZTRIP ADD COLUMN ZHOURS INTEGER GENERATED ALWAYS AS (ZDAYS * 24) VIRTUAL",
      "ALTER TABLE Z_3TRIPS ADD COLUMN ZSUM AS (Z_3TAGS + Z_4TRIPS)",
      // No pairs: the table is told as a whole.
      "CREATE TABLE Z_9OTHERS (Z_3TAGS INTEGER, ZSUM AS (Z_3TAGS + 1))",
    ])
    let report = try imported(sample)
    #expect(report.stopped == nil && report.rowCount == 10)
    let left = report.leftOut.filter { $0.name.contains("Z_9") || $0.name.contains(".") }
    #expect(left.map(\.name).sorted() == ["ZTRIP.ZHOURS", "Z_3TRIPS.ZSUM", "Z_9OTHERS"])
    #expect(left.contains(where: { $0.name == "ZTRIP.ZHOURS" && $0.reason == "it is computed from other columns" }))
  }

  @Test func namesThatWouldBeOneStayTwo() throws {
    let report = try imported(
      try store([
        "ALTER TABLE ZTAG ADD COLUMN NAME VARCHAR", "UPDATE ZTAG SET NAME = 'other'",
        "CREATE TABLE Z_3TAGS (Z_3TAGS INTEGER, Z_4TAGS INTEGER, PRIMARY KEY (Z_3TAGS, Z_4TAGS))",
        "INSERT INTO Z_3TAGS VALUES (1, 2)",
      ]))
    #expect(report.stopped == nil)
    let db = try Database(at: target)
    try db.read { tx throws in
      #expect(try tx.values(in: "Tag").row("1")?.object.value == ["NAME": "sea", "NAME_": "other"])
      #expect(try tx.values(in: "Tag.TAGS").row("1|2")?.object.value == ["TAGS": "1", "Z_4TAGS": "2"])
    }
    try db.close()
  }
}
