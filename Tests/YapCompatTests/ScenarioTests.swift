// The tests of YapDatabase's core, in its own words. The letters are those of the original's test1.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite struct ScenarioTests {
  let fixture: YapFixture
  let connection1: YapDatabaseConnection
  let connection2: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    connection1 = fixture.connection
    connection2 = fixture.database.newConnection()
  }

  // test0
  @Test func thereIsAPlaceByDefault() {
    #expect(YapDatabase.defaultDatabaseURL.isFileURL)
    #expect(YapDatabase.defaultDatabaseURL.lastPathComponent == "yapdb.quire")
  }

  /// What both kinds of transactions say where nothing is.
  private func checkEmpty(_ transaction: YapDatabaseReadTransaction) {
    #expect(transaction.numberOfCollections() == 0 && transaction.allCollections().isEmpty)
    #expect(transaction.numberOfKeys(inCollection: nil) == 0 && transaction.numberOfKeysInAllCollections() == 0)
    #expect(transaction.allKeys(inCollection: nil).isEmpty)
    #expect(transaction.object(forKey: "non-existant", inCollection: nil) == nil)
    #expect(transaction.serializedObject(forKey: "non-existant", inCollection: nil) == nil)
    #expect(transaction.metadata(forKey: "non-existant", inCollection: nil) == nil)
    #expect(transaction.serializedMetadata(forKey: "non-existant", inCollection: nil) == nil)
    #expect(!transaction.hasObject(forKey: "non-existant", inCollection: nil))
    var (object, metadata): (Any?, Any?) = ("left", "left")
    #expect(!transaction.getObject(&object, metadata: &metadata, forKey: "non-existant", inCollection: nil))
    #expect(object == nil && metadata == nil)
    var (bytes, metadataBytes): (Data?, Data?) = (Data(), Data())
    #expect(
      !transaction.getSerializedObject(
        &bytes, serializedMetadata: &metadataBytes, forKey: "non-existant", inCollection: nil))
    #expect(bytes == nil && metadataBytes == nil)
    let row: (object: String, metadata: String?)? = transaction.row(forKey: "non-existant", inCollection: nil)
    #expect(row == nil)
    var steps = 0
    transaction.enumerateKeys(inCollection: nil) { _, _ in steps += 1 }
    transaction.enumerateKeysAndMetadata(inCollection: nil, using: { _, _, _ in steps += 1 })
    transaction.enumerateKeysAndObjects(inCollection: nil, using: { _, _, _ in steps += 1 })
    transaction.iterateRowsInAllCollections { _, _, _, _, _ in steps += 1 }
    #expect(steps == 0)
  }

  // test1 (a)
  @Test func nothingIsThereAtFirst() throws {
    try connection1.readWrite { transaction in
      checkEmpty(transaction)
      transaction.removeObject(forKey: "non-existant", inCollection: nil)
      transaction.removeObjects(forKeys: ["non", "existant"], inCollection: nil)
      transaction.replace("object", forKey: "non-existant", inCollection: nil)
      transaction.replaceMetadata("metadata", forKey: "non-existant", inCollection: nil)
      transaction.touchRow(forKey: "non-existant", inCollection: nil)
      transaction.removeAllObjects(inCollection: nil)
      transaction.removeAllObjectsInAllCollections()
      checkEmpty(transaction)
    }
    try connection2.read { checkEmpty($0) }
  }

  /// What both kinds of transactions say of one row.
  private func checkRow(_ transaction: YapDatabaseReadTransaction, _ metadata: String?) {
    for collection in [nil, ""] {
      #expect(transaction.numberOfKeys(inCollection: collection) == 1)
      #expect(transaction.object(forKey: "key1", inCollection: collection) as? String == "object")
      #expect(transaction.metadata(forKey: "key1", inCollection: collection) as? String == metadata)
      #expect(transaction.serializedObject(forKey: "key1", inCollection: collection) != nil)
      #expect((transaction.serializedMetadata(forKey: "key1", inCollection: collection) == nil) == (metadata == nil))
      #expect(transaction.hasObject(forKey: "key1", inCollection: collection))
      var (object, found): (Any?, Any?) = (nil, "left")
      #expect(transaction.getObject(&object, metadata: &found, forKey: "key1", inCollection: collection))
      #expect(object as? String == "object" && found as? String == metadata)
      let row: (object: String, metadata: String?)? = transaction.row(forKey: "key1", inCollection: collection)
      #expect(row?.object == "object" && row?.metadata == metadata)
    }
    var seen: [String] = []
    transaction.iterateKeysAndMetadata(inCollection: nil) { (key, found: String?, _) in
      seen.append("\(key) \(found ?? "nil")")
    }
    transaction.iterateKeysAndObjects(inCollection: nil) { (key, object: String, _) in seen.append("\(key) \(object)") }
    transaction.iterateRows(inCollection: nil) { (key, object: String, found: String?, _) in
      seen.append("\(key) \(object) \(found ?? "nil")")
    }
    #expect(seen == ["key1 \(metadata ?? "nil")", "key1 object", "key1 object \(metadata ?? "nil")"])
  }

  // test1 (b) to (d), through the second connection too (g)
  @Test(arguments: [nil, "metadata"]) func aRowComesAndGoes(_ metadata: String?) throws {
    try connection1.readWrite { transaction in
      if let metadata {
        transaction.setObject("object", forKey: "key1", inCollection: nil, withMetadata: metadata)
      } else {
        transaction.setObject("object", forKey: "key1", inCollection: nil)
      }
      checkRow(transaction, metadata)
    }
    try connection2.read { checkRow($0, metadata) }
    try connection1.readWrite { transaction in
      transaction.removeObject(forKey: "key1", inCollection: nil)
      checkEmpty(transaction)
    }
    try connection2.read { checkEmpty($0) }
  }

  // test1 (e)
  @Test func countsFollowRemovals() throws {
    try fixture.fill(nil)
    try fixture.fill("test")
    try connection2.read { transaction in
      #expect(transaction.numberOfKeys(inCollection: nil) == 5)
      #expect(transaction.numberOfKeys(inCollection: "test") == 5)
      #expect(transaction.numberOfKeysInAllCollections() == 10)
    }
    try connection1.readWrite { transaction in
      for collection in [nil, "test"] {
        transaction.removeObjects(forKeys: ["key1", "key2", "key3", "missing"], inCollection: collection)
        #expect(transaction.numberOfKeys(inCollection: collection) == 2)
        #expect(!transaction.hasObject(forKey: "key1", inCollection: collection))
        #expect(transaction.hasObject(forKey: "key5", inCollection: collection))
      }
      #expect(transaction.numberOfKeysInAllCollections() == 4)
    }
    try connection1.readWrite { $0.removeAllObjectsInAllCollections() }
    try connection2.read { checkEmpty($0) }
  }

  // test1 (f)
  @Test func aCollectionIsClearedAlone() throws {
    for number in 1...3 { try fixture.fill("collection\(number)") }
    try connection1.readWrite { $0.removeAllObjects(inCollection: "collection2") }
    try connection2.read { transaction in
      #expect(transaction.numberOfCollections() == 2)
      #expect(transaction.allCollections() == ["collection1", "collection3"])
      #expect(transaction.numberOfKeys(inCollection: "collection2") == 0)
      #expect(transaction.numberOfKeys(inCollection: "collection3") == 5)
    }
  }

  // testDoubleEnumeration
  @Test func enumerationsMayBeNested() throws {
    try connection1.readWrite { transaction in
      for team in ["nyy", "brs"] {
        transaction.setObject(team, forKey: team, inCollection: "teams")
        for player in ["a", "b"] { transaction.setObject(player, forKey: player, inCollection: team) }
      }
    }
    var steps: [String] = []
    try connection1.read { transaction in
      transaction.enumerateKeys(inCollection: "teams") { team, _ in
        transaction.enumerateKeys(inCollection: team) { player, _ in steps.append("\(team) \(player)") }
      }
    }
    #expect(steps == ["brs a", "brs b", "nyy a", "nyy b"])
  }

  // The filters are asked before anything is decoded.
  @Test func filtersChooseKeys() throws {
    for collection in ["a", "b"] { try fixture.fill(collection) }
    var seen: [String] = []
    try connection1.read { transaction in
      transaction.enumerateKeysAndObjects(
        inCollection: "a", using: { key, _, _ in seen.append(key) }, withFilter: { $0 >= "key4" })
      transaction.enumerateKeysAndMetadataInAllCollections(
        { collection, key, metadata, _ in seen.append("\(collection)/\(key) \(metadata as? String ?? "nil")") },
        withFilter: { collection, key in collection == "b" && key == "key2" })
      transaction.enumerateRowsInAllCollections(
        { collection, key, object, metadata, stop in
          seen.append("\(collection)/\(key)")
          stop.pointee = true
        }, withFilter: { _, key in key == "key3" })
      transaction.iterateRows(
        inCollection: "b",
        using: { (key, _: String, _: String?, stop) in
          stop = true; seen.append(key)
        }, filter: nil)
    }
    #expect(seen == ["key4", "key5", "b/key2 metadata", "a/key3", "key1"])
  }

  @Test func collectionsOfAKeyAndAllKeys() throws {
    try fixture.fill("a", 2)
    try fixture.fill("b", 1)
    var seen: [String] = []
    try connection1.read { transaction in
      transaction.enumerateCollections(forKey: "key1") { collection, _ in seen.append(collection) }
      transaction.iterateCollections(forKey: "key2") { collection, _ in seen.append(collection) }
      transaction.iterateCollections { collection, stop in
        seen.append(collection)
        stop = true
      }
      transaction.enumerateKeysInAllCollections { collection, key, stop in
        seen.append(collection + key)
        stop.pointee = seen.count == 6
      }
      #expect(transaction.allKeys(inCollection: "a") == ["key1", "key2"])
    }
    #expect(seen == ["a", "b", "a", "a", "akey1", "akey2"])
  }

  @Test func givenKeysAreToldWithTheirPlaces() throws {
    try fixture.fill("a", 600)
    let keys = (1...700).map { "key\($0)" }.reversed() + ["key1", "key1"]
    var objects: [UInt] = []
    try connection1.read { transaction in
      transaction.enumerateObjects(forKeys: keys, inCollection: "a") { index, object, _ in
        if object as? String == "object" { objects.append(index) }
      }
      var count = 0
      transaction.enumerateRows(forKeys: ["nothing", "key1"], inCollection: "a") { index, object, metadata, stop in
        #expect((object == nil) == (index == 0) && (metadata == nil) == (index == 0))
        count += 1
        stop.pointee = index == 1
      }
      transaction.enumerateMetadata(forKeys: ["key2", "key3"], inCollection: "a") { _, metadata, stop in
        #expect(metadata as? String == "metadata")
        count += 1
        stop.pointee = true
      }
      #expect(count == 3)
    }
    #expect(objects == Array(100..<702))
  }

  // Traps 1: what setting, replacing and touching do to the other half.
  @Test func settingErasesMetadataAndReplacingKeepsIt() throws {
    try fixture.fill("a", 3)
    try connection1.readWrite { transaction in
      transaction.setObject("new", forKey: "key1", inCollection: "a")
      #expect(transaction.metadata(forKey: "key1", inCollection: "a") == nil)
      transaction.replace("new", forKey: "key2", inCollection: "a")
      #expect(transaction.object(forKey: "key2", inCollection: "a") as? String == "new")
      #expect(transaction.metadata(forKey: "key2", inCollection: "a") as? String == "metadata")
      transaction.replaceMetadata("other", forKey: "key2", inCollection: "a")
      #expect(transaction.metadata(forKey: "key2", inCollection: "a") as? String == "other")
      transaction.replaceMetadata(nil, forKey: "key2", inCollection: "a")
      #expect(transaction.metadata(forKey: "key2", inCollection: "a") == nil)
      #expect(transaction.object(forKey: "key2", inCollection: "a") as? String == "new")
      transaction.setObject(nil, forKey: "key1", inCollection: "a")
      transaction.replace(nil, forKey: "key2", inCollection: "a")
      #expect(transaction.allKeys(inCollection: "a") == ["key3"])
    }
  }

  // One type for each collection, over the same file as the new API.
  @Test func bothAPIsReadTheSameRows() throws {
    try connection1.readWrite { transaction in
      transaction.setObject(
        Song(title: "Luka"), forKey: "s1", inCollection: "songs", withMetadata: PlayState(plays: 1))
    }
    try fixture.database.quire.write { tx throws in
      let song = try tx[.songs].get("s1")
      #expect(song == Song(title: "Luka"))
      try tx[.songs].set(Song(title: "Gypsy"), metadata: PlayState(plays: 2), for: "s2")
    }
    try connection2.read { transaction in
      #expect(transaction.object(forKey: "s2", inCollection: "songs") as? Song == Song(title: "Gypsy"))
      #expect(transaction.metadata(forKey: "s2", inCollection: "songs") as? PlayState == PlayState(plays: 2))
      let row: (object: Song, metadata: PlayState?)? = transaction.row(forKey: "s1", inCollection: "songs")
      #expect(row?.metadata?.plays == 1)
    }
    let same = YapDatabase(fixture.database.quire)
    YapFixture.register(same)
    #expect(try same.newConnection().read { $0.numberOfKeys(inCollection: "songs") } == 2)
  }

  // The listing of the API's page.
  @Test func theListingRuns() async throws {
    let (database, song, state) = (fixture.database, Song(title: "Luka"), PlayState(plays: 1))
    let (completed, seen) = (Gate(), Recorder())
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject(song, forKey: "s1", inCollection: "songs", withMetadata: state)
      transaction.replace(song, forKey: "s1", inCollection: "songs")
      transaction.touchObject(forKey: "s1", inCollection: "songs")
      transaction.removeObjects(forKeys: ["s2"], inCollection: "songs")
      transaction.addCompletionQueue(.main) { completed.open() }
    }
    await completed.wait()
    connection.asyncRead { transaction in
      let stored = transaction.object(forKey: "s1", inCollection: "songs") as? Song
      seen.append(stored?.title ?? "nil")
    }
    connection.flushTransactions(withCompletionQueue: .global()) { completed.open() }
    await completed.wait()
    #expect(seen.values == ["Luka"])
  }

  // Names are bytes: two spellings of one letter are two collections and two keys.
  @Test func namesAreBytes() throws {
    let names = ["\u{e9}", "e\u{301}"]
    try connection1.readWrite { transaction in
      for collection in names {
        for key in names { transaction.setObject(collection + key, forKey: key, inCollection: collection) }
      }
    }
    try connection2.read { transaction in
      #expect(transaction.numberOfCollections() == 2 && transaction.numberOfKeysInAllCollections() == 4)
      for collection in names {
        for key in names {
          let object = transaction.object(forKey: key, inCollection: collection) as? String
          #expect(object.map { Array($0.utf8) } == Array((collection + key).utf8))
        }
      }
    }
  }
}
