// Objects that relationships read, tell and store, in collections with serializer blocks.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

/// A text that has an edge to another row, and notes what it was told.
private struct Linked: YapDatabaseRelationshipNode, Equatable {
  var text: String
  var destination: String?

  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    guard let destination else { return nil }
    let parts = destination.split(separator: "/")
    return [
      YapDatabaseRelationshipEdge(
        name: "link", destinationKey: String(parts[1]), collection: String(parts[0]),
        nodeDeleteRules: [.notifyIfDestinationDeleted, .notifyIfSourceDeleted])
    ]
  }

  func yapDatabaseRelationshipEdgeDeleted(
    _ edge: YapDatabaseRelationshipEdge, with reason: YDB_NotifyReason
  ) -> Any? { Linked(text: text + " told", destination: nil) }
}

@Suite struct EdgeSerializerTests {
  let folder: TestFolder
  let database: YapDatabase
  let connection: YapDatabaseConnection
  /// Collection and key of each call of a block.
  let calls = Recorder()

  init() throws {
    folder = try TestFolder()
    database = try YapDatabase(path: folder.path)
    connection = database.newConnection()
    for name in ["a", "b"] { register(name, in: database) }
    #expect(database.register(YapDatabaseRelationship(), withName: "graph"))
  }

  private func register(_ name: String, in database: YapDatabase) {
    let calls = calls
    database.registerSerializer(
      { collection, key, object in
        calls.append("s \(collection)/\(key)")
        guard let linked = object as? Linked else { throw CocoaError(.coderInvalidValue) }
        return Data("\(key)|\(linked.text)|\(linked.destination ?? "")".utf8)
      }, forCollection: name)
    database.registerDeserializer(
      { collection, key, data in
        calls.append("d \(collection)/\(key)")
        let parts = String(decoding: data, as: UTF8.self).split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == key else { return nil }
        return Linked(text: String(parts[1]), destination: parts[2].isEmpty ? nil : String(parts[2]))
      }, forCollection: name)
  }

  private func object(_ key: String, _ collection: String) throws -> Linked? {
    try connection.read { $0.object(forKey: key, inCollection: collection) as? Linked }
  }

  private func fill() throws {
    try connection.readWrite { transaction in
      transaction.setObject(Linked(text: "leaf"), forKey: "k2", inCollection: "b")
      transaction.setObject(
        Linked(text: "root", destination: "b/k2"), forKey: "k1", inCollection: "a", withMetadata: Linked(text: "m"))
    }
  }

  // The bytes that the blocks make hold the key: an object that was stored or read without it could not be read.
  @Test func blocksGetTheKeyOfTheRow() throws {
    try fill()
    try connection.readWrite { $0.removeObject(forKey: "k2", inCollection: "b") }
    #expect(try object("k1", "a") == Linked(text: "root told"))
    #expect(try connection.read { $0.metadata(forKey: "k1", inCollection: "a") } as? Linked == Linked(text: "m"))
    let told = calls.values
    #expect(told.contains("s a/k1") && told.contains("d a/k1"))
    #expect(told.allSatisfy { !$0.hasSuffix("/") }, "a block got no key: \(told)")
  }

  @Test func blocksGetTheKeyWhileARelationshipIsBuilt() throws {
    try fill()
    database.unregisterExtension(withName: "graph")
    #expect(database.register(YapDatabaseRelationship(), withName: "graph"))
    #expect(calls.values.allSatisfy { !$0.hasSuffix("/") })
    try connection.read { transaction in
      let graph = transaction.ext("graph") as? YapDatabaseRelationshipTransaction
      #expect(graph?.edgeCount(withName: "link") == 1)
    }
  }

  @Test func whatAToldObjectBecomesIsSanitized() throws {
    let calls = calls
    database.registerObjectPreSanitizer(
      { _, key, object in
        guard let linked = object as? Linked else { return object }
        return Linked(text: "\(linked.text) clean \(key)", destination: linked.destination)
      }, forCollection: "a")
    database.registerObjectPostSanitizer(
      { collection, key, object in calls.append("p \(collection)/\(key) \((object as? Linked)?.text ?? "")") },
      forCollection: "a")
    try fill()
    try connection.readWrite { $0.removeObject(forKey: "k2", inCollection: "b") }
    #expect(try object("k1", "a") == Linked(text: "root clean k1 told clean k1"))
    #expect(calls.values.last { $0.hasPrefix("p") } == "p a/k1 root clean k1 told clean k1")
  }

  @Test func aSanitizerThatReturnsNothingHasAToldRowRemoved() throws {
    database.registerObjectPreSanitizer(
      { _, _, object in (object as? Linked)?.text.hasSuffix("told") == true ? nil : object }, forCollection: "a")
    try fill()
    try connection.readWrite { $0.removeObject(forKey: "k2", inCollection: "b") }
    #expect(try object("k1", "a") == nil)
    #expect(try connection.read { $0.numberOfKeysInAllCollections() } == 0)
  }

  // MARK: Collections that nobody registered

  /// Another opening, in which nobody registers "b".
  private func reopened(registering: [String]) throws -> YapDatabase {
    try database.close()
    let database = try YapDatabase(path: folder.path)
    for name in registering { register(name, in: database) }
    #expect(database.register(YapDatabaseRelationship(), withName: "graph"))
    return database
  }

  @Test func aRowOfAnUnregisteredCollectionIsNotTold() throws {
    try fill()
    let database = try reopened(registering: ["a"])
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject(Linked(text: "other"), forKey: "k3", inCollection: "a")
      transaction.removeObject(forKey: "k1", inCollection: "a")
    }
    try connection.read { transaction in
      #expect(transaction.allKeys(inCollection: "a") == ["k3"])
      #expect(transaction.serializedObject(forKey: "k2", inCollection: "b") == Data("k2|leaf|".utf8))
    }
  }

  @Test func aRowThatCannotBeReadIsNotTold() throws {
    try fill()
    let database = try reopened(registering: ["a"])
    database.unregisterExtension(withName: "graph")
    // A serializer alone, so that nothing of the collection can be read.
    database.registerSerializer({ _, _, _ in Data("new".utf8) }, forCollection: "b")
    #expect(database.register(YapDatabaseRelationship(), withName: "graph"))
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject(Linked(text: "unread"), forKey: "k4", inCollection: "b")
      transaction.removeObject(forKey: "k1", inCollection: "a")
    }
    #expect(try connection.read { $0.serializedObject(forKey: "k2", inCollection: "b") } == Data("k2|leaf|".utf8))
    #expect(try connection.read { $0.hasObject(forKey: "k4", inCollection: "b") })
  }
}
