// A coder for code that does not know the type of its values: the form of these, their versions, and what encrypts
// them.

internal import QuireStorage

/// What a `RowCoder` says.
@safe @usableFromInline struct ValueCoder: Sendable {
  @usableFromInline let form: RowForm
  /// The closures of a custom form.
  @usableFromInline let closures: CustomCoder?
  /// How older rows are read; nil for the many coders that know of none.
  @usableFromInline let upgrades: UpgradeChain?
  /// What encrypts the values; nil for the many coders that do not.
  @usableFromInline let protection: RowProtection?
  /// What encoders and decoders tell the values; nil for the many coders that tell nothing.
  @usableFromInline var userInfo: CoderUserInfo?

  @inlinable @inline(__always)
  init(_ form: RowForm, _ closures: CustomCoder?, _ upgrades: UpgradeChain?, _ protection: RowProtection?) {
    self.form = form
    self.closures = closures
    self.upgrades = upgrades
    self.protection = protection
    userInfo = nil
  }

  /// Whether there is nothing behind the form.
  @inlinable @inline(__always) var isPlain: Bool {
    closures == nil && upgrades == nil && protection == nil && userInfo == nil
  }

  /// Whether the values are of `type`.
  func isCoder(of type: Any.Type) -> Bool {
    form.isForm(of: type) && (upgrades.map { $0.valueType == type } ?? true)
  }

  /// What tells this coder from others, as far as can be told.
  var identity: CoderIdentity { CoderIdentity(form.kind, upgrades, isEncrypted: protection != nil) }

  /// Appends the bytes of the value at `value` to `bytes`. On an error, `bytes` is as it was.
  func encode(
    _ value: UnsafeRawPointer, into bytes: inout [UInt8], _ context: RowCodingContext, _ key: String
  ) throws {
    let start = bytes.count
    appendVersion(upgrades?.count ?? 0, form.kind, hasVersions: upgrades != nil, to: &bytes)
    do { try unsafe form.encode(value, into: &bytes, context, key) } catch {
      bytes.removeLast(bytes.count - start)
      throw error
    }
  }

  /// Makes the value of `bytes`, which may be any, at `place`, where there is none; on an error there is none
  /// afterwards.
  func decode(
    _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String, into place: UnsafeMutableRawPointer
  ) throws {
    if upgrades == nil {
      // What nearly all rows are, with one look at the form.
      switch form {
      case .timestamp, .bytes, .data, .custom: return try unsafe form.decode(bytes, context, key, into: place)
      case .binary:
        if unsafe bytes.first == 0 {
          return try unsafe form.decode(.init(rebasing: bytes[1...]), context, key, into: place)
        }
      case .json, .propertyList:
        if unsafe bytes.first != 0 { return try unsafe form.decode(bytes, context, key, into: place) }
      }
    }
    try unsafe decodeVersioned(bytes, context, key, into: place)
  }

  // MARK: Versions

  /// Makes the value of a row that is not simply of the first version.
  @inline(never)
  private func decodeVersioned(
    _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String, into place: UnsafeMutableRawPointer
  ) throws {
    let (version, start) = unsafe try version(of: bytes)
    let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
    let known = upgrades?.count ?? 0
    if version == known { return try unsafe form.decode(rest, context, key, into: place) }
    guard let upgrades, version < known else { throw RowFormError.newerVersion(version, known: known) }
    try unsafe upgrades.decode(version, rest, context, key, into: place)
  }

  /// Whether `bytes` were written by a coder with as many upgrades as this one has. Constant time.
  ///
  /// - Throws: `RowFormError` if the bytes are of no version that this coder knows.
  func isOfThisVersion(_ bytes: UnsafeRawBufferPointer) throws -> Bool {
    let version = unsafe try version(of: bytes).version
    let known = upgrades?.count ?? 0
    if version > known { throw RowFormError.newerVersion(version, known: known) }
    return version == known
  }

  /// How many upgrades the coder had that wrote `bytes`, and where the value begins.
  private func version(of bytes: UnsafeRawBufferPointer) throws -> (version: Int, start: Int) {
    unsafe try readVersion(of: bytes, form.kind, hasVersions: upgrades != nil)
  }
}

/// Appends what stands before a value: how many upgrades its coder has.
///
/// - Parameter hasVersions: whether bytes of a kind that tells no versions begin with one all the same.
@inline(__always)
func appendVersion(_ version: Int, _ kind: CoderIdentity.Kind, hasVersions: Bool, to bytes: inout [UInt8]) {
  switch kind {
  case .binary: break
  case .json, .propertyList:
    if version == 0 { return }
    bytes.append(0)
  case .timestamp, .bytes, .custom:
    if !hasVersions { return }
  }
  Varint.append(UInt64(truncatingIfNeeded: version), to: &bytes)
}

/// How many upgrades the coder had that wrote `bytes`, and where the value begins.
///
/// - Parameter hasVersions: whether bytes of a kind that tells no versions begin with one all the same.
func readVersion(
  of bytes: UnsafeRawBufferPointer, _ kind: CoderIdentity.Kind, hasVersions: Bool
) throws -> (version: Int, start: Int) {
  var offset = 0
  switch kind {
  case .binary:
    if let first = unsafe bytes.first, first < 0x80 { return (Int(first), 1) }
  case .json, .propertyList:
    guard unsafe bytes.first == 0 else { return (0, 0) }
    offset = 1
  case .timestamp, .bytes, .custom:
    if !hasVersions { return (0, 0) }
  }
  guard let version = unsafe ValueReader(bytes).varint(at: &offset, limit: bytes.count) else {
    throw RowFormError.malformedVersion
  }
  return (Int(version), offset)
}

/// How rows of older types are read, for code that does not know these types.
@usableFromInline class UpgradeChain: @unchecked Sendable {
  // Sendable: safe because nothing changes here, and what inherits holds closures that are `Sendable`.
  /// How many links there are.
  let count: Int
  let newestOldType: ObjectIdentifier
  /// The type of the values that upgrades make.
  var valueType: Any.Type { preconditionFailure("only what inherits is ever made") }

  init(count: Int, newestOldType: ObjectIdentifier) {
    self.count = count
    self.newestOldType = newestOldType
  }

  /// Makes the value of a row that was written when there were `version` links, as `ValueCoder.decode`.
  func decode(
    _ version: Int, _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String,
    into place: UnsafeMutableRawPointer
  ) throws { preconditionFailure("only what inherits is ever made") }
}

/// The upgrades with their types, oldest first: link n reads what was written when there were n links.
@safe final class TypedUpgradeChain<Value>: UpgradeChain, @unchecked Sendable {
  // Sendable: safe because the links are.
  private typealias Link = @Sendable (UnsafeRawBufferPointer, RowCodingContext, _ key: String) throws -> Value
  private let links: [Link]

  /// `older` and one link more.
  init<Old: Codable & Sendable>(
    _ older: TypedUpgradeChain?, oldForm: RowForm, _ upgrade: @escaping @Sendable (Old) throws -> Value
  ) {
    assert(oldForm.isForm(of: Old.self), "an upgrade reads another type than its form has")
    let link: Link = { bytes, context, key in
      try unsafe withUnsafeTemporaryAllocation(of: Old.self, capacity: 1) { room in
        guard let place = room.baseAddress else { preconditionFailure("there is no room for a value") }
        try unsafe oldForm.decode(bytes, context, key, into: UnsafeMutableRawPointer(place))
        return try unsafe upgrade(place.move())
      }
    }
    unsafe links = (older?.links ?? []) + [link]
    unsafe super.init(count: links.count, newestOldType: ObjectIdentifier(Old.self))
  }

  override var valueType: Any.Type { Value.self }

  override func decode(
    _ version: Int, _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String,
    into place: UnsafeMutableRawPointer
  ) throws {
    unsafe place.initializeMemory(as: Value.self, to: try links[version](bytes, context, key))
  }
}
