// The extension of “Porting extensions from YapDatabase” does what the page says.

import Foundation
import Quire
import Testing
import YapCompat

@Suite("The ported extension") struct PortedExtensionTests {
  @Test("It counts unread rows, whatever happens to them, and is there in both languages") func counts() throws {
    let quire = try Database.inMemory()
    let database = YapDatabase(quire)
    let connection = database.newConnection()
    typealias Message = PortingListings.Message
    typealias State = PortingListings.MessageState
    database.registerCodableSerialization(Message.self, metadata: State.self, forCollection: "messages")
    func set(_ keys: String..., isUnread: Bool) throws {
      try connection.readWrite { transaction in
        for key in keys {
          transaction.setObject(
            Message(text: key), forKey: key, inCollection: "messages", withMetadata: State(isUnread: isUnread))
        }
      }
    }
    try set("a", "b", "c", isUnread: true)
    try PortingListings.count(database, connection)
    func count() throws -> Int? {
      try connection.read { transaction in
        let counts = transaction.ext("unread") as? YapDatabaseCustomExtensionTransaction<Unread>
        return try counts?.reader?.count(in: "messages")
      }
    }
    #expect(try count() == 3)
    try set("a", isUnread: false)
    #expect(try count() == 2)
    try connection.readWrite { transaction in
      transaction.replaceMetadata(State(isUnread: true), forKey: "a", inCollection: "messages")
      transaction.removeObject(forKey: "b", inCollection: "messages")
      transaction.touchObject(forKey: "c", inCollection: "messages")
    }
    #expect(try count() == 2)
    let native = try quire.read { tx in try tx.access(to: Unread { _ in false }).count(in: "messages") }
    #expect(native == 2)
    try connection.readWrite { $0.removeAllObjects(inCollection: "messages") }
    #expect(try count() == 0)
    // Once more, by the same line: what is registered under the name is told to be there.
    try PortingListings.count(database, connection)
    #expect(try count() == 0)
  }
}
