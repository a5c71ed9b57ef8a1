// An app of the days before `Sendable`, in Swift 5: classes as rows, blocks that capture what they like.
//
// This target is built in Swift 5 mode. That it is built is the test: what it does is run as well.

import Foundation
import YapCompat

/// A row that may be changed, and that no compiler has looked at for threads.
class OldMessage: Codable, YapDatabaseRelationshipNode {
  var text: String
  var answerTo: String?
  init(text: String, answerTo: String? = nil) { (self.text, self.answerTo) = (text, answerTo) }

  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    answerTo.map {
      [
        YapDatabaseRelationshipEdge(
          name: "answers", destinationKey: $0, collection: "messages",
          nodeDeleteRules: .deleteSourceIfDestinationDeleted)
      ]
    }
  }
}

/// Metadata of another class.
class OldState: Codable {
  var isRead = false
}

/// What such an app keeps of its database.
class OldStore {
  let database: YapDatabase
  let connection: YapDatabaseConnection
  var texts: [String] = []
  var isReady = false
  var hookCount = 0
  var lastError: (any Error)?
  /// Counted by blocks, on whatever thread they run.
  var askedCount = 0

  init(path: String) throws {
    database = try YapDatabase(path: path)
    connection = database.newConnection()
    database.registerCodableSerialization(OldMessage.self, metadata: OldState.self, forCollection: "messages")
    database.registerSerializer({ _, _, object in Data("\(object)".utf8) }, forCollection: "raw")
    database.registerDeserializer(
      { _, _, data in
        self.askedCount += 1
        return String(data: data, encoding: .utf8)
      }, forCollection: "raw")
    database.onError = { error in self.lastError = error }
  }

  func registerExtensions(_ completion: @escaping () -> Void) {
    var groupCount = 0
    let grouping = YapDatabaseViewGrouping.withObjectBlock { _, _, _, object in
      groupCount += 1
      self.askedCount += 1
      return object is OldMessage ? "all" : nil
    }
    let sorting = YapDatabaseViewSorting.withObjectBlock { _, _, _, _, object1, _, _, object2 in
      guard let message1 = object1 as? OldMessage, let message2 = object2 as? OldMessage else { return .orderedSame }
      return message1.text.compare(message2.text, options: .literal)
    }
    let hooks = YapDatabaseHooks()
    hooks.didModifyRow = { _, _, _, _, _, _ in self.hookCount += 1 }
    database.register(hooks, withName: "hooks")
    database.register(YapDatabaseRelationship(versionTag: "1"), withName: "graph")
    database.asyncRegister(
      YapDatabaseAutoView(grouping: grouping, sorting: sorting, versionTag: "1"), withName: "view",
      completionQueue: .global()
    ) { isReady in
      self.isReady = isReady
      completion()
    }
  }

  func send(_ texts: [String], answerTo key: String?, _ completion: @escaping () -> Void) {
    let messages = texts.map { OldMessage(text: $0, answerTo: key) }
    var count = 0
    connection.asyncReadWrite(
      { transaction in
        for message in messages {
          count += 1
          message.text += "!"
          transaction.setObject(message, forKey: message.text, inCollection: "messages", withMetadata: OldState())
        }
        transaction.addCompletionQueue(.global()) { self.texts = messages.map(\.text) }
      }, completionQueue: .global(), completionBlock: completion)
  }

  func list(_ completion: @escaping ([String]) -> Void) {
    var found: [String] = []
    connection.asyncRead(
      { transaction in
        let view = transaction.ext("view") as? YapDatabaseViewTransaction
        view?.enumerateKeysAndObjects(inGroup: "all") { _, _, object, _, _ in
          if let message = object as? OldMessage { found.append(message.text) }
        }
      }, completionQueue: .global()
    ) { completion(found) }
  }
}
