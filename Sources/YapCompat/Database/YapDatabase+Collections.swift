// Registering the types of collections.

public import Quire

extension YapDatabase {
  /// Registers the types of a collection; nil is the collection "". New call: a `RowCollection` with these types.
  ///
  /// In the original every type could be stored that its serializer took. Here a collection has one type of objects and
  /// one of metadata, in all of the process: storing another one is an error that names both.
  ///
  /// - Parameters:
  ///   - objectType: the type of the objects.
  ///   - metadataType: the type of the metadata.
  ///   - collection: its name.
  ///   - coder: how objects become bytes. The original wrote property lists; without a coder, they are in the compact
  ///     form that `RowCollection` has by default, too.
  @preconcurrency public func registerCodableSerialization<Object: Codable & Sendable, Metadata: Codable & Sendable>(
    _ objectType: Object.Type, metadata metadataType: Metadata.Type, forCollection collection: String?,
    coder: RowCoder<Object>
  ) {
    register(RowCollection<Object, Metadata>(collection ?? "", coder: coder))
  }

  /// Registers the types of a collection, whose objects are in the compact form; nil is the collection "". Else as with
  /// a coder. New call: a `RowCollection` with these types.
  @preconcurrency public func registerCodableSerialization<Object: Codable & Sendable, Metadata: Codable & Sendable>(
    _ objectType: Object.Type, metadata metadataType: Metadata.Type, forCollection collection: String?
  ) {
    register(RowCollection<Object, Metadata>(collection ?? ""))
  }

  /// Registers the type of a collection without metadata; nil is the collection "". New call: a `RowCollection` with
  /// `NoMetadata`.
  @preconcurrency public func registerCodableSerialization<Object: Codable & Sendable>(
    _ objectType: Object.Type, forCollection collection: String?, coder: RowCoder<Object>
  ) {
    register(RowCollection<Object, NoMetadata>(collection ?? "", coder: coder))
  }

  /// Registers the type of a collection without metadata, whose objects are in the compact form; nil is the collection
  /// "". New call: a `RowCollection` with `NoMetadata`.
  @preconcurrency public func registerCodableSerialization<Object: Codable & Sendable>(
    _ objectType: Object.Type, forCollection collection: String?
  ) {
    register(RowCollection<Object, NoMetadata>(collection ?? ""))
  }

  /// Registers a collection as the new API describes it, with its coders, compression and sanitizers. Not in the
  /// original: for apps that have both. New call: the `RowCollection` itself.
  public func register<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) {
    let bridge = TypedBridge(collection)
    registry.update(collection.name) { $0.typed = bridge }
  }

  /// Registers types for all collections that have none of their own. Not in the original, whose default takes any
  /// type. New call: a `RowCollection` for each.
  @preconcurrency
  public func registerDefaultCodableSerialization<Object: Codable & Sendable, Metadata: Codable & Sendable>(
    _ objectType: Object.Type, metadata metadataType: Metadata.Type, coder: RowCoder<Object>
  ) {
    registry.setDefault { name in TypedBridge(RowCollection<Object, Metadata>(name, coder: coder)) }
  }

  /// Registers types for all collections that have none of their own; their objects are in the compact form. Not in the
  /// original. New call: a `RowCollection` for each.
  @preconcurrency
  public func registerDefaultCodableSerialization<Object: Codable & Sendable, Metadata: Codable & Sendable>(
    _ objectType: Object.Type, metadata metadataType: Metadata.Type
  ) {
    registry.setDefault { name in TypedBridge(RowCollection<Object, Metadata>(name)) }
  }

  // MARK: Serializers

  /// Registers what makes bytes of the objects and the metadata of a collection; nil is the collection "". New call:
  /// `RowCoder(encode:decode:)`.
  ///
  /// A collection has a serializer *and* a deserializer, or types. What a block throws fails the transaction, with
  /// collection and key; the original stored nothing and said so in the log.
  @preconcurrency public func registerSerializer(
    _ serializer: @escaping YapDatabaseSerializer, forCollection collection: String?
  ) {
    registry.setSerializer(serializer, .both, collection ?? "")
  }

  /// Registers what reads the objects and the metadata of a collection. New call: `RowCoder(encode:decode:)`.
  @preconcurrency public func registerDeserializer(
    _ deserializer: @escaping YapDatabaseDeserializer, forCollection collection: String?
  ) {
    registry.setDeserializer(deserializer, .both, collection ?? "")
  }

  /// Registers what makes bytes of the objects of a collection. New call: `RowCoder(encode:decode:)`.
  @preconcurrency public func registerObjectSerializer(
    _ serializer: @escaping YapDatabaseSerializer, forCollection collection: String?
  ) {
    registry.setSerializer(serializer, .objects, collection ?? "")
  }

  /// Registers what reads the objects of a collection. New call: `RowCoder(encode:decode:)`.
  @preconcurrency public func registerObjectDeserializer(
    _ deserializer: @escaping YapDatabaseDeserializer, forCollection collection: String?
  ) {
    registry.setDeserializer(deserializer, .objects, collection ?? "")
  }

  /// Registers what makes bytes of the metadata of a collection. New call: the `metadataCoder` of a `RowCollection`.
  @preconcurrency public func registerMetadataSerializer(
    _ serializer: @escaping YapDatabaseSerializer, forCollection collection: String?
  ) {
    registry.setSerializer(serializer, .metadata, collection ?? "")
  }

  /// Registers what reads the metadata of a collection. New call: the `metadataCoder` of a `RowCollection`.
  @preconcurrency public func registerMetadataDeserializer(
    _ deserializer: @escaping YapDatabaseDeserializer, forCollection collection: String?
  ) {
    registry.setDeserializer(deserializer, .metadata, collection ?? "")
  }

  /// Registers what makes bytes of objects and metadata in collections that have nothing of their own. New call:
  /// `RowCoder(encode:decode:)`, in the description of each collection.
  @preconcurrency public func registerDefaultSerializer(_ serializer: @escaping YapDatabaseSerializer) {
    registry.setSerializer(serializer, .both, nil)
  }

  /// Registers what reads objects and metadata in collections that have nothing of their own. New call:
  /// `RowCoder(encode:decode:)`, in the description of each collection.
  @preconcurrency public func registerDefaultDeserializer(_ deserializer: @escaping YapDatabaseDeserializer) {
    registry.setDeserializer(deserializer, .both, nil)
  }

  /// Registers all blocks for the objects and metadata of several collections; nil leaves what there is. New call: a
  /// `RowCollection` for each.
  @preconcurrency public func registerSerializer(
    _ serializer: YapDatabaseSerializer?, deserializer: YapDatabaseDeserializer?,
    preSanitizer: YapDatabasePreSanitizer?, postSanitizer: YapDatabasePostSanitizer?,
    forCollections collections: [String]
  ) {
    for collection in collections {
      if let serializer { registerSerializer(serializer, forCollection: collection) }
      if let deserializer { registerDeserializer(deserializer, forCollection: collection) }
      if let preSanitizer { registerPreSanitizer(preSanitizer, forCollection: collection) }
      if let postSanitizer { registerPostSanitizer(postSanitizer, forCollection: collection) }
    }
  }
}
