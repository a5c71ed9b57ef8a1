// All there is to do with the files of a database below the objects, whatever they hold.

import QuireStorage
import QuireTesting

/// Opens files, reads, checks, writes, closes and opens them again.
///
/// Files that verify must do all of that without an error, and must show what was written, and nothing else, after they
/// were opened again. Of others each step may be refused.
struct StorageExercise {
  /// Trees by name, their entries by key.
  typealias Content = [String: [[UInt8]: [UInt8]]]

  let disk: SimulatedDisk
  var random: SeededRandom
  /// Whether everything verified before anything was written.
  private var isSound = false
  /// What is there, and must be; of files that do not verify what was seen last.
  private var content: Content = [:]
  /// Now and then files are opened as large ones are, to which transactions write before a walk over the free map has
  /// found what is wrong.
  private let provenAtOncePageCount: Int

  init(disk: SimulatedDisk, random: SeededRandom) {
    self.disk = disk
    self.random = random
    provenAtOncePageCount = self.random.oneIn(2) ? 0 : 4096
  }

  /// Does it all.
  mutating func run() throws {
    let isClean = try isClean(disk)
    guard let engine = try step("opening", { try open(disk) }) else { return }
    isSound = try step("verifying", { try engine.verify() }) != nil && isClean
    let found = try step("reading", isSound: isSound) { try DatabaseContent(of: engine) }
    content = found.map(Self.content) ?? [:]
    for round in 0..<2 {
      try write(engine)
      if round == 0 || random.oneIn(2) { try step("a checkpoint", isSound: isSound) { try engine.checkpoint() } }
      try compare(engine, "after transactions")
    }
    if random.oneIn(3) {
      try dropTree(engine)
      try step("a checkpoint", isSound: isSound) { try engine.checkpoint() }
      // Places that were given up are given out again, whoever else refers to them.
      try write(engine)
      try compare(engine, "after a tree was dropped")
    }
    if random.oneIn(4) { try step("compaction", isSound: isSound) { try engine.compact() } }
    try checkParts(engine)
    if random.oneIn(2) { try reopen(disk.processKillImage(), "after a kill") }
    let isClosed: Void? = try step("closing", isSound: isSound) { try engine.close() }
    if isClosed != nil { try reopen(disk, "after closing") }
  }

  // MARK: Opening

  /// Whether a check without an engine finds nothing.
  private func isClean(_ disk: SimulatedDisk) throws -> Bool {
    let defects = try step("inspecting") {
      try Inspector(at: TinyDatabase.path, fileSystem: disk).check(defectLimit: 5)
    }
    return defects?.isEmpty ?? false
  }

  private func open(_ disk: SimulatedDisk) throws -> StorageEngine {
    var tiny = TinyDatabase(disk, pageSize: FileBase.pageSize)
    tiny.options.cacheSize = 2 << 20
    tiny.provenAtOncePageCount = provenAtOncePageCount
    return try tiny.open()
  }

  /// Opens files that were written to, and holds them against what must be there.
  private func reopen(_ disk: SimulatedDisk, _ when: String) throws {
    guard let engine = try step("opening \(when)", isSound: isSound, { try open(disk) }) else { return }
    try compare(engine, when)
    try step("verifying \(when)", isSound: isSound) { _ = try engine.verify() }
    try step("closing \(when)", isSound: isSound) { try engine.close() }
    if isSound { try demand(try isClean(disk), "\(when), the closed file does not verify") }
  }

  // MARK: Comparing

  private static func content(_ found: DatabaseContent) -> Content {
    found.trees.mapValues { entries in
      Dictionary(entries.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
  }

  private func compare(_ engine: StorageEngine, _ when: String) throws {
    guard let found = try step("reading \(when)", isSound: isSound, { try DatabaseContent(of: engine) }), isSound
    else { return }
    let shown = Self.content(found)
    for name in Set(shown.keys).union(content.keys).sorted() where shown[name] != content[name] {
      throw Finding(
        "\(when), \(name) has \(shown[name]?.count ?? -1) entries and not the \(content[name]?.count ?? -1) expected")
    }
  }

  private func checkParts(_ engine: StorageEngine) throws {
    guard isSound else { return }
    let core = engine.core
    let broken = [
      core.store.pool.checkInvariants(), core.store.frames.checkInvariants(), core.allocator.checkInvariants(),
      try step("checking parts", isSound: true) { try core.checkInvariants() } ?? nil,
    ]
    for case let text? in broken { throw Finding("invariant: \(text)") }
  }

  // MARK: Writing

  /// A transaction that changes something in several trees, and makes one of its own.
  private mutating func write(_ engine: StorageEngine) throws {
    let isSound = isSound
    var (next, random) = (content, random)
    let isWritten: Void? = try step("a transaction", isSound: isSound) {
      try engine.write { tx in
        try Self.makeTree(tx, random.oneIn(2) ? .bytes : .int64)
        for name in tx.treeNames.prefix(4) + ["fuzz"] {
          guard let tree = tx.tree(named: name) else { continue }
          try Self.change(tx, tree, &next[name, default: [:]], &random, isSound: isSound)
        }
      }
    }
    if isWritten != nil { content = next }
    self.random = random
  }

  /// Makes the tree of the fuzzer's own if it is not there; a file may say that the ids of trees are used up.
  private static func makeTree(_ tx: borrowing WriteTransaction, _ keys: KeyKind) throws {
    if tx.tree(named: "fuzz") != nil { return }
    do { _ = try tx.createTree("fuzz", keys: keys) } catch let error where error.code == .limitReached {}
  }

  private static func change(
    _ tx: borrowing WriteTransaction, _ tree: Tree, _ entries: inout [[UInt8]: [UInt8]], _ random: inout SeededRandom,
    isSound: Bool
  ) throws {
    let known = Array(entries.keys.sorted { $0.lexicographicallyPrecedes($1) }.prefix(400))
    for number in 0..<20 {
      let isLong = random.oneIn(12)
      let value = [UInt8](repeating: UInt8(number), count: random.below(80) + (isLong ? 2 * FileBase.pageSize : 0))
      let key = FuzzKey.draw(tree.keys, known, &random)
      if random.oneIn(3) {
        let isThere = try key.delete(tx, tree)
        let wasThere = entries.removeValue(forKey: key.bytes) != nil
        try demand(!isSound || isThere == wasThere, "a deletion finds otherwise than reading")
      } else {
        try key.put(tx, value, tree)
        entries[key.bytes] = value
      }
    }
    guard random.oneIn(2) else { return }
    let bounds = [FuzzKey.draw(tree.keys, known, &random), FuzzKey.draw(tree.keys, known, &random)]
    let (lower, upper) = (bounds[0].bytes, bounds[1].bytes)
    guard lower.lexicographicallyPrecedes(upper) else { return }
    try bounds[0].deleteRange(tx, to: bounds[1], tree)
    entries = entries.filter { $0.key.lexicographicallyPrecedes(lower) || !$0.key.lexicographicallyPrecedes(upper) }
  }

  private mutating func dropTree(_ engine: StorageEngine) throws {
    guard let name = content.keys.min() else { return }
    let isDropped: Void? = try step("dropping a tree", isSound: isSound) {
      try engine.write { tx in if let tree = tx.tree(named: name) { try tx.dropTree(tree) } }
    }
    if isDropped != nil { content[name] = nil }
  }
}
