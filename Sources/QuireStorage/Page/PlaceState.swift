// The places behind the page allocator, and how many of them are left.

/// What is known of each place of the data file; see `PageAllocator`, whose lock guards it.
///
/// Invariants, besides the allocator's:
/// 1. `freeBackedCount` is the number of places below `backedEnd` that are free and not held.
/// 2. The places below `backedEnd` have blocks on the disk: writing there cannot fail for want of space.
/// 3. No place below `floor` is free; what would be but for that is withheld.
/// 4. `heldCount` and `supersededCount` count the places with these marks.
/// 5. No place has a mark that its status excludes; see `PlaceTable`.
struct PlaceState {
  var pageCount: UInt64
  private(set) var table = PlaceTable()
  /// Places below are not given out: nothing proves yet that the map of the file says the truth about them.
  private(set) var floor: UInt64
  /// Where the places that the running transaction has written ahead lie.
  private var aheadOfCommit = Self.nowhere
  /// How many places readers may need.
  private(set) var heldCount = 0
  /// Superseded since the last checkpoint, in the order of their commits.
  let superseded = ChunkedList<SupersededPlace>()
  /// How many places these are.
  var supersededCount = 0
  /// Freed by checkpoints that are not proven yet.
  var unproven: [(checkpoint: UInt64, numbers: ChunkedList<UInt64>)] = []
  /// Freed for the checkpoint being written.
  var freedNow = ChunkedList<UInt64>()
  /// Pieces of the map that differ from what is on disk, and those that a checkpoint is writing.
  var dirtyPieces: Set<Int> = []
  var writtenPieces: Set<Int> = []
  /// How many pages the map that is being written describes.
  var mapPageCount: UInt64 = 0
  var cursor: UInt64 = 2
  /// Whether a search has found nothing since the last place became free: then the end of the file is next.
  var isExhausted = false
  /// Where the part of the file ends that has blocks on the disk, in pages.
  private(set) var backedEnd: UInt64
  private var freeBackedCount = 0

  /// A file of `pageCount` pages, all of which were written once; the map calls those in `free` free, and they may be
  /// given out if the checkpoint is proven and the map trusted.
  init(pageCount: UInt64, free: PageBits, isProven: Bool, isTrusted: Bool) {
    self.pageCount = pageCount
    floor = isTrusted ? 0 : pageCount
    backedEnd = pageCount
    table.grow(to: pageCount)
    let status: PlaceStatus = !isProven ? .freed : isTrusted ? .free : .withheld
    free.forEach { table[$0] = status }
    if status == .free { freeBackedCount = free.count }
  }

  /// Says that the map of the file is right: what has been withheld may be given out. Cost: the places withheld.
  mutating func trust() {
    floor = 0
    for place in table.places(.withheld) { set(place, .free) }
    isExhausted = false
  }

  /// Says that no reader needs a superseded place.
  mutating func release(_ place: UInt64) {
    setHeld(place, false)
    if table[place] == .lent { makeFree(place) }
    isExhausted = false
  }

  /// How many places can be given out and written without asking the disk for space.
  var availableCount: Int { freeBackedCount + Int(backedEnd) - Int(min(pageCount, backedEnd)) }

  /// Says what a place is from now on.
  mutating func set(_ number: UInt64, _ status: PlaceStatus) {
    let old = table[number]
    guard old != status else { return }
    assert(status != .free || number >= floor, "a place below the floor is withheld")
    table[number] = status
    guard number < backedEnd, !table.isHeld(number) else { return }
    if status == .free { freeBackedCount += 1 } else if old == .free { freeBackedCount -= 1 }
    assert(freeBackedCount >= 0, "more places were given out than there were")
  }

  /// Says that nobody but readers can need a place: it may be given out when they do not, and when the map is trusted.
  mutating func makeFree(_ number: UInt64) { set(number, number < floor ? .withheld : .free) }

  /// Says that a place was given out to the running transaction ahead of a checkpoint.
  mutating func setAheadOfCommit(_ number: UInt64) {
    set(number, .aheadOfCommit)
    let end = aheadOfCommit.isEmpty ? number + 1 : max(aheadOfCommit.upperBound, number + 1)
    aheadOfCommit = min(aheadOfCommit.lowerBound, number)..<end
  }

  /// Says that what the running transaction has written ahead is committed. Cost: the places between the first one and
  /// the last, 64 at a time.
  mutating func commitAhead() {
    for place in table.places(.aheadOfCommit, from: aheadOfCommit.lowerBound, below: aheadOfCommit.upperBound) {
      set(place, .aheadOfCheckpoint)
    }
    aheadOfCommit = Self.nowhere
  }

  private static let nowhere = UInt64.max..<UInt64.max

  /// Says whether readers may need what a place holds.
  mutating func setHeld(_ number: UInt64, _ isHeld: Bool) {
    guard table.isHeld(number) != isHeld else { return }
    table.setHeld(number, isHeld)
    heldCount += isHeld ? 1 : -1
    assert(heldCount >= 0, "a place was released twice")
    if number < backedEnd, table[number] == .free { freeBackedCount += isHeld ? -1 : 1 }
  }

  /// Notes that a commit has replaced what a place holds, or that this has been applied to the map or taken back.
  mutating func setSuperseded(_ number: UInt64, _ isSuperseded: Bool) {
    table.setSuperseded(number, isSuperseded)
  }

  /// Says how far the file has blocks. Cost: the places between the old end and the new.
  mutating func setBackedEnd(_ end: UInt64) {
    assert(end >= 2, "a file has its meta pages")
    for number in min(backedEnd, end)..<max(backedEnd, end) where table[number] == .free && !table.isHeld(number) {
      freeBackedCount += end > backedEnd ? 1 : -1
    }
    backedEnd = end
  }

  /// Lowers the page count to behind the last place that is not free for everybody: what lies above is in no map any
  /// more, and the file may be cut there once this has been proven. Cost: the places given up.
  mutating func trim(bitsPerPiece: Int) {
    let before = pageCount
    while pageCount > 2, table[pageCount - 1] == .free, !table.isHeld(pageCount - 1) {
      pageCount -= 1
      set(pageCount, .used)
    }
    guard pageCount < before else { return }
    // The last piece is written anew even if no bit of it changes, and with it the branches above it, which must not
    // go on naming pieces that are gone.
    let last = Int(pageCount - 1) / bitsPerPiece
    dirtyPieces = dirtyPieces.filter { $0 <= last }
    dirtyPieces.insert(last)
    cursor = 2
    isExhausted = false
  }

  /// What is broken of the allocator's invariants.
  var defect: String? {
    let free = table.places(.free)
    if let lowest = free.first, lowest < floor { return "a place that is withheld may be given out" }
    let backed = free.reduce(0) { $0 + ($1 < backedEnd && !table.isHeld($1) ? 1 : 0) }
    if backed != freeBackedCount { return "\(backed) places on the disk are free, not \(freeBackedCount)" }
    if table.heldCount != heldCount { return "\(table.heldCount) places are held, not \(heldCount)" }
    if table.supersededCount != supersededCount {
      return "\(table.supersededCount) places are superseded, not \(supersededCount)"
    }
    for status in PlaceStatus.allCases where status != .used {
      if let last = table.places(status, from: pageCount).last { return "place \(last) behind the end is \(status)" }
    }
    if let place = table.firstContradiction {
      let marks = "\(table.isHeld(place) ? "held " : "")\(table.isSuperseded(place) ? "superseded" : "")"
      return "place \(place) is \(table[place]) and \(marks)"
    }
    let ahead = table.places(.aheadOfCommit)
    return ahead.allSatisfy(aheadOfCommit.contains) ? nil : "a place written ahead of a commit is forgotten"
  }
}
