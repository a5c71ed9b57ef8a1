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
  /// Every page is verified as by a visit of its own. What cannot be read, or does not verify, is left out: the
  /// next visit of the page reads it again, and throws.
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
    var addresses: [UInt] = []
    do throws(StorageError) { try allocateSlots(run.count) { addresses.append($0) } } catch {
      // There is no memory: each page has a visit of its own, which tells.
      return pool.release(addresses: addresses)
    }
    addresses.sort()
    let isInOnePiece = addresses[run.count - 1] - addresses[0] == UInt((run.count - 1) * pageSize)
    read(run, into: addresses.compactMap { UnsafeMutableRawPointer(bitPattern: $0) }, isInOnePiece: isInOnePiece)
  }

  /// Reads pages that follow each other into `slots`, directly if these are in one piece, and enters them.
  private func read(_ run: [Wanted], into slots: [UnsafeMutableRawPointer], isInOnePiece: Bool) {
    let byteCount = run.count * pageSize
    let buffer = isInOnePiece ? slots[0] : UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 4096)
    defer { if !isInOnePiece { buffer.deallocate() } }
    var readCount = 0
    do throws(StorageError) {
      let target = UnsafeMutableRawBufferPointer(start: buffer, count: byteCount)
      readCount = try file.readUpTo(target, at: Int(run[0].number.rawValue) * pageSize) / pageSize
    } catch {
      // As for a page that the file's end cuts off.
    }
    noteRead(readCount)
    var rest: [UnsafeMutableRawPointer] = []
    for (index, wanted) in run.enumerated() {
      let slot = slots[index]
      if index < readCount, !isInOnePiece { slot.copyMemory(from: buffer + index * pageSize, byteCount: pageSize) }
      // A page that was cut off is left to its own visit; for another one, another reader may have been faster.
      if index >= readCount || !isSound(PageBytes(slot), wanted) || !table.publish(slot, at: wanted.number) {
        rest.append(slot)
      }
    }
    if !rest.isEmpty { pool.release(rest) }
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

  /// Whether a page of the run is in order. If not, its own visit tells.
  private func isSound(_ page: PageBytes, _ wanted: Wanted) -> Bool {
    do throws(StorageError) {
      try verify(page, wanted.number, checksum: wanted.checksum)
      try check(page, wanted.number, level: 0)
      return true
    } catch {
      return false
    }
  }

  // MARK: Hints

  /// Asks the disk for the children of `parent` from `index` on, in the direction of `step`, that are not in memory, as
  /// far as they do not stand in a long row in the file.
  @inline(never) func startReading(childrenOf parent: PageBytes, from index: Int, step: Int) {
    var wanted: Range<Int>?
    var child = index
    while (0..<parent.count).contains(child) {
      if let place = place(of: parent, child), !isResident(place.number) {
        let start = Int(place.number.rawValue) * pageSize
        let end = start + pageSize
        if let range = wanted, start <= range.upperBound + Self.hintGap, end + Self.hintGap >= range.lowerBound {
          wanted = min(range.lowerBound, start)..<max(range.upperBound, end)
        } else {
          if let wanted { ask(for: wanted) }
          wanted = start..<end
        }
      }
      child += step
    }
    if let wanted { ask(for: wanted) }
  }

  /// A long row is left to the system, which reads ahead of sequential reads in larger pieces than it does when asked:
  /// asking for those as well took half as long again.
  private func ask(for range: Range<Int>) {
    if range.count <= Self.longestHint { file.startReading(range) }
  }

  private static let longestHint = 64 << 10

  /// Reading so much in vain costs less than another call.
  private static let hintGap = 32 << 10
}

extension PageAccess {
  /// See `PageStore.loadLeaves`.
  func loadLeaves(of parent: PageBytes, from index: Int, step: Int) {
    store.takeUnretainedValue().loadLeaves(of: parent, from: index, step: step)
  }

  /// See `PageStore.startReading`.
  func startReading(childrenOf parent: PageBytes, from index: Int, step: Int) {
    store.takeUnretainedValue().startReading(childrenOf: parent, from: index, step: step)
  }
}
