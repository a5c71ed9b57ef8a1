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
///
/// The guide is <doc:Database>.
public struct RowCollection<Object: Sendable, Metadata: Sendable>: Sendable {
  /// What it says, without the types, which this is of.
  @usableFromInline let untyped: UntypedCollection

  /// The name, at most `Limits.collectionNameByteCount` bytes of UTF-8. Two names are the same if their bytes are.
  @inlinable public var name: String { untyped.name }
  /// How objects become bytes.
  @inlinable public var coder: RowCoder<Object> { RowCoder(untyped.objects) }
  /// How metadata become bytes.
  @inlinable public var metadataCoder: RowCoder<Metadata> { RowCoder(untyped.metadata) }
  /// Which values are compressed.
  @inlinable public var compression: Compression { untyped.compression }
  /// What runs before and after a row is stored, if something does.
  var sanitizers: Sanitizers<Object, Metadata>? {
    untyped.sanitizers.map { unsafe unsafeDowncast($0, to: Sanitizers<Object, Metadata>.self) }
  }

  /// Describes a collection by its coders.
  @inlinable public init(
    _ name: String, coder: RowCoder<Object>, metadataCoder: RowCoder<Metadata>,
    compression: Compression = .dictionary(above: 200)
  ) {
    self.init(UntypedCollection(name, coder.values, metadataCoder.values, compression, nil))
  }

  @inlinable @inline(__always) init(_ untyped: UntypedCollection) { self.untyped = untyped }
}

extension RowCollection where Object: Codable, Metadata: Codable {
  /// Describes a collection of `Codable` types. Metadata go through the binary coder.
  ///
  /// - Parameters:
  ///   - name: at most `Limits.collectionNameByteCount` bytes of UTF-8.
  ///   - coder: how objects become bytes; ``RowCoder/binary`` by default.
  ///   - compression: which values are compressed, and how.
  @inlinable public init(
    _ name: String, coder: RowCoder<Object> = RowCoder(.binary(Object.self)),
    compression: Compression = .dictionary(above: 200)
  ) {
    let metadata = RowCoder<Metadata>(.binary(Metadata.self))
    self.init(UntypedCollection(name, coder.values, metadata.values, compression, nil))
  }
}

extension RowCollection where Metadata: Codable {
  /// Describes a collection whose objects need not be `Codable`. Metadata go through the binary coder.
  @inlinable public init(_ name: String, coder: RowCoder<Object>, compression: Compression = .dictionary(above: 200)) {
    let metadata = RowCoder<Metadata>(.binary(Metadata.self))
    self.init(UntypedCollection(name, coder.values, metadata.values, compression, nil))
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
    Self(UntypedCollection(name, untyped.objects, untyped.metadata, compression, sanitizers))
  }
}

/// A description of a collection whose types are known elsewhere.
///
/// It is made and ended at each use of a collection: what most of them have none of stands behind one reference.
@usableFromInline struct UntypedCollection: Sendable {
  @usableFromInline let name: String
  @usableFromInline let form: RowForm
  @usableFromInline let metadataForm: RowForm
  @usableFromInline let compression: Compression
  @usableFromInline let extras: CollectionExtras?

  @inlinable @inline(__always) init(
    _ name: String, _ objects: ValueCoder, _ metadata: ValueCoder, _ compression: Compression,
    _ sanitizers: UntypedSanitizers?
  ) {
    self.name = name
    form = objects.form
    metadataForm = metadata.form
    self.compression = compression
    extras =
      objects.isPlain && metadata.isPlain && sanitizers == nil ? nil : CollectionExtras(objects, metadata, sanitizers)
  }

  /// How objects become bytes.
  @inlinable var objects: ValueCoder { extras?.objects ?? ValueCoder(form, nil, nil, nil) }
  /// How metadata become bytes.
  @inlinable var metadata: ValueCoder { extras?.metadata ?? ValueCoder(metadataForm, nil, nil, nil) }
  var sanitizers: UntypedSanitizers? { extras?.sanitizers }
}

/// What few collections have: coders with closures, upgrades or encryption, and sanitizers.
@usableFromInline final class CollectionExtras: Sendable {
  @usableFromInline let objects: ValueCoder
  @usableFromInline let metadata: ValueCoder
  let sanitizers: UntypedSanitizers?

  @usableFromInline init(_ objects: ValueCoder, _ metadata: ValueCoder, _ sanitizers: UntypedSanitizers?) {
    self.objects = objects
    self.metadata = metadata
    self.sanitizers = sanitizers
  }
}

/// What runs before and after a row is stored, for code that does not know the types: values are handed over by their
/// place in memory.
@usableFromInline class UntypedSanitizers: @unchecked Sendable {
  // Sendable: safe because it holds nothing, and what inherits closures that are.
  /// Whether objects and metadata are put into shape.
  var hasObject: Bool { preconditionFailure("only what inherits is ever made") }
  var hasMetadata: Bool { preconditionFailure("only what inherits is ever made") }

  /// Makes at `place`, where there is none, what is to be stored of `object`; nothing, and false, if that is nothing.
  func sanitize(object: UnsafeRawPointer, _ key: String, into place: UnsafeMutableRawPointer) throws -> Bool {
    preconditionFailure("only what inherits is ever made")
  }

  /// Likewise of metadata.
  func sanitize(metadata: UnsafeRawPointer, _ key: String, into place: UnsafeMutableRawPointer) throws -> Bool {
    preconditionFailure("only what inherits is ever made")
  }

  /// The object has been stored.
  func didStore(_ object: UnsafeRawPointer, _ key: String) throws {
    preconditionFailure("only what inherits is ever made")
  }
}

/// What runs before and after a row is stored.
final class Sanitizers<Object, Metadata>: UntypedSanitizers, @unchecked Sendable {
  // Sendable: safe because all closures are.
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

  override var hasObject: Bool { object != nil }
  override var hasMetadata: Bool { metadata != nil }

  override func sanitize(
    object: UnsafeRawPointer, _ key: String, into place: UnsafeMutableRawPointer
  ) throws -> Bool {
    try unsafe Self.sanitize(object, key, self.object, into: place)
  }

  override func sanitize(
    metadata: UnsafeRawPointer, _ key: String, into place: UnsafeMutableRawPointer
  ) throws -> Bool {
    try unsafe Self.sanitize(metadata, key, self.metadata, into: place)
  }

  private static func sanitize<Value>(
    _ value: UnsafeRawPointer, _ key: String, _ sanitize: ((String, Value) throws -> Value?)?,
    into place: UnsafeMutableRawPointer
  ) throws -> Bool {
    let value = unsafe value.assumingMemoryBound(to: Value.self).pointee
    guard let sanitize else { preconditionFailure("values are put into shape that stay as they are") }
    guard let sanitized = try sanitize(key, value) else { return false }
    unsafe place.initializeMemory(as: Value.self, to: sanitized)
    return true
  }

  override func didStore(_ object: UnsafeRawPointer, _ key: String) throws {
    try unsafe afterwards?(key, object.assumingMemoryBound(to: Object.self).pointee)
  }
}
