// Telling in a few comparisons that a collection is the one that was used just before.

/// What a description of a collection says, in words that are compared as they are, without a look behind them: two
/// with the same words do the same.
///
/// No references are counted here: the keeper of one keeps the description, too, and all that the words stand for.
@usableFromInline struct CollectionFingerprint {
  /// The name, as `String.words` has it.
  @usableFromInline let name: (UInt64, UInt64)
  @usableFromInline let object: ObjectIdentifier
  @usableFromInline let metadata: ObjectIdentifier
  /// The forms of both coders.
  @usableFromInline let forms: UInt
  /// The objects behind the coders, or 0.
  @usableFromInline let upgrades: UInt
  @usableFromInline let metadataUpgrades: UInt
  @usableFromInline let closures: UInt
  @usableFromInline let metadataClosures: UInt
  /// The objects that encrypt, or 0.
  @usableFromInline let protection: UInt
  @usableFromInline let metadataProtection: UInt
  /// The object behind the sanitizers, or 0.
  @usableFromInline let sanitizers: UInt
  /// Which values are compressed, and how.
  @usableFromInline let compression: Int

  @inlinable @inline(__always)
  init<Object, Metadata>(_ collection: RowCollection<Object, Metadata>) {
    name = collection.name.words
    object = ObjectIdentifier(Object.self)
    metadata = ObjectIdentifier(Metadata.self)
    forms = UInt(collection.coder.form.tag) &<< 8 | UInt(collection.metadataCoder.form.tag)
    upgrades = Self.word(collection.coder.upgrades)
    metadataUpgrades = Self.word(collection.metadataCoder.upgrades)
    closures = Self.word(collection.coder.form.closures)
    metadataClosures = Self.word(collection.metadataCoder.form.closures)
    protection = Self.word(collection.coder.protection)
    metadataProtection = Self.word(collection.metadataCoder.protection)
    sanitizers = Self.word(collection.sanitizers)
    compression = collection.compression.word
  }

  @inlinable @inline(__always) static func word(_ object: AnyObject?) -> UInt {
    object.map { UInt(bitPattern: ObjectIdentifier($0)) } ?? 0
  }

  /// Whether `other` is of the same types and coders, as far as all descriptions of a name must be.
  func hasTypes(of other: Self) -> Bool {
    object == other.object && metadata == other.metadata && forms == other.forms && upgrades == other.upgrades
      && metadataUpgrades == other.metadataUpgrades && (protection == 0) == (other.protection == 0)
      && (metadataProtection == 0) == (other.metadataProtection == 0)
  }

  /// Whether `other` says the same but perhaps of another name.
  @inlinable @inline(__always) func says(theSameAs other: Self) -> Bool {
    // Without a branch for each, as they nearly always are the same.
    let types =
      (UInt(bitPattern: object) ^ UInt(bitPattern: other.object))
      | (UInt(bitPattern: metadata) ^ UInt(bitPattern: other.metadata))
    let coders =
      (forms ^ other.forms) | (upgrades ^ other.upgrades) | (metadataUpgrades ^ other.metadataUpgrades)
      | (closures ^ other.closures) | (metadataClosures ^ other.metadataClosures)
    let keys = (protection ^ other.protection) | (metadataProtection ^ other.metadataProtection)
    let rest = keys | (sanitizers ^ other.sanitizers) | UInt(bitPattern: compression ^ other.compression)
    return types | coders | rest == 0
  }

  /// Whether the names are of the same words.
  @inlinable @inline(__always) func hasName(of other: Self) -> Bool {
    (name.0 ^ other.name.0) | (name.1 ^ other.name.1) == 0
  }
}

extension RowCollection {
  /// A description that a transaction keeps, so that handles need not copy it.
  @usableFromInline final class Kept: Sendable {
    @usableFromInline let collection: RowCollection<Object, Metadata>
    /// What encrypts the halves, if anything does; kept by `collection`, and here without a count.
    @usableFromInline let protections: RowProtections
    /// How values are stored: not with a dictionary if either half is encrypted, as it would hold pieces of rows.
    @usableFromInline let compression: Compression

    init(_ collection: RowCollection<Object, Metadata>) {
      self.collection = collection
      protections = RowProtections(collection.coder.protection, collection.metadataCoder.protection)
      compression = protections.isEmpty ? collection.compression : collection.compression.withoutDictionary
    }
  }
}

/// What encrypts the halves of rows, without a count: good as long as the description is kept that it is of.
@safe @usableFromInline struct RowProtections: @unchecked Sendable {
  // Sendable: safe because what it refers to is.
  let object: Unmanaged<RowProtection>?
  let metadata: Unmanaged<RowProtection>?

  init(_ object: RowProtection?, _ metadata: RowProtection?) {
    unsafe self.object = unsafe object.map { unsafe .passUnretained($0) }
    unsafe self.metadata = unsafe metadata.map { unsafe .passUnretained($0) }
  }

  /// For rows whose coders do not matter.
  static let none = RowProtections(nil, nil)

  var isEmpty: Bool { unsafe object == nil && metadata == nil }

  subscript(half: RowHalf) -> Unmanaged<RowProtection>? { unsafe half == .object ? object : metadata }
}
