// Small databases of objects: what inputs put entries into, below the objects and under right checksums.

import QuireDatabase
import QuireStorage
import QuireTesting

/// A closed database of songs on a disk of its own.
struct EntryBase: Sendable {
  static let path = "/db"
  static let pageSize = 1024
  static let options = Database.Options(
    durability: .relaxed, cacheSize: 2 << 20, pageSize: pageSize, logLimit: 64 << 10, maintainsWhenIdle: false)

  let disk: SimulatedDisk
  /// Whether indexes, a view and a relationship are registered.
  let hasExtensions: Bool
  /// The names of the trees that inputs may change, sorted.
  let treeNames: [String]

  /// Rows without anything over them.
  static let rows = Result { try EntryBase(hasExtensions: false, isCompressed: false) }
  /// Rows that were compressed with a dictionary.
  static let dictionaries = Result { try EntryBase(hasExtensions: false, isCompressed: true) }
  /// Rows with indexes, a view and a relationship.
  static let extensions = Result { try EntryBase(hasExtensions: true, isCompressed: false) }

  private init(hasExtensions: Bool, isCompressed: Bool) throws {
    self.hasExtensions = hasExtensions
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, Self.options)
    if hasExtensions { try DatabaseExercise.register(in: db) }
    if isCompressed {
      try Self.fillCompressed(db)
    } else {
      for start in stride(from: 0, to: 24, by: 8) {
        try db.write { tx in
          for number in start..<start + 8 {
            try tx[.songs].set(.numbered(number), metadata: Plays(count: number), for: "k\(number)")
          }
        }
      }
    }
    try db.close()
    self.disk = SimulatedDisk()
    for name in disk.names { self.disk.install(disk.bytes(of: name) ?? [], at: name) }
    let engine = try Self.open(self.disk.copy())
    treeNames = try engine.read { tx in tx.treeNames }
    try engine.close()
  }

  /// Enough rows for a dictionary, few of which stay.
  private static func fillCompressed(_ db: Database) throws {
    for start in stride(from: 0, to: 2000, by: 500) {
      try db.write { tx in
        for number in start..<start + 500 {
          try tx[.notes].set(FuzzNote(number), metadata: "note \(number)", for: "n\(number)")
        }
      }
    }
    try db.write { tx in try tx[.notes].remove((0..<1980).lazy.map { "n\($0)" }) }
    try db.compact()
  }

  /// The engine under a database.
  static func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    let dice = SharedRandom(seed: 2)
    return try StorageEngine(
      at: path, options: StorageOptions(pageSize: pageSize, cacheSize: 2 << 20, logLimit: 64 << 10),
      environment: StorageEnvironment(
        fileSystem: disk, random: { dice.next() }, scheduling: .stepped, allowsTestPages: true,
        initialSegmentByteCount: 64 << 10))
  }
}

/// What an app keeps about a file: much the same from one to the next.
struct FuzzNote: Codable, Sendable, Equatable {
  var path: String
  var kind: String
  var comment: String

  init(_ number: Int) {
    path = "/usr/share/doc/item-\(number).data"
    kind = ["image/jpeg", "text/plain; charset=utf-8", "application/x-sharedlib"][number % 3]
    comment = "This file was indexed by the crawler on its run number \(number % 7) and has not changed since."
  }
}

extension RowCollection where Object == FuzzNote, Metadata == String {
  static var notes: Self { .init("notes", compression: .dictionary(above: 64)) }
}
