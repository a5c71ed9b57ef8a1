// Which types of items were registered with which database.

internal import Foundation
internal import Quire
internal import YapCompat

/// The types of items of all databases. May be asked and changed from any thread.
final class RegisteredItems: @unchecked Sendable {
  // Sendable: safe because the types are touched under the lock only.
  private let lock = NSLock()
  private var databases: [ObjectIdentifier: Types] = [:]

  static let shared = RegisteredItems()

  /// The types of one database.
  private struct Types {
    /// The address of a database that has gone may be another's.
    weak var database: YapDatabase?
    var items: [ObjectIdentifier: Registration] = [:]
  }

  /// One type.
  private struct Registration {
    let type: any Persistable.Type
    /// Whether a type is the registered one, or a class below it.
    let includes: @Sendable (Any.Type) -> Bool
    /// The type that was registered for the same collection afterwards.
    var successor: Any.Type?
  }

  /// Adds a type, which takes the place of others in its collection.
  func add<Item: Persistable>(_ type: Item.Type, in database: YapDatabase) {
    lock.withLock {
      databases = databases.filter { $0.value.database != nil }
      var types = databases[ObjectIdentifier(database)] ?? Types(database: database)
      for (id, other) in types.items where other.type.collection.utf8.elementsEqual(Item.collection.utf8) {
        types.items[id]?.successor = Item.self
      }
      types.items[ObjectIdentifier(type)] = Registration(type: type, includes: { $0 is Item.Type })
      databases[ObjectIdentifier(database)] = types
    }
  }

  /// Throws `collectionNotRegistered` unless the type was registered, and its collection not for another one since.
  func check<Item: Persistable>(_ type: Item.Type, in database: YapDatabase) throws {
    let found: Registration? = lock.withLock {
      guard let types = databases[ObjectIdentifier(database)], types.database === database else { return nil }
      return types.items[ObjectIdentifier(type)]
        ?? types.items.values.first { $0.successor == nil && $0.includes(type) }
    }
    guard let found else {
      throw DatabaseError(
        .collectionNotRegistered,
        "No items of type \(Item.self) were registered. Call `database.register(\(Item.self).self)` after opening it.",
        collection: Item.collection)
    }
    guard let successor = found.successor else { return }
    throw DatabaseError(
      .collectionNotRegistered,
      """
      The collection was registered for \(Item.self), and then for \(successor). Give each type a collection of its \
      own.
      """, collection: Item.collection)
  }
}
