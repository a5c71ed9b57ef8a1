// Compaction: maintenance, run on call and to its end.

extension Maintainer {
  /// The most passes. Each is bounded by what there is at its beginning, so that writers who go on cannot keep a
  /// compaction from ending.
  private static let passLimit = 8

  /// Makes the file as short as its content and its readers allow.
  ///
  /// A pass packs leaves, moves pages and long values to the front and cuts the end. If long values are left that no
  /// hole takes, because the holes are many and short, the next pass moves all of them behind the end, and the one
  /// after that has one hole for all of them: the file is then longer for a while, by what they take.
  func compact(_ host: any MaintenanceHost, _ progress: (StorageProgress) throws -> Void) throws {
    try checkOpen()
    try checkWritable()
    defer {
      // Whatever ends the work, idle maintenance goes on by its own measure.
      do throws(StorageError) { try withWriterLock { permit in endThoroughPass(permit) } } catch {}
    }
    var moved = 0
    var evacuates = false
    var hasEvacuated = false
    for _ in 0..<Self.passLimit {
      let before = allocator.pageCount
      moved += try compactOnce(host, evacuates: evacuates, movedBefore: moved, progress)
      let after = allocator.pageCount
      // What readers hold cannot be gained, and a sixteenth is not worth another pass.
      guard allocator.usableCount > Int(after) / 16 + 16 else { return }
      if evacuates {
        // The file has become longer; the fruit of it is the next pass.
        evacuates = false
      } else if after + before / 64 >= before {
        let hasLongValues = try withWriterLock { _ in trees(of: head).contains(where: \.mayHaveExtents) }
        guard hasLongValues, !hasEvacuated else { return }
        (evacuates, hasEvacuated) = (true, true)
      }
    }
  }

  /// One pass; returns how many pages it has copied.
  private func compactOnce(
    _ host: any MaintenanceHost, evacuates: Bool, movedBefore: Int, _ progress: (StorageProgress) throws -> Void
  ) throws -> Int {
    try withWriterLock { permit in
      var pass = MaintenancePass()
      pass.isThorough = true
      pass.evacuates = evacuates
      setPass(pass, permit)
    }
    var hasMore = true
    while hasMore {
      hasMore = try step(host)
      try compactionProgress(movedBefore).report(to: progress)
    }
    return try withWriterLock { permit in pass(permit).copied }
  }

  private func compactionProgress(_ movedBefore: Int) throws(StorageError) -> StorageProgress {
    try withWriterLock { permit in
      let pass = pass(permit)
      let done = movedBefore + pass.copied
      let pageCount = allocator.pageCount
      let left = pageCount > pass.limit ? Int(pageCount - pass.limit) : 0
      switch pass.phase {
      case .pack: return StorageProgress(phase: .packing, done: done, total: done + allocator.usableCount)
      case .relocate: return StorageProgress(phase: .moving, done: done, total: done + left)
      case .idle, .settle, .vacate, .cut: return StorageProgress(phase: .settling, done: done, total: done)
      }
    }
  }

  private func endThoroughPass(_ permit: borrowing WriterPermit) {
    var pass = pass(permit)
    (pass.phase, pass.isThorough, pass.evacuates) = (.idle, false, false)
    setPass(pass, permit)
  }
}
