// The sets behind the page allocator, and how many places are left in them.

/// What is known of each place of the data file; see `PageAllocator`, whose lock guards it.
///
/// Invariants, besides the allocator's:
/// 1. `freeBackedCount` is the number of places below `backedEnd` that are in `provenFree` and not in `held`.
/// 2. The places below `backedEnd` have blocks on the disk: writing there cannot fail for want of space.
/// 3. No place below `floor` is in `provenFree`; what would be there but for that is in `withheld`.
struct PlaceState {
  var pageCount: UInt64
  var mapFree: PageBits
  private(set) var provenFree = PageBits()
  private(set) var withheld = PageBits()
  /// Places below are not given out: nothing proves yet that the map of the file says the truth about them.
  private(set) var floor: UInt64
  private(set) var held = PageBits()
  /// How many places are in `held`.
  private(set) var heldCount = 0
  var aheadOfCommit = PageBits()
  var aheadOfCheckpoint = PageBits()
  /// Lent to pages that only readers of old snapshots need, and that no map will ever know of.
  var lent = PageBits()
  /// Superseded since the last checkpoint, in the order of their commits.
  let superseded = ChunkedList<SupersededPlace>()
  /// How many places these are.
  var supersededCount = 0
  /// The numbers of `superseded`.
  var supersededBits = PageBits()
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
    mapFree = free
    mapFree.grow(to: pageCount)
    guard isProven else { return }
    guard isTrusted else {
      withheld = free
      return
    }
    provenFree = free
    freeBackedCount = free.count
  }

  /// Says that the map of the file is right: what has been withheld may be given out. Cost: the places withheld.
  mutating func trust() {
    floor = 0
    let places = withheld
    withheld = PageBits()
    places.forEach { setProven($0, true) }
    isExhausted = false
  }

  /// Says that no reader needs a superseded place any more.
  mutating func release(_ place: UInt64) {
    setHeld(place, false)
    if lent.remove(place) { setProven(place, true) }
    isExhausted = false
  }

  /// How many places can be given out and written without asking the disk for space.
  var availableCount: Int { freeBackedCount + Int(backedEnd) - Int(min(pageCount, backedEnd)) }

  /// Says whether a place may be given out as far as checkpoints are concerned.
  mutating func setProven(_ number: UInt64, _ isProven: Bool) {
    if number < floor { return withheld[number] = isProven }
    guard provenFree[number] != isProven else { return }
    provenFree[number] = isProven
    if number < backedEnd, !held[number] { freeBackedCount += isProven ? 1 : -1 }
  }

  /// Says whether readers may need what a place holds.
  mutating func setHeld(_ number: UInt64, _ isHeld: Bool) {
    guard held[number] != isHeld else { return }
    held[number] = isHeld
    heldCount += isHeld ? 1 : -1
    if number < backedEnd, provenFree[number] { freeBackedCount += isHeld ? -1 : 1 }
  }

  /// Says how far the file has blocks. Cost: the places between the old end and the new.
  mutating func setBackedEnd(_ end: UInt64) {
    for number in min(backedEnd, end)..<max(backedEnd, end) where provenFree[number] && !held[number] {
      freeBackedCount += end > backedEnd ? 1 : -1
    }
    backedEnd = end
  }

  /// Lowers the page count to behind the last place that is not free for everybody: what lies above is in no map any
  /// more, and the file may be cut there once this has been proven. Cost: the places given up.
  mutating func trim(bitsPerPiece: Int) {
    let before = pageCount
    while pageCount > 2, mapFree[pageCount - 1], provenFree[pageCount - 1], !held[pageCount - 1] {
      pageCount -= 1
      setProven(pageCount, false)
      mapFree[pageCount] = false
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
    if let lowest = provenFree.first(from: 0, excluding: PageBits()), lowest < floor {
      return "a place that is withheld may be given out"
    }
    for (index, word) in withheld.words.enumerated() where word & ~mapFree.word(index) != 0 {
      return "a place that is withheld is not free in the map"
    }
    for (index, word) in provenFree.words.enumerated() {
      let free = mapFree.word(index)
      if word & ~free != 0 { return "a place that may be given out is not free in the map" }
      let ahead = aheadOfCommit.word(index) | aheadOfCheckpoint.word(index) | lent.word(index)
      if word & ahead != 0 { return "a place written ahead may be given out" }
      if ahead & ~free != 0 { return "a place written ahead is used in the map" }
      if aheadOfCommit.word(index) & aheadOfCheckpoint.word(index) != 0 { return "a place is ahead twice" }
    }
    return nil
  }
}
