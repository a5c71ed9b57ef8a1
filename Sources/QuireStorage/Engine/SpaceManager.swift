// Places for the next checkpoint: how many are missing, and how the file becomes longer and shorter.

/// What the writer knows of the space that checkpoints will take; writer lock.
struct SpaceReservation {
  /// The pages that two checkpoints, the running one and the next, may take for catalog and free map.
  var overhead = 0
  /// Pages of the long value that is about to be written.
  var extentPages = 0
  /// `overhead` holds for up to so many trees, and for so many bytes of names.
  var treeLimit = -1
  var nameByteLimit = -1
  /// Places, in pages, that only transactions which shrink the database may use.
  private(set) var reserve: Int
  /// The most that `reserve` may be.
  let largestReserve: Int

  /// The fewest pages that are kept: for the copies of a few leaves, and of the branches above them.
  private static let leastReserve = 16
  /// What is kept of the tiny pages of tests.
  private static let tinyReserve = 24
  /// A larger database keeps one page in so many that it uses.
  private static let reserveShare = 16

  /// At most so many bytes; less for the tiny pages of tests, where as many pages would be a whole database.
  init(pageSize: Int, reserveByteCount: Int) {
    let isTiny = pageSize < Limits.pageSizes[0]
    largestReserve = isTiny ? Self.tinyReserve : max(Self.tinyReserve, reserveByteCount / pageSize)
    reserve = largestReserve
  }

  /// Keeps what suits a database that uses `pageCount` pages.
  mutating func setReserve(forUsed pageCount: Int) {
    guard largestReserve > Self.tinyReserve else { return }
    reserve = min(largestReserve, max(Self.leastReserve, pageCount / Self.reserveShare))
  }
}

/// A database that can log but never checkpoint is lost to its user: the log fills up, and then not even a delete gets
/// through (hazard A13). So before a commit is logged, the engine makes sure that all dirty pages, and what a
/// checkpoint adds to them, have places with blocks: free ones in the file, and a tail behind its end that was
/// allocated in advance. What cannot be checkpointed is not logged.
///
/// All dirty frames count, those too that only readers hold: more than needed, but known without a search. What a
/// running checkpoint writes leaves both sides of the comparison at once, a page and its place, so it may run
/// meanwhile.
///
/// Invariants:
/// 1. `reservation.overhead` is no less than what two checkpoints take beside dirty pages, for as many trees and bytes
///    of names as its limits say.
/// 2. The file has blocks up to `allocator.backedEnd`, and `watch` knows its length.
/// 3. Places are withheld exactly as long as `proof` is not over.
package final class SpaceManager: EngineComponent, @unchecked Sendable {
  // Sendable: safe because the reservation is touched under the writer lock, and the proof has a lock of its own.
  package let resources: EngineResources
  // What every commit uses: one load each, and no reference counted.
  /// The state of the running write transaction; writer lock.
  package let context: WriteContext
  /// Pages and frames.
  package let store: PageStore
  /// The places of the data file.
  package let allocator: PageAllocator
  /// Whether the free places of the file that was opened may be believed.
  let proof: PlaceProof
  /// What checkpoints will take.
  @exclusivity(unchecked) private(set) var reservation: SpaceReservation
  /// Whether pages may stand beside those of the newest checkpoint: the footprint need not be small, and the disk had
  /// as much space left as the file takes when somebody looked last; writer lock.
  @exclusivity(unchecked) private(set) var hasAmpleDisk = false

  init(_ resources: EngineResources) {
    self.resources = resources
    context = resources.context
    store = resources.store
    allocator = resources.allocator
    proof = PlaceProof(resources.store, resources.allocator, resources.meta.current)
    reservation = SpaceReservation(
      pageSize: resources.store.pageSize, reserveByteCount: resources.environment.reserveByteCount)
  }

  /// Whether the running transaction can be written home. Compares a few numbers; no lock, no call to the system.
  @inline(__always) func suffices(_ permit: borrowing WriterPermit) -> Bool {
    context.trees.count <= reservation.treeLimit && context.names.byteCount <= reservation.nameByteLimit
      && missingPlaces <= 0
  }

  /// How many places the running transaction lacks; none if not above 0.
  var missingPlaces: Int {
    let reserve = context.isShrinking ? 0 : reservation.reserve
    return store.frames.dirtyCount &+ reservation.overhead &+ reservation.extentPages &+ reserve
      &- allocator.availableCount
  }

  /// Counts `count` pages of a long value that is about to be written among those that need places, while `body` runs.
  func withExtent<Result>(
    of count: Int, _ permit: borrowing WriterPermit, _ body: () throws(StorageError) -> Result
  ) throws(StorageError) -> Result {
    assert(reservation.extentPages == 0, "one long value is written at a time")
    assert(count > 0, "a long value has pages")
    reservation.extentPages = count
    defer { reservation.extentPages = 0 }
    return try body()
  }

  /// Whether `placeCount` places are enough of the file for a checkpoint that does nothing but free them.
  ///
  /// - Parameter share: of how many pages of the file they must be one.
  func isWorthCheckpoint(_ placeCount: Int, oneIn share: Int) -> Bool {
    placeCount >= reservation.largestReserve * 4 && placeCount >= Int(allocator.pageCount) / share
  }

  /// The part of the file that removals may replace before a checkpoint: a half where the disk has as much space again
  /// as the file takes, an eighth where it has not, or where nobody knows. Each checkpoint writes home nearly every
  /// page that random removals have thinned out, so that few are better; but then the copies stand beside the
  /// originals.
  ///
  /// A small footprint has no room for the half.
  var shrinkingShare: Int { hasAmpleDisk ? 2 : 8 }

  /// The bounds of a small footprint for what the newest commits use.
  var smallFootprint: SmallFootprint {
    SmallFootprint(contentByteCount: settledCount * store.pageSize)
  }

  /// The pages in use, once a checkpoint has freed what the newest commits have replaced.
  var settledCount: Int { max(0, usedCount - allocator.supersededCount) }

  // MARK: Measuring and lengthening

  /// How many trees may be made before the catalog is measured again.
  private static let unmeasuredTreeCount = 16

  /// Pages that the newest commits use, those of them included that a checkpoint has yet to write or to free.
  var usedCount: Int { Int(allocator.pageCount) - allocator.freeCount + store.frames.dirtyCount }

  /// Bounds from above what checkpoints need besides dirty pages. All pages of the map may change at once; of the
  /// catalog, too, and its pages may be a quarter full.
  ///
  /// - Parameters:
  ///   - isCheckpointRunning: whether one runs: it may be of a commit that had more trees.
  ///   - spareTreeCount: how many trees may be made before this is measured again.
  func measureOverhead(
    isCheckpointRunning: Bool, spareTreeCount: Int = unmeasuredTreeCount, _ permit: borrowing WriterPermit
  ) {
    // As long as the file may become before this is measured again.
    let backed = max(allocator.pageCount, allocator.backedEnd)
    let pageCount = Int(backed) + 2 * (store.frames.dirtyCount + Self.chunkPages(of: backed, store.pageSize))
    let pieces = pageCount / FreeMapFormat.bitsPerPiece(pageSize: store.pageSize) + 1
    // A map of one piece has no branches.
    let mapPages = pieces == 1 ? 1 : pieces + pieces / FreeMapFormat.fanOut(pageSize: store.pageSize) + 3
    // The catalog may be written as it is, or as the newest commit or this transaction leaves it; what it says of each
    // tree is known, but for the trees that are made before this is measured again, which may have the longest names.
    // Not what the newest meta page says: a checkpoint that runs may be writing that.
    let known = max(
      Catalog.byteCount(treeCount: context.trees.count, nameByteCount: context.names.byteCount),
      Catalog.byteCount(treeCount: head.treeCount, nameByteCount: head.names.byteCount))
    let longest = Catalog.byteCount(treeCount: 1, nameByteCount: Limits.treeNameByteCount)
    let newBytes = spareTreeCount * min(store.pageSize / 4, longest)
    reservation.treeLimit = context.trees.count + spareTreeCount
    reservation.nameByteLimit = context.names.byteCount + spareTreeCount * Limits.treeNameByteCount
    let catalogPages = 4 + 4 * ((max(catalog.byteCount, known) + newBytes) / store.pageSize + 1)
    let overhead = 2 * (mapPages + catalogPages)
    assert(writerLock.isHeldByThisThread, "space is measured without the writer lock")
    assert(overhead > 0, "a checkpoint writes a catalog and a map")
    reservation.overhead = isCheckpointRunning ? max(overhead, reservation.overhead) : overhead
    reservation.setReserve(forUsed: usedCount)
  }

  /// How many pages a file of `pageCount` grows by: a sixteenth, within 64 pages (256 KiB at 4 KiB) and 16 MiB.
  private static func chunkPages(of pageCount: UInt64, _ pageSize: Int) -> Int {
    max(64, Int(min(pageCount / 16, UInt64((16 << 20) / pageSize))))
  }

  /// Allocates behind the end of the file until the transaction has its places: in large pieces, in smaller ones when
  /// the disk has no more.
  ///
  /// - Throws: `diskFull`, `inputOutput`.
  func lengthenFile(_ permit: borrowing WriterPermit) throws(StorageError) {
    assert(writerLock.isHeldByThisThread, "the file is made longer without the writer lock")
    while true {
      let end = allocator.backedEnd
      // Pages written ahead may lie behind the part that has been allocated.
      let missing = missingPlaces + Int(max(allocator.pageCount, end) - end)
      if missingPlaces <= 0 { return }
      var count = max(missing, Self.chunkPages(of: end, store.pageSize))
      while true {
        do throws(StorageError) {
          try file.allocateFully(from: Int(end) * store.pageSize, count: count * store.pageSize)
          allocator.setBackedEnd(end + UInt64(count))
          watch.noteGrowth(to: (Int(end) + count) * store.pageSize)
          lookAtDisk(permit)
          break
        } catch {
          guard error.code == .diskFull, count > missing else { throw error }
          count = max(missing, count / 4)
        }
      }
    }
  }

  /// Looks whether the disk has as much space left as the file takes. One system call.
  func lookAtDisk(_ permit: borrowing WriterPermit) {
    let byteCount = Int(max(allocator.pageCount, allocator.backedEnd)) * store.pageSize
    hasAmpleDisk =
      options.diskFootprint == .fast && (environment.fileSystem.freeByteCount(at: file.path) ?? 0) >= byteCount
  }

  // MARK: Giving back

  /// Cuts the part of the tail that is out of proportion. Called at a freeze; no checkpoint runs.
  func trimFile(_ permit: borrowing WriterPermit) {
    let pageCount = allocator.pageCount
    let chunk = Self.chunkPages(of: pageCount, store.pageSize)
    guard allocator.backedEnd > pageCount + pageCount / 4 + UInt64(2 * chunk) else { return }
    cutFile(keeping: chunk, permit)
  }

  /// Cuts the file behind its last page in use, but for `count` pages and what has been reserved. No checkpoint
  /// runs, so that nobody is being given places.
  ///
  /// Not below what the newest meta page counts, and not before that page is proven: until then a crash may fall back
  /// to the one before it, which counts more (hazard C6).
  func cutFile(keeping count: Int, _ permit: borrowing WriterPermit) {
    guard allocator.isProven, !queue.hasStopped else { return }
    let end = leastEnd(keeping: count)
    // A file that somebody else has cut would be made longer here.
    guard end < allocator.backedEnd, hasOwnFiles else { return }
    assert(writerLock.isHeldByThisThread, "the file is cut without the writer lock")
    assert(end >= allocator.pageCount, "pages in use are cut off")
    assert(end >= meta.current.pageCount, "pages of the newest checkpoint are cut off")
    watch.noteCut(to: Int(end) * store.pageSize)
    // A tail that cannot be cut is in nobody's way.
    do throws(SystemError) { try file.resize(to: Int(end) * store.pageSize) } catch { return }
    allocator.setBackedEnd(end)
  }

  /// How many pages behind the end of the file `cutFile` would cut off.
  var tailCount: Int { Int(clamping: allocator.backedEnd) - Int(clamping: leastEnd(keeping: 0)) }

  /// Where a file ends that keeps `count` pages behind its last one, and what has been reserved.
  private func leastEnd(keeping count: Int) -> UInt64 {
    let needed = max(0, missingPlaces + Int(allocator.backedEnd - min(allocator.pageCount, allocator.backedEnd)))
    return max(allocator.pageCount, meta.current.pageCount) + UInt64(max(count, needed))
  }

  /// Gives the whole tail back: after the last checkpoint, whose meta page stands in both slots.
  func cutFileAtClose(_ permit: borrowing WriterPermit) {
    let end = Int(meta.current.pageCount) * store.pageSize
    watch.noteCut(to: end)
    do throws(SystemError) {
      if try file.status().byteCount > end { try file.resize(to: end) }
    } catch {}
  }
}
