// AES-256-GCM around the values of a collection. In builds with the trait `Encryption`. The cipher, the derivation of
// keys and the random numbers are swift-crypto's; here is decided what goes into them.
//
// The key is one for each collection of each database, derived from the app's. The nonce is random, 96 bits: NIST SP
// 800-38D, 8.3, allows 2³² values under one key then, and so the bound is 2³² values stored in one collection. To
// count nonces instead would be wrong: a database that is restored from a backup would count the same numbers again. To
// derive a key for each row would lift the bound and take 3.4 µs more for each value, where encrypting takes 2.3.
//
// Authenticated with the value: way and form of storage, id of the key, id of the collection, half, and the row's key.
// The salt and the collection are in the derived key, too.

#if Encryption
  internal import Crypto
  #if canImport(FoundationEssentials)
    internal import FoundationEssentials
  #else
    internal import Foundation
  #endif

  /// Encrypts with the first of some keys, and decrypts with any.
  final class SealedRows: RowProtection, @unchecked Sendable {
    // Sendable: safe because nothing changes.
    private let materials: [KeyMaterial]

    init(_ materials: [KeyMaterial], acceptsPlain: Bool) {
      self.materials = materials
      super.init(acceptsPlain: acceptsPlain)
    }

    override var currentKeyID: UInt32 { materials[0].id }

    override func seal(_ value: UnsafeRawBufferPointer, _ place: SealingPlace, into bytes: inout [UInt8]) throws {
      try unsafe seal(value, place, AES.GCM.Nonce(), into: &bytes)
    }

    /// With a nonce that is given, for tests.
    func seal(
      _ value: UnsafeRawBufferPointer, _ place: SealingPlace, _ nonce: AES.GCM.Nonce, into bytes: inout [UInt8]
    ) throws {
      let material = materials[0]
      let box = try unsafe AES.GCM.seal(
        value, using: material.key(salt: place.salt, place.collection), nonce: nonce,
        authenticating: Self.boundData(material.id, place))
      bytes += SealedHeader.bytes(keyID: material.id)
      unsafe nonce.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: box.ciphertext)
      bytes.append(contentsOf: box.tag)
    }

    override func open(_ stored: UnsafeRawBufferPointer, _ place: SealingPlace) throws(SealError) -> [UInt8] {
      let header = try unsafe SealedHeader(stored)
      let cipherStart = SealedHeader.byteCount + SealedHeader.nonceByteCount
      let cipherEnd = stored.count - SealedHeader.authenticationByteCount
      let bound = Self.boundData(header.keyID, place)
      var isKnown = false
      for material in materials where material.id == header.keyID {
        isKnown = true
        let key = material.key(salt: place.salt, place.collection)
        let opened = try? unsafe AES.GCM.open(
          AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: UnsafeRawBufferPointer(rebasing: stored[SealedHeader.byteCount..<cipherStart])),
            ciphertext: UnsafeRawBufferPointer(rebasing: stored[cipherStart..<cipherEnd]),
            tag: UnsafeRawBufferPointer(rebasing: stored[cipherEnd...])),
          using: key, authenticating: bound)
        if let opened { return Array(opened) }
      }
      throw isKnown ? .notAuthentic : .missingKey(header.keyID)
    }

    /// What is authenticated beside the value.
    private static func boundData(_ keyID: UInt32, _ place: SealingPlace) -> [UInt8] {
      SealedHeader.bytes(keyID: keyID) + place.collection.rawValue.littleEndianBytes + [place.half.rawValue]
        + Array(place.key.utf8)
    }
  }

  extension RowCoder {
    /// The same coder with its values encrypted: AES-256-GCM, with a key that is derived for the collection.
    ///
    /// Each value is bound to its row: moved to another key, collection or database, or from the object to the
    /// metadata, it is refused, as is one that was changed in any bit. Values are hidden, and nothing else: keys, names
    /// of collections and fields, lengths and what extensions store are in the clear; see the guide “Encryption”.
    ///
    /// Values are compressed first, as the collection says, but never with a dictionary, which would hold pieces of
    /// them. A value takes 34 bytes more, about 2.5 µs more to store and 1.5 µs more to read.
    ///
    /// - Parameters:
    ///   - key: the key of all rows.
    ///   - acceptsPlain: whether rows that are not encrypted are read as well, as long as some are left from before
    ///     encryption. Whoever can write to the file can then put any row of his own there.
    public func encrypted(with key: EncryptionKey, acceptsPlain: Bool = false) -> Self {
      encrypted(with: key.ring, acceptsPlain: acceptsPlain)
    }

    /// The same with several keys: new rows get the current one, and those that have an older one are read with that.
    ///
    /// - Parameters:
    ///   - ring: the keys.
    ///   - acceptsPlain: as above.
    public func encrypted(with ring: KeyRing, acceptsPlain: Bool = false) -> Self {
      Self(self, upgrades: values.upgrades, protection: acceptsPlain ? ring.lenient : ring.strict)
    }
  }
#endif
