// Storing rows without their types, in the form in which the app would store them.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct WritableValuesTests {
  private struct Track: Codable, Sendable, Equatable { var title: String, plays: Int }

  private let folder: TestFolder
  private let date = Date(timeIntervalSinceReferenceDate: 5.25)

  init() throws { folder = try TestFolder() }

  /// The stored bytes of the object under a key.
  private func bytes(_ name: String, _ key: String, _ tx: some TransactionReading) throws -> [UInt8] {
    try #require(try tx.rawRows(name).row(key)).object
  }

  // MARK: Coders

  @Test func valuesAreChangedAsTheAppWould() throws {
    let tracks = RowCollection<Track, Int>("tracks")
    let lists = RowCollection<[String: Date], NoMetadata>("lists", coder: .propertyList)
    let documents = RowCollection<Track, NoMetadata>("documents", coder: .json)
    let dates = RowCollection<Date, NoMetadata>("dates", coder: .timestamp)
    let blobs = RowCollection<[UInt8], NoMetadata>("blobs", coder: .bytes)
    let db = try folder.open()
    try db.write { tx throws in
      try tx[tracks].set(Track(title: "Naima", plays: 1), metadata: 7, for: "t1")
      try tx[lists].set(["at": date], for: "l1")
      try tx[documents].set(Track(title: "So What", plays: 2), for: "d1")
      try tx[dates].set(date, for: "k")
      try tx[blobs].set([1, 2], for: "k")
    }
    try db.close()
    let tool = try folder.open()
    try tool.write { tx throws in
      #expect(try tx.values(in: "tracks").update("t1") { $0["plays"] = 12 })
      #expect(try !tx.values(in: "tracks").update("t9") { _ in Issue.record("there is no such row") })
      #expect(try tx.values(in: "tracks").insert(["title": "Giant Steps", "plays": 3], metadata: 8, for: "t2"))
      #expect(try !tx.values(in: "tracks").insert(["title": "x", "plays": 3], for: "t2"))
      #expect(try tx.values(in: "tracks").replaceMetadata(9, for: "t2"))
      #expect(try tx.values(in: "lists").update("l1") { $0["at"] = .date(date + 1) })
      #expect(try tx.values(in: "documents").update("d1") { $0["plays"] = 5 })
      try tx.values(in: "dates").set(6.5, for: "k")
      try tx.values(in: "dates").set(.date(date), for: "new")
      try tx.values(in: "blobs").set(.bytes([3]), for: "k")
      #expect(try tx.values(in: "blobs").insert(.bytes([4]), for: "gone"))
      #expect(try tx.values(in: "blobs").remove("gone"))
      #expect(try tx.values(in: "blobs").count() == 1)
    }
    try tool.close()
    let app = try folder.open()
    try app.read { tx throws in
      #expect(try tx[tracks].get("t1") == Track(title: "Naima", plays: 12))
      #expect(try tx[tracks].row("t1")?.metadata == 7 && tx[tracks].row("t2")?.metadata == 9)
      #expect(try tx[tracks].get("t2") == Track(title: "Giant Steps", plays: 3))
      #expect(try tx[lists].get("l1") == ["at": date + 1])
      #expect(try tx[documents].get("d1") == Track(title: "So What", plays: 5))
      #expect(try tx[dates].get("k") == Date(timeIntervalSinceReferenceDate: 6.5) && tx[dates].get("new") == date)
      #expect(try tx[blobs].get("k") == [3])
    }
  }

  @Test func versionsStay() throws {
    let old = RowCollection<String, NoMetadata>("names", coder: .json)
    let coder = RowCoder<Track>.json.upgrading(from: String.self) { Track(title: $0, plays: -1) }
    let new = RowCollection<Track, NoMetadata>("names", coder: coder)
    var db = try folder.open()
    try db.write { tx throws in try tx[old].set("a", for: "old") }
    try db.close()
    db = try folder.open()
    try db.write { tx throws in try tx[new].set(Track(title: "b", plays: 1), for: "new") }
    try db.close()
    db = try folder.open()
    try db.write { tx throws in
      try tx.values(in: "names").set("c", for: "old")
      #expect(try tx.values(in: "names").update("new") { $0["plays"] = 2 })
      let half = StoredHalf(.value(["title": "d", "plays": 4]), version: 1, coder: .json)
      try tx.values(in: "names").set(half, for: "other")
      #expect(try tx.values(in: "names").row("old")?.object.version == 0)
      #expect(try tx.values(in: "names").row("new")?.object.version == 1)
    }
    try db.close()
    db = try folder.open()
    try db.read { tx throws in
      #expect(try tx[new].get("old") == Track(title: "c", plays: -1))
      #expect(try tx[new].get("new") == Track(title: "b", plays: 2))
      #expect(try tx[new].get("other") == Track(title: "d", plays: 4))
    }
  }

  /// Collections that nobody has opened get the coders of their first rows, and an app with these opens them.
  @Test func newCollectionsHaveTheCodersOfTheirRows() throws {
    let upgraded = RowCoder<Date>.timestamp.upgrading(from: Int.self) {
      Date(timeIntervalSinceReferenceDate: Double($0))
    }
    let custom = RowCoder<Int>(encode: { [UInt8($0)] }, decode: { $0.withUnsafeBytes { Int($0[0]) } })
    let db = try folder.open()
    try db.write { tx throws in
      func set(_ content: StoredHalf.Content, _ coder: CoderKind, version: Int = 0, in name: String) throws {
        try tx.values(in: name).set(StoredHalf(content, version: version, coder: coder), for: "k")
      }
      try set(.value(["a": 1]), .json, in: "json")
      try set(.value(["a": 1]), .propertyList, in: "list")
      try set(.value(.date(date)), .timestamp, in: "dates")
      try set(.value(.date(date)), .timestamp, version: 1, in: "upgraded")
      try set(.value(.bytes([1])), .bytes, in: "bytes")
      try set(.custom([9]), .custom, in: "custom")
      try set(.value(["a": 1]), .binary, in: "binary")
    }
    try db.close()
    let app = try folder.open()
    try app.write { tx throws in
      #expect(try tx[RowCollection<[String: Int], Int>("json", coder: .json)].get("k") == ["a": 1])
      #expect(try tx[RowCollection<[String: Int], Int>("list", coder: .propertyList)].get("k") == ["a": 1])
      #expect(try tx[RowCollection<Date, Int>("dates", coder: .timestamp)].get("k") == date)
      #expect(try tx[RowCollection<Date, Int>("upgraded", coder: upgraded)].get("k") == date)
      #expect(try tx[RowCollection<[UInt8], Int>("bytes", coder: .bytes)].get("k") == [1])
      #expect(try tx[RowCollection<Int, Int>("custom", coder: custom)].get("k") == 9)
      #expect(try tx[RowCollection<[String: Int], Int>("binary")].get("k") == ["a": 1])
    }
    try app.close()
    let other = try folder.open()
    #expect(
      errorCode {
        try other.write { tx throws in try tx[RowCollection<[String: Int], Int>("json")].set([:], for: "k") }
      } == .collectionMismatch)
  }

  /// What is stored without types in a transaction does not hide the coder of what is stored with them later in it.
  @Test func codersOfTheSameTransactionAreNoted() throws {
    let db = try folder.open()
    try db.write { tx throws in
      try tx.values(in: "tracks").set(["title": "a", "plays": 1], for: "a")
      try tx[RowCollection<Track, Track>("tracks")].set(
        Track(title: "b", plays: 2), metadata: Track(title: "c", plays: 3), for: "b")
    }
    try db.close()
    try folder.open().read { tx throws in
      let notes = tx.values(in: "tracks").notes
      #expect(notes.object.coder == .binary && notes.metadata.coder == .binary)
      #expect(notes.object.fields == ["title", "plays"] && notes.metadata.fields == ["title", "plays"])
    }
  }

  // MARK: Refusals

  @Test func whatDoesNotFitChangesNothing() throws {
    let db = try folder.open()
    let custom = RowCoder<Int>(encode: { [UInt8($0)] }, decode: { _ in 0 })
    try db.write { tx throws in
      try tx[RowCollection<Int, NoMetadata>("custom", coder: custom)].set(9, for: "k")
      try tx[RowCollection<Date, NoMetadata>("dates", coder: .timestamp)].set(date, for: "k")
      func code(_ name: String, _ half: StoredHalf) -> DatabaseError.Code? {
        errorCode { try tx.values(in: name).set(half, for: "k") }
      }
      #expect(code("dates", StoredHalf(.value(1))) == .collectionMismatch)
      #expect(code("dates", StoredHalf(.value("text"), coder: .timestamp)) == .encodingFailed)
      #expect(code("dates", StoredHalf(.value(.date(date)), version: 1, coder: .timestamp)) == .collectionMismatch)
      #expect(code("dates", StoredHalf(.value(.bytes([1])), coder: nil)) == .collectionMismatch)
      #expect(code("new", StoredHalf(.encrypted(key: 7))) == .missingKey)
      #expect(code("new", StoredHalf(.value(1), version: -1)) == .encodingFailed)
      #expect(code("new", StoredHalf(.value(1), coder: .propertyList)) == .encodingFailed)
      #expect(errorCode { try tx.values(in: "custom").update("k") { $0 = 1 } } == .encodingFailed)
      let long = String(repeating: "k", count: 5000)
      #expect(errorCode { try tx.values(in: "new").set(1, for: long) } == .keyTooLong)
      var deep: RowValue = 1
      for _ in 0..<513 { deep = [deep] }
      #expect(code("new", StoredHalf(.value(deep))) == .encodingFailed)
      #expect(code("new", StoredHalf(.value(deep), coder: .json)) == .encodingFailed)
      #expect(try tx.values(in: "dates").row("k")?.object.value == .date(date))
    }
    try db.read { tx throws in #expect(tx.collections == ["custom", "dates"]) }
  }

  @Test func savepointsTakeNotesBack() throws {
    let db = try folder.open()
    let notes = CollectionNotes(object: .init(coder: .json), metadata: .init(coder: .binary, fields: ["a"]))
    try db.write { tx throws in
      try? tx.savepoint {
        try tx.values(in: "c", as: notes).set(StoredHalf(.value(1), coder: .json), for: "k")
        throw DatabaseError(.rolledBack, "")
      }
      try tx.values(in: "c").set(1, for: "k")
    }
    try db.read { tx throws in
      #expect(tx.values(in: "c").notes == CollectionNotes(object: .init(coder: .binary)))
    }
  }

  /// A half that looks encrypted to everybody: nothing is stored beside it, or over it.
  @Test func encryptedCollectionsAreRefused() throws {
    let db = try folder.open()
    try db.write { tx throws in try tx.values(in: "secrets").set(1, for: "a") }
    try db.close()
    try seal("a")
    let tool = try folder.open()
    try tool.write { tx throws in
      for key in ["a", "b"] {
        let error = #expect(throws: DatabaseError.self) { try tx.values(in: "secrets").set(2, for: key) }
        #expect(error?.code == .missingKey && error?.message.contains("encrypted(with:)") == true)
      }
      #expect(errorCode { try tx.values(in: "secrets").update("a") { $0 = 2 } } != nil)
      #expect(try tx.values(in: "secrets").row("a")?.object.content == .encrypted(key: 7))
      #expect(try tx.values(in: "secrets").remove("a"))
      #expect(try tx.values(in: "secrets").insert(2, for: "a"))
    }
  }

  /// Rows whose metadata alone are encrypted, and not those of the first row, which has none.
  @Test func encryptedMetadataAreRefused() throws {
    let db = try folder.open()
    try db.write { tx throws in
      try tx.values(in: "secrets").set(1, for: "a")
      try tx.values(in: "secrets").set(1, metadata: 2, for: "b")
    }
    try db.close()
    try sealMetadata(ofRow: 2, key: "b")
    let tool = try folder.open()
    try tool.write { tx throws in
      let error = #expect(throws: DatabaseError.self) {
        try tx.values(in: "secrets").set(2, metadata: 3, for: "c")
      }
      #expect(error?.code == .missingKey)
      #expect(try tx.values(in: "secrets").row("c") == nil)
      // Objects are in the clear.
      try tx.values(in: "secrets").set(2, for: "c")
    }
  }

  /// Puts metadata into the place of a row's that are encrypted with key 7.
  private func sealMetadata(ofRow rowID: Int64, key: String) throws {
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      guard let rows = tx.tree(named: "quire.rows"), let row = try tx.value(for: rowID, in: rows) else {
        Issue.record("there is no row")
        return
      }
      let sealed: [UInt8] = [3, 1, 7, 0, 0, 0] + [UInt8](repeating: 9, count: 12 + 20 + 16)
      let start = 11 + key.utf8.count
      let end = start + Int(row[7])
      try tx.put(
        row[..<7] + [UInt8(sealed.count), 0, 0, 0] + row[11..<start] + sealed + row[end...], for: rowID, in: rows)
    }
    try engine.close()
  }

  /// What is refused notes nothing: neither a coder nor names of fields.
  @Test func refusedRowsNoteNothing() throws {
    let db = try folder.open()
    let tracks = RowCollection<Track, Int>("tracks")
    try db.write { tx throws in try tx[tracks].set(Track(title: "a", plays: 1), for: "a") }
    let before = try db.read { tx throws in tx.values(in: "tracks").notes }
    // Rows of upgraded bytes may have been binary ones before, and this one has no version of either.
    let notes = CollectionNotes(
      object: .init(coder: .bytes, hasUpgrades: true, fields: ["title", "plays", "more"]), metadata: .init(coder: .json)
    )
    try db.write { tx throws in
      #expect(throws: DatabaseError.self) {
        try tx.values(in: "tracks", as: notes).set(StoredHalf(.value(1), version: 1, coder: .binary), for: "b")
      }
    }
    try db.read { tx throws in #expect(tx.values(in: "tracks").notes == before) }
    try db.close()
    try folder.open().write { tx throws in try tx[tracks].set(Track(title: "b", plays: 1), metadata: 1, for: "b") }
  }

  /// Makes the stored object of the only row one that is encrypted with key 7.
  private func seal(_ key: String) throws {
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      guard let rows = tx.tree(named: "quire.rows"), var row = try tx.value(for: Int64(1), in: rows) else {
        Issue.record("there is no row")
        return
      }
      row.removeSubrange((7 + key.utf8.count)...)
      row += [3, 1, 7, 0, 0, 0] + [UInt8](repeating: 9, count: 12 + 20 + 16)
      try tx.put(row, for: Int64(1), in: rows)
    }
    try engine.close()
  }

  // MARK: Extensions

  /// Those that are registered follow, and are shown the values as the app's types.
  @Test func registeredExtensionsFollow() throws {
    let db = try folder.open()
    let seen = Shared<[String]>([])
    var hooks = Hooks("hooks", collections: .only(["tracks"]))
    let tracks = RowCollection<Track, Int>("tracks")
    hooks.willModify = { _, change, _ throws in
      let (new, old) = (try change.object(in: tracks), try change.objectBefore(in: tracks))
      seen.withLock { $0.append("\(old?.plays ?? -1) to \(new?.plays ?? -1)") }
    }
    hooks.didModify = { _, change, _ throws in
      let metadata = try change.metadata(in: tracks)
      seen.withLock { $0.append("\(change.key) \(metadata ?? -1)") }
    }
    try db.register(hooks)
    try db.write { tx throws in
      try tx.values(in: "tracks").set(["title": "a", "plays": 1], metadata: 5, for: "a")
      try tx.values(in: "tracks").update("a") { $0["plays"] = 2 }
    }
    #expect(seen.withLock { $0 } == ["-1 to 1", "a 5", "1 to 2", "a 5"])
  }

  /// Those that nobody has registered are out of date in the same commit, if they follow the collection.
  @Test func storedExtensionsBecomeStale() throws {
    var index = ValueIndex<Track, Int>("titles", { RowCollection($0) }, make: { track, _ in track.title })
    index.collections = .only(["tracks"])
    var db = try folder.open()
    try db.register(index)
    try db.write { tx throws in try tx[RowCollection<Track, Int>("tracks")].set(Track(title: "a", plays: 1), for: "a") }
    try db.close()
    db = try folder.open()
    func state() throws -> [ExtensionStatus.State] {
      try db.read { tx throws in try tx.storedExtensions().map(\.status.state) }
    }
    try db.write { tx throws in try tx.values(in: "others").set(1, for: "a") }
    #expect(try state() == [.ready])
    try db.read { tx throws in
      let trees = try #require(try tx.storedExtensions().first).trees()
      #expect(trees.map(\.name) == ["entries", "values"] && trees.map(\.entries) == [1, 1])
    }
    try db.write { tx throws in try tx.values(in: "tracks").set(["title": "b", "plays": 1], for: "a") }
    #expect(try state() == [.stale])
    try db.register(index)
    #expect(try state() == [.ready])
  }

  // MARK: Bytes

  /// Bytes are kept where they mean the same, and made anew where they do not.
  @Test func bytesMeanWhatTheyMeant() throws {
    let db = try folder.open()
    try db.write { tx throws in
      try tx[RowCollection<Track, NoMetadata>("a")].set(Track(title: "x", plays: 1), for: "k")
      let row = try #require(try tx.values(in: "a").row("k"))
      let notes = tx.values(in: "a").rows.notes
      try tx.values(in: "same", as: notes).set(row.object, for: "k")
      #expect(try bytes("same", "k", tx) == bytes("a", "k", tx))
      // Fields of these numbers have other names there.
      try tx.values(in: "other").set(["plays": 5, "year": 6], for: "before")
      try tx.values(in: "other", as: notes).set(row.object, for: "k")
      #expect(try bytes("other", "k", tx) != bytes("a", "k", tx))
      #expect(try tx.values(in: "other").row("k")?.object == row.object)
      // Bytes that do not say what the value says.
      let edited = StoredHalf(.value(["title": "y", "plays": 1]), encoded: row.object.encoded)
      try tx.values(in: "same", as: notes).set(edited, for: "k")
      #expect(try tx.values(in: "same").row("k")?.object.value == ["title": "y", "plays": 1])
    }
  }

  /// Spellings that look the same are names of their own.
  @Test func namesAreBytes() throws {
    let db = try folder.open()
    let value: RowValue = ["\u{e9}": 1, "e\u{301}": 2]
    try db.write { tx throws in
      try tx.values(in: "c").set(["\u{e9}": 0], for: "a")
      try tx.values(in: "c").set(value, for: "b")
      try tx.values(in: "c").set(["e\u{301}": 3], for: "c")
      #expect(try tx.values(in: "c").row("b")?.object.value == value)
      #expect(try tx.values(in: "c").row("c")?.object.value == ["e\u{301}": 3])
    }
  }

  // MARK: JSON

  @Test func documentsKeepTheirNumbers() throws {
    let db = try folder.open()
    let values = RowCollection<RowValue, NoMetadata>("json", coder: .json)
    let value: RowValue = [
      "one": 1.0, "whole": 1, "zero": .double(-0.0), "large": .integer(1 << 70), "list": [0.5, nil, "$data"],
      "$data": "no mark",
    ]
    try db.write { tx throws in
      try tx[values].set(value, for: "k")
      #expect(try tx[values].get("k") == value)
      #expect(
        String(decoding: try bytes("json", "k", tx), as: UTF8.self)
          == #"{"one":1.0,"whole":1,"zero":-0.0,"large":1180591620717411303424,"list":[0.5,null,"$data"],"#
          + #""$data":"no mark"}"#)
      let odd: RowValue = [.double(.nan), .double(-.infinity), .float(0.1), .bytes([104, 105]), .date(date)]
      try tx[values].set(odd, for: "odd")
      #expect(String(decoding: try bytes("json", "odd", tx), as: UTF8.self) == #"["NaN","-Infinity",0.1,"aGk=",5.25]"#)
    }
    let app = RowCollection<[String: Double], NoMetadata>("doubles", coder: .json)
    try db.write { tx throws in
      try tx.values(in: "doubles").set(StoredHalf(.value(["a": 1.0, "b": .double(.nan)]), coder: .json), for: "k")
      let read = try #require(try tx[app].get("k"))
      #expect(read["a"] == 1 && read["b"]?.isNaN == true)
    }
  }
}
