// What stands between a coder's bytes and the row where a collection is encrypted. This part is in every build, so that
// one without the trait `Encryption` knows an encrypted value when it sees one.
//
// A stored value that is encrypted, in the place of the forms of `ValueCompression`:
//
//     byte 0         3
//     byte 1         how it is encrypted: 1, AES-256-GCM with a key for this collection of this database
//     bytes 2 to 5   which key is needed, little-endian
//     bytes 6 to 17  the nonce
//     then           the ciphertext of a value stored plain or compressed without a dictionary, and as long as that
//     last 16 bytes  the authentication tag

internal import QuireStorage

/// The halves of a row, as numbers that are part of what an encrypted value is bound to: never change one.
enum RowHalf: UInt8, Sendable {
  case object = 0
  case metadata = 1

  /// For messages.
  var name: String { self == .object ? "object" : "metadata" }
}

/// What an encrypted value is bound to: anywhere else it does not decrypt.
struct SealingPlace {
  /// Random bytes of the database, which its backups share.
  let salt: [UInt8]
  let collection: CollectionID
  let half: RowHalf
  let key: String
}

/// What stands before the ciphertext of a value.
struct SealedHeader {
  let keyID: UInt32

  static let tag: UInt8 = 3
  static let form: UInt8 = 1
  static let byteCount = 6
  static let nonceByteCount = 12
  static let authenticationByteCount = 16

  /// Reads the header of a value whose first byte is `tag`; the rest may be anything.
  init(_ stored: UnsafeRawBufferPointer) throws(SealError) {
    guard stored.count >= Self.byteCount + Self.nonceByteCount + 1 + Self.authenticationByteCount else {
      throw .malformed
    }
    guard unsafe stored[1] == Self.form else { throw .unknownForm(unsafe stored[1]) }
    keyID = unsafe UInt32(littleEndian: stored.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
  }

  /// The bytes of a header.
  static func bytes(keyID: UInt32) -> [UInt8] { [tag, form] + keyID.littleEndianBytes }

  /// Whether a stored value is encrypted.
  @inline(__always) static func isSealed(_ stored: UnsafeRawBufferPointer) -> Bool {
    unsafe stored.first == tag
  }
}

/// What can be wrong with a value that is to be decrypted.
enum SealError: Error, Hashable, Sendable {
  /// Too short for what every encrypted value has.
  case malformed
  /// Encrypted in a way that this version does not know.
  case unknownForm(UInt8)
  /// Encrypted with a key that is not there.
  case missingKey(UInt32)
  /// Changed, moved from elsewhere, or encrypted with another key of the same number.
  case notAuthentic
  /// Encrypted, but the coder has no keys at all.
  case notExpected(UInt32)
  /// Not encrypted, but the coder only takes what is.
  case notSealed

  /// The error that an app sees.
  func error(_ half: RowHalf, _ path: String, _ collection: String, _ key: String) -> DatabaseError {
    DatabaseError(code, message(half.name), path: path, collection: collection, key: key, cause: self)
  }

  private var code: DatabaseError.Code {
    switch self {
    case .malformed: .damagedRow
    case .unknownForm: .newerFormat
    case .missingKey, .notExpected: .missingKey
    case .notAuthentic: .notAuthentic
    case .notSealed: .notEncrypted
    }
  }

  private func message(_ half: String) -> String {
    switch self {
    case .malformed:
      "The encrypted \(half) of a row is cut off. Verify the database, and restore it from a backup."
    case .unknownForm(let form):
      "The \(half) of a row is encrypted in way \(form), which this version does not know. Use a newer one."
    case .missingKey(let id):
      """
      The \(half) of a row is encrypted with key \(hex(id)), which the coder does not have. Add that key to its key \
      ring.
      """
    case .notExpected(let id):
      """
      The \(half) of a row is encrypted with key \(hex(id)), but the coder of the collection does not decrypt. \
      Describe the collection with `encrypted(with:)`, in a build with the package trait Encryption.
      """
    case .notAuthentic:
      """
      The encrypted \(half) of a row is not what was stored there: it was changed, or moved from another row, \
      collection or database. Restore it from a backup.
      """
    case .notSealed:
      """
      The \(half) of a row is not encrypted, but its coder takes only what is. If rows from before encryption are to \
      be read, use `encrypted(with:acceptsPlain: true)`, and encrypt them with `rewriteRows(of:)`.
      """
    }
  }

  private func hex(_ id: UInt32) -> String {
    let digits = String(id, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}

/// What encrypts and decrypts the values of a coder. Made by the trait `Encryption`.
@usableFromInline class RowProtection: @unchecked Sendable {
  // Sendable: safe because nothing changes here, and what inherits guards what does there.
  /// Whether rows that are not encrypted are read as well.
  let acceptsPlain: Bool

  init(acceptsPlain: Bool) { self.acceptsPlain = acceptsPlain }

  /// The key for new values.
  var currentKeyID: UInt32 { 0 }

  /// Appends the encrypted form of `value`.
  func seal(_ value: UnsafeRawBufferPointer, _ place: SealingPlace, into bytes: inout [UInt8]) throws {
    preconditionFailure("only what inherits is ever made")
  }

  /// The value that was encrypted.
  func open(_ stored: UnsafeRawBufferPointer, _ place: SealingPlace) throws(SealError) -> [UInt8] {
    throw .malformed
  }
}
