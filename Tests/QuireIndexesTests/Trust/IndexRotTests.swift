// Damage to the files of a database with indexes: an error that names something, or exactly the right result.
//
// Some tens of trials in every run of the tests; more, or one, by
//
//     QUIRE_INDEX_TRIALS=10000 QUIRE_INDEX_SEED=7 swift test --filter IndexRotTests

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Indexes and rot") struct IndexRotTests {
  private static let options = Database.Options(
    durability: .full, cacheSize: 2 << 20, logLimit: 64 << 10, maintainsWhenIdle: false)
  private static let schema = IndexSchema(numbers: [0, 3, 4, 5, 7, 8, 9, 11], uniqueness: .atCommit)

  /// A database at rest, with what its commits have stored.
  private struct Rest {
    let disk: SimulatedDisk
    let states: [TrackModel]
  }

  /// A database whose process was killed, or that was closed.
  private static func rest(isClosed: Bool) throws -> Rest {
    var random = SeededRandom(seed: isClosed ? 1 : 2)
    let disk = SimulatedDisk()
    let db = try disk.openDatabase(seed: 1, options)
    try db.register(schema.indexes)
    var (model, number, states) = (TrackModel(), 0, [TrackModel]())
    for turn in 0..<8 {
      try db.write { tx in
        for _ in 0..<12 {
          let key = "k\(random.below(70))"
          let row = ModelRow(
            key: key, number: model[key]?.number ?? number, track: random.track(),
            plays: random.oneIn(2) ? nil : Plays(count: random.below(4)))
          number += 1
          let before = model[key]
          model[key] = row
          if model.hasTwins {
            model[key] = before
          } else {
            try tx[.tracks].set(row.track, metadata: row.plays, for: key)
          }
        }
      }
      states.append(model)
      if turn % 3 == 2 { try db.checkpoint() }
    }
    let image = isClosed ? disk : disk.processKillImage()
    try db.close()
    // Damage to bytes that wait to be synced would not be seen.
    let atRest = SimulatedDisk()
    for name in image.names { atRest.install(image.bytes(of: name) ?? [], at: name) }
    return Rest(disk: atRest, states: isClosed ? [model] : states)
  }

  private static func damage(_ disk: SimulatedDisk, _ random: inout SeededRandom) -> String {
    let file = random.oneIn(3) ? random.pick(disk.names) : "/db"
    guard let count = disk.bytes(of: file)?.count, count > 0 else { return "nothing" }
    let offset = random.below(count)
    switch random.below(12) {
    case 0:
      disk.overwrite(
        [UInt8](repeating: random.oneIn(2) ? 0 : 0xff, count: min(16, count - offset)), at: offset, of: file)
      return "16 bytes at \(offset) of \(file)"
    case 1:
      disk.burst(at: offset / 512 * 512, byteCount: 512, of: file, seed: random.next())
      return "noise at \(offset / 512 * 512) of \(file)"
    case 2:
      let (from, to) = (random.below(count) / 4096 * 4096, offset / 4096 * 4096)
      disk.duplicate(from..<min(count, from + 4096), to: to, of: file)
      return "the page at \(from) of \(file) at \(to)"
    case 3:
      disk.setLength(offset, of: file)
      return "\(file) cut at \(offset)"
    case 4:
      disk.makeUnreadable(offset..<min(count, offset + 512), of: file)
      return "no reads at \(offset) of \(file)"
    default:
      disk.flipBit(random.below(8), at: offset, of: file)
      return "a bit at \(offset) of \(file)"
    }
  }

  /// What came of damage: whether there was an error, and which of the states was there if not.
  private static func outcome(_ disk: SimulatedDisk, _ rest: Rest, _ random: inout SeededRandom) throws -> Int? {
    do {
      let db = try disk.openDatabase(seed: 3, options)
      defer { try? db.close() }
      let found = try db.read { tx in try TrackModel.rows(tx) }
      guard let state = rest.states.lastIndex(where: { $0.isWhat(found) }) else {
        throw TrustBroken("\(found.count) rows that nobody has stored")
      }
      try db.register(schema.indexes)
      try db.check(schema, rest.states[state], &random, queries: 4)
      return state
    } catch {
      // A sector that cannot be read is an error of the disk's, with its place.
      guard namesDamage(error) || (error as? DatabaseError)?.code == .inputOutput else { throw error }
      return nil
    }
  }

  @Test("Damage is an error that names something, or has no effect", arguments: [true, false])
  func damage(isClosed: Bool) throws {
    let rest = try Self.rest(isClosed: isClosed)
    let first = UInt64(environmentNumber("QUIRE_INDEX_SEED") ?? 1)
    let count = environmentNumber("QUIRE_INDEX_TRIALS") ?? TestSize.trials(100, divisor: 8)
    var (errors, right, older) = (0, 0, 0)
    for seed in first..<first + UInt64(count) {
      var random = SeededRandom(seed: seed)
      let disk = rest.disk.copy()
      let what = Self.damage(disk, &random)
      do {
        switch try Self.outcome(disk, rest, &random) {
        case nil: errors += 1
        case rest.states.count - 1: right += 1
        default: older += 1
        }
      } catch {
        Issue.record(
          """
          QUIRE_INDEX_SEED=\(seed) QUIRE_INDEX_TRIALS=1 swift test --filter IndexRotTests: \
          \(isClosed ? "closed" : "killed"), \(what): \(error)
          """)
      }
    }
    if count > 1000 { print("\(isClosed ? "closed" : "killed"): \(errors) errors, \(right) right, \(older) older") }
    if count >= 25 { #expect(errors > 0 && right > 0) }
    // The end of a log that nothing proves is cut; of a closed database nothing is.
    #expect(!isClosed || older == 0)
  }
}
