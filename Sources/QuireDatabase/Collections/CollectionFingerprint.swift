// Telling in a few comparisons that a collection is the one that was used just before.

/// What a description of a collection says, in words that are compared as they are, without a look behind them: two
/// with the same words do the same.
///
/// No references are counted here: the keeper of one keeps the description, too, and all that the words stand for.
struct CollectionFingerprint {
  /// The name, as `String.words` has it.
  let name: (UInt64, UInt64)
  let object: ObjectIdentifier
  let metadata: ObjectIdentifier
  /// The forms of both coders.
  let forms: UInt
  /// The objects behind the coders, or 0.
  let upgrades: UInt
  let metadataUpgrades: UInt
  let closures: UInt
  let metadataClosures: UInt
  /// The objects that encrypt, or 0.
  let protection: UInt
  let metadataProtection: UInt
  /// The object behind the sanitizers, or 0.
  let sanitizers: UInt
  /// Which values are compressed, and how.
  let compression: Int

  @inline(__always)
  init(_ collection: borrowing UntypedCollection, object: any Sendable.Type, metadata: any Sendable.Type) {
    name = collection.name.words
    self.object = ObjectIdentifier(object)
    self.metadata = ObjectIdentifier(metadata)
    forms = UInt(collection.form.tag) &<< 8 | UInt(collection.metadataForm.tag)
    compression = collection.compression.word
    guard let extras = collection.extras else {
      (upgrades, metadataUpgrades, closures, metadataClosures) = (0, 0, 0, 0)
      (protection, metadataProtection, sanitizers) = (0, 0, 0)
      return
    }
    upgrades = Self.word(extras.objects.upgrades)
    metadataUpgrades = Self.word(extras.metadata.upgrades)
    closures = Self.word(extras.objects.closures)
    metadataClosures = Self.word(extras.metadata.closures)
    protection = Self.word(extras.objects.protection)
    metadataProtection = Self.word(extras.metadata.protection)
    sanitizers = Self.word(extras.sanitizers)
  }

  @inline(__always) private static func word<Object: AnyObject>(_ object: borrowing Object?) -> UInt {
    guard let object = copy object else { return 0 }
    return unsafe UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }

  /// Whether `other` is of the same types and coders, as far as all descriptions of a name must be.
  func hasTypes(of other: Self) -> Bool {
    object == other.object && metadata == other.metadata && forms == other.forms && upgrades == other.upgrades
      && metadataUpgrades == other.metadataUpgrades && (protection == 0) == (other.protection == 0)
      && (metadataProtection == 0) == (other.metadataProtection == 0)
  }

  /// Whether `other` says the same but perhaps of another name.
  @inline(__always) func says(theSameAs other: Self) -> Bool {
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
  @inline(__always) func hasName(of other: Self) -> Bool {
    (name.0 ^ other.name.0) | (name.1 ^ other.name.1) == 0
  }
}

/// What encrypts the halves of rows, without a count: good as long as the description is kept that it is of.
@safe struct RowProtections: @unchecked Sendable {
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
