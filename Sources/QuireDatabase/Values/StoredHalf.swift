// One half of a row without its type: its value, and what the file says of the coder that has written it.

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// One half of a row, read without its type, or made to be stored so.
public struct StoredHalf: Sendable {
  /// What the half says.
  public enum Content: Hashable, Sendable {
    /// A value of a form that is known.
    case value(RowValue)
    /// The bytes of a custom coder of the app's, which alone knows what they mean.
    case custom([UInt8])
    /// It is encrypted with the key of this number.
    case encrypted(key: UInt32)
  }

  /// What it says.
  public let content: Content
  /// How many upgrades the coder had that has written it: the value is as it was then. Of a coder of timestamps, bytes
  /// or an app's own form those versions are binary ones that it upgrades from, which the file does not tell but for 0.
  public let version: Int
  /// The kind of the coder that has written it; nil where the file does not note it.
  public let coder: CoderKind?
  /// The bytes that its coder has made of it, with the version; nil if they are not known, or encrypted.
  ///
  /// A value has more than one form in bytes: names of fields by number or spelled out, spaces in JSON. What is stored
  /// with its bytes gets these very ones, if they say the same in the collection that they are stored in.
  public let encoded: [UInt8]?

  /// The value, if it is of a form that is known.
  public var value: RowValue? { if case .value(let value) = content { value } else { nil } }

  /// A half that says `content`, to be stored by ``WritableValues``.
  ///
  /// - Parameters:
  ///   - content: what it says; something encrypted cannot be stored.
  ///   - version: how many upgrades the coder has that reads it.
  ///   - coder: the kind of the coder that reads it.
  ///   - encoded: the bytes that such a coder has made of it, if they are known.
  public init(_ content: Content, version: Int = 0, coder: CoderKind? = .binary, encoded: [UInt8]? = nil) {
    self.content = content
    self.version = version
    self.coder = coder
    self.encoded = encoded
  }
}

extension StoredHalf: Hashable {
  /// Whether content, version and coder are the same; the bytes may differ that they are stored as.
  public static func == (left: Self, right: Self) -> Bool {
    left.content == right.content && left.version == right.version && left.coder == right.coder
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(content)
    hasher.combine(version)
    hasher.combine(coder)
  }
}

/// The kinds of coders, as the file notes them for each collection.
public enum CoderKind: String, Hashable, Sendable, CaseIterable {
  /// Of ``RowCoder/binary``.
  case binary
  /// Of ``RowCoder/json``.
  case json = "JSON"
  /// Of ``RowCoder/propertyList``.
  case propertyList = "property list"
  /// Of ``RowCoder/timestamp``.
  case timestamp
  /// Of `RowCoder.bytes`.
  case bytes
  /// Of closures of the app's.
  case custom

  /// Of what has written a half; nil if that is not known.
  init?(_ coder: StoredCoder) {
    guard let kind = coder.kind else { return nil }
    self.init(kind)
  }

  init(_ kind: CoderIdentity.Kind) {
    self =
      switch kind {
      case .binary: .binary
      case .json: .json
      case .propertyList: .propertyList
      case .timestamp: .timestamp
      case .bytes: .bytes
      case .custom: .custom
      }
  }

  var identity: CoderIdentity.Kind {
    switch self {
    case .binary: .binary
    case .json: .json
    case .propertyList: .propertyList
    case .timestamp: .timestamp
    case .bytes: .bytes
    case .custom: .custom
    }
  }
}

// MARK: Reading

extension StoredHalf {
  /// Reads a half that a coder of this kind has written.
  init(_ bytes: [UInt8], _ coder: StoredCoder, _ context: RowCodingContext) throws {
    guard let noted = coder.kind else {
      let binary = StoredCoder(.binary, hasUpgrades: false)
      self =
        (try? StoredHalf(bytes, binary, context)) ?? StoredHalf(.value(.bytes(bytes)), coder: nil, encoded: bytes)
      return
    }
    let (version, start) = try unsafe bytes.withUnsafeBytes {
      try unsafe readVersion(of: $0, noted, hasVersions: coder.hasVersions)
    }
    // A coder that got upgrades as it took the place of a binary one: what that has written is of no version.
    let kind = coder.hasVersions && version == 0 ? .binary : noted
    let content = try unsafe bytes.withUnsafeBytes { bytes in
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
      // An older version of such a coder's rows is one of a binary coder, of a type that nobody knows here.
      if kind == .timestamp, version > 0, rest.count != 8 { return unsafe Content.custom([UInt8](rest)) }
      return try unsafe Self.content(of: rest, kind, context)
    }
    self.init(content, version: version, coder: CoderKind(kind), encoded: bytes)
  }

  /// Throws if `init` does for these bytes. Rows of the binary form are looked at where they stand.
  static func check(_ bytes: UnsafeRawBufferPointer, _ coder: StoredCoder, _ context: RowCodingContext) throws {
    if coder.kind == .binary {
      let (_, start) = try unsafe readVersion(of: bytes, .binary, hasVersions: coder.hasVersions)
      let row = unsafe ValueReader(UnsafeRawBufferPointer(rebasing: bytes[start...]))
      if row.isPlainRow(nameCount: context.fieldNameCount) { return }
    }
    _ = try unsafe StoredHalf([UInt8](bytes), coder, context)
  }

  private static func content(
    of bytes: UnsafeRawBufferPointer, _ kind: CoderIdentity.Kind, _ context: RowCodingContext
  ) throws -> Content {
    switch kind {
    case .binary: return .value(try unsafe context.decodeBinary(RowValue.self, bytes))
    case .json: return .value(try unsafe RowValue(jsonDocument: bytes))
    case .propertyList:
      try unsafe RowCodingContext.checkPropertyList(bytes)
      let decoder = PropertyListDecoder()
      decoder.userInfo[ValueBudget.key] = ValueBudget(byteCount: bytes.count)
      return .value(try unsafe decoder.decode(RowValue.self, from: Data(bytes)))
    case .timestamp: return .value(.date(try unsafe RowForm.timestamp(bytes)))
    case .bytes: return unsafe .value(.bytes([UInt8](bytes)))
    case .custom: return unsafe .custom([UInt8](bytes))
    }
  }
}

// MARK: Writing

extension StoredHalf {
  /// The most upgrades that a coder has.
  private static let mostUpgrades = 1 << 28

  /// The bytes that a coder of the kind that the collection has makes of it: those that are known, if they say the same
  /// here, or else new ones.
  ///
  /// - Parameter hasFixedNames: whether the collection gets no names of fields that it does not have.
  /// - Throws: ``StoredHalfError``, and what coders throw.
  func bytes(_ noted: StoredCoder, _ context: RowCodingContext, hasFixedNames: Bool) throws -> [UInt8] {
    try check(noted)
    if let encoded, let read = try? StoredHalf(encoded, noted, context), read == self { return encoded }
    return try newBytes(noted, context, hasFixedNames: hasFixedNames)
  }

  /// The bytes that are made of the content alone.
  func newBytes(_ noted: StoredCoder, _ context: RowCodingContext, hasFixedNames: Bool) throws -> [UInt8] {
    var bytes: [UInt8] = []
    guard let coder else { return try raw() }
    appendVersion(version, coder.identity, hasVersions: noted.hasVersions, to: &bytes)
    switch coder {
    case .binary:
      // A binary row says its version by itself, and where another kind has come after it, in the same way.
      bytes.removeAll()
      appendVersion(version, .binary, hasVersions: true, to: &bytes)
      try context.withNames(fixed: hasFixedNames) {
        try unsafe context.encodeBinary(try known()) { unsafe bytes.append(contentsOf: $0) }
      }
    case .json: try known().appendJSON(to: &bytes)
    case .propertyList: bytes.append(contentsOf: try context.encodePropertyList(try known()))
    case .timestamp:
      if case .custom(let old) = content, version > 0 { return bytes + old }
      guard case .date(let date) = try known() else { throw StoredHalfError.kind(coder, try known().kind) }
      bytes += date.seconds.bitPattern.littleEndianBytes
    case .bytes, .custom: bytes += try raw()
    }
    return bytes
  }

  /// Throws unless a coder of the kind that the collection has reads the half.
  private func check(_ noted: StoredCoder) throws(StoredHalfError) {
    if case .encrypted(let key) = content { throw .encrypted(key) }
    guard (0...Self.mostUpgrades).contains(version) else { throw .version(version) }
    guard let coder else {
      if version != 0 || noted.kind != nil { throw .otherCoder(nil, noted) }
      return
    }
    let isBefore = noted.hasVersions && coder == .binary && version == 0
    // What is not noted is read as binary.
    if noted.kind ?? .binary != coder.identity, !isBefore { throw .otherCoder(coder, noted) }
    if version > 0, !StoredCoder.tellsVersions(coder.identity), !noted.hasVersions { throw .noVersions(coder) }
    if version == 0, noted.hasVersions, !isBefore { throw .noVersions(coder) }
  }

  private func known() throws(StoredHalfError) -> RowValue {
    guard let value else { throw .kind(coder, nil) }
    return value
  }

  /// The bytes of a half that is nothing but bytes.
  private func raw() throws(StoredHalfError) -> [UInt8] {
    switch content {
    case .custom(let bytes), .value(.bytes(let bytes)): return bytes
    default: throw .kind(coder, value?.kind)
    }
  }
}

/// Why a half cannot be stored in a collection.
enum StoredHalfError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It is encrypted with this key.
  case encrypted(UInt32)
  /// It is of another coder than the collection's.
  case otherCoder(CoderKind?, StoredCoder)
  /// The version is one that rows of the collection cannot have.
  case version(Int)
  /// Rows of this coder have no versions, or all have one.
  case noVersions(CoderKind)
  /// A value of this kind is none that the coder stores.
  case kind(CoderKind?, RowValue.Kind?)

  /// What is wrong, and what helps.
  var description: String {
    switch self {
    case .encrypted(let key):
      """
      It is encrypted with key \(key), and nobody without the key can store it elsewhere. Read it in a program that \
      has the key, through `RowCollection<RowValue, RowValue>` with `encrypted(with:)`, and store it there in the same \
      way.
      """
    case .otherCoder(let coder, let noted):
      """
      It is of a coder of another kind (\(coder?.rawValue ?? "unknown")) than the collection has \
      (\(noted.description)). Store it in another collection, or with the collection's coder.
      """
    case .version(let version): "A coder cannot have \(version) upgrades."
    case .noVersions(let coder):
      """
      Rows of a \(coder.rawValue) coder say a version if it has upgrades, and else none. Say what the collection's \
      notes say of that.
      """
    case .kind(let coder, let kind):
      """
      A value of the kind \(kind?.rawValue ?? "bytes of a custom coder") is none that a coder stores which \
      is \(coder?.rawValue ?? "unknown").
      """
    }
  }
}
