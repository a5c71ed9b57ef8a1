// Small databases of every kind, without objects: what inputs change.

import QuireStorage
import QuireTesting

/// A database with small pages on a disk of its own.
struct FileBase: Sendable {
  static let pageSize = 512

  let name: String
  let disk: SimulatedDisk
  /// The data file, without what was allocated in advance.
  let data: [UInt8]
  /// Its newest meta page.
  let meta: MetaPage

  /// All of them, made once.
  static let all = Result { try makeAll() }

  private init(_ name: String, _ disk: SimulatedDisk) throws {
    self.name = name
    guard let (_, meta) = try Inspector(at: TinyDatabase.path, fileSystem: disk).newest,
      let data = disk.bytes(of: TinyDatabase.path)
    else { throw Finding("the base \(name) has no meta page") }
    self.meta = meta
    self.data = Array(data.prefix(Int(meta.pageCount) * Self.pageSize))
    self.disk = SimulatedDisk()
    for name in disk.names { self.disk.install(disk.bytes(of: name) ?? [], at: name) }
    self.disk.install(self.data, at: TinyDatabase.path)
  }

  /// A closed database that `fill` has written to.
  private static func closed(_ name: String, _ fill: (StorageEngine) throws -> Void) throws -> FileBase {
    let tiny = TinyDatabase(pageSize: pageSize)
    let engine = try tiny.open()
    try fill(engine)
    try engine.close()
    return try FileBase(name, tiny.disk)
  }

  /// What a killed process leaves of a database that `fill` has written to.
  private static func killed(_ name: String, _ fill: (StorageEngine) throws -> Void) throws -> FileBase {
    let tiny = TinyDatabase(pageSize: pageSize)
    let engine = try tiny.open()
    try fill(engine)
    return try FileBase(name, tiny.disk.processKillImage())
  }

  private static func makeAll() throws -> [FileBase] {
    [
      try closed("empty") { _ in },
      try closed("one-entry") { engine in
        try engine.write { tx in try tx.put("hello", for: "world", in: tx.createTree("greetings", keys: .bytes)) }
      },
      try closed("levels") { engine in
        try TinyDatabase.fill(engine, count: 96)
        try engine.checkpoint()
        try TinyDatabase.fill(engine, count: 40, seed: 9)
      },
      try closed("long-values") { engine in try TinyDatabase.fill(engine, count: 24, longOneIn: 6) },
      try closed("uniform") { engine in try TinyDatabase.fill(engine, count: 96, isUniform: true) },
      try closed("holes") { engine in
        try TinyDatabase.fill(engine, count: 64)
        try engine.checkpoint()
        try engine.write { tx in
          if let tree = tx.tree(named: "paths") { try tx.dropTree(tree) }
          if let tree = tx.tree(named: "numbers") { try tx.deleteRange(from: Int64(-20), to: Int64(60), in: tree) }
        }
      },
      try killed("killed") { engine in
        try TinyDatabase.fill(engine, count: 40)
        try engine.checkpoint()
        try TinyDatabase.fill(engine, count: 16, seed: 2)
      },
      try killed("killed-operations") { engine in
        try engine.checkpoint()
        try everyOperation(engine)
      },
    ]
  }

  /// Commits with every operation that a log has, and with a value of several pages.
  private static func everyOperation(_ engine: StorageEngine) throws {
    try TinyDatabase.fill(engine, count: 8, longOneIn: 8)
    try engine.write { tx in
      _ = try tx.allocateRowIDs(3)
      let doomed = try tx.createTree("doomed", keys: .int64)
      for key in 0..<6 as Range<Int64> { try tx.put("gone", for: key, in: doomed) }
    }
    try engine.write { tx in
      if let tree = tx.tree(named: "doomed") { try tx.deleteRange(from: Int64(1), to: Int64(3), in: tree) }
      if let tree = tx.tree(named: "texts") { try tx.deleteRange(from: "key1", to: "key2", in: tree) }
    }
    try engine.write { tx in if let tree = tx.tree(named: "doomed") { try tx.dropTree(tree) } }
    try engine.flush()
    try TinyDatabase.fill(engine, count: 8, seed: 4)
  }
}
