// Telling a database of the types of its items.

public import Quire
public import YapCompat

extension YapDatabase {
  /// Registers a type of items for its collection: once, after opening the database, and before the first item.
  ///
  /// ```swift
  /// database.register(Product.self, classes: [BarcodeCoder.self])
  /// ```
  ///
  /// Items that are `Codable`, with metadata that are too or with none, become rows of a typed collection, which
  /// `RowCollection<Item, MetadataType>` reads as well. All others are archived. A collection has one type of items:
  /// the one that was registered last.
  ///
  /// - Parameters:
  ///   - type: the type. That of a class stands for its subclasses, which `classes` has to name.
  ///   - classes: the classes of objects that archives of items or metadata hold inside: the coders of values in
  ///     values, for example. Foundation's for strings, numbers, dates, data, URLs, and arrays, sets and dictionaries
  ///     of these need no mention.
  public func register<Item: Persistable>(_ type: Item.Type, classes: [AnyClass] = []) {
    let (objects, metadata) = (Item.itemPattern.half, Item.metadataPattern.half)
    if let objects = objects as? any TypedHalf, let metadata = metadata as? any TypedHalf {
      registerTyped(objects, metadata, Item.collection)
    } else {
      registerObjectSerializer(objects.serializer(classes), forCollection: Item.collection)
      registerObjectDeserializer(objects.deserializer(classes), forCollection: Item.collection)
      registerMetadataSerializer(metadata.serializer(classes), forCollection: Item.collection)
      registerMetadataDeserializer(metadata.deserializer(classes), forCollection: Item.collection)
    }
    RegisteredItems.shared.add(type, in: self)
  }

  /// Registers a type of `Codable` items with the description of their collection: its coders, its compression.
  ///
  /// The description's name and types are the item's.
  public func register<Item: Persistable & Codable & Sendable, Metadata: Codable & Sendable>(
    _ type: Item.Type, rows: RowCollection<Item, Metadata>
  ) where Item.MetadataType == Metadata {
    register(rows)
    RegisteredItems.shared.add(type, in: self)
  }

  /// Registers a type of `Codable` items without metadata with the description of their collection.
  ///
  /// The description's name and type are the item's.
  public func register<Item: Persistable & Codable & Sendable>(
    _ type: Item.Type, rows: RowCollection<Item, NoMetadata>
  ) where Item.MetadataType == Void {
    register(rows)
    RegisteredItems.shared.add(type, in: self)
  }

  private func registerTyped<Objects: TypedHalf, Metadata: TypedHalf>(
    _ objects: Objects, _ metadata: Metadata, _ collection: String
  ) {
    register(RowCollection<Objects.Stored, Metadata.Stored>(collection))
  }
}
