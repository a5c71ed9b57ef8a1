// Tables indexed by page number or frame index: chunks that are added as the index grows and never move, so that
// readers index them without a lock.

internal import Synchronization

/// A growing array of zero-initialised entries whose addresses never change.
///
/// Growing is the owner's business (one thread at a time); reading is anybody's, for indexes below a count that was
/// published after `grow`. Entries are trivial and start as zero bytes.
struct SparseTable: @unchecked Sendable {
  // Sendable: safe because the directory's words are written before any index that uses them is published, and the
  // entries themselves are atomics or guarded by their users.
  private let directory: VirtualMemory
  private let entryByteCount: Int
  let chunkShift: Int

  /// Reserves address space for `maximumCount` entries; memory is used only for chunks that exist.
  init(entryByteCount: Int, chunkShift: Int, maximumCount: UInt64) throws(StorageError) {
    self.entryByteCount = entryByteCount
    self.chunkShift = chunkShift
    let chunks = Int((maximumCount >> UInt64(chunkShift)) + 1)
    directory = try VirtualMemory.reserve(byteCount: (chunks * 8 + 4095) & ~4095)
  }

  private var chunkByteCount: Int { (entryByteCount << chunkShift + 4095) & ~4095 }

  private var words: UnsafeMutablePointer<UInt> { directory.base.assumingMemoryBound(to: UInt.self) }

  /// The address of entry `index`, whose chunk exists.
  @inline(__always) func entry(_ index: Int) -> UnsafeMutableRawPointer {
    let chunk = words[index &>> chunkShift]
    let offset = UInt(index & ((1 &<< chunkShift) &- 1)) &* UInt(entryByteCount)
    return UnsafeMutableRawPointer(bitPattern: chunk &+ offset).unsafelyUnwrapped
  }

  /// Makes entries `0..<count` usable.
  func grow(to count: Int) throws(StorageError) {
    var chunk = (count + (1 << chunkShift) - 1) >> chunkShift
    // Chunks are made from the front, so the first one that exists ends the search backwards.
    while chunk > 0, words[chunk - 1] == 0 {
      let memory = try VirtualMemory.reserve(byteCount: chunkByteCount)
      words[chunk - 1] = UInt(bitPattern: memory.base)
      chunk -= 1
    }
  }

  /// Gives all memory back.
  func release() {
    var chunk = 0
    let limit = directory.byteCount / 8
    while chunk < limit, let base = UnsafeMutableRawPointer(bitPattern: words[chunk]) {
      VirtualMemory(base: base, byteCount: chunkByteCount).release()
      chunk += 1
    }
    directory.release()
  }
}
