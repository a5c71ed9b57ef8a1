// Storing, reading, changing and removing rows.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct RowTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
  }

  @Test func storesAndReads() throws {
    try db.write { tx throws in
      try tx[.songs].set(Song("Blue Train"), metadata: PlayState(plays: 3), for: "s1")
      try tx[.songs].set(Song("Naima"), for: "s2")
      #expect(try tx[.songs].get("s1") == Song("Blue Train"))
    }
    try db.read { tx throws in
      let songs = tx[.songs]
      #expect(try songs.get("s1") == Song("Blue Train"))
      #expect(try songs.metadata("s1") == PlayState(plays: 3))
      #expect(try songs.metadata("s2") == nil)
      #expect(try songs.get("s3") == nil)
      #expect(try songs.row("s2")?.object == Song("Naima"))
      #expect(try songs.contains("s1") && !songs.contains("s3"))
      #expect(songs.count == 2)
      #expect(tx.collections == ["songs"])
    }
  }

  @Test func setErasesMetadataAndReplaceKeepsIt() throws {
    try db.write { tx throws in
      let songs = tx[.songs]
      #expect(try !songs.replace(Song("nobody"), for: "s1"))
      #expect(try !songs.replaceMetadata(PlayState(plays: 1), for: "s1"))
      #expect(try songs.row("s1") == nil)
      try songs.set(Song("one"), metadata: PlayState(plays: 1), for: "s1")
      #expect(try songs.replace(Song("two"), for: "s1"))
      #expect(try songs.row("s1")?.metadata == PlayState(plays: 1))
      #expect(try songs.get("s1") == Song("two"))
      #expect(try songs.replaceMetadata(PlayState(plays: 2), for: "s1"))
      #expect(try songs.row("s1")?.object == Song("two"))
      #expect(try songs.metadata("s1") == PlayState(plays: 2))
      #expect(try songs.update("s1") { $0.seconds += 1 })
      #expect(try songs.get("s1")?.seconds == 201)
      #expect(try songs.metadata("s1") == PlayState(plays: 2))
      #expect(try songs.replaceMetadata(nil, for: "s1"))
      #expect(try songs.metadata("s1") == nil)
      #expect(try songs.get("s1")?.seconds == 201)
      try songs.replaceMetadata(PlayState(plays: 9), for: "s1")
      try songs.set(Song("three"), for: "s1")
      #expect(try songs.metadata("s1") == nil)
    }
  }

  @Test func rowIDsStayAndAreNeverGivenAgain() throws {
    let first = try db.write { tx throws in
      try tx[.songs].set(Song("one"), for: "s1")
      return try tx[.songs].rowID("s1")
    }
    try db.write { tx throws in
      try tx[.songs].set(Song("two"), for: "s1")
      #expect(try tx[.songs].rowID("s1") == first)
      #expect(try tx.key(of: try #require(first)) == RowKey("songs", "s1"))
      try tx[.songs].remove("s1")
      #expect(try tx.key(of: try #require(first)) == nil)
      try tx[.songs].set(Song("three"), for: "s1")
      let third = try #require(try tx[.songs].rowID("s1"))
      #expect(try third > #require(first))
    }
  }

  @Test func collectionsExistAsLongAsTheyHaveRows() throws {
    try db.write { tx throws in
      for name in ["collection1", "collection2", "collection3", ""] {
        for key in 1...5 { try tx[.texts(name)].set("v\(key)", metadata: "m", for: "key\(key)") }
      }
      #expect(tx.collections == ["", "collection1", "collection2", "collection3"])
      #expect(tx.count == 20)
      #expect(try tx.collections(containing: "key3") == ["", "collection1", "collection2", "collection3"])
    }
    try db.write { tx throws in
      #expect(try tx[.texts("collection2")].removeAll() == 5)
      #expect(tx[.texts("collection2")].count == 0)
      #expect(tx[.texts("collection1")].count == 5)
      #expect(try tx[.texts("")].remove(["key1", "key2", "nothing"]) == 2)
    }
    try db.read { tx throws in
      #expect(tx.collections == ["", "collection1", "collection3"])
      #expect(tx[.texts("")].keys.map { $0 } == ["key3", "key4", "key5"])
      #expect(try tx[.texts("collection2")].get("key1") == nil)
    }
    #expect(try db.write { tx in try tx.removeAll() } == 13)
    try db.read { tx throws in
      #expect(tx.collections.isEmpty && tx.count == 0)
    }
    try db.write { tx in try tx[.texts("collection2")].set("again", for: "k") }
    #expect(try db.read { tx in try tx[.texts("collection2")].get("k") } == "again")
  }

  @Test func enumeratesInTheOrderOfBytes() throws {
    let keys = (0..<100).map { String(format: "%03d", $0) } + ["a", "ä", "z", "", "Z"]
    try db.write { tx throws in
      for key in keys.shuffled() { try tx[.texts("t")].set("v" + key, metadata: "m" + key, for: key) }
      try tx[.texts("s")].set("other", for: "x")
      try tx[.texts("u")].set("other", for: "0")
    }
    let sorted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    try db.read { tx throws in
      let texts = tx[.texts("t")]
      #expect(texts.keys.map { $0 } == sorted)
      #expect(texts.keys.reversed().map { $0 } == sorted.reversed())
      #expect(texts.rows.map(\.object) == sorted.map { "v" + $0 })
      #expect(texts.rows.reversed().map(\.metadata) == sorted.reversed().map { "m" + $0 })
      #expect(texts.metadata.map(\.metadata) == sorted.map { "m" + $0 })
      #expect(texts.keys("010"..<"020").map { $0 } == (10..<20).map { String(format: "%03d", $0) })
      #expect(texts.keys("010"..."020").map { $0 }.count == 11)
      #expect(texts.rows("095"...).reversed().map(\.key).last == "095")
      #expect(texts.rows(..<"003").map(\.key) == ["", "000", "001", "002"])
      #expect(texts.keys(..."002").map { $0 } == ["", "000", "001", "002"])
      #expect(texts.rows(prefix: "05").map(\.key) == (50..<60).map { String(format: "%03d", $0) })
      #expect(texts.rows(from: "z", upTo: "a").map(\.key) == [])
      #expect(try texts.count(prefix: "05") == 10)
      #expect(try texts.count("010"..<"020") == 10)
      #expect(try texts.rows(for: ["z", "nothing", "a", "a"]).map(\.object) == ["vz", "va", "va"])
      #expect(texts.rows.filteringKeys { $0.hasSuffix("7") }.map(\.key).count == 10)
      #expect(texts.rows.first { $0.key == "050" }?.object == "v050")
    }
  }

  @Test func keysAndNamesHaveLimits() throws {
    let longest = String(repeating: "k", count: Limits.rowKeyByteCount)
    try db.write { tx throws in
      try tx[.texts("t")].set("v", for: longest)
      #expect(try tx[.texts("t")].get(longest) == "v")
      #expect(errorCode { try tx[.texts("t")].set("v", for: longest + "k") } == .keyTooLong)
      #expect(try tx[.texts("t")].get(longest + "k") == nil)
    }
    let error = errorCode {
      try db.write { tx throws in
        try tx[.texts(String(repeating: "n", count: Limits.collectionNameByteCount + 1))].set("v", for: "k")
      }
    }
    #expect(error == .nameTooLong)
    #expect(try db.read { tx in tx.collections } == ["t"])
  }

  @Test func longAndCompressedObjectsComeBack() throws {
    let long = String(repeating: "all work and no play ", count: 20_000)
    let random = String((0..<50_000).map { _ in Character(UnicodeScalar(UInt8.random(in: 32..<127))) })
    try db.write { tx throws in
      try tx[.texts("t")].set(long, metadata: long, for: "long")
      try tx[.texts("t")].set(random, metadata: "short", for: "random")
    }
    try db.close()
    let reopened = try folder.open()
    try reopened.read { tx throws in
      #expect(try tx[.texts("t")].get("long") == long)
      #expect(try tx[.texts("t")].metadata("long") == long)
      #expect(try tx[.texts("t")].get("random") == random)
      #expect(try tx[.texts("t")].metadata("random") == "short")
      #expect(tx[.texts("t")].metadata.map(\.metadata) == [long, "short"])
    }
  }

  @Test func oneCollectionHasOneTypeAndCoder() throws {
    try db.write { tx in try tx[.songs].set(Song("x"), for: "s1") }
    let other = RowCollection<Album, NoMetadata>("songs")
    #expect(errorCode { try db.read { tx in _ = try tx[other].get("s1") } } == .collectionMismatch)
    let otherCoder = RowCollection<Song, PlayState>("songs", coder: .json)
    #expect(errorCode { try db.read { tx in _ = tx[otherCoder].count } } == .collectionMismatch)
    #expect(try db.read { tx in try tx[.songs].get("s1") } == Song("x"))
  }

  @Test func rawRowsNeedNoType() throws {
    try db.write { tx in try tx[.albums].set(Album(name: "Giant Steps"), for: "a1") }
    try db.read { tx throws in
      let row = try #require(try tx.rawRows("albums").row("a1"))
      #expect(String(decoding: row.object, as: UTF8.self) == #"{"name":"Giant Steps"}"#)
      #expect(row.metadata == nil)
      #expect(tx.rawRows("albums").map(\.key) == ["a1"])
      #expect(tx.rawRows("albums").count == 1)
    }
  }
}
