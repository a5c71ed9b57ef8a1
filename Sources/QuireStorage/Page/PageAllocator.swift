// Which pages of the file are free, and for whom.

internal import Synchronization

/// A page that a commit replaced.
package struct SupersededPlace: Sendable, BitwiseCopyable {
  package let number: PageNumber
  /// More than one for an extent.
  package let count: Int
  /// The commit from which on nobody needs it but older snapshots.
  package let csn: UInt64
}

/// Gives out places in the data file.
///
/// A place goes through these states: free in the durable map → given to a page → superseded → free in the next
/// checkpoint's map → (that checkpoint proven, and no reader needs it) → may be given out again. The map that a
/// checkpoint writes is exactly the complement of what its trees reach (hazard C5); what readers hold is subtracted in
/// memory only.
///
/// Invariants:
/// 1. The places that are not used are the complement of what the newest checkpoint's trees reach, or those of the
///    one being written.
/// 2. A number is given out only if it is free and not held, or behind the end of the file.
/// 3. A place freed by a checkpoint becomes free only when a synced log record marks that checkpoint durable, so that
///    the one before stays whole until it cannot be needed (hazards A6, C6).
/// 4. Until the map that the file came with is trusted, no place of that file is given out, whatever the map says of it
///    and whatever has been given up since: see `FreeMapProof`.
/// 5. Places written ahead of the checkpoint that will name them, by the running transaction and by those that have
///    committed since the last freeze, are free in a map written meanwhile, as after a crash they are; so are lent
///    ones, for pages that no map will ever name.
///
/// Space: a commit is let through only while the next checkpoint has places that need nothing more from the disk
/// (hazard A13). `availableCount` is what the commit compares with; a relaxed load, so that asking costs nothing.
package final class PageAllocator: Sendable {
  /// Bits in one page of the map.
  package let bitsPerPiece: Int
  let state: Latch<PlaceState>
  private let available: Atomic<Int>
  let supersededPages = Atomic<Int>(0)
  /// Whether the running transaction may have been given places ahead.
  private let hasAheadOfCommit = Atomic<Bool>(false)

  /// - Parameters:
  ///   - free: the page numbers that the map of the newest checkpoint says are free.
  ///   - isProven: whether that checkpoint is proven durable; if not, only places behind the end of the file are given
  ///     out until `prove` is called for it.
  ///   - isTrusted: whether that map is known to be right; if not, only places behind the end of the file are given out
  ///     until `trust` is called.
  package init(
    pageSize: Int, pageCount: UInt64, free: PageBits, checkpoint: UInt64, isProven: Bool, isTrusted: Bool = true
  ) {
    bitsPerPiece = (pageSize - PageLayout.headerByteCount) * 8
    var state = PlaceState(pageCount: pageCount, free: free, isProven: isProven, isTrusted: isTrusted)
    if !isProven {
      let numbers = ChunkedList<UInt64>()
      free.forEach { numbers.append($0) }
      state.unproven.append((checkpoint, numbers))
    }
    available = Atomic(state.availableCount)
    self.state = Latch(state)
  }

  /// The number of pages of the file, or that it will have.
  package var pageCount: UInt64 { state.withLock { $0.pageCount } }

  /// The number of pages that nothing reaches but readers of old snapshots. What was written ahead of a checkpoint is
  /// in use, whatever the map says.
  package var freeCount: Int { state.withLock { $0.table.unreachedCount } }

  /// Starts giving out places from the front again.
  package func rewind() {
    state.withLock { state in
      state.cursor = 2
      state.isExhausted = false
    }
  }

  /// Gives out a place, ascending from the last one as far as possible, so that a checkpoint writes in runs.
  package func allocate() -> PageNumber {
    state.withLock { state in
      let number: UInt64
      if let found = search(&state) {
        number = found
      } else {
        number = state.pageCount
        state.pageCount += 1
      }
      assert(number >= 2, "the places of the meta pages are given out")
      state.cursor = number + 1
      setMap(&state, number, .used)
      publish(state)
      return PageNumber(number)
    }
  }

  private func search(_ state: inout PlaceState) -> UInt64? {
    if state.isExhausted { return nil }
    if let found = state.table.firstUsable(from: state.cursor) { return found }
    let found = state.table.firstUsable(from: 2)
    state.isExhausted = found == nil
    return found
  }

  /// Takes back places that no meta page refers to and no reader ever saw.
  package func discard(_ number: PageNumber, count: Int = 1) {
    state.withLock { state in
      for number in number.rawValue..<(number.rawValue + UInt64(count)) {
        // What is ahead, or lent, the map has called free all along.
        if state.table[number] == .used { touch(&state, number) }
        state.makeFree(number)
      }
      state.isExhausted = false
      publish(state)
    }
  }

  // MARK: Ahead of a checkpoint

  /// Gives out `count` places in a row for what is written before the checkpoint that will name it: a spilled page, or
  /// the extent of a long value. The places count as used from the freeze on that includes their commit.
  ///
  /// First fit for several places, so that extents fill holes; linear in the size of the map.
  ///
  /// - Parameter isCommitted: whether the page belongs to a commit that has been appended; otherwise to the running
  ///   transaction, which calls `commitAhead`, or gives each place back by `discard`, or with what it has replaced.
  package func allocateAhead(_ count: Int = 1, isCommitted: Bool) -> PageNumber {
    assert(count > 0, "no places are given out")
    return state.withLock { state in
      let found = count == 1 ? search(&state) : state.table.firstUsableRun(of: count, from: 2)
      let first = found ?? state.pageCount
      for number in first..<(first + UInt64(count)) {
        if found == nil { touch(&state, number) }
        if isCommitted { state.set(number, .aheadOfCheckpoint) } else { enterAheadOfCommit(&state, number) }
      }
      state.pageCount = max(state.pageCount, first + UInt64(count))
      if count == 1 { state.cursor = first + 1 }
      publish(state)
      return PageNumber(first)
    }
  }

  /// Notes a place that was given out for the running transaction.
  func enterAheadOfCommit(_ state: inout PlaceState, _ number: UInt64) {
    state.setAheadOfCommit(number)
    hasAheadOfCommit.store(true, ordering: .relaxed)
  }

  /// Notes that the running transaction, whose pages were given places ahead, is the newest commit. Nearly always there
  /// are none, and that costs no lock.
  package func commitAhead(_ permit: borrowing WriterPermit) {
    guard hasAheadOfCommit.load(ordering: .relaxed) else { return }
    hasAheadOfCommit.store(false, ordering: .relaxed)
    state.withLock { $0.commitAhead() }
  }

  /// Called at a freeze, before `applySuperseded`: what was written ahead of this checkpoint is part of it.
  ///
  /// - Parameter includingRunning: whether the running transaction is frozen too: a commit by checkpoint.
  package func settleAhead(includingRunning: Bool) {
    state.withLock { state in
      if includingRunning { state.commitAhead() }
      for place in state.table.places(.aheadOfCheckpoint) { setMap(&state, place, .used) }
    }
  }

  /// Notes that the commit `csn` replaced the page there, or the extent of `count` pages. False, and then nothing is
  /// noted, if a place of it was given up before: two references lead there.
  @discardableResult
  package func supersede(_ number: PageNumber, count: Int = 1, csn: UInt64) -> Bool {
    state.withLock { state in
      let places = Self.places(number, count)
      for raw in places {
        switch state.table[raw] {
        case .freed, .withheld, .free, .lent: return false
        // What was written ahead of a checkpoint is free in the map and in use all the same.
        case .used, .aheadOfCommit, .aheadOfCheckpoint: break
        }
        if state.table.isHeld(raw) || state.table.isSuperseded(raw) { return false }
      }
      for raw in places {
        state.setHeld(raw, true)
        state.setSuperseded(raw, true)
      }
      state.superseded.append(SupersededPlace(number: number, count: count, csn: csn))
      state.supersededCount += count
      publish(state)
      return true
    }
  }

  /// The same for a page of a tree. One that was written ahead of the next checkpoint needs no checkpoint to be given
  /// up: no map has called its place used, and the log does not name it. `release` makes that free.
  package func supersedePage(_ number: PageNumber, csn: UInt64) -> Bool {
    let isLent = state.withLock { state in
      guard state.table[number.rawValue] == .aheadOfCheckpoint, !state.table.isSuperseded(number.rawValue) else {
        return false
      }
      state.set(number.rawValue, .lent)
      return true
    }
    return isLent || supersede(number, csn: csn)
  }

  static func places(_ number: PageNumber, _ count: Int) -> Range<UInt64> {
    number.rawValue..<(number.rawValue + UInt64(count))
  }

  /// Notes that no reader needs a superseded place, or an extent of `count` pages.
  package func release(_ number: PageNumber, count: Int = 1) {
    state.withLock { state in
      for place in Self.places(number, count) { state.release(place) }
      publish(state)
    }
  }

  /// Gives out a place for a page that only readers of old snapshots need; `release` takes it back.
  package func allocateLent() -> PageNumber {
    state.withLock { state in
      let number = search(&state) ?? state.pageCount
      if number == state.pageCount {
        state.pageCount += 1
        touch(&state, number)
      }
      state.set(number, .lent)
      state.cursor = number + 1
      publish(state)
      return PageNumber(number)
    }
  }

  /// Lets `availableCount` and `supersededCount` know.
  func publish(_ state: PlaceState) {
    available.store(state.availableCount, ordering: .relaxed)
    supersededPages.store(state.supersededCount, ordering: .relaxed)
  }

  /// Says what a place is from now on, and has its piece of the map written.
  func setMap(_ state: inout PlaceState, _ number: UInt64, _ status: PlaceStatus) {
    state.set(number, status)
    touch(&state, number)
  }

  /// Notes that the piece of the map that a place is in is to be written.
  func touch(_ state: inout PlaceState, _ number: UInt64) { state.dirtyPieces.insert(Int(number) / bitsPerPiece) }

  // MARK: Checkpoints

  /// Frees in the map what commits up to `csn` replaced.
  package func applySuperseded(upTo csn: UInt64) {
    state.withLock { state in
      // Neighbours share a piece of the map, and noting it costs more than all the rest.
      var touched = -1
      state.superseded.removeAll { place in
        if place.csn > csn { return false }
        for number in Self.places(place.number, place.count) {
          state.setSuperseded(number, false)
          // Unless a map or a catalog that is forged has named it, too.
          guard state.table[number] == .used else { continue }
          state.set(number, .freed)
          let piece = Int(number) / bitsPerPiece
          if piece != touched { touch(&state, number) }
          touched = piece
          state.freedNow.append(number)
        }
        assert(state.supersededCount >= place.count, "more places are freed than were superseded")
        state.supersededCount -= place.count
        return true
      }
      publish(state)
    }
  }

  /// Frees in the map a page of the catalog or of the map itself, which readers never look at.
  package func free(_ number: PageNumber) {
    state.withLock { state in
      // Once: in a forged file two references may lead there.
      guard state.table[number.rawValue] == .used else { return }
      setMap(&state, number.rawValue, .freed)
      state.freedNow.append(number.rawValue)
    }
  }

  /// The pieces of the map that must be written.
  package var dirtyPieces: Set<Int> { state.withLock { $0.dirtyPieces } }

  /// Gives up the free places at the end of the file that nobody needs; the caller is at a freeze. What a running
  /// transaction has written ahead stays.
  package func trim() {
    state.withLock { state in
      state.trim(bitsPerPiece: bitsPerPiece)
      publish(state)
    }
  }

  /// Notes that the next checkpoint writes a piece of the map anew.
  package func touchPiece(_ index: Int) { state.withLock { _ = $0.dirtyPieces.insert(index) } }

  /// Ends the planning of a map that is written piece by piece: its bits below `mapPageCount` stand from now on,
  /// whatever is given out ahead meanwhile, and later changes count for the next map.
  ///
  /// - Parameters:
  ///   - planned: the pieces that have places.
  ///   - pageCount: the length of the file that the plan is for.
  /// - Returns: false if something has changed that the plan lacks.
  package func freezeMap(planned: Set<Int>, pageCount: UInt64) -> Bool {
    state.withLock { state in
      guard state.pageCount == pageCount, state.dirtyPieces.isSubset(of: planned) else { return false }
      assert(state.writtenPieces.isEmpty, "two maps are written at a time")
      state.mapPageCount = pageCount
      state.writtenPieces = state.dirtyPieces
      state.dirtyPieces = []
      return true
    }
  }

  /// How many pages the map that was planned last describes: what the meta page names as the length.
  package var mapPageCount: UInt64 { state.withLock { $0.mapPageCount } }

  /// The bits of a piece, lowest page number first, as they stand now.
  package func piece(_ index: Int) -> [UInt8] {
    state.withLock { state in
      let first = UInt64(index * bitsPerPiece)
      var bytes = [UInt8](repeating: 0, count: bitsPerPiece / 8)
      for byte in 0..<bytes.count {
        let number = first + UInt64(byte * 8)
        let word = Int(number >> 6)
        guard number < state.mapPageCount else { break }
        bytes[byte] = UInt8(truncatingIfNeeded: state.table.mapWord(word) >> (number & 63))
        // Places given out ahead behind the end of this map are free in memory only.
        if number + 8 > state.mapPageCount { bytes[byte] &= (1 << UInt8(state.mapPageCount - number)) &- 1 }
      }
      return bytes
    }
  }

  /// Notes that the meta page of `checkpoint` is durable. Its freed places wait for the proof.
  package func finishCheckpoint(_ checkpoint: UInt64) {
    state.withLock { state in
      assert(state.unproven.last.map { $0.checkpoint < checkpoint } ?? true, "checkpoints have ascending numbers")
      state.unproven.append((checkpoint, state.freedNow))
      state.freedNow = ChunkedList()
      state.writtenPieces = []
    }
  }

  /// Notes that the checkpoint has failed after its map was planned: the pieces must be written by the next one.
  package func abandonMap() {
    state.withLock { state in
      state.dirtyPieces.formUnion(state.writtenPieces)
      state.writtenPieces = []
    }
  }

  /// Notes that a synced log record marks `checkpoint` durable, or that nothing older can be fallen back to.
  package func prove(_ checkpoint: UInt64) {
    state.withLock { state in
      // Every flush asks, and few come after a checkpoint.
      guard !state.unproven.isEmpty else { return }
      for entry in state.unproven where entry.checkpoint <= checkpoint {
        // In a forged file two references may have freed it, and one of them been taken back.
        for number in entry.numbers where state.table[number] == .freed { state.makeFree(number) }
      }
      state.unproven.removeAll { $0.checkpoint <= checkpoint }
      state.isExhausted = false
      publish(state)
    }
  }

  // MARK: Space

  /// How many places can be given out and written without asking the disk for space. A value as of some moment ago: of
  /// what others give out or give up meanwhile the caller must be certain by other means.
  @inline(__always) package var availableCount: Int { available.load(ordering: .relaxed) }

  /// Where the part of the file ends that has blocks on the disk, in pages.
  package var backedEnd: UInt64 { state.withLock { $0.backedEnd } }

  /// Notes how far the file has blocks on the disk. To lower it, the caller must keep everybody from being given
  /// places.
  package func setBackedEnd(_ end: UInt64) {
    state.withLock { state in
      state.setBackedEnd(end)
      publish(state)
    }
  }
}
