// Keys, as an app has them. In builds with the trait `Encryption`.

#if Encryption
  public import Crypto
  internal import QuireStorage
  internal import Synchronization

  /// A key that rows are encrypted with: 256 random bits.
  ///
  /// Where it is kept is the app's affair: in the keychain of the system, in a vault; never beside the database. Who
  /// loses it loses the rows.
  ///
  /// ```swift
  /// let key = try EncryptionKey(bytes: bytesFromTheKeychain)
  /// let songs = RowCollection<Song, NoMetadata>("songs", coder: .binary.encrypted(with: key))
  /// ```
  ///
  /// A value that costs nothing to copy, and may be used from any thread. It remembers what it has derived, so keep it
  /// for as long as the database is open instead of making it anew at each use.
  public struct EncryptionKey: Sendable, Equatable, CustomStringConvertible {
    let material: KeyMaterial
    /// The ring that has this key alone.
    let ring: KeyRing

    /// Takes a key of swift-crypto's.
    ///
    /// - Throws: `invalidOption` unless it has 256 bits.
    public init(_ key: SymmetricKey) throws(DatabaseError) {
      guard key.bitCount == 256 else {
        throw DatabaseError(
          .invalidOption, "A key has 256 bits; this has \(key.bitCount). Derive one from what you have, with HKDF.")
      }
      material = KeyMaterial(key)
      ring = KeyRing([material])
    }

    /// Takes the bytes of a key.
    ///
    /// - Throws: `invalidOption` unless there are 32.
    public init(bytes: [UInt8]) throws(DatabaseError) { try self.init(SymmetricKey(data: bytes)) }

    /// A new key, from the system's source of random numbers.
    public static func random() -> EncryptionKey { EncryptionKey(KeyMaterial(SymmetricKey(size: .bits256))) }

    private init(_ material: KeyMaterial) {
      self.material = material
      ring = KeyRing([material])
    }

    /// Which key it is: derived from the key, so that equal keys have one number and others, but once in four thousand
    /// million, have another. Stands in the clear with each row, and tells nothing of the key.
    public var id: UInt32 { material.id }

    /// Calls `body` with the bytes, to store them where keys are kept.
    public func withBytes<Result>(_ body: ([UInt8]) throws -> Result) rethrows -> Result {
      try body(unsafe material.key.withUnsafeBytes { unsafe Array($0) })
    }

    /// The number, and nothing of the key.
    public var description: String { "encryption key \(String(id, radix: 16))" }

    public static func == (left: Self, right: Self) -> Bool { left.material.key == right.material.key }
  }

  /// The keys of a coder: one that new rows are encrypted with, and older ones that rows may still need.
  ///
  /// ```swift
  /// let ring = KeyRing(current: newKey, older: [oldKey])
  /// let songs = RowCollection<Song, NoMetadata>("songs", coder: .binary.encrypted(with: ring))
  /// try await db.rewriteRows(of: songs)  // afterwards nothing needs oldKey any more
  /// ```
  public final class KeyRing: Sendable {
    let materials: [KeyMaterial]
    let strict: SealedRows
    let lenient: SealedRows

    /// A ring of one key for new rows, and of others for rows that are there.
    public convenience init(current: EncryptionKey, older: [EncryptionKey] = []) {
      self.init([current.material] + older.map(\.material))
    }

    /// The first one is the current one.
    init(_ materials: [KeyMaterial]) {
      self.materials = materials
      strict = SealedRows(materials, acceptsPlain: false)
      lenient = SealedRows(materials, acceptsPlain: true)
    }
  }

  /// A key, and what was derived from it.
  final class KeyMaterial: Sendable {
    let key: SymmetricKey
    let id: UInt32
    private let derived = Latch<[Scope: SymmetricKey]>([:])

    /// What a derived key is for.
    private struct Scope: Hashable {
      let salt: [UInt8]
      let collection: CollectionID
    }

    private static let mostDerived = 256

    init(_ key: SymmetricKey) {
      self.key = key
      let digest = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: key, info: Array("quire key id".utf8), outputByteCount: 4)
      id = unsafe digest.withUnsafeBytes { bytes in unsafe UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)) }
    }

    /// The key for the rows of a collection of a database: HKDF with SHA-256, the database's salt, and as information
    /// the text `quire rows 1` and the collection's id, four bytes little-endian.
    func key(salt: [UInt8], _ collection: CollectionID) -> SymmetricKey {
      let scope = Scope(salt: salt, collection: collection)
      if let known = derived.withLock({ $0[scope] }) { return known }
      let new = HKDF<SHA256>.deriveKey(
        inputKeyMaterial: key, salt: salt, info: Array("quire rows 1".utf8) + collection.rawValue.littleEndianBytes,
        outputByteCount: 32)
      derived.withLock { derived in
        if derived.count >= Self.mostDerived { derived.removeAll() }
        derived[scope] = new
      }
      return new
    }
  }
#endif
