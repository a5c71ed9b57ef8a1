// The listings of “Encryption”, `EncryptionKey` and `KeyRing`.

#if Encryption
  import Quire

  private struct Song: Codable, Sendable { var title: String }
  private struct PlayState: Codable, Sendable { var plays: Int }

  enum EncryptionListings {
    static func encrypt(_ bytesFromTheKeychain: [UInt8]) throws -> String {
      let key = try EncryptionKey(bytes: bytesFromTheKeychain)  // 32 random bytes; EncryptionKey.random() makes them
      let songs = RowCollection<Song, PlayState>(
        "songs", coder: .binary.encrypted(with: key), metadataCoder: .binary.encrypted(with: key))
      return songs.name
    }

    static func encryptObjects(_ bytesFromTheKeychain: [UInt8]) throws -> String {
      let key = try EncryptionKey(bytes: bytesFromTheKeychain)
      let songs = RowCollection<Song, NoMetadata>("songs", coder: .binary.encrypted(with: key))
      return songs.name
    }

    static func rotate(_ db: Database, _ oldKey: EncryptionKey, _ newKey: EncryptionKey) async throws {
      let ring = KeyRing(current: newKey, older: [oldKey])
      let songs = RowCollection<Song, PlayState>(
        "songs", coder: .binary.encrypted(with: ring), metadataCoder: .binary.encrypted(with: ring))
      try await db.rewriteRows(of: songs) { progress in print(progress.fraction) }
      // Nothing in this collection needs oldKey any more, also not after a power cut: it may be forgotten.
    }

    static func rotateObjects(_ db: Database, _ oldKey: EncryptionKey, _ newKey: EncryptionKey) async throws {
      let ring = KeyRing(current: newKey, older: [oldKey])
      let songs = RowCollection<Song, NoMetadata>("songs", coder: .binary.encrypted(with: ring))
      try await db.rewriteRows(of: songs)  // afterwards nothing needs oldKey any more
    }

    static func migrate(_ db: Database, _ key: EncryptionKey) async throws {
      let migrating = RowCollection<Song, NoMetadata>("songs", coder: .binary.encrypted(with: key, acceptsPlain: true))
      try await db.rewriteRows(of: migrating)
    }
  }
#endif
