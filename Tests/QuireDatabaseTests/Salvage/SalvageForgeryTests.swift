// Files that anybody may have written, with checksums that are right, end in a database that checks.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Testing

@Suite("Salvaging forged databases") struct SalvageForgeryTests {
  /// The data file of a database that was closed: one for each seed, or of the few that the short size makes.
  private static func file(seed: UInt64) throws -> [UInt8] {
    TestSize.isFull ? try makeFile(seed: seed) : try few[Int(seed) % few.count].get()
  }

  private static let few = (0..<3).map { seed in Result { try makeFile(seed: seed) } }

  private static func makeFile(seed: UInt64) throws -> [UInt8] {
    var random = SeededRandom(seed: seed)
    while true {
      let history = try SalvagedHistory(&random, size: 150)
      if !history.hasLog, let bytes = history.files["test.quire"] { return bytes }
    }
  }

  /// Salvages `bytes`; what is made is opened, checked and written to, and not larger than what it was made of allows.
  private static func salvage(_ bytes: [UInt8], _ options: SalvageOptions, _ what: String) throws {
    let folder = try TestFolder()
    let target = folder.url.appendingPathComponent("new.quire").path
    try Data(bytes).write(to: URL(fileURLWithPath: folder.path))
    var lossCount = 0
    let salvage = DatabaseSalvage(folder.path, options: options, report: { lossCount += $0.isLoss ? 1 : 0 })
    let outcome: SalvageOutcome
    do { outcome = try salvage.run(to: target) } catch let error as DatabaseError {
      #expect([.damagedPage, .damagedMetaPage, .newerFormat].contains(error.code), "\(what): \(error)")
      #expect(!FileManager.default.fileExists(atPath: target), "\(what)")
      return
    }
    #expect(outcome.lossCount == lossCount, "\(what)")
    let size = try #require(FileManager.default.attributesOfItem(atPath: target)[.size] as? Int)
    #expect(size <= 8 * bytes.count + 1 << 20, "\(what): \(size) bytes of \(bytes.count)")
    let defects = try Inspector(at: target).check()
    #expect(defects.isEmpty, "\(what): \(defects)")
    let db = try Database(at: target, options: Database.Options(durability: .relaxed, maintainsWhenIdle: false))
    try db.checkInvariants()
    let texts = RowCollection<String, NoMetadata>("another", coder: .json)
    do {
      try db.write { tx throws in try tx[texts].set("text", for: "k") }
      #expect(try db.read { tx throws in try tx[texts].get("k") } == "text", "\(what)")
    } catch let error as DatabaseError {
      // A forged row may have the last number that there is.
      #expect(error.code == .limitReached, "\(what): \(error)")
    }
    try db.close()
  }

  @Test(
    "Forged pages", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: 0..<UInt64(TestSize.trials(600, divisor: 120)))
  func pages(seed: UInt64) throws {
    var random = SeededRandom(seed: 70_000 + seed)
    let bytes = try Self.file(seed: seed)
    for trial in 0..<6 {
      var forger = try #require(Forger(bytes, pageSize: 4096))
      var what = "seed \(seed), trial \(trial):"
      for _ in 0...trial % 3 { what += " \(forger.mutate(&random));" }
      if random.oneIn(3) { what += " \(forger.mutateExtent(&random))" }
      forger.seal()
      let options = SalvageOptions(believesUnverified: random.oneIn(2), includesStale: !random.oneIn(4))
      try Self.salvage(forger.bytes, options, what)
    }
  }

  /// What entries of the object layer's trees hold is anything.
  @Test(
    "Forged entries", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: 0..<UInt64(TestSize.trials(600, divisor: 60)))
  func entries(seed: UInt64) throws {
    var random = SeededRandom(seed: 80_000 + seed)
    let folder = try TestFolder()
    try Data(try Self.file(seed: seed)).write(to: URL(fileURLWithPath: folder.path))
    var what = "seed \(seed):"
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      for _ in 0..<4 {
        let name = random.pick(Self.treeNames)
        guard let tree = tx.tree(named: name) else { continue }
        what += " \(try Self.forge(tx, tree, isRows: name == Self.treeNames[0], &random)) in \(name);"
      }
    }
    try engine.close()
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path)))
    try Self.salvage(bytes, SalvageOptions(), what)
  }

  private static let treeNames = ["quire.rows", "quire.keys", "quire.collections", "quire.info", "quire.dictionaries"]

  /// Changes an entry, or stores one like it; returns what was done.
  private static func forge(
    _ tx: borrowing QuireStorage.WriteTransaction, _ tree: Tree, isRows: Bool, _ random: inout SeededRandom
  ) throws -> String {
    var found: (number: Int64?, key: [UInt8], value: [UInt8])?
    do {
      var cursor = try tx.cursor(tree)
      let steps = 1 + random.below(20)
      for _ in 0..<steps {
        guard try cursor.next() else { break }
        let number = isRows ? try cursor.readIntegerKey() : nil
        found = (number, isRows ? [] : try cursor.readKey() ?? [], try cursor.value ?? [])
      }
    }
    guard var (number, key, value) = found else { return "nothing" }
    switch random.below(5) {
    case 0: value = (0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    case 1: value.removeLast(random.below(value.count + 1))
    case 2: number = number.map { _ in random.pick([.min, -1, 0, .max, .max - 1, 1 << 40]) }
    case 3: if !key.isEmpty { key[random.below(key.count)] = UInt8(truncatingIfNeeded: random.next()) }
    default:
      for _ in 0...random.below(3) where !value.isEmpty {
        value[random.below(value.count)] = UInt8(truncatingIfNeeded: random.next())
      }
    }
    if let number {
      try tx.put(value, for: number, in: tree)
      return "\(value.count) bytes for \(number)"
    }
    try tx.put(value, for: key, in: tree)
    return "\(value.count) bytes for \(key)"
  }
}
