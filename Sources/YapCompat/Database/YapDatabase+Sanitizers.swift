// What runs before and after values are stored, and what caches did with them.

extension YapDatabase {
  /// Registers what puts objects and metadata of a collection into shape before they are stored; nil is the collection
  /// "". New call: `RowCollection.sanitizing(_:)`, `RowCollection.sanitizingMetadata(_:)`.
  ///
  /// A block that returns nil for an object has the row removed, and for metadata leaves the row without.
  @preconcurrency public func registerPreSanitizer(
    _ sanitizer: @escaping YapDatabasePreSanitizer, forCollection collection: String?
  ) {
    registry.setPreSanitizer(sanitizer, .both, collection ?? "")
  }

  /// Registers what looks at objects and metadata of a collection after they were stored, inside the transaction. New
  /// call: `RowCollection.afterStoring(_:)`.
  @preconcurrency public func registerPostSanitizer(
    _ sanitizer: @escaping YapDatabasePostSanitizer, forCollection collection: String?
  ) {
    registry.setPostSanitizer(sanitizer, .both, collection ?? "")
  }

  /// Registers what puts objects of a collection into shape. New call: `RowCollection.sanitizing(_:)`.
  @preconcurrency public func registerObjectPreSanitizer(
    _ sanitizer: @escaping YapDatabasePreSanitizer, forCollection collection: String?
  ) {
    registry.setPreSanitizer(sanitizer, .objects, collection ?? "")
  }

  /// Registers what looks at objects of a collection after they were stored. New call:
  /// `RowCollection.afterStoring(_:)`.
  @preconcurrency public func registerObjectPostSanitizer(
    _ sanitizer: @escaping YapDatabasePostSanitizer, forCollection collection: String?
  ) {
    registry.setPostSanitizer(sanitizer, .objects, collection ?? "")
  }

  /// Registers what puts metadata of a collection into shape. New call: `RowCollection.sanitizingMetadata(_:)`.
  @preconcurrency public func registerMetadataPreSanitizer(
    _ sanitizer: @escaping YapDatabasePreSanitizer, forCollection collection: String?
  ) {
    registry.setPreSanitizer(sanitizer, .metadata, collection ?? "")
  }

  /// Registers what looks at metadata of a collection after they were stored. New call: the `didModify` of `Hooks`.
  @preconcurrency public func registerMetadataPostSanitizer(
    _ sanitizer: @escaping YapDatabasePostSanitizer, forCollection collection: String?
  ) {
    registry.setPostSanitizer(sanitizer, .metadata, collection ?? "")
  }

  /// Registers what puts values into shape in collections that have no such block of their own; nil for nothing. New
  /// call: `RowCollection.sanitizing(_:)`, in the description of each collection.
  @preconcurrency public func registerDefaultPreSanitizer(_ sanitizer: YapDatabasePreSanitizer?) {
    registry.setPreSanitizer(sanitizer, .both, nil)
  }

  /// Registers what looks at stored values in collections that have no such block of their own; nil for nothing. New
  /// call: `RowCollection.afterStoring(_:)`, in the description of each collection.
  @preconcurrency public func registerDefaultPostSanitizer(_ sanitizer: YapDatabasePostSanitizer?) {
    registry.setPostSanitizer(sanitizer, .both, nil)
  }

  // MARK: Policies

  // In collections with blocks each connection keeps what it has decoded. In those with types objects are `Sendable`,
  // and all connections are given the same ones, unless the policy is to copy.

  /// Sets whether connections share the objects of a collection. New call: none, as `Sendable` objects are shared.
  ///
  /// With `containment`, which is the default, each connection decodes for itself; with `share` all are given what one
  /// has decoded; with `copy` each is given a copy of that, if its class is `NSCopying`, and else decodes for itself.
  /// Of a collection with types, `copy` has each read hand out a copy, and the other two have no effect.
  public func setObjectPolicy(_ policy: YapDatabasePolicy, forCollection collection: String?) {
    registry.update(collection ?? "") { $0.objectPolicy = policy }
  }

  /// Sets the same for the metadata of a collection. New call: none, as `Sendable` metadata are shared.
  public func setMetadataPolicy(_ policy: YapDatabasePolicy, forCollection collection: String?) {
    registry.update(collection ?? "") { $0.metadataPolicy = policy }
  }

  /// Sets the policy for objects of collections that have none of their own. New call: none.
  public func setDefaultObjectPolicy(_ policy: YapDatabasePolicy) { registry.update(nil) { $0.objectPolicy = policy } }

  /// Sets the policy for metadata of collections that have none of their own. New call: none.
  public func setDefaultMetadataPolicy(_ policy: YapDatabasePolicy) {
    registry.update(nil) { $0.metadataPolicy = policy }
  }

  /// The policy for the objects of a collection, or the default one. New call: none.
  public func objectPolicy(forCollection collection: String?) -> YapDatabasePolicy {
    registry.policies(collection ?? "").object
  }

  /// The policy for the metadata of a collection, or the default one. New call: none.
  public func metadataPolicy(forCollection collection: String?) -> YapDatabasePolicy {
    registry.policies(collection ?? "").metadata
  }
}
