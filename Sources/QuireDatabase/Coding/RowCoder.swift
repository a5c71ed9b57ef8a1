// How the objects of a collection, or their metadata, become bytes and come back: what a program says about it.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Makes bytes of the values of a collection, and values of its bytes.
///
/// A collection has one coder for its objects and one for their metadata. A coder is a small value without state: it
/// can be made anew at each use at no cost, and used from any thread.
///
/// ```swift
/// let coder = RowCoder<Song>.binary.upgrading(from: SongV1.self) { old in Song(title: old.name, seconds: 0) }
/// ```
public struct RowCoder<Value>: Sendable {
  /// The same without the type, which it is of: what an app compiles for each type is no more than this.
  @usableFromInline let values: ValueCoder

  @inlinable init(_ form: RowForm) { values = ValueCoder(form, nil, nil, nil) }

  private init(_ closures: TypedCustomCoder<Value>) {
    values = unsafe ValueCoder(.custom(.passUnretained(closures)), closures, nil, nil)
  }

  init(_ coder: RowCoder, upgrades: UpgradeChain?, protection: RowProtection?) {
    var values = ValueCoder(coder.values.form, coder.values.closures, upgrades, protection)
    values.userInfo = coder.values.userInfo
    self.values = values
  }

  @inlinable @inline(__always) init(_ values: ValueCoder) { self.values = values }

  var form: RowForm { values.form }
  var protection: RowProtection? { values.protection }

  /// Codes by two closures of the program's own.
  ///
  /// Both may be called from any thread, and for several rows at once. `decode` gets bytes that it must not trust: they
  /// come from disk. An error that one of them throws fails the transaction with the collection and key in the error.
  ///
  /// - Parameters:
  ///   - encode: Returns the bytes of a value, as many as it likes up to 1 GiB.
  ///   - decode: Returns the value of bytes that are lent for the call, without a copy where possible.
  public init(
    encode: @escaping @Sendable (Value) throws -> [UInt8],
    decode: @escaping @Sendable (RawSpan) throws -> Value
  ) {
    self.init(
      TypedCustomCoder(encode: { value, _, _ in try encode(value) }, decode: { bytes, _, _ in try decode(bytes) }))
  }

  /// Codes by two closures of the program's own that are told of which row the value is: for forms that differ by
  /// collection or key, and for errors that name them.
  ///
  /// All else is as for ``init(encode:decode:)``. A row that is renamed or moved keeps its bytes: what is read of them
  /// must not depend on a name that is going to change.
  ///
  /// - Parameters:
  ///   - encodeAt: Returns the bytes of a value.
  ///   - decodeAt: Returns the value of bytes that are lent for the call.
  public init(
    encodeAt: @escaping @Sendable (Value, RowKey) throws -> [UInt8],
    decodeAt: @escaping @Sendable (RawSpan, RowKey) throws -> Value
  ) {
    self.init(
      TypedCustomCoder(
        encode: { value, collection, key in try encodeAt(value, RowKey(collection, key)) },
        decode: { bytes, collection, key in try decodeAt(bytes, RowKey(collection, key)) }))
  }

  /// Whether the bytes of a value depend on nothing but the value, so that they can be made beforehand, or by another
  /// program, for ``WritableRows/set(_:encoded:metadata:encodedMetadata:for:)``.
  ///
  /// They do for JSON, property lists, timestamps, bytes and custom coders without upgrades. ``binary`` numbers fields
  /// anew in each collection, and coders with upgrades put their version in front. Constant time.
  public var isSelfContained: Bool {
    if case .binary = form { return false }
    return values.upgrades == nil
  }

  /// Whether values are coded by closures of the program's own, so that what is read back may differ from what was
  /// stored. Constant time.
  public var isCustom: Bool { form.kind == .custom }

  /// Reads rows of an older type: `upgrade` makes them what they are today, each time such a row is read.
  ///
  /// Every row says how many upgrades the coder had that wrote it. So the first upgrade of a coder is for the rows that
  /// were written when it had none, the second one for those that were written when it had one, and so on: **append,
  /// and never remove or reorder** what a released program has had. Each upgrade leads straight to today's type.
  ///
  /// ```swift
  /// let coder = RowCoder<Song>.binary
  ///   .upgrading(from: SongV1.self) { old in Song(title: old.name, seconds: 0) }
  ///   .upgrading(from: SongV2.self) { old in Song(title: old.title, seconds: old.minutes * 60) }
  /// ```
  ///
  /// Old rows are read in the form of the coder, be that binary, JSON or property list. The other coders have no form
  /// for just any type: there, the old rows are those of a binary coder, so that a collection can change from that to a
  /// custom one. The kind of the coder stands in the file: one of these that has stored rows without upgrades cannot
  /// get any, as such rows do not say of which version they are, and is refused with `collectionMismatch`; let its
  /// closure tell them apart. A row is stored in today's form when it is next set. Fields that are only added or
  /// removed need no upgrade: see ``binary``.
  ///
  /// - Parameters:
  ///   - from: The type that rows had when the coder had as many upgrades as it now has.
  ///   - upgrade: Makes today's value; called from any thread. What it throws, reading the row throws.
  /// - Complexity: O(upgrades so far), and allocates.
  public func upgrading<Old: Codable & Sendable>(
    from: Old.Type,
    _ upgrade: @escaping @Sendable (Old) throws -> Value
  ) -> Self {
    let older = values.upgrades.map { unsafe unsafeDowncast($0, to: TypedUpgradeChain<Value>.self) }
    let chain = TypedUpgradeChain(older, oldForm: form.form(for: Old.self), upgrade)
    return Self(self, upgrades: chain, protection: protection)
  }

  /// What tells this coder from others, as far as can be told.
  package var identity: CoderIdentity { values.identity }

  /// Appends the bytes of `value` to `bytes`. On an error, `bytes` is as it was.
  package func encode(
    _ value: Value, into bytes: inout [UInt8], _ context: RowCodingContext, _ key: String = ""
  ) throws {
    try unsafe withUnsafePointer(to: value) { value in
      try unsafe values.encode(UnsafeRawPointer(value), into: &bytes, context, key)
    }
  }

  /// The value of `bytes`, which may be any.
  package func decode(
    _ bytes: UnsafeRawBufferPointer, _ context: RowCodingContext, _ key: String = ""
  ) throws -> Value {
    try unsafe withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { room in
      guard let place = room.baseAddress else { preconditionFailure("there is no room for a value") }
      try unsafe values.decode(bytes, context, key, into: UnsafeMutableRawPointer(place))
      return unsafe place.move()
    }
  }
}

extension RowCoder where Value: Codable & SendableMetatype {
  /// The compact form, and the default: fields are numbered, and their names are stored once for the collection.
  ///
  /// Fields may be added, removed and reordered between versions of a program; a field that a row does not have reads
  /// as nil where it is optional, and is an error that names it where it is not; a field that the type does not read is
  /// dropped when the row is stored again, see `Database.Options.unknownFields`. A field may change its type where
  /// nothing is lost, such as `Int32` to `Int`, or from `UUID` to `String`; a value that the new type cannot hold is an
  /// error. Of an optional of an optional, nil in nil comes back as nil. Up to 512 values can be inside one another.
  ///
  /// The encoders and decoders that a value gets, and their containers, are good until its `encode(to:)` or
  /// `init(from:)` returns, and must not be kept longer.
  ///
  /// - Complexity: O(bytes); allocates nothing but the value that is read.
  @inlinable public static var binary: Self { Self(.binary(Value.self)) }

  /// JSON as Foundation writes it, with sorted keys, dates as seconds since 2001 and data as Base64.
  ///
  /// Ten times slower than ``binary``, larger, and readable by everybody.
  @inlinable public static var json: Self { Self(.json(Value.self)) }

  /// A binary property list as Foundation writes it, and as YapDatabase's collections of `Codable` types have it.
  ///
  /// A value must be a structure, an array or a dictionary: Foundation refuses a bare number or text.
  @inlinable public static var propertyList: Self { Self(.propertyList(Value.self)) }
}

extension RowCoder where Value == Date {
  /// The date in 8 bytes, exactly: the bits of its seconds since 2001 as a `Double`, lowest byte first.
  @inlinable public static var timestamp: Self { Self(.timestamp) }
}

extension RowCoder where Value == [UInt8] {
  /// The bytes as they are.
  @inlinable public static var bytes: Self { Self(.bytes) }
}

extension RowCoder where Value == Data {
  /// The bytes as they are.
  @inlinable public static var bytes: Self { Self(.data) }
}

/// What tells two coders of one type apart, for the error that a collection was opened with two different ones.
///
/// Two custom coders count as equal, since closures cannot be compared.
package struct CoderIdentity: Equatable, Sendable, CustomStringConvertible {
  /// The forms that coders write.
  package enum Kind: String, Sendable {
    case binary
    case json = "JSON"
    case propertyList = "property list"
    case timestamp
    case bytes
    case custom
  }

  /// The form.
  package let kind: Kind
  /// How many upgrades it has.
  package let upgradeCount: Int
  /// Whether it encrypts. With which keys may differ: they are changed while a program runs.
  package let isEncrypted: Bool
  /// The type that the last upgrade reads.
  private let newestOldType: ObjectIdentifier?

  init(_ kind: Kind, _ upgrades: UpgradeChain?, isEncrypted: Bool) {
    self.kind = kind
    self.isEncrypted = isEncrypted
    upgradeCount = upgrades?.count ?? 0
    newestOldType = upgrades?.newestOldType
  }

  /// Such as «binary» or «JSON with 2 upgrades».
  package var description: String {
    let name = isEncrypted ? "encrypted \(kind.rawValue)" : kind.rawValue
    return switch upgradeCount {
    case 0: name
    case 1: "\(name) with 1 upgrade"
    default: "\(name) with \(upgradeCount) upgrades"
    }
  }
}
