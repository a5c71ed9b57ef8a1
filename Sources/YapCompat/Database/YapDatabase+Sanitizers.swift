// What runs before and after values are stored, and what caches did with them.

/// Whether caches of other connections dropped, shared or copied an object that was stored.
public enum YapDatabasePolicy: Int, Sendable {
  /// They drop it and read it again.
  case containment
  /// They take the very same one.
  case share
  /// They take a copy.
  case copy
}

extension YapDatabase {
  /// Registers what puts objects and metadata of a collection into shape before they are stored; nil is the collection
  /// "". New call: `RowCollection.sanitizing(_:)`, `RowCollection.sanitizingMetadata(_:)`.
  ///
  /// A block that returns nil for an object has the row removed, and for metadata leaves the row without.
  @preconcurrency public func registerPreSanitizer(
    _ sanitizer: @escaping YapDatabasePreSanitizer, forCollection collection: String?
  ) {
    setPreSanitizer(sanitizer, .both, collection ?? "")
  }

  /// Registers what looks at objects and metadata of a collection after they were stored, inside the transaction. New
  /// call: `RowCollection.afterStoring(_:)`.
  @preconcurrency public func registerPostSanitizer(
    _ sanitizer: @escaping YapDatabasePostSanitizer, forCollection collection: String?
  ) {
    setPostSanitizer(sanitizer, .both, collection ?? "")
  }

  /// Registers what puts objects of a collection into shape. New call: `RowCollection.sanitizing(_:)`.
  @preconcurrency public func registerObjectPreSanitizer(
    _ sanitizer: @escaping YapDatabasePreSanitizer, forCollection collection: String?
  ) {
    setPreSanitizer(sanitizer, .objects, collection ?? "")
  }

  /// Registers what looks at objects of a collection after they were stored. New call:
  /// `RowCollection.afterStoring(_:)`.
  @preconcurrency public func registerObjectPostSanitizer(
    _ sanitizer: @escaping YapDatabasePostSanitizer, forCollection collection: String?
  ) {
    setPostSanitizer(sanitizer, .objects, collection ?? "")
  }

  /// Registers what puts metadata of a collection into shape. New call: `RowCollection.sanitizingMetadata(_:)`.
  @preconcurrency public func registerMetadataPreSanitizer(
    _ sanitizer: @escaping YapDatabasePreSanitizer, forCollection collection: String?
  ) {
    setPreSanitizer(sanitizer, .metadata, collection ?? "")
  }

  /// Registers what looks at metadata of a collection after they were stored. New call: the `didModify` of `Hooks`.
  @preconcurrency public func registerMetadataPostSanitizer(
    _ sanitizer: @escaping YapDatabasePostSanitizer, forCollection collection: String?
  ) {
    setPostSanitizer(sanitizer, .metadata, collection ?? "")
  }

  /// Registers what puts values into shape in collections that have no such block of their own; nil for nothing. New
  /// call: `RowCollection.sanitizing(_:)`, in the description of each collection.
  @preconcurrency public func registerDefaultPreSanitizer(_ sanitizer: YapDatabasePreSanitizer?) {
    setPreSanitizer(sanitizer, .both, nil)
  }

  /// Registers what looks at stored values in collections that have no such block of their own; nil for nothing. New
  /// call: `RowCollection.afterStoring(_:)`, in the description of each collection.
  @preconcurrency public func registerDefaultPostSanitizer(_ sanitizer: YapDatabasePostSanitizer?) {
    setPostSanitizer(sanitizer, .both, nil)
  }

  private func setPreSanitizer(
    _ sanitizer: YapDatabasePreSanitizer?, _ halves: RegisteredHalves, _ collection: String?
  ) {
    registry.update(collection) { $0.update(halves, \.objectSanitizers.pre, \.metadataSanitizers.pre, sanitizer) }
  }

  private func setPostSanitizer(
    _ sanitizer: YapDatabasePostSanitizer?, _ halves: RegisteredHalves, _ collection: String?
  ) {
    registry.update(collection) { $0.update(halves, \.objectSanitizers.post, \.metadataSanitizers.post, sanitizer) }
  }

  // MARK: Policies

  // Objects are `Sendable` here, so that sharing them is always right, and is what happens. The policies are kept, so
  // that code that asks gets what it has set.

  /// Notes a policy for the objects of a collection. New call: none, as `Sendable` objects are shared.
  public func setObjectPolicy(_ policy: YapDatabasePolicy, forCollection collection: String?) {
    registry.update(collection ?? "") { $0.objectPolicy = policy }
  }

  /// Notes a policy for the metadata of a collection. New call: none, as `Sendable` metadata are shared.
  public func setMetadataPolicy(_ policy: YapDatabasePolicy, forCollection collection: String?) {
    registry.update(collection ?? "") { $0.metadataPolicy = policy }
  }

  /// Notes a policy for objects of collections that have none of their own. New call: none.
  public func setDefaultObjectPolicy(_ policy: YapDatabasePolicy) { registry.update(nil) { $0.objectPolicy = policy } }

  /// Notes a policy for metadata of collections that have none of their own. New call: none.
  public func setDefaultMetadataPolicy(_ policy: YapDatabasePolicy) {
    registry.update(nil) { $0.metadataPolicy = policy }
  }

  /// The noted policy for the objects of a collection, or the default one. New call: none.
  public func objectPolicy(forCollection collection: String?) -> YapDatabasePolicy {
    registry.policies(collection ?? "").object
  }

  /// The noted policy for the metadata of a collection, or the default one. New call: none.
  public func metadataPolicy(forCollection collection: String?) -> YapDatabasePolicy {
    registry.policies(collection ?? "").metadata
  }
}
