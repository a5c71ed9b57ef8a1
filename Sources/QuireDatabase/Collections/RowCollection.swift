// What an app says about a collection: its name, its types, and how they become bytes.

/// The metadata of a collection that has none.
public struct NoMetadata: Codable, Hashable, Sendable {
  /// The one value.
  public init() {}
}

/// A collection of rows: its name, the types of its objects and their metadata, and how they are stored.
///
/// ```swift
/// extension RowCollection where Object == Song, Metadata == PlayState {
///   static var songs: Self { .init("songs") }
/// }
///
/// try db.write { tx in try tx[.songs].set(song, metadata: PlayState(plays: 0), for: "s1") }
/// ```
///
/// A description and nothing more: it is made anew at each use, which allocates nothing. A collection exists as long as
/// it has a row. All uses of one name in a process must agree on types and coders; the first one decides.
public struct RowCollection<Object: Sendable, Metadata: Sendable>: Sendable {
  /// The name, at most `Limits.collectionNameByteCount` bytes of UTF-8. Two names are the same if their bytes are.
  public let name: String
  /// How objects become bytes.
  public let coder: RowCoder<Object>
  /// How metadata become bytes.
  public let metadataCoder: RowCoder<Metadata>
  /// Which values are compressed.
  public let compression: Compression
  /// The sanitizers, in an object of their own: most collections have none, and a nil costs nothing to copy.
  @usableFromInline let sanitizers: Sanitizers<Object, Metadata>?

  /// Describes a collection by its coders.
  @inlinable public init(
    _ name: String, coder: RowCoder<Object>, metadataCoder: RowCoder<Metadata>,
    compression: Compression = .dictionary(above: 200)
  ) {
    self.init(name, coder, metadataCoder, compression, nil)
  }

  @inlinable init(
    _ name: String, _ coder: RowCoder<Object>, _ metadataCoder: RowCoder<Metadata>, _ compression: Compression,
    _ sanitizers: Sanitizers<Object, Metadata>?
  ) {
    self.name = name
    self.coder = coder
    self.metadataCoder = metadataCoder
    self.compression = compression
    self.sanitizers = sanitizers
  }
}

extension RowCollection where Object: Codable, Metadata: Codable {
  /// Describes a collection of `Codable` types. Metadata go through the binary coder.
  ///
  /// - Parameters:
  ///   - name: at most `Limits.collectionNameByteCount` bytes of UTF-8.
  ///   - coder: how objects become bytes.
  ///   - compression: which values are compressed, and how.
  @inlinable public init(
    _ name: String, coder: RowCoder<Object> = .binary, compression: Compression = .dictionary(above: 200)
  ) {
    self.init(name, coder, .binary, compression, nil)
  }
}

extension RowCollection where Metadata: Codable {
  /// Describes a collection whose objects need not be `Codable`. Metadata go through the binary coder.
  @inlinable public init(_ name: String, coder: RowCoder<Object>, compression: Compression = .dictionary(above: 200)) {
    self.init(name, coder, .binary, compression, nil)
  }
}

extension RowCollection {
  /// The same collection with every object put into shape before it is stored.
  ///
  /// `body` gets the key and the object and returns what is to be stored, or nil to have the row removed. It runs
  /// inside the write transaction, before the object is encoded, for `set`, `replace` and `update`; an error fails the
  /// call.
  public func sanitizing(_ body: @escaping @Sendable (String, Object) throws -> Object?) -> Self {
    with(Sanitizers(object: body, metadata: sanitizers?.metadata, afterwards: sanitizers?.afterwards))
  }

  /// The same collection with every metadata put into shape before it is stored; nil means none.
  public func sanitizingMetadata(_ body: @escaping @Sendable (String, Metadata) throws -> Metadata?) -> Self {
    with(Sanitizers(object: sanitizers?.object, metadata: body, afterwards: sanitizers?.afterwards))
  }

  /// The same collection with a look at every object after it was stored, inside the transaction; an error fails the
  /// call.
  public func afterStoring(_ body: @escaping @Sendable (String, Object) throws -> Void) -> Self {
    with(Sanitizers(object: sanitizers?.object, metadata: sanitizers?.metadata, afterwards: body))
  }

  private func with(_ sanitizers: Sanitizers<Object, Metadata>) -> Self {
    Self(name, coder, metadataCoder, compression, sanitizers)
  }
}

/// What runs before and after a row is stored.
@usableFromInline final class Sanitizers<Object, Metadata>: Sendable {
  let object: (@Sendable (String, Object) throws -> Object?)?
  let metadata: (@Sendable (String, Metadata) throws -> Metadata?)?
  let afterwards: (@Sendable (String, Object) throws -> Void)?

  init(
    object: (@Sendable (String, Object) throws -> Object?)?,
    metadata: (@Sendable (String, Metadata) throws -> Metadata?)?,
    afterwards: (@Sendable (String, Object) throws -> Void)?
  ) {
    self.object = object
    self.metadata = metadata
    self.afterwards = afterwards
  }
}
