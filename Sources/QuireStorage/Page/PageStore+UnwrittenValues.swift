// Values of one page between the commit that puts them and the checkpoint that writes them home. Meanwhile the log has
// them, and readers find them in their slots, under the number of the place that they are going to have.

internal import Synchronization

extension PageStore {
  /// How many values have yet to be written home.
  package var unwrittenCount: Int { unwrittenValues.load(ordering: .relaxed) }

  /// How many slots hold what is in no file but the log: dirty pages, and values that have yet to be written home.
  package var dirtyCount: Int { frames.dirtyCount + unwrittenCount }

  /// Keeps a value in memory until it is written home, which must be done before a meta page refers to it. Until then
  /// the log must have it.
  ///
  /// - Parameters:
  ///   - value: at least one byte, at most a page.
  ///   - slot: becomes the value's own, unless this throws.
  ///   - number: a place that is the caller's, has blocks, and has nothing in memory.
  /// - Throws: `limitReached` if there is no memory for the table, `damagedPage` if a forged file has led a reader to
  ///   the place.
  func keepValue(
    _ value: UnsafeRawBufferPointer, in slot: UnsafeMutableRawPointer, at number: PageNumber, birth: UInt64
  ) throws(StorageError) -> ExtentReference {
    guard let base = value.baseAddress else { preconditionFailure("a value in an extent has bytes") }
    assert(value.count <= pageSize, "a value of several pages is kept in one slot")
    assert(birth > 0, "a value is born by a commit")
    try makeRoomForSum(number)
    slot.copyMemory(from: base, byteCount: value.count)
    // Goes to the file, too.
    (slot + value.count).initializeMemory(as: UInt8.self, repeating: 0, count: pageSize - value.count)
    let seed = ExtentReference.seed(0, first: number, birth: birth, databaseSeed: checksumSeed)
    let checksum = XXH3.hash(UnsafeRawPointer(slot), count: value.count, seed: seed)
    guard table.publishValue(slot, at: number, checksum: checksum, isUnwritten: true) else {
      throw damaged(PageReference(number), "the free map calls it free, but it is in use")
    }
    unwritten.withLock { $0[number.rawValue] = true }
    unwrittenValues.wrappingAdd(1, ordering: .relaxed)
    return ExtentReference(valueByteCount: value.count, first: number, birth: birth, checksum: checksum)
  }

  /// Empties the table's entry for a place, whatever it is that stands there; the slot is the caller's.
  func takeOut(_ number: PageNumber) -> UnsafeMutableRawPointer? {
    // Who puts a value there is the one who gives it up, or has done so long before.
    guard table.isUnwritten(number) else { return table.remove(number) }
    // Under the latch, so that nobody who copies the value finds its slot in other hands.
    let address = unwritten.withLock { numbers -> UInt in
      if numbers.remove(number.rawValue) { unwrittenValues.wrappingSubtract(1, ordering: .relaxed) }
      return UInt(bitPattern: table.remove(number))
    }
    return UnsafeMutableRawPointer(bitPattern: address)
  }

  /// Copies a value that has yet to be written home; false if it is in the file, or not there at all.
  func copyUnwritten(_ extent: ExtentReference, into target: UnsafeMutableRawPointer) -> Bool {
    guard extent.valueByteCount <= pageSize, table.isUnwritten(extent.first) else { return false }
    return copyUnwritten(extent.first, checksum: extent.checksum, byteCount: extent.valueByteCount, into: target)
  }

  /// Under the latch, so that the slot stays the value's while it is copied.
  private func copyUnwritten(
    _ number: PageNumber, checksum: UInt64?, byteCount: Int, into target: UnsafeMutableRawPointer
  ) -> Bool {
    assert(byteCount <= pageSize, "more is copied than a slot holds")
    let address = UInt(bitPattern: target)
    return unwritten.withLock { _ in
      guard let slot = table.unwrittenSlot(number, checksum: checksum),
        let target = UnsafeMutableRawPointer(bitPattern: address)
      else { return false }
      target.copyMemory(from: slot, byteCount: byteCount)
      return true
    }
  }

  // MARK: Writing home

  /// The first places from `start` on, `limit` of them at the most, whose values have yet to be written home.
  func unwrittenNumbers(from start: UInt64, limit: Int) -> [UInt64] {
    unwritten.withLock { numbers in
      var found: [UInt64] = []
      var next = start
      while found.count < limit, let number = numbers.first(from: next) {
        found.append(number)
        next = number + 1
      }
      return found
    }
  }

  /// Copies the image of the page with the value at `number`; false if it no longer needs to be written.
  func copyUnwrittenPage(_ number: UInt64, into target: UnsafeMutableRawPointer) -> Bool {
    copyUnwritten(PageNumber(number), checksum: nil, byteCount: pageSize, into: target)
  }

  /// Notes that the values at `range` have been handed to the system: after the next sync they may be taken out of
  /// memory.
  func noteHome(_ range: Range<UInt64>) {
    unwritten.withLock { numbers in
      for number in range where numbers.remove(number) {
        table.noteWritten(PageNumber(number))
        unwrittenValues.wrappingSubtract(1, ordering: .relaxed)
      }
    }
    unsynced.keep(range.lazy.map { PageNumber($0) })
  }

  /// Checks the invariant of values that have yet to be written home; returns what is broken. While nobody writes.
  package func checkUnwritten() -> String? {
    if let broken = table.checkInvariants() { return broken }
    return unwritten.withLock { numbers in
      if numbers.count != unwrittenCount { return "values to be written home have been miscounted" }
      for number in 2..<max(2, pageCount) where numbers[number] != table.isUnwritten(PageNumber(number)) {
        return "of the value at \(number) it is not clear whether it is to be written home"
      }
      return nil
    }
  }
}
