// One decoded object, and the number by which it is found.

/// What is kept of a row, without its types.
///
/// Immutable but for `next`: the thread that has taken an entry out of the cache uses it to keep the entry with others.
class CacheEntry: @unchecked Sendable {
  // Sendable: safe because all but `next` is set once, and `next` belongs to the thread that has taken the entry out.
  let collection: UInt32
  let key: String
  /// What the entry counts as.
  let byteCount: Int
  /// The types of the collection, so that nothing is ever taken for what it is not.
  let types: CachedTypes
  /// The row's number, which is never given to another row.
  let rowID: RowID
  var next: CacheEntry?

  /// What an entry takes beside its key and its object, in bytes: itself, its place in the table, and the object's own
  /// overhead.
  static let overhead = 192

  init(_ place: CachePlace, _ rowID: RowID, _ key: String, _ types: CachedTypes, encodedByteCount: Int) {
    collection = place.collection
    self.rowID = rowID
    self.key = key
    self.types = types
    byteCount = encodedByteCount + key.utf8.count + Self.overhead
  }

  /// What is known of the row's metadata.
  var metadataKnowledge: MetadataKnowledge { preconditionFailure("only what inherits is ever made") }

  /// Copies the object to `place`, where there is none, and which is of the type in `types`.
  func copyObject(to place: UnsafeMutableRawPointer) { preconditionFailure("only what inherits is ever made") }

  /// Likewise the metadata, which are there.
  func copyMetadata(to place: UnsafeMutableRawPointer) { preconditionFailure("only what inherits is ever made") }
}

/// What is known of a row's metadata where its object is known.
enum MetadataKnowledge {
  /// They were not read.
  case unknown
  /// It has none.
  case absent
  case present
}

/// The types of the rows of a collection.
struct CachedTypes: Equatable, Sendable {
  let object: ObjectIdentifier
  let metadata: ObjectIdentifier

  init(object: any Sendable.Type, metadata: any Sendable.Type) {
    self.object = ObjectIdentifier(object)
    self.metadata = ObjectIdentifier(metadata)
  }
}

/// What is kept of a row.
///
/// Invariant: `types` are these.
final class CachedRow<Object, Metadata>: CacheEntry, @unchecked Sendable {
  // Sendable: safe because what is added to the class above is set once, and of types that are `Sendable`.
  private let object: Object
  /// The row's metadata, if they were read as well; nil inside if it has none.
  private let metadata: Metadata??

  init(
    _ place: CachePlace, _ rowID: RowID, _ key: String, _ object: Object, _ metadata: Metadata??,
    _ types: CachedTypes, encodedByteCount: Int
  ) {
    assert(
      types.object == ObjectIdentifier(Object.self) && types.metadata == ObjectIdentifier(Metadata.self),
      "a row is kept under other types than it has")
    self.object = object
    self.metadata = metadata
    super.init(place, rowID, key, types, encodedByteCount: encodedByteCount)
  }

  override var metadataKnowledge: MetadataKnowledge {
    switch metadata {
    case .none: .unknown
    case .some(.none): .absent
    case .some(.some): .present
    }
  }

  override func copyObject(to place: UnsafeMutableRawPointer) {
    unsafe place.initializeMemory(as: Object.self, to: object)
  }

  override func copyMetadata(to place: UnsafeMutableRawPointer) {
    guard case .some(.some(let metadata)) = metadata else {
      preconditionFailure("metadata are copied that are not there")
    }
    unsafe place.initializeMemory(as: Metadata.self, to: metadata)
  }
}

/// Where a row would be in the cache.
struct CachePlace: Sendable {
  let collection: UInt32
  let hash: UInt64
  /// Whether the row is to be taken in once it was read.
  var isWanted = false

  init(collection: UInt32, hash: UInt64) {
    self.collection = collection
    self.hash = hash
  }

  /// Nowhere yet.
  init() { self.init(collection: 0, hash: 1) }
}

/// Hashing of collection and key: a few multiplications, as a hit is to cost less than a walk down a tree. Keys
/// chosen to collide, against a seed that is drawn anew each time, evict rows and do no other harm.
struct CacheHash {
  private let seed: UInt64

  init(seed: UInt64) { self.seed = seed }

  /// Never 0, which stands for an empty slot.
  @inline(__always)
  func place(_ collection: UInt32, _ key: String) -> CachePlace {
    let number = unsafe key.utf8.withContiguousStorageIfAvailable { bytes in
      unsafe hash(collection, UnsafeRawBufferPointer(bytes))
    }
    if let number { return CachePlace(collection: collection, hash: number) }
    var key = key
    return CachePlace(
      collection: collection, hash: key.withUTF8 { unsafe hash(collection, UnsafeRawBufferPointer($0)) })
  }

  @inline(__always)
  func hash(_ collection: UInt32, _ key: UnsafeRawBufferPointer) -> UInt64 {
    var hash = seed ^ Self.mix(UInt64(collection) ^ UInt64(key.count) &<< 32, 0x9e37_79b9_7f4a_7c15)
    var offset = 0
    while key.count &- offset >= 8 {
      hash = Self.mix(hash ^ (unsafe key.loadUnaligned(fromByteOffset: offset, as: UInt64.self)), 0xe703_7ed1_a0b4_28db)
      offset &+= 8
    }
    var tail: UInt64 = 0
    while offset < key.count {
      tail = tail &<< 8 | UInt64(unsafe key[offset])
      offset &+= 1
    }
    return Self.mix(hash ^ tail, 0x8ebc_6af0_9c88_c6e3) | 1
  }

  @inline(__always)
  private static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}
