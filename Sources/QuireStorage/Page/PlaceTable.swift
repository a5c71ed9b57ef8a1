// What each place of the data file is: one status per place, kept as bits across words of 64 places.

/// What a place is for the maps of checkpoints. A place has exactly one of these.
enum PlaceStatus: UInt8, CaseIterable {
  /// Used in the map of the newest checkpoint, or of the one being written; or behind the end of the file.
  case used = 0
  /// Free in the map of a checkpoint that nothing proves yet.
  case freed
  /// Free in the map that the file came with, which nothing proves to be right yet.
  case withheld
  /// Free for good: may be given out unless readers need what it holds.
  case free
  /// Written ahead of a checkpoint by the running transaction; free in the map.
  case aheadOfCommit
  /// Written ahead of a checkpoint, and of a commit: of one that has spilled it since the last freeze, or spilled by
  /// the running transaction for another that came before; free in the map.
  case aheadOfCheckpoint
  /// Lent to a page that only readers of old snapshots need, and that no map will ever know of; free in the map.
  case lent
}

/// The statuses of all places, and two marks: that readers may need what a place holds, and that a commit since the
/// last freeze has replaced it.
///
/// | status | marks that a place may have |
/// |---|---|
/// | used, ahead of a checkpoint | none, superseded, or superseded and held |
/// | freed, withheld, free | none, or held |
/// | ahead of a commit, lent | none; superseded and held ahead of a commit while that commit is being noted |
///
/// The bits of a status stand in three words of 64 places each, so that 64 places are searched at once and a map is
/// three words joined. Growing is amortized O(1); a place that was never named is used and has no mark.
struct PlaceTable {
  /// 64 places in a row.
  private struct Row: BitwiseCopyable {
    var (low, middle, high): (UInt64, UInt64, UInt64) = (0, 0, 0)
    var held: UInt64 = 0
    var superseded: UInt64 = 0

    /// Those with a status.
    func places(_ status: PlaceStatus) -> UInt64 {
      let code = status.rawValue
      return (code & 1 != 0 ? low : ~low) & (code & 2 != 0 ? middle : ~middle) & (code & 4 != 0 ? high : ~high)
    }

    /// Those that the map calls free.
    var mapFree: UInt64 { low | middle | high }

    /// Those of them that hold nothing which the newest commits or the running transaction reach.
    var unreached: UInt64 { mapFree & ~(places(.aheadOfCommit) | places(.aheadOfCheckpoint)) }

    /// Those with marks that their status excludes.
    var contradictory: UInt64 {
      let inUse = places(.used) | places(.aheadOfCheckpoint)
      let given = places(.aheadOfCommit) | places(.lent)
      return superseded & ~inUse | held & ~superseded & inUse | held & given
    }

    /// Those that may be given out.
    var usable: UInt64 { low & middle & ~high & ~held }
  }

  private var rows: [Row] = []

  /// Makes room for places below `count`.
  mutating func grow(to count: UInt64) {
    let needed = Int((count + 63) >> 6)
    if rows.count < needed { rows.append(contentsOf: repeatElement(Row(), count: needed - rows.count)) }
  }

  /// What a place is.
  subscript(_ number: UInt64) -> PlaceStatus {
    get {
      let index = Int(number >> 6)
      guard index < rows.count else { return .used }
      let (row, shift) = (rows[index], number & 63)
      let code = row.low >> shift & 1 | (row.middle >> shift & 1) << 1 | (row.high >> shift & 1) << 2
      guard let status = PlaceStatus(rawValue: UInt8(code)) else {
        assertionFailure("no status has the code \(code)")
        return .used
      }
      return status
    }
    set {
      grow(to: number + 1)
      let (index, bit, code) = (Int(number >> 6), 1 << (number & 63) as UInt64, newValue.rawValue)
      Self.set(&rows[index].low, bit, code & 1 != 0)
      Self.set(&rows[index].middle, bit, code & 2 != 0)
      Self.set(&rows[index].high, bit, code & 4 != 0)
    }
  }

  private static func set(_ word: inout UInt64, _ bit: UInt64, _ isSet: Bool) {
    if isSet { word |= bit } else { word &= ~bit }
  }

  /// Whether readers may need what a place holds.
  func isHeld(_ number: UInt64) -> Bool {
    let index = Int(number >> 6)
    return index < rows.count && rows[index].held >> (number & 63) & 1 != 0
  }

  /// Whether a commit since the last freeze has replaced what a place holds.
  func isSuperseded(_ number: UInt64) -> Bool {
    let index = Int(number >> 6)
    return index < rows.count && rows[index].superseded >> (number & 63) & 1 != 0
  }

  mutating func setHeld(_ number: UInt64, _ isHeld: Bool) {
    grow(to: number + 1)
    Self.set(&rows[Int(number >> 6)].held, 1 << (number & 63), isHeld)
  }

  mutating func setSuperseded(_ number: UInt64, _ isSuperseded: Bool) {
    grow(to: number + 1)
    Self.set(&rows[Int(number >> 6)].superseded, 1 << (number & 63), isSuperseded)
  }

  // MARK: Many places

  /// The least place that has marks which its status excludes.
  var firstContradiction: UInt64? {
    for (index, row) in rows.enumerated() where row.contradictory != 0 {
      return UInt64(index) << 6 + UInt64(row.contradictory.trailingZeroBitCount)
    }
    return nil
  }

  /// The places from `64 * index` on that the map calls free, one bit each.
  func mapWord(_ index: Int) -> UInt64 { index < rows.count ? rows[index].mapFree : 0 }

  /// How many places hold nothing, or what only readers of old snapshots see: free in the map, and not written ahead.
  var unreachedCount: Int { rows.reduce(0) { $0 + $1.unreached.nonzeroBitCount } }

  /// How many places may be given out.
  var usableCount: Int { rows.reduce(0) { $0 + $1.usable.nonzeroBitCount } }

  /// How many places have a mark.
  var heldCount: Int { rows.reduce(0) { $0 + $1.held.nonzeroBitCount } }
  var supersededCount: Int { rows.reduce(0) { $0 + $1.superseded.nonzeroBitCount } }

  /// The least place that is at least `start` and may be given out.
  func firstUsable(from start: UInt64) -> UInt64? {
    var index = Int(start >> 6)
    var mask = ~UInt64(0) << (start & 63)
    while index < rows.count {
      let word = rows[index].usable & mask
      if word != 0 { return UInt64(index) << 6 + UInt64(word.trailingZeroBitCount) }
      mask = ~0
      index += 1
    }
    return nil
  }

  /// The least place from `start` on that `count` places in a row begin with which may be given out.
  func firstUsableRun(of count: Int, from start: UInt64) -> UInt64? {
    var runStart = start
    var next = start
    while let number = firstUsable(from: next) {
      if number != next { runStart = number }
      next = number + 1
      if next - runStart >= UInt64(count) { return runStart }
    }
    return nil
  }

  /// The places below `limit` that have a status, in order. Cost: the places from `start` on, 64 at a time.
  func places(_ status: PlaceStatus, from start: UInt64 = 0, below limit: UInt64 = .max) -> [UInt64] {
    assert(status != .used, "places that are used have no end")
    var found: [UInt64] = []
    var index = Int(start >> 6)
    let end = min(rows.count, Int(clamping: limit >> 6) + 1)
    while index < end {
      var rest = rows[index].places(status)
      while rest != 0 {
        found.append(UInt64(index) << 6 + UInt64(rest.trailingZeroBitCount))
        rest &= rest - 1
      }
      index += 1
    }
    return found.filter { $0 >= start && $0 < limit }
  }
}
