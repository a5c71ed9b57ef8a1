// Damage while an engine is at work: writes that the drive lies about, and pages that rot before they are read.

internal import QuireStorage

extension RotSweep {
  // MARK: Lies

  /// A write to a file that the drive confirms and does not do, or does elsewhere; each write of a run in turn.
  static func lies() throws -> RotSweep {
    var cases: [(path: String, write: Int)] = []
    let disk = SimulatedDisk()
    let healthy = try LyingRun(disk)
    try healthy.run()
    for suffix in ["", "-log0", "-log1", "-log2"] {
      let path = RotWorkload.path + suffix
      // Log files are made anew; more writes than the last of them saw do no harm.
      cases += (0..<max(disk.writeCount(of: path), suffix.isEmpty ? 0 : 60)).map { (path, $0) }
    }
    let all = cases
    return RotSweep(trialCount: all.count * LyingRun.variantCount) { number in
      let (path, write) = all[number / LyingRun.variantCount]
      return LyingRun.trial(path, write, variant: number % LyingRun.variantCount)
    }
  }

  // MARK: Late reads

  /// Flips a bit under an open engine with a small cache.
  static func late() throws -> RotSweep {
    let database = try RotDatabase.closed(pageSize: 512, pageCount: 200)
    return RotSweep(trialCount: 20_000) { number in
      do { return try lateTrial(database, number) } catch { return .wrong("\(error)") }
    }
  }

  private static func lateTrial(_ database: RotDatabase, _ number: Int) throws -> RotOutcome {
    var random = SeededRandom(seed: UInt64(number))
    let disk = database.disk.copy()
    let engine = try RotWorkload.open(disk, database.options)
    let expected = database.states[database.newest]
    /// Reads all that was there before the damage; nil if that meets an error.
    func content() throws -> StateDigest? {
      do {
        return try engine.read { tx in try StateDigest(of: tx) { RotWorkload.trees.contains($0) } }
      } catch let error as StorageError {
        guard RotDatabase.damageCodes.contains(error.code) else { throw error }
        return nil
      }
    }
    if number % 2 == 0 {
      // Long after the opening: much has been written since, and these pages were never read.
      try engine.write { tx in _ = try tx.createTree("other", keys: .int64) }
      for round in 0..<12 {
        try engine.write { tx in
          guard let tree = tx.tree(named: "other") else { return }
          for row in 0..<8 { try tx.put([UInt8](repeating: 1, count: 40), for: Int64(round * 8 + row), in: tree) }
        }
      }
      try engine.checkpoint()
    } else {
      guard try content() == expected else { return .wrong("the content differs before the damage") }
    }
    let byteCount = disk.bytes(of: RotWorkload.path)?.count ?? 1
    disk.flipBit(random.below(8), at: random.below(byteCount), of: RotWorkload.path)
    var sawError = false
    for _ in 0..<2 {
      let found = try content()
      if let found, found != expected { return .wrong("a read gives other content after the damage") }
      sawError = sawError || found == nil
    }
    return sawError ? .error : .noEffect
  }
}

/// A run of an engine on a drive that lies once.
private struct LyingRun {
  /// Lost, then written to one of two other places; with the run ending in a close or in a kill.
  static let variantCount = 6

  let work: RotWorkload

  init(_ disk: SimulatedDisk) throws {
    let options = StorageOptions(pageSize: 512, cacheSize: 64 * 512, logLimit: 16 << 10)
    work = try RotWorkload(disk, options, seed: 5)
    work.longOneIn = 30
  }

  func run() throws {
    for round in 0..<48 {
      try work.commit(changes: 4)
      if round % 16 == 15 { try work.engine.checkpoint() }
    }
    for _ in 0..<2 { _ = work.engine.core.appendQuietMark() }
    try work.commit(changes: 2)
  }

  static func trial(_ path: String, _ write: Int, variant: Int) -> RotOutcome {
    let disk = SimulatedDisk()
    let isClosed = variant % 2 == 0
    do {
      let run = try LyingRun(disk)
      let lie: DriveLie = variant < 2 ? .lost : .misdirected(to: variant < 4 ? 512 * 7 : 512 * 41)
      disk.lie(lie, aboutNextWriteOf: path, skipping: write)
      try run.run()
      let newest = run.work.newest
      if isClosed { try run.work.close() }
      return judge(run.work, isClosed ? disk.copy() : disk.processKillImage(), newest, isLog: path != RotWorkload.path)
    } catch let error as StorageError {
      return RotDatabase.damageCodes.contains(error.code) ? .error : .wrong("during the run: \(error)")
    } catch {
      return .wrong("\(error)")
    }
  }

  private static func judge(
    _ work: RotWorkload, _ image: SimulatedDisk, _ newest: UInt64, isLog: Bool
  ) -> RotOutcome {
    do {
      let engine = try RotWorkload.open(image, work.options)
      return try engine.read { tx in
        let csn = tx.csn.rawValue
        guard try StateDigest(of: tx) == work.states[csn] else { return .wrong("commit \(csn) is none that was made") }
        if csn == newest { return .noEffect }
        // The newest commit alone is marked durable by no record.
        return isLog && csn + 1 == newest ? .cut : .wrong("commit \(csn) is shown instead of \(newest)")
      }
    } catch let error as StorageError {
      return RotDatabase.damageCodes.contains(error.code) ? .error : .wrong("\(error)")
    } catch {
      return .wrong("\(error)")
    }
  }
}
