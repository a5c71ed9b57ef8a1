// What an app has registered for its collections.

internal import Quire

/// The two blocks of one half of a collection.
struct SerializerPair: Sendable {
  var serializer: YapDatabaseSerializer?
  var deserializer: YapDatabaseDeserializer?
}

/// What runs before and after values of one half of a collection are stored.
struct SanitizerPair: Sendable {
  var pre: YapDatabasePreSanitizer?
  var post: YapDatabasePostSanitizer?

  /// What is to be stored of a value; nil if nothing is.
  func before(_ value: Any, _ collection: String, _ key: String) throws -> Any? {
    guard let pre else { return value }
    return try pre(collection, key, value)
  }
}

/// The halves of rows that a registration is about.
struct RegisteredHalves: OptionSet, Sendable {
  let rawValue: Int
  static let objects = RegisteredHalves(rawValue: 1)
  static let metadata = RegisteredHalves(rawValue: 2)
  static let both: RegisteredHalves = [.objects, .metadata]
}

/// What is known of one collection, or of all that have nothing of their own.
struct RegisteredCollection: Sendable {
  /// The types, which take the place of serializers.
  var typed: (any CollectionBridge)?
  var objects = SerializerPair()
  var metadata = SerializerPair()
  var objectSanitizers = SanitizerPair()
  var metadataSanitizers = SanitizerPair()
  var objectPolicy: YapDatabasePolicy?
  var metadataPolicy: YapDatabasePolicy?

  mutating func update<Value>(
    _ halves: RegisteredHalves, _ objectPath: WritableKeyPath<Self, Value>,
    _ metadataPath: WritableKeyPath<Self, Value>,
    _ value: Value
  ) {
    if halves.contains(.objects) { self[keyPath: objectPath] = value }
    if halves.contains(.metadata) { self[keyPath: metadataPath] = value }
  }
}

/// The collections of one database. May be asked and changed from any thread at any time; what is registered holds from
/// the next call on.
///
/// Invariant: a bridge in `bridges` is what `resolve` would make of `collections` and `defaults` now.
final class CollectionRegistry: Sendable {
  private struct State {
    var collections: [ByteName: RegisteredCollection] = [:]
    var defaults = RegisteredCollection()
    /// Makes the bridge of a collection that has nothing of its own.
    var makeDefault: (@Sendable (String) -> any CollectionBridge)?
    var bridges: [ByteName: any CollectionBridge] = [:]
  }

  private let state = Guarded(State())

  /// Changes what is registered for a collection, or, for nil, for all others.
  func update(_ name: String?, _ change: (inout RegisteredCollection) -> Void) {
    state.withLock { state in
      if let name {
        change(&state.collections[ByteName(name), default: RegisteredCollection()])
      } else {
        change(&state.defaults)
      }
      state.bridges.removeAll()
    }
  }

  /// Registers what makes bytes of values, in the place of types.
  func setSerializer(
    _ serializer: @escaping YapDatabaseSerializer, _ halves: RegisteredHalves, _ collection: String?
  ) {
    update(collection) { registered in
      registered.typed = nil
      registered.update(halves, \.objects.serializer, \.metadata.serializer, serializer)
    }
  }

  /// Registers what reads values, in the place of types.
  func setDeserializer(
    _ deserializer: @escaping YapDatabaseDeserializer, _ halves: RegisteredHalves, _ collection: String?
  ) {
    update(collection) { registered in
      registered.typed = nil
      registered.update(halves, \.objects.deserializer, \.metadata.deserializer, deserializer)
    }
  }

  /// Registers what puts values into shape.
  func setPreSanitizer(
    _ sanitizer: YapDatabasePreSanitizer?, _ halves: RegisteredHalves, _ collection: String?
  ) {
    update(collection) { $0.update(halves, \.objectSanitizers.pre, \.metadataSanitizers.pre, sanitizer) }
  }

  /// Registers what looks at values that were stored.
  func setPostSanitizer(
    _ sanitizer: YapDatabasePostSanitizer?, _ halves: RegisteredHalves, _ collection: String?
  ) {
    update(collection) { $0.update(halves, \.objectSanitizers.post, \.metadataSanitizers.post, sanitizer) }
  }

  /// Registers the types of all collections that have nothing of their own.
  func setDefault(_ make: (@Sendable (String) -> any CollectionBridge)?) {
    state.withLock { state in
      state.makeDefault = make
      state.bridges.removeAll()
    }
  }

  /// The bridge of a collection.
  ///
  /// - Throws: `collectionNotRegistered`.
  func bridge(_ name: String) throws(DatabaseError) -> any CollectionBridge {
    guard let bridge = find(name) else { throw .notRegistered(name) }
    return bridge
  }

  /// The bridge of a collection, or nil.
  func find(_ name: String) -> (any CollectionBridge)? {
    state.withLock { state in
      if let known = state.bridges[ByteName(name)] { return known }
      let bridge = Self.resolve(name, state)
      state.bridges[ByteName(name)] = bridge
      return bridge
    }
  }

  private static func resolve(_ name: String, _ state: State) -> (any CollectionBridge)? {
    let own = state.collections[ByteName(name)]
    if let typed = own?.typed { return typed }
    let hasBlocks = own?.objects.serializer != nil || own?.objects.deserializer != nil
    if !hasBlocks, let make = state.makeDefault { return make(name) }
    let objects = merged(own?.objects, state.defaults.objects)
    guard objects.serializer != nil || objects.deserializer != nil else { return nil }
    return TypedBridge(name, objects: objects, metadata: merged(own?.metadata, state.defaults.metadata))
  }

  private static func merged(_ own: SerializerPair?, _ defaults: SerializerPair) -> SerializerPair {
    SerializerPair(
      serializer: own?.serializer ?? defaults.serializer, deserializer: own?.deserializer ?? defaults.deserializer)
  }

  /// What runs before and after objects and metadata of a collection are stored.
  func sanitizers(_ name: String) -> (objects: SanitizerPair, metadata: SanitizerPair) {
    state.withLock { state in
      let (own, defaults) = (state.collections[ByteName(name)], state.defaults)
      return (
        SanitizerPair(
          pre: own?.objectSanitizers.pre ?? defaults.objectSanitizers.pre,
          post: own?.objectSanitizers.post ?? defaults.objectSanitizers.post),
        SanitizerPair(
          pre: own?.metadataSanitizers.pre ?? defaults.metadataSanitizers.pre,
          post: own?.metadataSanitizers.post ?? defaults.metadataSanitizers.post)
      )
    }
  }

  /// The policies of a collection: its own, else the default ones, else containment.
  func policies(_ name: String) -> (object: YapDatabasePolicy, metadata: YapDatabasePolicy) {
    state.withLock { state in
      let (own, defaults) = (state.collections[ByteName(name)], state.defaults)
      return (
        own?.objectPolicy ?? defaults.objectPolicy ?? .containment,
        own?.metadataPolicy ?? defaults.metadataPolicy ?? .containment
      )
    }
  }
}
