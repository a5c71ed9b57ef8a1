// Holes, cuts and additions in the data file of an open database: every read is right, or an error that names the
// place; nothing that was acknowledged is another thing afterwards; and the next opening says what is wrong (goals G10,
// G17).

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite struct ChangedPageTests {
  enum Damage: CaseIterable, Sendable {
    /// Zeros in the place of bytes, as a hole that was punched has.
    case hole
    case cut
    case zerosBehindTheEnd
    case noiseBehindTheEnd

    /// Damages the file at `path`; returns what was done.
    func happen(to path: String, _ random: inout SeededRandom) -> String {
      let count = readFile(path).count
      let unit = random.oneIn(3) ? 512 : 4096
      let start = random.below(count / unit) * unit
      switch self {
      case .hole:
        let length = min(count - start, unit * (1 + random.below(random.oneIn(3) ? 40 : 3)))
        write([UInt8](repeating: 0, count: length), to: path, at: start)
        return "zeros from \(start) to \(start + length) of \(count)"
      case .cut:
        truncate(path, off_t(start))
        return "cut from \(count) to \(start)"
      case .zerosBehindTheEnd, .noiseBehindTheEnd:
        let length = 1 + random.below(1 << 17)
        let isNoise = self == .noiseBehindTheEnd
        write((0..<length).map { _ in isNoise ? UInt8(random.below(256)) : 0 }, to: path, at: count)
        return "\(length) bytes more behind \(count)"
      }
    }

    private func write(_ bytes: [UInt8], to path: String, at offset: Int) {
      let descriptor = open(path, O_WRONLY)
      guard descriptor >= 0 else { return }
      defer { close(descriptor) }
      _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    }

    /// Whether the database is as it was.
    var isHarmless: Bool { self == .zerosBehindTheEnd || self == .noiseBehindTheEnd }
  }

  /// A damaged database, and what must be found in it.
  private struct Trial {
    let path: String
    let seed: UInt64
    let damage: Damage
    var text = ""
    var rows: [Int64: [UInt8]]

    /// Opens it; half of the engines have room for all of it, the others read pages again.
    func open() throws -> StorageEngine {
      try StorageEngine(
        at: path, options: StorageOptions(cacheSize: seed % 2 == 0 ? 256 << 10 : 8 << 20, logLimit: 1 << 20),
        environment: StorageEnvironment(scheduling: .stepped))
    }

    /// An error must say which file it is about, and where in it.
    func check(_ error: any Error, _ what: String) throws {
      guard let error = error as? StorageError else { throw Mismatch("\(what): \(error)") }
      try require(!damage.isHarmless, "\(what): \(error)")
      try require(error.path?.contains("/\(seed).quire") == true, "\(what) names no file: \(error)")
      let places: [StorageError.Code] = [.damagedPage, .inputOutput]
      try require(
        !places.contains(error.code) || error.page != nil || error.offset != nil, "\(what) names no place: \(error)")
    }

    /// Looks each row up, and walks over all of them; false if not all are there.
    func read(_ engine: StorageEngine, _ what: String) throws -> Bool {
      var isWhole = true
      func attempt(_ body: () throws -> Void) throws {
        do { try body() } catch {
          if error is Mismatch { throw error }
          try check(error, what)
          isWhole = false
        }
      }
      try attempt {
        try engine.read { tx in
          guard let tree = tx.tree(named: "rows") else { throw Mismatch("\(what): there is no tree") }
          for (key, value) in rows {
            try attempt {
              let found = try tx.value(for: key, in: tree)
              try require(found == value, "\(what): row \(key)")
            }
          }
          try attempt {
            var left = rows
            var cursor = try tx.cursor(tree)
            while try cursor.next() {
              let key = cursor.integerKey ?? .min
              let value = try cursor.value
              try require(left.removeValue(forKey: key) == value, "\(what): row \(key) of the walk")
            }
            try require(left.isEmpty, "\(what): \(left.count) rows are not walked over")
          }
        }
      }
      return isWhole
    }

    /// Changes a row, and remembers what must be there then.
    mutating func write(_ engine: StorageEngine, _ random: inout SeededRandom) throws {
      let key = Int64(random.below(700))
      let value = [UInt8](marked: random.below(1 << 20), count: random.below(2000))
      do {
        try engine.write { tx in
          guard let tree = tx.tree(named: "rows") else { return }
          try tx.put(value, for: key, in: tree)
        }
        rows[key] = value
      } catch {
        try check(error, "the commit")
        // The row is one thing or the other, and nobody can say which.
        if (error as? StorageError)?.code == .outcomeUnknown { rows[key] = nil }
      }
    }

    /// What the check of a closed file finds.
    func diagnosis() -> [StorageError] {
      do { return try Inspector(at: path).check() } catch let error as StorageError { return [error] } catch {
        return []
      }
    }
  }

  private static func makeDatabase(_ folder: TemporaryFolder) throws -> (image: [UInt8], rows: [Int64: [UInt8]]) {
    let path = folder.path + "/whole.quire"
    let engine = try StorageEngine(
      at: path, options: StorageOptions(), environment: StorageEnvironment(scheduling: .stepped))
    var rows: [Int64: [UInt8]] = [:]
    for number in 0..<700 {
      rows[Int64(number)] = [UInt8](marked: number, count: number % 30 == 0 ? 20_000 : 100 + number % 300)
    }
    try engine.write { tx in
      let tree = try tx.createTree("rows", keys: .int64)
      for (key, value) in rows { try tx.put(value, for: key, in: tree) }
    }
    try engine.close()
    return (readFile(path), rows)
  }

  @Test("Reads of a damaged file are right or name the place, and the next opening says so", arguments: Damage.allCases)
  func damagedWhileOpen(damage: Damage) throws {
    let folder = TemporaryFolder()
    let (image, rows) = try Self.makeDatabase(folder)
    let start = firstSeed()
    for seed in start..<(start + UInt64(trialCount(debug: TestSize.trials(12, divisor: 6), release: 200))) {
      trace("\(damage), seed \(seed)")
      let path = "\(folder.path)/\(seed).quire"
      writeFile(image, path)
      var trial = Trial(path: path, seed: seed, damage: damage, rows: rows)
      do { try tryDamage(&trial) } catch {
        let replay = "QUIRE_SEED=\(seed) QUIRE_TRIALS=1 swift test --filter ChangedPageTests"
        throw Mismatch("\(error) (\(damage), \(trial.text)); again with: \(replay)")
      }
    }
  }

  private func tryDamage(_ trial: inout Trial) throws {
    var random = SeededRandom(seed: trial.seed)
    var engine: StorageEngine? = try trial.open()
    // Some have read everything before, and some nothing.
    if let engine, random.oneIn(2) { _ = try trial.read(engine, "before") }
    trial.text = trial.damage.happen(to: trial.path, &random)
    if let engine {
      let isWhole = try trial.read(engine, "while open")
      if !isWhole {
        let error = #expect(throws: StorageError.self) { try engine.verify() }
        if let error { try trial.check(error, "the check") }
      }
      for _ in 0..<random.below(4) { try trial.write(engine, &random) }
      if random.oneIn(2) {
        do { try engine.checkpoint() } catch { try trial.check(error, "the checkpoint") }
      }
      _ = try trial.read(engine, "after commits")
      do { try engine.close() } catch { try trial.check(error, "closing") }
    }
    engine = nil
    let diagnosis = trial.diagnosis()
    do { engine = try trial.open() } catch {
      try trial.check(error, "opening")
      try require(!diagnosis.isEmpty, "\(error), and the check finds nothing")
    }
    guard let engine else { return }
    if try !trial.read(engine, "reopened") {
      try require(!diagnosis.isEmpty, "rows cannot be read, and the check finds nothing")
      #expect(throws: StorageError.self) { try engine.verify() }
    }
    do { try engine.close() } catch { try trial.check(error, "closing again") }
  }
}
