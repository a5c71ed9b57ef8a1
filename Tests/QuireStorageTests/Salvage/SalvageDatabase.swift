// Databases to be damaged and salvaged, with all that they hold and ever held.

import QuireStorage
import QuireTesting

/// A database at rest, what is in it, what ever was, and on which pages each entry depends.
struct SalvageDatabase {
  struct Key: Hashable {
    let tree: TreeID
    let key: [UInt8]
  }

  /// What an entry of the data file stands on.
  struct Footing {
    /// The leaf and the pages of a long value.
    var own: Set<UInt64> = []
    /// The pages above the leaf, up to the root.
    var above: Set<UInt64> = []
  }

  static let path = TinyDatabase.path
  private(set) var disk: SimulatedDisk
  let pageSize: Int
  private(set) var meta: MetaPage
  /// What readers find.
  private(set) var content: [Key: [UInt8]] = [:]
  private(set) var names: [TreeID: String] = [:]
  /// Each value that a key ever had.
  private(set) var history: [Key: Set<[UInt8]>] = [:]
  /// Keys that the log speaks of.
  private(set) var logged: Set<Key> = []
  /// Entries of the data file.
  private(set) var footings: [Key: Footing] = [:]
  private(set) var catalogPages: Set<UInt64> = []
  private(set) var freeMapPages: Set<UInt64> = []

  /// - Parameter isClosed: otherwise its process was killed, with the last changes in the log alone.
  init(seed: UInt64, isClosed: Bool, pageSize: Int = 1024, entryCount: Int = 300) throws {
    let tiny = TinyDatabase(pageSize: pageSize)
    let engine = try tiny.open(seed: seed)
    var random = SeededRandom(seed: seed)
    self.pageSize = pageSize
    disk = tiny.disk
    meta = MetaPage(pageSize: pageSize, databaseID: DatabaseID(high: 0, low: 0))
    let trees = try engine.write { tx in
      [try tx.createTree("texts", keys: .bytes), try tx.createTree("numbers", keys: .int64)]
    }
    try fillScratch(engine, [1, 2, 3, 4, 5])
    for round in 0..<5 {
      if round == 4 { try changeTrees(engine) }
      try change(engine, trees, &random, count: entryCount)
      if round < 4 || isClosed { try engine.checkpoint() }
      if round == 3 { logged = [] }
    }
    if isClosed {
      try engine.close()
      logged = []
      disk = tiny.disk.copy()
    } else {
      disk = tiny.disk.processKillImage()
    }
    meta = try Inspector(at: Self.path, fileSystem: disk).requireMeta()
    try readContent(tiny)
    try readPages()
  }

  private mutating func change(
    _ engine: StorageEngine, _ trees: [Tree], _ random: inout SeededRandom, count: Int
  ) throws {
    for _ in 0..<4 {
      var changed: [(Key, [UInt8]?)] = []
      try engine.write { tx in
        for _ in 0..<(count / 4) {
          let number = random.below(3 * count)
          let isText = random.oneIn(2)
          let length = random.oneIn(25) ? pageSize * (1 + random.below(4)) + 9 : random.below(70)
          let start = UInt8(truncatingIfNeeded: random.next())
          let value = (0..<length).map { start &+ UInt8(truncatingIfNeeded: $0 &* 7) }
          let isGone = random.oneIn(4)
          if random.oneIn(40) {
            // Whatever was logged of these keys before goes, and is no part of the content then.
            let key = Int64(number - count)
            _ = try tx.deleteRange(key..<(key + 12), in: trees[1])
          } else if isText {
            let text = "a common prefix/\(number)"
            if isGone { _ = try tx.delete(text, in: trees[0]) } else { try tx.put(value, for: text, in: trees[0]) }
            changed.append((Key(tree: trees[0].id, key: Array(text.utf8)), isGone ? nil : value))
          } else {
            let key = Int64(number - count)
            if isGone { _ = try tx.delete(key, in: trees[1]) } else { try tx.put(value, for: key, in: trees[1]) }
            changed.append((Key(tree: trees[1].id, key: Self.bytes(key)), isGone ? nil : value))
          }
        }
      }
      for (key, value) in changed {
        logged.insert(key)
        if let value { history[key, default: []].insert(value) }
      }
    }
  }

  /// Two small trees.
  private mutating func fillScratch(_ engine: StorageEngine, _ numbers: [UInt8]) throws {
    var changed: [(Key, [UInt8])] = []
    try engine.write { tx in
      for name in ["scratch", "gone"] {
        let tree = try tx.tree(named: name) ?? tx.createTree(name, keys: .bytes)
        for number in numbers {
          try tx.put([number, number], for: [number], in: tree)
          changed.append((Key(tree: tree.id, key: [number]), [number, number]))
        }
      }
    }
    for (key, value) in changed {
      logged.insert(key)
      history[key, default: []].insert(value)
    }
  }

  /// Clears a tree, drops another and makes it anew.
  private mutating func changeTrees(_ engine: StorageEngine) throws {
    try engine.write { (tx) -> Void in
      if let scratch = tx.tree(named: "scratch") { _ = try tx.deleteAll(in: scratch) }
      if let gone = tx.tree(named: "gone") { try tx.dropTree(gone) }
    }
    try fillScratch(engine, [3, 7])
  }

  private static func bytes(_ key: Int64) -> [UInt8] { bytes(ordered: UInt64(bitPattern: key) ^ (1 << 63)) }

  private static func bytes(ordered: UInt64) -> [UInt8] { withUnsafeBytes(of: ordered.bigEndian) { Array($0) } }

  private mutating func readContent(_ tiny: TinyDatabase) throws {
    let engine = try tiny.open(disk.copy())
    let found = try DatabaseContent(of: engine, checksThoroughly: false)
    for (name, entries) in found.trees {
      guard let tree = try engine.read({ tx in tx.tree(named: name) }) else { continue }
      names[tree.id] = name
      for entry in entries { content[Key(tree: tree.id, key: entry.key)] = entry.value }
    }
  }

  private mutating func readPages() throws {
    let file = try disk.open(Self.path, .readOnly)
    defer { file.close() }
    let store = try PageStore(
      file: file, pageSize: pageSize, cacheSize: 32 * pageSize, checksumSeed: meta.databaseID.checksumSeed,
      pageCount: meta.pageCount)
    var parents: [UInt64: UInt64] = [:]
    var (found, catalog): ([Key: Footing], Set<UInt64>) = ([:], [])
    try CheckpointVerifier(store, meta, defectLimit: 1).run(look: { purpose, page in
      if purpose == .catalog { catalog.insert(page.pageNumber) }
      if purpose == .branch {
        for index in 0..<page.count { parents[page.references[index]] = page.pageNumber }
      }
      guard purpose == .leaf else { return }
      var above: Set<UInt64> = []
      var number = page.pageNumber
      while let parent = parents[number] {
        above.insert(parent)
        number = parent
      }
      for index in 0..<page.count {
        var footing = Footing(own: [page.pageNumber], above: above)
        let cell = page.leafCell(index)
        if cell.isExtent {
          let first = cell.extent.first.rawValue
          footing.own.formUnion(first..<(first + UInt64(cell.extent.layout(pageSize: pageSize).pageCount)))
        }
        let key = page.hasIntegerKeys ? Self.bytes(ordered: page.orderedKey(index)) : page.leafKeyBytes(index)
        found[Key(tree: TreeID(page.treeID), key: key)] = footing
      }
    })
    (footings, catalogPages) = (found, catalog)
    let map = FreeMapFile(store: store)
    _ = try map.load(meta.freeMap, pageCount: meta.pageCount)
    var pages: Set<UInt64> = []
    map.forEachPage { pages.insert($0.rawValue) }
    freeMapPages = pages
  }
}
