// One trial: a damaged database is opened and read from end to end, and what comes of it is judged.

internal import QuireStorage

/// What came of damage.
package enum RotOutcome: Sendable {
  /// An error that says what is damaged.
  case error
  /// Exactly what was there before.
  case noEffect
  /// The end of the log that nothing proved durable is gone.
  case cut
  /// What must never be: other content, an error that is none of damage, damage that goes unnoticed.
  case wrong(String)
}

extension RotDatabase {
  /// Errors that say that files are damaged.
  static let damageCodes: Set<StorageError.Code> = [
    .damagedPage, .damagedMetaPage, .damagedLog, .missingLog, .truncatedFile, .notADatabase,
  ]

  /// Opens a damaged copy, reads all of it and judges.
  ///
  /// - Parameters:
  ///   - damaged: a copy of `disk` with damage to one file; it is changed.
  ///   - offset: where the damage to the file begins, if the error must tell.
  package func judge(
    _ damaged: SimulatedDisk, _ expectation: Expectation, file: DecodedFile, offset: Int? = nil
  ) -> RotOutcome {
    let changes = damaged.changeCount
    let engine: StorageEngine
    do throws(StorageError) { engine = try RotWorkload.open(damaged, options) } catch {
      guard damaged.changeCount == changes else { return .wrong("refused after the files were changed: \(error)") }
      return judge(error, expectation, file: file, offset: offset)
    }
    do {
      return try engine.read { tx in judge(tx.csn.rawValue, try StateDigest(of: tx), expectation) }
    } catch let error as StorageError {
      return judge(error, expectation, file: file, offset: offset)
    } catch {
      return .wrong("\(error)")
    }
  }

  private func judge(
    _ error: StorageError, _ expectation: Expectation, file: DecodedFile, offset: Int?
  ) -> RotOutcome {
    if case .state(let csn) = expectation { return .wrong("commit \(csn) is there, and yet: \(error)") }
    guard Self.damageCodes.contains(error.code) else { return .wrong("an error that speaks of no damage: \(error)") }
    if case .log = file, error.code == .damagedLog {
      guard error.path == Self.path(file), error.lsn != nil, error.offset != nil else {
        return .wrong("an error that does not tell the place: \(error)")
      }
    }
    // Pages of extents are named by the chunk that does not verify, which begins before the damage.
    if let offset, file == .data, error.code == .damagedPage, let page = error.page {
      guard Int(page.rawValue) * options.pageSize <= offset else {
        return .wrong("an error that names another page than \(offset / options.pageSize): \(error)")
      }
    }
    return .error
  }

  private func judge(_ csn: UInt64, _ digest: StateDigest, _ expectation: Expectation) -> RotOutcome {
    switch expectation {
    case .error: return .wrong("the damage goes unnoticed, and commit \(csn) is shown")
    case .state(let expected), .errorOrState(let expected):
      guard digest == states[csn] else { return .wrong("what is shown as commit \(csn) is none") }
      guard csn == expected else { return .wrong("commit \(csn) is shown instead of \(expected)") }
      return csn == newest ? .noEffect : .cut
    }
  }
}
