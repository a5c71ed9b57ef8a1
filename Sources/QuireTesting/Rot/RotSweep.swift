// Sweeps: every way to damage a database, trial by trial.

internal import QuireStorage

/// Numbered trials of one kind of damage. Trials may be run in any order and side by side.
package struct RotSweep: Sendable {
  /// How many trials there are.
  package let trialCount: Int
  private let body: @Sendable (Int) -> RotOutcome

  init(trialCount: Int, _ body: @escaping @Sendable (Int) -> RotOutcome) {
    self.trialCount = trialCount
    self.body = body
  }

  /// Runs one trial.
  package func trial(_ number: Int) -> RotOutcome { body(number) }
}

/// The kinds of damage.
package enum RotKind: String, CaseIterable, Sendable {
  /// Every bit of the data file of a closed database.
  case dataFlips = "data-flips"
  /// Every bit of the log file of a database whose process was killed.
  case logFlips = "log-flips"
  /// A bit of every fourth byte of the data file of a database whose process was killed.
  case uncleanDataFlips = "unclean-data-flips"
  /// Two bits of one page.
  case doubleFlips = "double-flips"
  /// Noise over up to 4 KiB, at any place.
  case bursts
  /// An older version of a page in the place of the newest, and writes that were lost.
  case stale
  /// Each page in the place of each other.
  case misplaced
  /// A drive that confirms a write and loses it, or writes it elsewhere.
  case lies
  /// Pages that are first read long after opening, or again after they were evicted.
  case late

  /// What the sweep does, for people.
  package var summary: String {
    switch self {
    case .dataFlips: "every bit of the data file of a closed database"
    case .logFlips: "every bit of the log of a killed process"
    case .uncleanDataFlips: "a bit of every fourth byte of the data file of a killed process"
    case .doubleFlips: "two bits of one 4 KiB page, data file and log"
    case .bursts: "noise over up to 4 KiB, data file and log"
    case .stale: "older versions of pages, lost blocks of the log"
    case .misplaced: "each page in the place of each other, data file and log"
    case .lies: "writes that the drive confirms and loses or misdirects"
    case .late: "bits of pages first read late, or read again after eviction"
    }
  }

  /// Prepares the trials.
  package func makeSweep() throws -> RotSweep {
    switch self {
    case .dataFlips: .flips(try .closed(), of: .data)
    case .logFlips: .logFlips(try .unclean())
    case .uncleanDataFlips: .sampledFlips(try .unclean())
    case .doubleFlips: .alternating(.doubleFlips(try .closed(), of: .data), .logDoubleFlips(try .unclean()))
    case .bursts: .alternating(.bursts(try .closed(), of: .data), .logBursts(try .unclean()))
    case .stale: .alternating(try .stale(.closed()), try .lostBlocks(.unclean()))
    case .misplaced: .alternating(.misplaced(try .closed(), of: .data), .logMisplaced(try .unclean()))
    case .lies: try .lies()
    case .late: try .late()
    }
  }
}

// MARK: - Flips

extension RotSweep {
  /// Every bit of a file.
  static func flips(_ database: RotDatabase, of file: DecodedFile) -> RotSweep {
    let purposes = database.purposes(file)
    return RotSweep(trialCount: database.byteCount(file) * 8) { number in
      flip(number % 8, at: number / 8, of: file, database, purposes)
    }
  }

  /// A bit of every fourth byte of the data file, without what was allocated in advance.
  static func sampledFlips(_ database: RotDatabase) -> RotSweep {
    let purposes = database.purposes(.data)
    return RotSweep(trialCount: database.decoded.pageCount * database.decoded.pageSize / 4) { number in
      var random = SeededRandom(seed: UInt64(number))
      return flip(random.below(8), at: number * 4 + random.below(4), of: .data, database, purposes)
    }
  }

  private static func flip(
    _ bit: Int, at offset: Int, of file: DecodedFile, _ database: RotDatabase, _ purposes: RotDatabase.Purposes
  ) -> RotOutcome {
    let copy = database.disk.copy()
    copy.flipBit(bit, at: offset, of: RotDatabase.path(file))
    let expectation = database.expectation(CollectionOfOne(offset), purposes)
    return database.judge(copy, expectation, file: file, offset: offset)
  }

  static func logFlips(_ database: RotDatabase) -> RotSweep { flips(database, of: database.logFile) }

  static func doubleFlips(_ database: RotDatabase, of file: DecodedFile) -> RotSweep {
    let purposes = database.purposes(file)
    let path = RotDatabase.path(file)
    return RotSweep(trialCount: 20_000) { number in
      var random = SeededRandom(seed: UInt64(number))
      let page = random.below(database.byteCount(file) / 4096) * 4096
      let offsets = [page + random.below(4096), page + random.below(4096)]
      let bits = [random.below(8), random.below(8)]
      if offsets[0] == offsets[1], bits[0] == bits[1] { return .noEffect }
      let copy = database.disk.copy()
      for (offset, bit) in zip(offsets, bits) { copy.flipBit(bit, at: offset, of: path) }
      return database.judge(copy, database.expectation(offsets, purposes), file: file, offset: offsets.max())
    }
  }

  static func logDoubleFlips(_ database: RotDatabase) -> RotSweep { doubleFlips(database, of: database.logFile) }
}

// MARK: - Blocks

extension RotSweep {
  /// Runs the trials of both sweeps in turn.
  static func alternating(_ first: RotSweep, _ second: RotSweep) -> RotSweep {
    RotSweep(trialCount: 2 * max(first.trialCount, second.trialCount)) { number in
      let sweep = number % 2 == 0 ? first : second
      return sweep.trial(number / 2 % sweep.trialCount)
    }
  }

  static func bursts(_ database: RotDatabase, of file: DecodedFile) -> RotSweep {
    RotSweep(trialCount: 5_000) { number in
      var random = SeededRandom(seed: UInt64(number))
      let byteCount = 1 + random.below(4096)
      let offset = random.below(database.byteCount(file))
      let copy = database.disk.copy()
      copy.burst(at: offset, byteCount: byteCount, of: RotDatabase.path(file), seed: random.next())
      return database.judge(copy, replacedIn: file, offset..<(offset + byteCount))
    }
  }

  static func logBursts(_ database: RotDatabase) -> RotSweep { bursts(database, of: database.logFile) }

  /// Older versions of each page, as every checkpoint left them.
  static func stale(_ database: RotDatabase) -> RotSweep {
    let pageSize = database.options.pageSize
    let pageCount = database.byteCount(.data) / pageSize
    return RotSweep(trialCount: database.olderImages.count * pageCount) { number in
      let (image, page) = (database.olderImages[number / pageCount], number % pageCount)
      let range = (page * pageSize)..<((page + 1) * pageSize)
      // A page that the file did not have yet was zero.
      let old = range.upperBound <= image.count ? Array(image[range]) : [UInt8](repeating: 0, count: pageSize)
      let copy = database.disk.copy()
      copy.overwrite(old, at: range.lowerBound, of: RotWorkload.path)
      return database.judge(copy, replacedIn: .data, range)
    }
  }

  /// Blocks of the log as they were before anything was written to them.
  static func lostBlocks(_ database: RotDatabase) -> RotSweep {
    let file = database.logFile
    let count = database.byteCount(file) / 512
    return RotSweep(trialCount: 4 * count) { number in
      let offset = number % count * 512
      let byteCount = min([512, 1024, 2048, 4096][number / count], count * 512 - offset)
      let copy = database.disk.copy()
      copy.overwrite([UInt8](repeating: 0, count: byteCount), at: offset, of: RotDatabase.path(file))
      return database.judge(copy, replacedIn: file, offset..<(offset + byteCount))
    }
  }

  static func misplaced(_ database: RotDatabase, of file: DecodedFile) -> RotSweep {
    let count = database.byteCount(file) / 4096
    return RotSweep(trialCount: count * count) { number in
      let (source, target) = (number / count * 4096, number % count * 4096)
      let copy = database.disk.copy()
      copy.duplicate(source..<(source + 4096), to: target, of: RotDatabase.path(file))
      return database.judge(copy, replacedIn: file, target..<(target + 4096))
    }
  }

  static func logMisplaced(_ database: RotDatabase) -> RotSweep { misplaced(database, of: database.logFile) }
}

extension RotDatabase {
  /// The same for a range of which only some bytes may have changed.
  func judge(_ damaged: SimulatedDisk, replacedIn file: DecodedFile, _ range: Range<Int>) -> RotOutcome {
    let path = Self.path(file)
    guard let before = disk.bytes(of: path), let after = damaged.bytes(of: path) else { return .wrong("no file") }
    let changed = range.clamped(to: 0..<before.count).filter { before[$0] != after[$0] }
    return judge(damaged, expectation(changed, purposes(file)), file: file)
  }
}
