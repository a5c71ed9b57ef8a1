// Collections that an app makes at run time, one per thread, while views and relationships are registered already.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

private struct Message: Codable, Sendable, Equatable, YapDatabaseRelationshipNode {
  var text: String
  var thread: String
  var author: String? = nil

  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    [
      YapDatabaseRelationshipEdge(
        name: "thread", destinationKey: thread, collection: "threads",
        nodeDeleteRules: .deleteSourceIfDestinationDeleted)
    ]
  }
}

@Suite("Collections made at run time") struct RunTimeCollectionTests {
  private let folder: TestFolder
  private var url: URL { folder.url.appendingPathComponent("test.quire") }

  init() throws { folder = try TestFolder() }

  private func open() throws -> (YapDatabase, YapDatabaseConnection) {
    let options = YapDatabaseOptions(Database.Options(durability: .relaxed))
    let database = try YapDatabase(url: url, options: options) { error in Issue.record("\(error)") }
    database.registerDefaultCodableSerialization(Message.self, metadata: String.self)
    database.registerCodableSerialization(String.self, metadata: String.self, forCollection: "threads")
    return (database, database.newConnection())
  }

  private func send(_ connection: YapDatabaseConnection, _ threads: Range<Int>) throws {
    try connection.readWrite { transaction in
      for thread in threads {
        transaction.setObject("thread", forKey: "t\(thread)", inCollection: "threads")
        for number in 0..<3 {
          transaction.setObject(
            Message(text: "\(number)", thread: "t\(thread)"), forKey: "m\(number)", inCollection: "thread\(thread)")
        }
      }
    }
  }

  private func makeView(_ asked: Recorder) -> YapDatabaseAutoView {
    YapDatabaseAutoView(
      grouping: .withObjectBlock { _, collection, _, object in
        asked.append(collection)
        return object is Message ? collection : nil
      },
      sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1.compare(key2, options: .literal) }, versionTag: "1")
  }

  private func groups(_ connection: YapDatabaseConnection) throws -> [String] {
    try connection.read { transaction in
      let view = try #require(transaction.ext("messages") as? YapDatabaseViewTransaction)
      return view.allGroups().map { "\($0) \(view.numberOfItems(inGroup: $0))" }
    }
  }

  @Test("A view without a whitelist shows them, and is not built anew for them at the next opening") func views() throws
  {
    let asked = Recorder()
    var (database, connection) = try open()
    #expect(database.register(makeView(asked), withName: "messages"))
    try send(connection, 0..<2)
    #expect(try groups(connection) == ["thread0 3", "thread1 3"])
    try database.close()
    let count = asked.values.count
    (database, connection) = try open()
    #expect(database.register(makeView(asked), withName: "messages"))
    #expect(try groups(connection) == ["thread0 3", "thread1 3"])
    // A debug build looks at a sample of the rows that were taken over.
    #expect(asked.values.count <= 2 * count)
    try send(connection, 2..<3)
    #expect(try groups(connection) == ["thread0 3", "thread1 3", "thread2 3"])
    try database.close()
  }

  @Test("Their objects are asked for edges, and rules reach them") func relationships() throws {
    let (database, connection) = try open()
    #expect(database.register(YapDatabaseRelationship(), withName: "graph"))
    try send(connection, 0..<6)
    try connection.readWrite { transaction in
      let graph = try #require(transaction.ext("graph") as? YapDatabaseRelationshipTransaction)
      #expect(graph.edgeCount(withName: "thread") == 18)
      transaction.removeObject(forKey: "t3", inCollection: "threads")
    }
    try connection.read { transaction in
      #expect(transaction.numberOfKeys(inCollection: "thread3") == 0)
      #expect(transaction.numberOfKeys(inCollection: "thread4") == 3)
    }
    try database.close()
  }

  @Test("A list takes their rows") func lists() throws {
    let (database, connection) = try open()
    #expect(database.register(YapDatabaseManualView(), withName: "messages"))
    try send(connection, 0..<1)
    try connection.readWrite { transaction in
      let list = try #require(transaction.ext("messages") as? YapDatabaseManualViewTransaction)
      #expect(list.addKey("m1", inCollection: "thread0", toGroup: "starred"))
    }
    #expect(try groups(connection) == ["starred 1"])
    try database.close()
  }

  @Test("A black list leaves collections out that come later, and others in") func blacklists() throws {
    let (database, connection) = try open()
    let options = YapDatabaseViewOptions()
    options.allowedCollections = YapWhitelistBlacklist(blacklist: ["thread1"])
    let view = YapDatabaseAutoView(
      grouping: .withKeyBlock { _, collection, _ in collection == "threads" ? nil : collection },
      sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1.compare(key2, options: .literal) }, versionTag: "1",
      options: options)
    #expect(database.register(view, withName: "messages"))
    try send(connection, 0..<3)
    #expect(try groups(connection) == ["thread0 3", "thread2 3"])
    try database.close()
  }

  @Test("Rows of collections for which nothing is registered are left out") func unregistered() throws {
    let options = YapDatabaseOptions(Database.Options(durability: .relaxed))
    let database = try YapDatabase(url: url, options: options) { error in Issue.record("\(error)") }
    database.registerCodableSerialization(Message.self, metadata: String.self, forCollection: "known")
    #expect(database.register(makeView(Recorder()), withName: "messages"))
    #expect(database.register(YapDatabaseRelationship(), withName: "graph"))
    try database.quire.write { tx throws in
      try tx[RowCollection<Message, NoMetadata>("unknown")].set(Message(text: "", thread: "t"), for: "m")
    }
    try database.newConnection().readWrite { transaction in
      transaction.setObject(Message(text: "", thread: "none"), forKey: "t", inCollection: "known")
    }
    try database.close()
  }
}
