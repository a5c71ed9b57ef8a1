// How the power cut falls on what no sync has confirmed: the choices, apart from the bytes that they are made about.

/// Which of the possible images of a power cut is wanted.
package enum CrashMode: Hashable, Sendable {
  /// Everything reached the disk just in time.
  case allNew
  /// Nothing unsynced reached the disk.
  case allOld
  /// Everything is drawn from the seed: the manner of the crash, the sector size, then sector for sector.
  case random(UInt64)
  /// All reached the disk but one unit of those that `pendingUnitCount` counts: a sector of one write is old, or a file
  /// has one of its older lengths, or a name one of its older meanings.
  case loseOne(Int, sectorByteCount: Int = DiskGeometry.sectorByteCount)
}

/// What a crash did, for messages.
package struct CrashReport: Hashable, Sendable, CustomStringConvertible {
  /// The unit that was torn.
  package internal(set) var sectorByteCount = DiskGeometry.sectorByteCount
  /// The manner of the crash, or the mode.
  package internal(set) var manner = ""
  /// Sectors, or parts of them, that were written.
  package internal(set) var newCount = 0
  /// Sectors that kept what they had.
  package internal(set) var oldCount = 0
  /// Sectors of which only the front or only the back was written.
  package internal(set) var tornCount = 0
  /// Sectors that became zeros.
  package internal(set) var zeroCount = 0
  /// Sectors that became anything.
  package internal(set) var garbageCount = 0
  /// Files that did not get their newest length.
  package internal(set) var shortLengthCount = 0
  /// Names that did not get their newest meaning.
  package internal(set) var oldNameCount = 0

  package var description: String {
    "\(manner), sectors of \(sectorByteCount): \(newCount) new, \(oldCount) old, \(tornCount) torn, \(zeroCount) zero, "
      + "\(garbageCount) garbage; \(shortLengthCount) lengths and \(oldNameCount) names old"
  }
}

/// What becomes of one sector of one pending write.
enum SectorFate: Sendable {
  case new
  case old
  /// New up to the offset in the piece, old from there on.
  case newFront(Int)
  /// Old up to the offset in the piece, new from there on.
  case newBack(Int)
  case zero
  case garbage

  /// Whether the piece holds neither what it had nor what was written.
  var isDamage: Bool {
    switch self {
    case .zero, .garbage: true
    default: false
    }
  }
}

/// The choices of one crash, made in the order in which the pending operations are looked at.
struct CrashDraw {
  /// The manner of a random crash. Drawn first, so that each mixture comes up often enough to be met.
  private enum Manner {
    /// Each sector by weights: new, old, torn, zero, garbage.
    case sectors([Int])
    /// Each write as a whole by weights.
    case writes([Int])
    /// In order up to one operation, which is torn.
    case ordered(cut: Int)
  }

  private let mode: CrashMode
  private var random: SeededRandom
  private var manner = Manner.sectors([1])
  private var writeFate: (sequence: Int, fate: SectorFate)?
  private(set) var unitCount = 0
  private(set) var report = CrashReport()
  /// Whether a sector that is damaged takes along the bytes in it that the write does not touch.
  var damagesWholeSectors = false

  var sectorByteCount: Int { report.sectorByteCount }

  /// Begins a crash over pending operations with these sequence numbers.
  init(_ mode: CrashMode, sequences: Range<Int>) {
    self.mode = mode
    random = SeededRandom(seed: 0)
    switch mode {
    case .allNew: report.manner = "all new"
    case .allOld: report.manner = "all old"
    case .loseOne(let unit, let sectorByteCount):
      report.manner = "all new but unit \(unit)"
      report.sectorByteCount = sectorByteCount
    case .random(let seed):
      random = SeededRandom(seed: seed)
      drawManner(sequences)
    }
  }

  private mutating func drawManner(_ sequences: Range<Int>) {
    report.sectorByteCount = random.oneIn(2) ? DiskGeometry.sectorByteCount : DiskGeometry.pageByteCount
    switch random.below(9) {
    case 0: set("few lost", .sectors([16, 1, 0, 0, 0]))
    case 1: set("few kept", .sectors([1, 16, 0, 0, 0]))
    case 2: set("new or old", .sectors([1, 1, 0, 0, 0]))
    case 3: set("new, old or zero", .sectors([2, 1, 0, 1, 0]))
    case 4: set("anything", .sectors([2, 2, 1, 1, 1]))
    case 5: set("few garbage", .sectors([16, 0, 0, 0, 1]))
    case 6: set("whole writes", .writes([1, 1, 0, 0, 0]))
    case 7: set("few writes torn", .writes([8, 2, 1, 1, 1]))
    default: set("in order", .ordered(cut: sequences.lowerBound + random.below(sequences.count + 1)))
    }
  }

  private mutating func set(_ name: String, _ manner: Manner) {
    report.manner = name
    self.manner = manner
  }

  /// What becomes of the next piece of a write: `byteCount` bytes inside one sector.
  mutating func fate(of operation: PendingOperation, byteCount: Int) -> SectorFate {
    let fate: SectorFate
    switch mode {
    case .allNew: fate = .new
    case .allOld: fate = .old
    case .loseOne: fate = nextUnitIsLost() ? .old : .new
    case .random: fate = drawFate(of: operation, byteCount: byteCount)
    }
    switch fate {
    case .new: report.newCount += 1
    case .old: report.oldCount += 1
    case .newFront, .newBack: report.tornCount += 1
    case .zero: report.zeroCount += 1
    case .garbage: report.garbageCount += 1
    }
    return fate
  }

  /// Whether the part that a resize cuts off is gone from the disk, should the file be longer after all.
  mutating func isCutWritten(by operation: PendingOperation) -> Bool {
    switch mode {
    case .allNew, .loseOne: true
    case .allOld: false
    case .random:
      if case .ordered(let cut) = manner { operation.sequence < cut } else { random.oneIn(2) }
    }
  }

  /// Which of the versions a file's length or a name has: an index into the sequence numbers of the changes that made
  /// them, of which the first is that of the durable version.
  mutating func version(_ sequences: [Int], isLength: Bool) -> Int {
    let newest = sequences.count - 1
    if newest == 0 { return 0 }
    let chosen: Int
    switch mode {
    case .allNew: chosen = newest
    case .allOld: chosen = 0
    case .loseOne:
      // Every older version is a unit of its own.
      chosen = (0..<newest).reduce(newest) { found, version in nextUnitIsLost() ? version : found }
    case .random:
      if case .ordered(let cut) = manner {
        chosen = (sequences.dropFirst().lastIndex { $0 < cut }) ?? 0
      } else {
        chosen = random.oneIn(2) ? newest : random.below(sequences.count)
      }
    }
    if chosen != newest {
      if isLength { report.shortLengthCount += 1 } else { report.oldNameCount += 1 }
    }
    return chosen
  }

  /// Fills `target` with bytes that nobody wrote there: noise, or a copy of another place of the same file, which looks
  /// like something valid.
  mutating func fillWithGarbage(_ target: UnsafeMutableRawBufferPointer, from durable: DiskBytes) {
    if durable.count > target.count && random.oneIn(3) {
      let sectors = (durable.count - target.count) / DiskGeometry.sectorByteCount + 1
      let start = random.below(sectors) * DiskGeometry.sectorByteCount
      durable.read(into: target, at: start)
      return
    }
    random.fill(target)
  }

  private mutating func nextUnitIsLost() -> Bool {
    defer { unitCount += 1 }
    if case .loseOne(let lost, _) = mode { return unitCount == lost }
    return false
  }

  private mutating func drawFate(of operation: PendingOperation, byteCount: Int) -> SectorFate {
    switch manner {
    case .sectors(let weights): return draw(weights, byteCount: byteCount)
    case .writes(let weights):
      if writeFate?.sequence != operation.sequence {
        writeFate = (operation.sequence, draw(weights, byteCount: byteCount))
      }
      switch writeFate?.fate {
      case .newFront, .newBack: return draw([1, 1, 1, 0, 0], byteCount: byteCount)
      case let fate: return fate ?? .old
      }
    case .ordered(let cut):
      if operation.sequence < cut { return .new }
      return operation.sequence == cut ? draw([2, 1, 1, 0, 0], byteCount: byteCount) : .old
    }
  }

  private mutating func draw(_ weights: [Int], byteCount: Int) -> SectorFate {
    var drawn = random.below(weights.reduce(0, +))
    var index = 0
    while drawn >= weights[index] {
      drawn -= weights[index]
      index += 1
    }
    switch index {
    case 0: return .new
    case 1: return .old
    case 2: return random.oneIn(2) ? .newFront(random.below(byteCount)) : .newBack(random.below(byteCount))
    case 3: return .zero
    default: return .garbage
    }
  }
}
