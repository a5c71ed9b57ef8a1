// A second opinion: what a reader that shares nothing with the engine makes of the same files.

internal import QuireStorage

/// Asks the decoder what files hold, and compares that with what the engine and the oracle say.
struct DecoderComparison {
  let random: TortureRandom
  let log: TortureLog
  let oracle: TortureOracle

  /// What the decoder finds on a disk before the engine opens it; nil if it is not asked now, or nothing is there.
  func decode(_ disk: SimulatedDisk) throws -> DecodedDatabase? {
    guard random.decoder.oneIn(3), disk.bytes(of: TortureSystem.path) != nil else { return nil }
    log.report.decoded += 1
    do throws(DecodingFailure) { return try DecodedDatabase(disk, path: TortureSystem.path) } catch {
      throw log.failure(.falseAlarm, "the decoder refuses what a crash has left: \(error)")
    }
  }

  /// Whether recovery has come to what the decoder found before it, and has left files that say the same.
  func compare(_ before: DecodedDatabase?, with engine: StorageEngine, _ disk: SimulatedDisk) throws {
    guard let before else { return }
    let csn = engine.core.head.csn.rawValue
    try compare(before, csn, "before recovery")
    guard let after = try? DecodedDatabase(disk, path: TortureSystem.path) else {
      throw log.failure(.broken, "the decoder refuses what recovery has made")
    }
    try compare(after, csn, "after recovery")
  }

  /// Whether a closed database's data file says all that was committed.
  func checkClosed(_ disk: SimulatedDisk, _ newest: CSN) throws {
    guard random.decoder.oneIn(3), let bytes = disk.bytes(of: TortureSystem.path) else { return }
    log.report.decoded += 1
    let decoded: DecodedDatabase
    do throws(DecodingFailure) {
      // Without the log: a closed database needs none.
      decoded = try DecodedDatabase(data: bytes, logs: [:])
    } catch {
      throw log.failure(.broken, "the decoder refuses a closed database: \(error)")
    }
    try compare(decoded, newest.rawValue, "after closing")
  }

  private func compare(_ decoded: DecodedDatabase, _ csn: UInt64, _ time: String) throws {
    guard decoded.csn == csn else {
      throw log.failure(.broken, "\(time) the decoder finds CSN \(decoded.csn), and the engine CSN \(csn)")
    }
    try oracle.checkRefusal(CSN(csn), decoded.digest)
    // What the engine shows as this commit is compared with the model by others.
    guard let state = oracle.model.state(at: CSN(csn)), state.csn == CSN(csn) else { return }
    guard state.digest == decoded.digest else {
      throw log.failure(.wrongRead, "\(time) the decoder finds other content than that of CSN \(csn)")
    }
  }
}
