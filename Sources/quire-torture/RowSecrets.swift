// Rows that are encrypted, in builds with the trait `Encryption`; without it there are none.

import QuireDatabase
import QuireTesting

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The encrypted collection of a life, whose keys change.
///
/// Keys are numbered. Rows are stored with the newest one; those before it are known back to `oldest`, for rows that
/// have not been stored again since.
struct RowSecrets {
  /// How the title of each such row begins; no file may hold it.
  static let title = "what nobody may read in any file"

  #if Encryption
    static let isOn = true
  #else
    static let isOn = false
  #endif

  private(set) var newest: UInt8 = 1
  private var oldest: UInt8 = 1
  /// Whether rows are stored in the clear all the same: what a look at the files must notice.
  private let isPlain: Bool

  init(isPlain: Bool) { self.isPlain = isPlain }

  /// From the next row on, a new key is used.
  mutating func changeKey() {
    if newest < .max { newest += 1 }
  }

  /// All rows have the newest key: the others are forgotten, for good.
  mutating func forgetOlder() { oldest = newest }

  #if Encryption
    private var collection: RowCollection<TortureRow, NoMetadata> {
      get throws {
        let keys = try (oldest...newest).reversed().map { number in
          try EncryptionKey(bytes: [UInt8](repeating: number, count: 32))
        }
        let ring = KeyRing(current: keys[0], older: Array(keys.dropFirst()))
        let coder = isPlain ? RowCoder<TortureRow>.binary : .binary.encrypted(with: ring)
        return RowCollection("secrets", coder: coder, compression: .lz4(above: 4000))
      }
    }

    /// What a snapshot shows.
    func rows(_ tx: ReadTransaction) throws -> [String: TortureRow] {
      var rows: [String: TortureRow] = [:]
      for row in tx[try collection].rows { rows[row.key] = row.object }
      return rows
    }

    func set(_ row: TortureRow, for key: String, _ tx: WriteTransaction) throws {
      try tx[try collection].set(row, for: key)
    }

    func remove(_ key: String, _ tx: WriteTransaction) throws { try tx[try collection].remove(key) }

    /// Stores all rows with the newest key.
    func rewrite(_ db: Database) throws { try db.rewriteRows(of: try collection) }
  #else
    func rows(_ tx: ReadTransaction) throws -> [String: TortureRow] { [:] }
    func set(_ row: TortureRow, for key: String, _ tx: WriteTransaction) throws {}
    func remove(_ key: String, _ tx: WriteTransaction) throws {}
    func rewrite(_ db: Database) throws {}
  #endif

  /// Sees that no file has the beginning of a title in the clear.
  static func check(_ disk: SimulatedDisk) throws {
    guard isOn else { return }
    for name in disk.names {
      let isThere = disk.bytes(of: name)?.withUnsafeBytes { holds(title, $0) }
      if isThere == true { throw RowFinding("\(name) has an encrypted row in the clear") }
    }
  }

  private static func holds(_ text: String, _ bytes: UnsafeRawBufferPointer) -> Bool {
    let text = Array(text.utf8)
    var rest = bytes
    while rest.count >= text.count, let base = rest.baseAddress, let place = memchr(base, Int32(text[0]), rest.count) {
      rest = UnsafeRawBufferPointer(rebasing: rest[(UnsafeRawPointer(place) - base)...])
      if rest.starts(with: text) { return true }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst())
    }
    return false
  }
}
