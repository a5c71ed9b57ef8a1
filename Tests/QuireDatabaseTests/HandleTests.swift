// Handles to collections: transactions keep what they refer to, and tell one description of a collection from another.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct HandleTests {
  let folder: TestFolder
  let db: Database

  init() throws {
    folder = try TestFolder()
    db = try folder.open()
  }

  /// A collection whose coder is made of closures anew, and puts `mark` in front of each text.
  private func marked(_ mark: String) -> RowCollection<String, NoMetadata> {
    RowCollection(
      "marked",
      coder: RowCoder(
        encode: { Array((mark + $0).utf8) },
        decode: { bytes in String(decoding: bytes.withUnsafeBytes { Array($0) }, as: UTF8.self) }))
  }

  @Test func eachUseGoesByItsOwnDescription() throws {
    try db.write { tx throws in
      let first = tx[marked("0")]
      // More than a transaction keeps; each is gone when its handle is.
      for number in 1...20 { try tx[marked("\(number) ")].set("x", for: "k\(number)") }
      try first.set("x", for: "k0")
      for number in 1...20 {
        #expect(try tx[marked("any")].get("k\(number)") == "\(number) x")
        #expect(try first.get("k\(number)") == "\(number) x")
      }
      #expect(try first.get("k0") == "0x" && tx[marked("any")].rows.map(\.object).count == 21)
      #expect(try tx[marked("any")].objects(for: ["k0", "k7"]) == ["0x", "7 x"])
    }
    try db.checkInvariants()
  }

  @Test func sanitizersBelongToOneDescriptionAlone() throws {
    let songs = RowCollection<Song, PlayState>.songs
    let loud = songs.sanitizing { _, song in Song(song.title.uppercased()) }
    let none = songs.sanitizing { _, _ in nil }
    try db.write { tx throws in
      for _ in 0..<3 {
        try tx[songs].set(Song("plain"), for: "s1")
        try tx[loud].set(Song("loud"), for: "s2")
        try tx[.songs].set(Song("plain"), for: "s3")
        try tx[none].set(Song("gone"), for: "s4")
        #expect(try tx[none].get("s1")?.title == "plain" && tx[songs].get("s2")?.title == "LOUD")
        #expect(try tx[loud].get("s3")?.title == "plain" && tx[.songs].count == 3)
      }
    }
  }

  // What the caller has encoded is the object before the sanitizer.
  @Test func aSanitizedObjectIsEncodedAnew() throws {
    let folder = try TestFolder()
    let db = try folder.open(Database.Options(objectCache: ObjectCacheOptions()))
    let plain = RowCollection<[UInt8], String>("bytes", coder: .bytes)
    let next = plain.sanitizing { key, bytes in key == "gone" ? nil : bytes.map { $0 + 1 } }
    let stored = Recorder()
    let metadataOnly = plain.sanitizingMetadata { _, text in text + "!" }.afterStoring { _, bytes in
      stored.append("\(bytes)")
    }
    try db.write { tx throws in
      try tx[next].set([1, 2], encoded: [1, 2], metadata: "m", for: "k")
      try tx[plain].set([1], for: "gone")
      try tx[next].set([1], encoded: [1], for: "gone")
      #expect(try tx[plain].get("k") == [2, 3])
      // Where no object is sanitized, the bytes are what is stored.
      try tx[metadataOnly].set([1], encoded: [7], metadata: "m", for: "raw")
    }
    #expect(stored.values == ["[1]"])
    for _ in 0..<2 {
      try db.read { tx throws in
        #expect(try tx[plain].get("k") == [2, 3] && tx[plain].metadata("k") == "m")
        #expect(try tx.rawRows("bytes").row("k")?.object == [2, 3])
        #expect(try tx[plain].get("raw") == [7] && tx[plain].metadata("raw") == "m!")
        #expect(try !tx[plain].contains("gone"))
      }
    }
  }

  @Test func compressionBelongsToOneDescriptionAlone() throws {
    let text = String(repeating: "text ", count: 400)
    let (plain, small) = (
      RowCollection<String, NoMetadata>("texts", compression: .none),
      RowCollection<String, NoMetadata>("texts", compression: .lz4(above: 0))
    )
    for (key, rows) in [("plain", plain), ("small", small), ("plain", plain)] {
      try db.write { tx throws in try tx[rows].set(text, for: key) }
    }
    try db.read { tx throws in
      for key in ["plain", "small"] {
        #expect(try tx[plain].get(key) == text && tx[small].get(key) == text)
      }
      #expect(try tx[small].get("other") == nil)
    }
  }

  @Test func namesMayBeMadeAnewForEachUse() throws {
    try db.write { tx throws in
      for round in 0..<50 {
        for number in 0..<5 {
          // Too long for a string without an object; another object each time.
          let name = "a collection with a long name, number \(number)"
          try tx[.texts(name)].set("\(round)", for: "k\(round % 2)")
          let rows = tx[.texts(name)]
          #expect(try rows.get("k\(round % 2)") == "\(round)" && rows.count == min(round, 1) + 1)
        }
      }
    }
    #expect(try db.read { tx in (tx.collections.count, tx.count) } == (5, 10))
  }

  @Test func coderUpgradesAreToldApart() throws {
    let plain = RowCollection<Album, NoMetadata>("albums")
    let upgraded = RowCollection<Album, NoMetadata>(
      "albums", coder: RowCoder<Album>.binary.upgrading(from: Song.self) { Album(name: $0.title) })
    try db.write { tx throws in
      for number in 0..<3 {
        try tx[upgraded].set(Album(name: "\(number)"), for: "a")
        #expect(try tx[upgraded].get("a")?.name == "\(number)")
      }
      #expect(errorCode { try tx.savepoint { try tx[plain].set(Album(name: "x"), for: "a") } } == .collectionMismatch)
      #expect(try tx[upgraded].get("a")?.name == "2")
    }
  }

  @Test func handlesThatAreKeptTooLongThrow() throws {
    struct Kept {
      let tx: ReadTransaction
      let songs: ReadableRows<Song, PlayState>
      let closures: ReadableRows<String, NoMetadata>
      let keys: KeySequence
      let raw: RawRows
      var iterator: RowSequence<Song, PlayState>.Iterator
    }
    try db.write { tx throws in
      try tx[.songs].set(Song("x"), for: "s1")
      try tx[marked("")].set("x", for: "k")
    }
    for isPinned in [false, true] {
      let access = try db.pin()
      let body = { (tx: ReadTransaction) throws -> Kept in
        for _ in 0..<9 { _ = tx[marked("")] }
        #expect(try tx[.songs].get("s1") == Song("x"))
        return Kept(
          tx: tx, songs: tx[.songs], closures: tx[marked("")], keys: tx[.songs].keys, raw: tx.rawRows("songs"),
          iterator: tx[.songs].rows.makeIterator())
      }
      var kept = isPinned ? try access.read(body) : try db.read(body)
      // Others use what the transaction has given back.
      for number in 0..<20 { try db.write { tx throws in try tx[.songs].set(Song("\(number)"), for: "s2") } }
      #expect(errorCode { _ = try kept.songs.get("s1") } == .transactionClosed)
      #expect(errorCode { _ = try kept.closures.get("k") } == .transactionClosed)
      #expect(errorCode { _ = try kept.tx[.songs].get("s1") } == .transactionClosed)
      #expect(errorCode { _ = try kept.tx[.albums].get("a1") } == .transactionClosed)
      #expect(errorCode { _ = try kept.tx[.songs].rows(for: ["s1"]) } == .transactionClosed)
      #expect(errorCode { _ = try kept.tx[.songs].metadata("s1") } == .transactionClosed)
      #expect(errorCode { _ = try kept.raw.row("s1") } == .transactionClosed)
      #expect(kept.keys.map { $0 } == [] && kept.iterator.next() == nil && kept.songs.count == 0)
      #expect(kept.tx[.albums].count == 0 && kept.tx.rawRows("albums").map(\.key) == [])
    }
    #expect(try db.read { tx in try tx[.songs].get("s1") } == Song("x"))
  }

  @Test func aPinKnowsItsCollectionsThroughoutChangesOfThem() throws {
    try db.write { tx throws in
      try tx[.songs].set(Song("old"), for: "s1")
      try tx[.texts("going")].set("old", for: "t1")
    }
    let pin = try db.pin()
    func check() throws {
      // Twice: from the tree, and from what was found there.
      for _ in 0..<2 {
        try pin.read { tx throws in
          #expect(try tx[.songs].get("s1") == Song("old") && tx[.texts("going")].get("t1") == "old")
          #expect(try tx[.texts("coming")].get("t1") == nil && tx[.texts("coming")].count == 0)
        }
      }
    }
    try check()
    // The same name, and another collection; and one that the pin does not have.
    try db.write { tx throws in
      try tx[.songs].removeAll()
      try tx[.texts("going")].removeAll()
    }
    try check()
    try db.write { tx throws in
      try tx[.texts("going")].set("new", for: "t1")
      try tx[.texts("coming")].set("new", for: "t1")
      try tx[.songs].set(Song("new"), metadata: PlayState(plays: 1), for: "s1")
    }
    try check()
    #expect(try pin.advance().count == 2)
    for _ in 0..<2 {
      try pin.read { tx throws in
        #expect(try tx[.songs].get("s1") == Song("new") && tx[.songs].metadata("s1") == PlayState(plays: 1))
        #expect(try tx[.texts("going")].get("t1") == "new" && tx[.texts("coming")].get("t1") == "new")
      }
    }
    try db.checkInvariants()
  }
}
