// Values of a log that do not fit beside their keys.

extension ReplayBatch {
  /// Gives places to values that do not fit beside their keys, and puts references in their stead; nothing is written
  /// yet. Returns the memory of keys and references, or nil if there is no such value.
  static func placeLongValues(
    of operations: UnsafeMutableBufferPointer<SortableOperation>, _ kind: KeyKind, in context: WriteContext
  ) throws(StorageError) -> UnsafeMutableRawPointer? {
    let limit = context.limits.entryByteCount
    var byteCount = 0
    for operation in operations where operation.isLong(entryLimit: limit) {
      byteCount += Int(operation.keyCount) + ExtentReference.byteCount
    }
    guard byteCount > 0 else { return nil }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 16)
    var place = memory
    do throws(StorageError) {
      for index in operations.indices where operations[index].isLong(entryLimit: limit) {
        let old = operations[index]
        let keyCount = Int(old.keyCount)
        if keyCount > 0 { place.copyMemory(from: old.key, byteCount: keyCount) }
        try context.writeExtent(old.valueBytes, .deferred).withBytes { (bytes) throws(StorageError) in
          UnsafeMutableRawBufferPointer(start: place + keyCount, count: bytes.count).copyMemory(from: bytes)
        }
        let reference = UnsafeRawBufferPointer(start: place + keyCount, count: ExtentReference.byteCount)
        operations[index] =
          kind == .int64
          ? SortableOperation(key: old.head, value: reference, content: .extent)
          : SortableOperation(
            key: UnsafeRawBufferPointer(start: place, count: keyCount), value: reference, content: .extent)
        place += keyCount + ExtentReference.byteCount
      }
    } catch {
      memory.deallocate()
      throw error
    }
    return memory
  }
}
