// Opening with blocks for all collections.

public import Foundation
internal import Quire

extension YapDatabase {
  /// Opens the database at a path, or creates it, with blocks for the objects and the metadata of all collections that
  /// have nothing of their own. New call: `Database(at:options:)`, and a `RowCoder(encode:decode:)` for each of them.
  ///
  /// - Parameters:
  ///   - path: where the file is.
  ///   - serializer: makes bytes; nil for archives of objects that are `NSCoding`.
  ///   - deserializer: reads them; nil for what `defaultDeserializer()` reads.
  ///   - preSanitizer: puts values into shape before they are stored.
  ///   - postSanitizer: looks at values that were stored.
  ///   - options: the settings.
  ///   - onError: gets the errors of calls that can neither throw nor return one.
  /// - Throws: as `Database(at:options:)`.
  public convenience init(
    path: String, serializer: YapDatabaseSerializer?, deserializer: YapDatabaseDeserializer?,
    preSanitizer: YapDatabasePreSanitizer? = nil, postSanitizer: YapDatabasePostSanitizer? = nil,
    options: YapDatabaseOptions = YapDatabaseOptions(), onError: (@Sendable (any Error) -> Void)? = nil
  ) throws {
    try self.init(
      path: path, objectSerializer: serializer, objectDeserializer: deserializer, metadataSerializer: serializer,
      metadataDeserializer: deserializer, objectPreSanitizer: preSanitizer, objectPostSanitizer: postSanitizer,
      metadataPreSanitizer: preSanitizer, metadataPostSanitizer: postSanitizer, options: options, onError: onError)
  }

  /// The same at a URL of the file system. New call: `Database(at:options:)`, and a `RowCoder(encode:decode:)` for each
  /// collection.
  public convenience init(
    url: URL, serializer: YapDatabaseSerializer?, deserializer: YapDatabaseDeserializer?,
    preSanitizer: YapDatabasePreSanitizer? = nil, postSanitizer: YapDatabasePostSanitizer? = nil,
    options: YapDatabaseOptions = YapDatabaseOptions(), onError: (@Sendable (any Error) -> Void)? = nil
  ) throws {
    try self.init(
      path: url.path, serializer: serializer, deserializer: deserializer, preSanitizer: preSanitizer,
      postSanitizer: postSanitizer, options: options, onError: onError)
  }

  /// Opens the database at a path, or creates it, with blocks for the objects of all collections that have nothing of
  /// their own, and others for their metadata. New call: `Database(at:options:)`, and a `RowCoder(encode:decode:)` for
  /// each collection.
  ///
  /// What is nil has the meaning that it has with one block for both.
  ///
  /// - Throws: as `Database(at:options:)`.
  public convenience init(
    path: String, objectSerializer: YapDatabaseSerializer?, objectDeserializer: YapDatabaseDeserializer?,
    metadataSerializer: YapDatabaseSerializer?, metadataDeserializer: YapDatabaseDeserializer?,
    objectPreSanitizer: YapDatabasePreSanitizer? = nil, objectPostSanitizer: YapDatabasePostSanitizer? = nil,
    metadataPreSanitizer: YapDatabasePreSanitizer? = nil, metadataPostSanitizer: YapDatabasePostSanitizer? = nil,
    options: YapDatabaseOptions = YapDatabaseOptions(), onError: (@Sendable (any Error) -> Void)? = nil
  ) throws {
    try self.init(path: path, options: options, onError: onError)
    registry.update(nil) { defaults in
      defaults.objects = SerializerPair(
        serializer: objectSerializer ?? Self.archiveSerializer,
        deserializer: objectDeserializer ?? Self.archiveDeserializer([:]))
      defaults.metadata = SerializerPair(
        serializer: metadataSerializer ?? Self.archiveSerializer,
        deserializer: metadataDeserializer ?? Self.archiveDeserializer([:]))
      defaults.objectSanitizers = SanitizerPair(pre: objectPreSanitizer, post: objectPostSanitizer)
      defaults.metadataSanitizers = SanitizerPair(pre: metadataPreSanitizer, post: metadataPostSanitizer)
    }
  }

  /// The same at a URL of the file system. New call: `Database(at:options:)`, and a `RowCoder(encode:decode:)` for each
  /// collection.
  public convenience init(
    url: URL, objectSerializer: YapDatabaseSerializer?, objectDeserializer: YapDatabaseDeserializer?,
    metadataSerializer: YapDatabaseSerializer?, metadataDeserializer: YapDatabaseDeserializer?,
    objectPreSanitizer: YapDatabasePreSanitizer? = nil, objectPostSanitizer: YapDatabasePostSanitizer? = nil,
    metadataPreSanitizer: YapDatabasePreSanitizer? = nil, metadataPostSanitizer: YapDatabasePostSanitizer? = nil,
    options: YapDatabaseOptions = YapDatabaseOptions(), onError: (@Sendable (any Error) -> Void)? = nil
  ) throws {
    try self.init(
      path: url.path, objectSerializer: objectSerializer, objectDeserializer: objectDeserializer,
      metadataSerializer: metadataSerializer, metadataDeserializer: metadataDeserializer,
      objectPreSanitizer: objectPreSanitizer, objectPostSanitizer: objectPostSanitizer,
      metadataPreSanitizer: metadataPreSanitizer, metadataPostSanitizer: metadataPostSanitizer, options: options,
      onError: onError)
  }
}
