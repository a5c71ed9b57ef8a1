// Checkpoints that another opener reads from the data file while the engine goes on writing.

import QuireStorage
import QuireTesting
import Testing

@Suite struct HeldCheckpointTests {
  /// Opens what is held, with nothing in memory yet.
  private func open(_ image: CheckpointImage, _ tiny: TinyDatabase) throws -> StorageEngine {
    var options = tiny.options
    options.isReadOnly = true
    let environment = StorageEnvironment(fileSystem: tiny.disk, scheduling: .stepped, allowsTestPages: true)
    return try StorageEngine(at: TinyDatabase.path, options: options, held: image, environment: environment)
  }

  /// Commits, removes, checkpoints and compacts, so that nearly every place of the file is used again.
  private func goOn(_ engine: StorageEngine, round: Int) throws {
    try TinyDatabase.fill(engine, count: 100, seed: UInt64(100 + round), longOneIn: 6)
    try engine.checkpoint()
    try engine.write { tx in
      let found = tx.tree(named: round % 2 == 0 ? "texts" : "numbers")
      let tree = try #require(found)
      if round % 2 == 0 { _ = try tx.deleteAll(in: tree) } else { try tx.dropTree(tree) }
      _ = try tx.createTree("of round \(round)", keys: .bytes)
    }
    try engine.checkpoint()
    try engine.compact()
    try engine.checkpoint()
  }

  @Test(arguments: [512, 4096]) func staysWhileAWriterGoesOn(pageSize: Int) throws {
    let tiny = TinyDatabase(pageSize: pageSize)
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 240, longOneIn: 9)
    let content = try DatabaseContent(of: engine)
    let held = try engine.core.holdCheckpoint()
    #expect(held.csn == engine.statistics.publishedCSN)
    let early = try open(held.image, tiny)
    for round in 0..<TestSize.trials(24, divisor: 8) {
      try goOn(engine, round: round)
      let reader = try open(held.image, tiny)
      #expect(try DatabaseContent(of: reader) == content)
      #expect(reader.statistics.publishedCSN == held.csn)
      try reader.close()
    }
    #expect(try DatabaseContent(of: early) == content)
    // What is told of free places and of the catalog is nothing; what is told of trees is right.
    #expect(try early.treeStatistics().trees.count == content.trees.count)
    try early.backup(to: "/copy.quire")
    try early.close()
    try engine.verify()
    #expect(throws: StorageError.self) { try engine.close() }
    let before = engine.statistics.heldPages
    held.end()
    held.end()
    try engine.write { tx in _ = try tx.createTree("last", keys: .bytes) }
    try engine.compact()
    try engine.checkpoint()
    #expect(engine.statistics.heldPages < before / 4, "what was held is given back")
    try engine.verify()
    try engine.close()
  }

  @Test("A checkpoint that is let go of is written over: these tests can fail")
  func isOverwrittenOnceLetGo() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 240, longOneIn: 9)
    let content = try DatabaseContent(of: engine)
    let held = try engine.core.holdCheckpoint()
    held.end()
    for round in 0..<4 { try goOn(engine, round: round) }
    do {
      let reader = try open(held.image, tiny)
      #expect(try DatabaseContent(of: reader) != content)
    } catch let error as StorageError {
      #expect(error.code == .damagedPage || error.code == .truncatedFile, "\(error)")
    }
    try engine.close()
  }

  @Test func severalAreHeldAtOnce() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    var all: [(HeldCheckpoint, DatabaseContent)] = []
    for round in 0..<5 {
      try TinyDatabase.fill(engine, count: 120, seed: UInt64(round), longOneIn: 9)
      let held = try engine.core.holdCheckpoint()
      // The same commit, which needs no other checkpoint.
      let checkpoints = engine.statistics.checkpoints
      let again = try engine.core.holdCheckpoint()
      #expect(again.image == held.image && engine.statistics.checkpoints == checkpoints)
      all.append((held, try DatabaseContent(of: engine)))
      for (held, content) in all { #expect(try DatabaseContent(of: open(held.image, tiny)) == content) }
      if round == 2 { all.remove(at: 1).0.end() }
    }
    all = []
    try engine.verify()
    try engine.close()
  }

  @Test func emptyDatabaseIsHeld() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    let held = try engine.core.holdCheckpoint()
    #expect(try DatabaseContent(of: open(held.image, tiny)).trees.isEmpty)
    try TinyDatabase.fill(engine, count: 40)
    #expect(try DatabaseContent(of: open(held.image, tiny)).trees.isEmpty)
  }

  @Test func forgedImagesAreRefused() throws {
    let tiny = TinyDatabase()
    let engine = try tiny.open()
    try TinyDatabase.fill(engine, count: 40)
    let held = try engine.core.holdCheckpoint()
    let image = held.image
    func refusal(_ forged: CheckpointImage) -> StorageError.Code? {
      do throws(StorageError) {
        var options = tiny.options
        options.isReadOnly = true
        let environment = StorageEnvironment(fileSystem: tiny.disk, scheduling: .stepped, allowsTestPages: true)
        _ = try Opener(path: TinyDatabase.path, options: options, environment: environment).open(held: forged)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(refusal(image) == nil)
    for index in [0, 9, 60, 100, 300] {
      var meta = image.meta
      meta[index] ^= 4
      #expect(
        refusal(CheckpointImage(meta: meta, identity: image.identity, entries: image.entries)) == .damagedMetaPage)
    }
    #expect(refusal(CheckpointImage(meta: [], identity: image.identity, entries: [])) == .damagedMetaPage)
    let other = FileIdentity(device: image.identity.device, inode: image.identity.inode &+ 77)
    #expect(refusal(CheckpointImage(meta: image.meta, identity: other, entries: image.entries)) == .fileChanged)
    let first = try #require(image.entries.first)
    let entries: [[CheckpointImage.Entry]] = [
      [first, first], image.entries.reversed(), [.init(id: 0, bytes: first.bytes)],
      [.init(id: 1, bytes: Array(first.bytes.prefix(20)))], [.init(id: .max, bytes: first.bytes)],
      [first, .init(id: first.id + 1, bytes: first.bytes)],
      [.init(id: 1, bytes: first.bytes.enumerated().map { $0.offset == 8 ? 0xff : $0.element })],
    ]
    for forged in entries {
      let forged = CheckpointImage(meta: image.meta, identity: image.identity, entries: forged)
      #expect(refusal(forged) == .damagedMetaPage)
    }
    var page = try #require(image.metaPage)
    page.pageCount = 1 << 20
    let long = CheckpointImage(meta: page.encoded(slot: 0), identity: image.identity, entries: image.entries)
    #expect(refusal(long) == .truncatedFile)
  }
}
