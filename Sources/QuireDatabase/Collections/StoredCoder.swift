// The kind of a coder, as it is noted in the file beside the collection's names of fields.

/// What has written one half, objects or metadata, of a collection's rows.
///
///     bits 0 to 3   the kind of the coder
///     bit 4         whether rows of a kind that has no versions begin with the number of upgrades all the same
///
/// These numbers are in files: never change one.
struct StoredCoder: Hashable {
  let rawValue: UInt8

  private static let kinds: [CoderIdentity.Kind] = [.binary, .json, .propertyList, .timestamp, .bytes, .custom]
  private static let versionBit: UInt8 = 16
  /// Nobody knows: of files in which it was not noted, and of metadata that are not there.
  static let unknown = StoredCoder(checked: 0)

  private init(checked rawValue: UInt8) { self.rawValue = rawValue }

  /// A byte from a file; nil if it is none.
  init?(rawValue: UInt8) {
    guard rawValue & 15 <= Self.kinds.count, rawValue < 32, rawValue != Self.versionBit else { return nil }
    self.rawValue = rawValue
  }

  init(_ identity: CoderIdentity) { self.init(identity.kind, hasUpgrades: identity.upgradeCount > 0) }

  /// A coder of a kind.
  init(_ kind: CoderIdentity.Kind, hasUpgrades: Bool) {
    let number = UInt8(Self.kinds.firstIndex(of: kind) ?? 0) + 1
    let hasVersions = hasUpgrades && !Self.tellsVersions(kind)
    self.init(checked: number | (hasVersions ? Self.versionBit : 0))
  }

  var kind: CoderIdentity.Kind? { rawValue & 15 == 0 ? nil : Self.kinds[Int(rawValue & 15) - 1] }
  /// Whether rows of a kind that has no versions begin with one all the same.
  var hasVersions: Bool { rawValue & Self.versionBit != 0 }

  /// Whether a row of this kind says by itself how many upgrades its coder had.
  static func tellsVersions(_ kind: CoderIdentity.Kind) -> Bool {
    switch kind {
    case .binary, .json, .propertyList: true
    case .timestamp, .bytes, .custom: false
    }
  }

  /// Whether a coder of this kind can read what `stored` has written, as far as kinds tell: its own rows, and, with
  /// upgrades that are for these, those of a binary coder.
  func reads(_ stored: StoredCoder) -> Bool {
    if self == stored || self == .unknown || stored == .unknown { return true }
    return hasVersions && stored.kind == .binary
  }

  /// Such as «bytes with upgrades».
  var description: String {
    guard let kind else { return "unknown" }
    return hasVersions ? "\(kind.rawValue) with upgrades" : kind.rawValue
  }
}

/// What has written the halves of a collection's rows.
struct StoredCoders: Hashable {
  var object = StoredCoder.unknown
  var metadata = StoredCoder.unknown

  init() {}

  init(object: StoredCoder, metadata: StoredCoder) {
    self.object = object
    self.metadata = metadata
  }

  init(_ collection: UntypedCollection, metadata type: any Sendable.Type) {
    object = StoredCoder(collection.objects.identity)
    // A collection without metadata has written none, and a later version may choose any coder for them.
    metadata = type == NoMetadata.self ? .unknown : StoredCoder(collection.metadata.identity)
  }

  /// What is known once `newer` coders have written some halves of rows as well. Nothing is known less than before.
  func joined(with newer: StoredCoders, _ halves: RowHalves) -> StoredCoders {
    StoredCoders(
      object: halves.contains(.object) && newer.object != .unknown ? newer.object : object,
      metadata: halves.contains(.metadata) && newer.metadata != .unknown ? newer.metadata : metadata)
  }

  /// Whether these can read what `stored` have written.
  func read(_ stored: StoredCoders) -> Bool { object.reads(stored.object) && metadata.reads(stored.metadata) }

  /// Throws `collectionMismatch`, which names both, if `used` coders cannot read what these have written.
  func check(readBy used: StoredCoders, _ name: String) throws(DatabaseError) {
    try check(object, used.object, "objects", name)
    try check(metadata, used.metadata, "metadata", name)
  }

  private func check(
    _ stored: StoredCoder, _ used: StoredCoder, _ what: String, _ name: String
  ) throws(DatabaseError) {
    if used.reads(stored) { return }
    let canUpgrade = stored.kind == .binary && used.kind.map(StoredCoder.tellsVersions) == false
    let remedy = canUpgrade ? ", give the new one `upgrading(from:)`, which reads binary rows," : ""
    throw DatabaseError(
      .collectionMismatch,
      """
      The \(what) of the collection are stored by a coder of another kind: \(stored.description); it was opened with \
      \(used.description). Open it with the coder that has written it\(remedy) or store the rows anew in another \
      collection.
      """, collection: name)
  }
}
