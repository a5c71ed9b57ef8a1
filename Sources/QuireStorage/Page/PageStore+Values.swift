// Values of one page in memory: an extent that is no longer than a page takes a slot like a page does, and is lent from
// there.

internal import Synchronization

extension PageStore {
  /// Reads the value of an extent of one page, which was not in memory, verifies and publishes it, and returns where it
  /// lies: good until the caller's access epoch moves on.
  ///
  /// A value is verified when it comes into memory and not again, as pages are; what was verified for another reference
  /// does not count.
  ///
  /// - Parameter extent: from a page that has been validated, or that this process has made.
  /// - Returns: nil if the place is taken by something else, as in a forged file: the value is read into memory of the
  ///   reader's own then.
  /// - Throws: as `readExtent`.
  func loadValue(_ extent: ExtentReference) throws(StorageError) -> UnsafeRawPointer? {
    let number = extent.first
    guard !isResident(number) else { return nil }
    assert(extent.valueByteCount <= pageSize, "a value of several pages is lent from no slot")
    noteMiss()
    try makeRoomForSum(number)
    let slot = try allocateSlot()
    do throws(StorageError) {
      try readChunks(extent, 0..<extent.valueByteCount, into: slot)
      noteRead(1)
    } catch {
      pool.release(slot)
      throw judged(error)
    }
    // What the slot's last owner left is nobody's business.
    (slot + extent.valueByteCount)
      .initializeMemory(as: UInt8.self, repeating: 0, count: pageSize - extent.valueByteCount)
    if table.publishValue(slot, at: number, checksum: extent.checksum) { return UnsafeRawPointer(slot) }
    pool.release(slot)
    // Another reader was faster, with the same value unless the file is forged.
    return table.valueSlot(number, checksum: extent.checksum).map { UnsafeRawPointer($0) }
  }

  /// Makes sure that the table has room for the checksum of a value at `number`, which has a word.
  func makeRoomForSum(_ number: PageNumber) throws(StorageError) {
    if table.hasRoomForSum(number) { return }
    let failure: StorageError? = growth.withLock { _ in
      do throws(StorageError) {
        try table.growSums()
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw failure }
  }

  /// Takes the value of an extent that is given up out of memory, if it is there: before its place can be given out
  /// again.
  ///
  /// - Returns: its slot, to be retired: who has the value on loan keeps it until the access epoch moves on.
  func takeValue(at first: PageNumber, pageCount: Int) -> UInt? {
    guard pageCount == 1, let slot = takeOut(first) else { return nil }
    return UInt(bitPattern: slot)
  }
}
