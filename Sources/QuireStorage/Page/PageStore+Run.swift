// Reading pages that stand next to each other in the file with one call.

extension PageStore {
  /// What one call reads at the most: little enough that a scan which ends early has not filled the cache in vain.
  private static let runByteCount = 64 << 10

  /// A page to be read, as its parent refers to it.
  private struct Wanted {
    let number: PageNumber
    let checksum: UInt64
  }

  /// Brings the leaf at child `index` of `parent` into memory, and with it those of the following siblings whose places
  /// follow in the file and which are not in memory either. Does nothing if there are none.
  ///
  /// Every page is verified as by a visit of its own. What cannot be read, or does not verify, is left out: whoever
  /// visits the page reads it again, and hears of it.
  ///
  /// - Parameter step: 1 for the siblings behind, -1 for those in front.
  @inline(never) func loadLeaves(of parent: PageBytes, from index: Int, step: Int) {
    var run: [Wanted] = []
    var child = index
    while (0..<parent.count).contains(child), (run.count + 1) * pageSize <= Self.runByteCount {
      guard let wanted = place(of: parent, child), !isResident(wanted.number) else { break }
      if let last = run.last, Int(wanted.number.rawValue) != Int(last.number.rawValue) + step { break }
      run.append(wanted)
      child += step
    }
    guard run.count > 1 else { return }
    if step < 0 { run.reverse() }
    let byteCount = run.count * pageSize
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 4096)
    defer { buffer.deallocate() }
    do throws(StorageError) {
      let count = try file.readUpTo(
        UnsafeMutableRawBufferPointer(start: buffer, count: byteCount), at: Int(run[0].number.rawValue) * pageSize)
      // A page that the file's end cuts off is left to its own visit.
      for (offset, wanted) in run.prefix(count / pageSize).enumerated() {
        admit(PageBytes(buffer + offset * pageSize), wanted)
      }
    } catch {
      // As above.
    }
  }

  /// Where a child stands in the file; nil if it is a dirty page, or if the file has no such place.
  private func place(of parent: PageBytes, _ child: Int) -> Wanted? {
    let reference = PageReference(rawValue: parent.references[child])
    var wanted = Wanted(number: reference.pageNumber, checksum: parent.checksums[child])
    if reference.isDirty {
      let location = frames.location(reference.frame)
      guard location.isPageNumber else { return nil }
      wanted = Wanted(number: location.pageNumber, checksum: frames.checksum(reference.frame))
    }
    return (2..<pageCount).contains(wanted.number.rawValue) ? wanted : nil
  }

  /// Enters a page of the run, if it is in order.
  private func admit(_ page: PageBytes, _ wanted: Wanted) {
    noteRead(1)
    do throws(StorageError) {
      try verify(page, wanted.number, checksum: wanted.checksum)
      try check(page, wanted.number, level: 0)
      let slot = try allocateSlot()
      slot.copyMemory(from: page.base, byteCount: pageSize)
      // Another reader may have been faster.
      if !table.publish(slot, at: wanted.number) { pool.release(slot) }
    } catch {
      // Its own visit tells.
    }
  }
}

extension PageAccess {
  /// See `PageStore.loadLeaves`.
  func loadLeaves(of parent: PageBytes, from index: Int, step: Int) {
    store.takeUnretainedValue().loadLeaves(of: parent, from: index, step: step)
  }
}
