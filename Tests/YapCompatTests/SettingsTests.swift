// Serializers, sanitizers, policies, settings, files.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

private struct Refused: Error {}

@Suite struct SettingsTests {
  let fixture: YapFixture
  let connection: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    connection = fixture.connection
  }

  // MARK: Serializers

  // testPropertyListSerializer
  @Test func propertyListsComeBack() throws {
    let list: [String: Any] = ["date": Date(timeIntervalSince1970: 1_234_567_890), "string": "string"]
    let bytes = try YapDatabase.propertyListSerializer()("c", "k", list)
    let back = try #require(try YapDatabase.propertyListDeserializer()("c", "k", bytes) as? [String: Any])
    #expect(back["string"] as? String == "string")
    #expect(back["date"] as? Date == Date(timeIntervalSince1970: 1_234_567_890))
    #expect(throws: (any Error).self) { try YapDatabase.propertyListDeserializer()("c", "k", Data([1, 2, 3])) }
  }

  // testTimestampSerializer
  @Test func timestampsComeBackExactly() throws {
    for seconds in [0, 1_234_567_890.123, -1e-9, .pi] {
      let date = Date(timeIntervalSinceReferenceDate: seconds)
      let bytes = try YapDatabase.timestampSerializer()("c", "k", date)
      #expect(bytes.count == 8)
      #expect(try YapDatabase.timestampDeserializer()("c", "k", bytes) as? Date == date)
    }
    #expect(try YapDatabase.timestampDeserializer()("c", "k", Data([1])) == nil)
    #expect(errorCode { _ = try YapDatabase.timestampSerializer()("c", "k", "no date") } == .collectionMismatch)
  }

  @Test func codableBlocksThrowWhereTheOriginalStoredNothing() throws {
    let (serializer, deserializer) = (
      YapDatabase.codableSerializer(Song.self), YapDatabase.codableDeserializer(Song.self)
    )
    let bytes = try serializer("c", "k", Song(title: "Luka"))
    #expect(try deserializer("c", "k", bytes) as? Song == Song(title: "Luka"))
    #expect(errorCode { _ = try serializer("c", "k", 7) } == .collectionMismatch)
    #expect(throws: (any Error).self) { try deserializer("c", "k", Data([7])) }
  }

  @Test func blocksMakeTheBytesOfACollection() throws {
    let database = fixture.database
    // Collection and key are told, also where the original's Codable layer did not use them.
    database.registerObjectSerializer(
      { collection, key, object in Data("\(collection)/\(key)=\(object)".utf8) }, forCollection: "blocks")
    database.registerObjectDeserializer(
      { collection, key, data in
        let text = String(decoding: data, as: UTF8.self)
        return text.hasPrefix("\(collection)/\(key)=") ? String(text.dropFirst(collection.count + key.count + 2)) : nil
      }, forCollection: "blocks")
    database.registerMetadataSerializer(YapDatabase.timestampSerializer(), forCollection: "blocks")
    database.registerMetadataDeserializer(YapDatabase.timestampDeserializer(), forCollection: "blocks")
    let date = Date(timeIntervalSinceReferenceDate: 7)
    try connection.readWrite { transaction in
      transaction.setObject(5, forKey: "k", inCollection: "blocks", withMetadata: date)
      // Bytes that were made elsewhere are stored as they are.
      transaction.setObject(
        "given", forKey: "pre", inCollection: "blocks", withMetadata: date,
        serializedObject: Data("blocks/pre=made".utf8), serializedMetadata: nil)
      transaction.setObject("x", forKey: "two", inCollection: "blocks")
      transaction.replace("x", forKey: "two", inCollection: "blocks", withSerializedObject: Data("blocks/two=y".utf8))
      transaction.replaceMetadata(
        date, forKey: "two", inCollection: "blocks", withSerializedMetadata: Data(repeating: 0, count: 8))
    }
    try connection.read { transaction in
      #expect(transaction.object(forKey: "k", inCollection: "blocks") as? String == "5")
      #expect(transaction.metadata(forKey: "k", inCollection: "blocks") as? Date == date)
      #expect(transaction.serializedObject(forKey: "k", inCollection: "blocks") == Data("blocks/k=5".utf8))
      #expect(transaction.object(forKey: "pre", inCollection: "blocks") as? String == "made")
      #expect(transaction.object(forKey: "two", inCollection: "blocks") as? String == "y")
      let zero = transaction.metadata(forKey: "two", inCollection: "blocks") as? Date
      #expect(zero == Date(timeIntervalSinceReferenceDate: 0))
    }
    #expect(
      errorCode {
        try connection.readWrite {
          $0.setObject("x", forKey: "k", inCollection: "blocks", withMetadata: "no date")
        }
      } == .encodingFailed)
  }

  @Test func defaultsServeCollectionsWithoutBlocksOfTheirOwn() throws {
    let folder = try TestFolder()
    let database = try YapDatabase(path: folder.path)
    database.registerDefaultSerializer(YapDatabase.propertyListSerializer())
    database.registerDefaultDeserializer(YapDatabase.propertyListDeserializer())
    database.registerSerializer({ _, _, _ in throw Refused() }, forCollection: "broken")
    database.registerDeserializer({ _, _, _ in nil }, forCollection: "silent")
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject(["a": 1], forKey: "k", inCollection: "any", withMetadata: [1, 2])
      transaction.setObject(["a": 1], forKey: "k", inCollection: "silent")
    }
    try connection.read { transaction in
      #expect(transaction.object(forKey: "k", inCollection: "any") as? [String: Int] == ["a": 1])
      #expect(transaction.metadata(forKey: "k", inCollection: "any") as? [Int] == [1, 2])
    }
    let error = databaseError { try connection.readWrite { $0.setObject("v", forKey: "k", inCollection: "broken") } }
    #expect(error?.code == .encodingFailed && error?.cause is Refused && error?.key == "k")
    #expect(
      errorCode { try connection.read { _ = $0.object(forKey: "k", inCollection: "silent") } } == .decodingFailed)
  }

  @Test func aSerializerAloneCannotRead() throws {
    let folder = try TestFolder()
    let database = try YapDatabase(path: folder.path)
    database.registerSerializer(YapDatabase.propertyListSerializer(), forCollection: "half")
    let connection = database.newConnection()
    try connection.readWrite { $0.setObject("v", forKey: "k", inCollection: "half") }
    let error = databaseError { try connection.read { _ = $0.object(forKey: "k", inCollection: "half") } }
    #expect(error?.code == .collectionNotRegistered && error?.message.contains("deserializer") == true)
  }

  @Test func theDefaultsOfTheOriginalReadWhatTheyWrite() throws {
    let blocks: any ObsoleteSerializing = ObsoleteCalls()
    let (serializer, deserializer) = blocks.defaultBlocks()
    let bytes = try serializer("c", "k", ["a": [1, 2], "b": "text"] as [String: Any])
    let back = try #require(try deserializer("c", "k", bytes) as? [String: Any])
    #expect(back["b"] as? String == "text" && back["a"] as? [Int] == [1, 2])
  }

  // MARK: Sanitizers

  @Test func sanitizersRunBeforeAndAfter() throws {
    let (database, seen) = (fixture.database, Recorder())
    database.registerPreSanitizer({ _, _, object in (object as? String).map { "\($0)!" } }, forCollection: "a")
    database.registerObjectPostSanitizer(
      { _, key, object in seen.append("object \(key) \(object)") }, forCollection: "a")
    database.registerMetadataPostSanitizer(
      { _, key, object in seen.append("meta \(key) \(object)") }, forCollection: "a")
    database.registerObjectPreSanitizer({ _, _, _ in nil }, forCollection: "none")
    database.registerMetadataPreSanitizer({ _, _, _ in nil }, forCollection: "bare")
    database.registerDefaultPreSanitizer { _, _, object in object }
    database.registerDefaultPostSanitizer { collection, key, _ in
      if key == "refused" { throw Refused() }
      seen.append("default \(collection)")
    }
    try connection.readWrite { transaction in
      transaction.setObject("o", forKey: "k", inCollection: "a", withMetadata: "m")
      transaction.replace("p", forKey: "k", inCollection: "a")
      transaction.replaceMetadata("n", forKey: "k", inCollection: "a")
      transaction.setObject("o", forKey: "k", inCollection: "none")
      transaction.setObject("o", forKey: "k", inCollection: "bare", withMetadata: "m")
      #expect(transaction.object(forKey: "k", inCollection: "a") as? String == "p!")
      #expect(transaction.metadata(forKey: "k", inCollection: "a") as? String == "n!")
      #expect(!transaction.hasObject(forKey: "k", inCollection: "none"))
      #expect(transaction.hasObject(forKey: "k", inCollection: "bare"))
      #expect(transaction.metadata(forKey: "k", inCollection: "bare") == nil)
    }
    #expect(seen.values == ["object k o!", "meta k m!", "object k p!", "meta k n!", "default bare"])
    #expect(throws: Refused.self) {
      try connection.readWrite { $0.setObject("o", forKey: "refused", inCollection: "b") }
    }
    #expect(try connection.read { $0.numberOfKeys(inCollection: "b") } == 0)
    database.registerDefaultPreSanitizer(nil)
    database.registerDefaultPostSanitizer(nil)
    try connection.readWrite { $0.setObject("o", forKey: "refused", inCollection: "b") }
  }

  @Test func severalCollectionsAreRegisteredAtOnce() throws {
    let stored = Recorder()
    fixture.database.registerSerializer(
      YapDatabase.propertyListSerializer(), deserializer: YapDatabase.propertyListDeserializer(), preSanitizer: nil,
      postSanitizer: { collection, _, _ in stored.append(collection) }, forCollections: ["one", "two"])
    try connection.readWrite { transaction in
      for collection in ["one", "two"] { transaction.setObject([1, 2], forKey: "k", inCollection: collection) }
      #expect(transaction.object(forKey: "k", inCollection: "two") as? [Int] == [1, 2])
    }
    #expect(stored.values == ["one", "two"])
  }

  // testObjectAndMetadataPolicies
  @Test func policiesAreKept() {
    let database = fixture.database
    #expect(database.objectPolicy(forCollection: "collection1") == .containment)
    #expect(database.metadataPolicy(forCollection: nil) == .containment)
    database.setObjectPolicy(.share, forCollection: "collection1")
    database.setMetadataPolicy(.copy, forCollection: "collection1")
    #expect(database.objectPolicy(forCollection: "collection1") == .share)
    #expect(database.objectPolicy(forCollection: "collection2") == .containment)
    database.setDefaultObjectPolicy(.copy)
    database.setDefaultMetadataPolicy(.share)
    #expect(database.objectPolicy(forCollection: "collection1") == .share)
    #expect(database.metadataPolicy(forCollection: "collection1") == .copy)
    #expect(database.objectPolicy(forCollection: "collection2") == .copy)
    #expect(database.metadataPolicy(forCollection: "collection2") == .share)
  }

  // MARK: Settings

  @Test func settingsOfConnectionsAreTheirOwn() {
    let database = fixture.database
    database.connectionDefaults.objectCacheLimit = 7
    database.connectionDefaults.metadataCacheEnabled = false
    let connection = database.newConnection()
    #expect(connection.objectCacheLimit == 7 && !connection.metadataCacheEnabled && connection.objectCacheEnabled)
    connection.objectCacheLimit = 8
    connection.metadataCacheLimit = 9
    #expect(database.connectionDefaults.objectCacheLimit == 7 && self.connection.objectCacheLimit == 250)
    let config = YapDatabaseConnectionConfig()
    config.objectCacheEnabled = false
    let other = database.newConnection(config)
    config.objectCacheEnabled = true
    #expect(!other.objectCacheEnabled && other.metadataCacheLimit == 250 && config.copy().objectCacheEnabled)
    other.autoFlushMemoryFlags = .caches
    #expect(other.autoFlushMemoryFlags == .caches && other.database === database && other.name == nil)
  }

  // The cache is the database's, and so is what flushing lets go.
  @Test func flushingEmptiesTheCache() throws {
    let fixture = try YapFixture(YapDatabaseOptions(Database.Options(objectCache: ObjectCacheOptions())))
    let (database, connection) = (fixture.database.quire, fixture.connection)
    try connection.readWrite { $0.setObject(Song(title: "x"), forKey: "s1", inCollection: "songs") }
    func read() throws {
      let song = try connection.read { $0.object(forKey: "s1", inCollection: "songs") as? Song }
      #expect(song == Song(title: "x"))
    }
    for _ in 0..<3 { try read() }
    let hits = try #require(database.objectCacheStatistics).hits
    #expect(hits > 0 && database.objectCacheStatistics?.count == 1)
    connection.flushMemory(with: [.statements])
    #expect(database.objectCacheStatistics?.count == 1)
    connection.flushMemory(with: .all)
    #expect(database.objectCacheStatistics?.count == 0)
    try read()
    // What is stored is what is read, cached or not.
    try connection.readWrite { $0.setObject(Song(title: "y"), forKey: "s1", inCollection: "songs") }
    #expect(try connection.read { $0.object(forKey: "s1", inCollection: "songs") as? Song } == Song(title: "y"))
  }

  @Test func optionsReachTheEngine() throws {
    let folder = try TestFolder()
    var options = YapDatabaseOptions()
    options.pragmaPageSize = 8192
    options.pragmaSynchronous = .normal
    options.aggressiveWALTruncationSize = 8 << 20
    let database = try YapDatabase(path: folder.path, options: options)
    let connection = database.newConnection()
    #expect(connection.pragmaSynchronous() == "NORMAL" && connection.pragmaPageSize() == 8192)
    #expect(connection.pragmaAutoVacuum() == "FULL" && database.options.pragmaPageSize == 8192)
    #expect(database.databaseURL.path == folder.path && database.databasePath_wal == folder.path + "-log0")
    #expect(FileManager.default.fileExists(atPath: database.databaseURL_wal.path))
    // A second one is refused, with an error instead of nil.
    #expect(errorCode { _ = try YapDatabase(url: database.databaseURL) } == .alreadyOpen)
    try database.close()
    var wrong = YapDatabaseOptions()
    wrong.pragmaPageSize = 1000
    #expect(errorCode { _ = try YapDatabase(path: folder.path + "2", options: wrong) } == .invalidOption)
  }

  @Test func snapshotsGrow() throws {
    let before = fixture.database.snapshot
    try connection.readWrite { $0.setObject("v", forKey: "k", inCollection: nil) }
    let after = fixture.database.snapshot
    #expect(after > before && connection.snapshot == after)
    try connection.readWrite { _ in }
    #expect(fixture.database.snapshot == after)
    try connection.readWrite { transaction in
      #expect(transaction.connection === connection && connection.snapshot == after)
      transaction.userInfo = 7
      transaction.setObject("w", forKey: "k", inCollection: nil)
      #expect(transaction.userInfo as? Int == 7)
    }
    #expect(connection.snapshot > after)
  }

  // MARK: Files

  // testBackup_synchronous
  @Test func aBackupHasEverything() throws {
    try fixture.fill("a", 2000)
    let path = fixture.folder.url.appendingPathComponent("copy.quire").path
    #expect(connection.backup(toPath: path) == nil)
    #expect((connection.backup(toPath: path) as? DatabaseError)?.code == .alreadyExists)
    let copy = try YapDatabase(path: path)
    #expect(try copy.newConnection().read { $0.numberOfKeysInAllCollections() } == 2000)
  }

  // testBackup_asynchronous
  @Test func aBackupTellsItsProgressAndCanBeCancelled() async throws {
    try fixture.fill("a", 2000)
    let path = fixture.folder.url.appendingPathComponent("copy.quire").path
    let (outcome, done) = (Recorder(), Gate())
    let progress = connection.asyncBackup(toPath: path, completionQueue: .global()) { error in
      outcome.append(error.map { "\($0)" } ?? "nil")
      done.open()
    }
    await done.wait()
    #expect(outcome.values == ["nil"] && progress.fractionCompleted >= 1)
    let go = DispatchSemaphore(value: 0)
    connection.asyncRead { _ in go.wait() }
    let cancelled = connection.asyncBackup(toPath: path + "2", completionQueue: .global()) { error in
      outcome.append("\(error is CancellationError)")
      done.open()
    }
    cancelled.cancel()
    go.signal()
    await done.wait()
    #expect(outcome.values.last == "true" && !FileManager.default.fileExists(atPath: path + "2"))
    #expect(fixture.errors.values.isEmpty)
  }

  @Test func vacuumShortensTheFile() async throws {
    try connection.readWrite { transaction in
      for number in 0..<2000 {
        let text = (0..<30).map { _ in UUID().uuidString }.joined()
        transaction.setObject(text, forKey: "\(number)", inCollection: "a")
      }
    }
    try await fixture.database.quire.checkpoint()
    let pages = fixture.database.quire.statistics.filePages
    try connection.readWrite { $0.removeAllObjects(inCollection: "a") }
    try connection.vacuum()
    #expect(fixture.database.quire.statistics.filePages < pages)
    let done = Gate()
    connection.asyncVacuum(completionQueue: .global()) { done.open() }
    await done.wait()
    #expect(fixture.errors.values.isEmpty)
  }
}

/// Calls that exist for old code only.
protocol ObsoleteSerializing {
  func defaultBlocks() -> (YapDatabaseSerializer, YapDatabaseDeserializer)
}

struct ObsoleteCalls: ObsoleteSerializing {
  @available(*, deprecated)
  func defaultBlocks() -> (YapDatabaseSerializer, YapDatabaseDeserializer) {
    (YapDatabase.defaultSerializer(), YapDatabase.defaultDeserializer())
  }
}
