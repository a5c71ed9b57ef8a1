// Dirty pages and where they are.

internal import Synchronization

/// The table of frames: one entry per dirty page version.
///
/// Branch pages refer to dirty children by frame index. The entry says where the page is: in a slot, or, once a
/// checkpoint has written it, at a page number. A checkpoint flips the entry with one release store; no page that
/// refers to the frame has to change (hazard C1).
///
/// Invariants:
/// 1. An index is either free, reserved or in use; `free` holds each free index below `count` exactly once.
/// 2. An entry in use holds a slot's address (bit 0 clear) or a page number (bit 0 set), and flips at most once.
/// 3. `birth` of an entry is written by the writer before its index is published, and never again.
///
/// Locations, which every descent through dirty pages reads, are dense: eight to a cache line. The rest stands apart.
package final class FrameTable: @unchecked Sendable {
  // Sendable: safe because locations are atomics, checksums are written before the release store that flips the entry,
  // birth before the commit that publishes the frame, and the free list is behind a mutex.
  private let locations: SparseTable
  private let details: SparseTable
  private struct Free: ~Copyable {
    let indexes = ChunkedList<UInt32>()
    var count = 0
  }
  private let free = Latch(Free())
  private let dirty = Atomic<Int>(0)

  private static let detailByteCount = 16
  private static let chunkShift = 14

  /// The locations themselves, for `PageAccess`.
  var entries: SparseTable { locations }

  /// An empty table. Reserves address space; throws `limitReached` if there is none.
  package init() throws(StorageError) {
    locations = try SparseTable(
      entryByteCount: 8, chunkShift: Self.chunkShift, maximumCount: UInt64(Limits.frameCount))
    do throws(StorageError) {
      details = try SparseTable(
        entryByteCount: Self.detailByteCount, chunkShift: Self.chunkShift, maximumCount: UInt64(Limits.frameCount))
    } catch {
      locations.release()
      throw error
    }
  }

  deinit {
    locations.release()
    details.release()
  }

  @inline(__always) private func locationWord(_ index: FrameIndex) -> UnsafeMutablePointer<Atomic<UInt>> {
    locations.entry(Int(index.rawValue)).assumingMemoryBound(to: Atomic<UInt>.self)
  }

  /// Where frame `index` is now.
  @inline(__always) package func location(_ index: FrameIndex) -> FrameLocation {
    FrameLocation(rawValue: locationWord(index).pointee.load(ordering: .acquiring))
  }
  /// The checksum of the page that the frame became; valid once its location is a page number.
  @inline(__always) package func checksum(_ index: FrameIndex) -> UInt64 {
    details.entry(Int(index.rawValue)).load(as: UInt64.self)
  }
  /// The commit that made the frame.
  @inline(__always) package func birth(_ index: FrameIndex) -> UInt64 {
    details.entry(Int(index.rawValue)).load(fromByteOffset: 8, as: UInt64.self)
  }
  /// Takes `count` indexes, to be given a page each by `assign` or back by `unreserve`, and writes them to `indexes`;
  /// none if it throws.
  package func reserve(_ count: Int, into indexes: UnsafeMutablePointer<FrameIndex>) throws(StorageError) {
    let failure: StorageError? = free.withLock { free in
      let recycledCount = min(count, free.indexes.count)
      assert(count > 0, "no frames are reserved")
      let missing = count - recycledCount
      if missing > 0 {
        guard free.count + missing <= Limits.frameCount else {
          return StorageError(.limitReached, "There are too many dirty pages. Use smaller transactions.")
        }
        do throws(StorageError) {
          try locations.grow(to: free.count + missing)
          try details.grow(to: free.count + missing)
        } catch {
          return error
        }
      }
      for place in 0..<recycledCount {
        if let index = free.indexes.popLast() { indexes[place] = FrameIndex(index) }
      }
      for offset in 0..<missing {
        indexes[recycledCount + offset] = FrameIndex(UInt32(free.count + missing - 1 - offset))
      }
      assert(free.count + missing <= Limits.frameCount, "there are more frames than addresses")
      free.count += missing
      return nil
    }
    if let failure { throw failure }
    dirty.wrappingAdd(count, ordering: .relaxed)
  }

  /// Gives back indexes that got no page.
  package func unreserve(_ indexes: some Collection<FrameIndex>) {
    dirty.wrappingSubtract(indexes.count, ordering: .relaxed)
    free.withLock { free in
      for index in indexes { free.indexes.append(index.rawValue) }
    }
  }

  /// Enters a page that lives in `slot` under a reserved index.
  @inline(__always) package func assign(_ index: FrameIndex, slot: UnsafeMutableRawPointer, birth: UInt64) {
    assert(UInt(bitPattern: slot) & 1 == 0, "a slot looks like a page number")
    details.entry(Int(index.rawValue)).storeBytes(of: birth, toByteOffset: 8, as: UInt64.self)
    locationWord(index).pointee.store(UInt(bitPattern: slot), ordering: .releasing)
  }

  /// Says that the frame's page now stands at `number`. Readers that saw the slot before may still be inside it.
  package func flip(_ index: FrameIndex, to number: PageNumber, checksum: UInt64) {
    assert(!location(index).isPageNumber, "a frame is flipped twice")
    assert(number != .none, "a frame is flipped to no page")
    details.entry(Int(index.rawValue)).storeBytes(of: checksum, as: UInt64.self)
    locationWord(index).pointee.store(FrameLocation(number).rawValue, ordering: .releasing)
    dirty.wrappingSubtract(1, ordering: .relaxed)
  }

  /// Says that the frame's page is gone: its place has been given up, and its owner is about to go.
  package func clear(_ index: FrameIndex) {
    assert(location(index).isPageNumber, "a frame that is cleared has its page in memory")
    locationWord(index).pointee.store(FrameLocation(PageNumber.none).rawValue, ordering: .releasing)
  }

  /// Frees indexes. Nobody may be able to reach them.
  package func release(_ indexes: [FrameIndex]) {
    var dirtyCount = 0
    for index in indexes where !location(index).isPageNumber { dirtyCount += 1 }
    assert(dirtyCount <= dirty.load(ordering: .relaxed), "more dirty pages go than there were")
    dirty.wrappingSubtract(dirtyCount, ordering: .relaxed)
    free.withLock { free in
      for index in indexes { free.indexes.append(index.rawValue) }
    }
  }

  /// Frees an index. Nobody may be able to reach it.
  package func release(_ index: FrameIndex) {
    if !location(index).isPageNumber { dirty.wrappingSubtract(1, ordering: .relaxed) }
    free.withLock { $0.indexes.append(index.rawValue) }
  }

  /// The number of frames that no checkpoint has written.
  package var dirtyCount: Int { dirty.load(ordering: .relaxed) }

  /// The bytes of all entries that were ever used at one time.
  package var byteCount: Int { free.withLock { $0.count } * (8 + Self.detailByteCount) }

  /// The number of indexes in use.
  package var usedCount: Int { free.withLock { $0.count - $0.indexes.count } }

  /// Checks the invariants that can be seen from here; returns what is broken.
  package func checkInvariants() -> String? {
    free.withLock { free in
      if Set(free.indexes).count != free.indexes.count { return "a frame index is free twice" }
      if free.indexes.contains(where: { $0 >= free.count }) { return "a free frame index is out of range" }
      return nil
    }
  }
}

/// Where a frame's page is: in a slot, or at a page number.
package struct FrameLocation: Equatable {
  package let rawValue: UInt

  /// Wraps a table entry's word.
  @inline(__always) package init(rawValue: UInt) { self.rawValue = rawValue }
  /// The place of a page that has been written.
  @inline(__always) package init(_ number: PageNumber) { rawValue = UInt(number.rawValue) << 1 | 1 }

  /// Whether the page has been written and handed over to the page table.
  @inline(__always) package var isPageNumber: Bool { rawValue & 1 != 0 }
  /// The page number, once written.
  @inline(__always) package var pageNumber: PageNumber { PageNumber(UInt64(rawValue >> 1)) }
  /// The slot, before that.
  @inline(__always) package var slot: UnsafeMutableRawPointer {
    UnsafeMutableRawPointer(bitPattern: rawValue).unsafelyUnwrapped
  }
}
