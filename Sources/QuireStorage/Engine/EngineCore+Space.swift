// Places for the next checkpoint, made sure of before a commit is logged.

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
  let reserve: Int

  /// The fewest pages that are kept: for the copies of a few leaves, and of the branches above them.
  private static let leastReserve = 24

  /// So many bytes; less for the tiny pages of tests, where as many pages would be a whole database.
  init(pageSize: Int, reserveByteCount: Int) {
    reserve =
      pageSize < Limits.pageSizes[0] ? Self.leastReserve : max(Self.leastReserve, reserveByteCount / pageSize)
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
extension EngineCore {
  /// Makes sure that the running transaction can be written home. Writer lock held. Costs a comparison of a few
  /// numbers as long as there are places; no lock, no call to the system.
  ///
  /// - Throws: `diskFull`, `inputOutput`: nothing of the transaction has been logged.
  func reservePlaces() throws(StorageError) {
    if context.trees.count <= space.treeLimit, context.names.byteCount <= space.nameByteLimit, missingPlaces <= 0 {
      return
    }
    try makePlaces()
  }

  /// The same, and that a long value can be given places without taking what others have been promised. Writer lock
  /// held; no address of a page is held.
  ///
  /// - Parameter isWrittenNow: whether the value is written at once, and not by a checkpoint.
  /// - Returns: whether the places are certain to have blocks.
  func reservePlaces(forExtent count: Int, isWrittenNow: Bool) throws(StorageError) -> Bool {
    try checkProcess()
    let hasLog = withLog { $0 != nil }
    // Replay writes to a file whose last checkpoint nobody has testified to: only its end can grow.
    guard hasLog || isRecovered else { return false }
    // A value written far behind the end would hide that the file has been cut.
    if isWrittenNow { try checkDataFile() }
    space.extentPages = count
    defer { space.extentPages = 0 }
    try reservePlaces()
    return hasLog
  }

  /// How many places the running transaction lacks.
  private var missingPlaces: Int {
    let reserve = context.isShrinking ? 0 : space.reserve
    return store.frames.dirtyCount &+ space.overhead &+ space.extentPages &+ reserve &- allocator.availableCount
  }

  /// First lengthens the file. If the disk is full, a checkpoint may still give back what the newest commits replaced.
  @inline(never) private func makePlaces() throws(StorageError) {
    // A file that was cut must not be made longer again.
    try checkDataFile()
    try beginPlaceProof()
    measureOverhead()
    reclaimer.collect()
    if missingPlaces <= 0 { return }
    waitInsteadOfGrowing()
    let failure: StorageError
    do throws(StorageError) { return try lengthenFile() } catch { failure = error }
    guard failure.code == .diskFull else { throw failure }
    if try provePlaces(), missingPlaces <= 0 { return }
    finishRunningCheckpoint()
    reclaimer.collect()
    if missingPlaces <= 0 { return }
    // A log that has become longer takes space that a checkpoint gives back.
    let isWorthwhile = head.csn != meta.current.csn || isLogLengthened
    guard withLog({ $0 != nil }), isWorthwhile, !queue.hasStopped else { throw failure }
    beginCheckpoint()
    dispatchCheckpoint()
    finishRunningCheckpoint()
    reclaimer.collect()
    if missingPlaces > 0 { try lengthenFile() }
  }

  /// Starts a checkpoint, and does not wait for it, when the newest commits, and one that only removes is the last of
  /// them, have replaced an eighth of the file. Deletes write little log: without this, the copies of all leaves of a
  /// tree could come to stand beside the originals. Costs a transaction a load or two as long as that is not so.
  ///
  /// Not for puts: they fill the log, and the checkpoint that comes of that writes each page once for many of them.
  /// With one for every eighth of the file, random puts would write their page home each time.
  func startCheckpointInsteadOfGrowing() {
    guard context.isShrinking, isWorthCheckpoint(allocator.supersededCount), context.log.partCount == 0,
      checkpoints.current == nil, withLog({ $0 != nil }), !queue.hasStopped
    else { return }
    beginCheckpoint()
    dispatchCheckpoint()
  }

  /// Waits for the checkpoint that runs if a transaction that only removes lacks places, and the checkpoint is about to
  /// free as many as another one would be started for: whoever removes must not be faster than what makes the file
  /// shorter.
  private func waitInsteadOfGrowing() {
    guard context.isShrinking, checkpoints.current != nil, isWorthCheckpoint(allocator.unprovenCount) else { return }
    finishRunningCheckpoint()
    reclaimer.collect()
  }

  private func isWorthCheckpoint(_ placeCount: Int) -> Bool {
    placeCount >= space.reserve * 4 && placeCount >= Int(allocator.pageCount) / 8
  }

  /// How many trees may be made before the catalog is measured again.
  private static let unmeasuredTreeCount = 16

  /// Bounds from above what checkpoints need besides dirty pages. All pages of the map may change at once; of the
  /// catalog, too, and its pages may be a quarter full.
  private func measureOverhead() {
    // As long as the file may become before this is measured again.
    let backed = max(allocator.pageCount, allocator.backedEnd)
    let pageCount = Int(backed) + 2 * (store.frames.dirtyCount + Self.chunkPages(of: backed, store.pageSize))
    let pieces = pageCount / FreeMapFormat.bitsPerPiece(pageSize: store.pageSize) + 1
    let mapPages = pieces + pieces / FreeMapFormat.fanOut(pageSize: store.pageSize) + 3
    // The catalog may be written as it is, or as the newest commit or this transaction leaves it; what it says of each
    // tree is known, but for the trees that are made before this is measured again, which may have the longest names.
    // Not what the newest meta page says: a checkpoint that runs may be writing that.
    let known = max(
      Catalog.byteCount(treeCount: context.trees.count, nameByteCount: context.names.byteCount),
      Catalog.byteCount(treeCount: head.treeCount, nameByteCount: head.names.byteCount))
    let longest = Catalog.byteCount(treeCount: 1, nameByteCount: Limits.treeNameByteCount)
    let newBytes = Self.unmeasuredTreeCount * min(store.pageSize / 4, longest)
    space.treeLimit = context.trees.count + Self.unmeasuredTreeCount
    space.nameByteLimit = context.names.byteCount + Self.unmeasuredTreeCount * Limits.treeNameByteCount
    let catalogPages = 4 + 4 * ((max(catalog.byteCount, known) + newBytes) / store.pageSize + 1)
    let overhead = 2 * (mapPages + catalogPages)
    // One that runs may be of a commit that had more trees.
    space.overhead = checkpoints.current == nil ? overhead : max(overhead, space.overhead)
  }

  /// How many pages a file of `pageCount` grows by: a sixteenth, within 64 pages (256 KiB at 4 KiB) and 16 MiB.
  private static func chunkPages(of pageCount: UInt64, _ pageSize: Int) -> Int {
    max(64, Int(min(pageCount / 16, UInt64((16 << 20) / pageSize))))
  }

  /// Allocates behind the end of the file until the transaction has its places: in large pieces, in smaller ones when
  /// the disk has no more.
  private func lengthenFile() throws(StorageError) {
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
          break
        } catch {
          guard error.code == .diskFull, count > missing else { throw error }
          count = max(missing, count / 4)
        }
      }
    }
  }

  // MARK: Giving back

  /// Cuts the part of the tail that is out of proportion. Called at a freeze: writer lock held, no checkpoint runs.
  func trimFile() {
    let pageCount = allocator.pageCount
    let chunk = Self.chunkPages(of: pageCount, store.pageSize)
    guard allocator.backedEnd > pageCount + pageCount / 4 + UInt64(2 * chunk) else { return }
    cutFile(keeping: chunk)
  }

  /// Cuts the file behind its last page in use, but for `count` pages and what has been reserved. Writer lock held, no
  /// checkpoint runs, so that nobody is being given places.
  ///
  /// Not below what the newest meta page counts, and not before that page is proven: until then a crash may fall back
  /// to the one before it, which counts more (hazard C6).
  func cutFile(keeping count: Int) {
    guard allocator.isProven, !queue.hasStopped else { return }
    let needed = max(0, missingPlaces + Int(allocator.backedEnd - min(allocator.pageCount, allocator.backedEnd)))
    let end = max(allocator.pageCount, meta.current.pageCount) + UInt64(max(count, needed))
    // A file that somebody else has cut would be made longer here.
    guard end < allocator.backedEnd, hasOwnFiles else { return }
    watch.noteCut(to: Int(end) * store.pageSize)
    // A tail that cannot be cut is in nobody's way.
    do throws(SystemError) { try file.resize(to: Int(end) * store.pageSize) } catch { return }
    allocator.setBackedEnd(end)
  }

  /// Gives the whole tail back: after the last checkpoint, whose meta page stands in both slots.
  func cutFileAtClose() {
    let end = Int(meta.current.pageCount) * store.pageSize
    watch.noteCut(to: end)
    do throws(SystemError) {
      if try file.status().byteCount > end { try file.resize(to: end) }
    } catch {}
  }
}
