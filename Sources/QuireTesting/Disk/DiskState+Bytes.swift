// Reading, writing, resizing and syncing on the simulated disk, with all that can go wrong there.

internal import QuireStorage

extension DiskState {
  /// Reads what there is; faults and bad sectors may cut it short or make it fail.
  mutating func read(
    _ inode: Int, into buffer: UnsafeMutableRawBufferPointer, at offset: Int, _ operation: DiskOperation
  ) throws(SystemError) -> Int {
    if offset < 0 { throw SystemError(code: SystemCode.invalid, call: "pread") }
    var count = buffer.count
    switch fault(for: operation) {
    case .error(let code), .errorAfter(_, let code), .failedSync(_, let code, _):
      throw SystemError(code: code, call: "pread")
    case .short(let limit): count = min(count, max(1, limit))
    case .badSector(let place):
      let start = place / DiskGeometry.sectorByteCount * DiskGeometry.sectorByteCount
      inodes[inode].unreadable.append(
        UnreadableRange(range: start..<start + DiskGeometry.sectorByteCount, isDrawn: true))
    case nil: break
    }
    count = min(count, inodes[inode].live.count - offset)
    if count <= 0 { return 0 }
    for bad in inodes[inode].unreadable where bad.range.overlaps(offset..<offset + count) {
      if bad.isDrawn && !faults.isEnabled { continue }
      // As the system does: what comes before the bad sector is delivered, the next call fails.
      if bad.range.lowerBound <= offset { throw SystemError(code: SystemCode.inputOutput, call: "pread") }
      count = bad.range.lowerBound - offset
    }
    inodes[inode].live.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
    return count
  }

  /// Writes as much as faults and space let through.
  mutating func write(
    _ inode: Int, _ buffer: UnsafeRawBufferPointer, at offset: Int, _ operation: DiskOperation
  ) throws(SystemError) -> Int {
    if offset < 0 { throw SystemError(code: SystemCode.invalid, call: "pwrite") }
    if buffer.isEmpty { return 0 }
    let length = inodes[inode].live.count
    var count = buffer.count
    var failure: Int32?
    switch fault(for: operation, allocates: isCopyOnWrite || offset + count > length) {
    case .error(let code), .failedSync(_, let code, _): throw SystemError(code: code, call: "pwrite")
    case .errorAfter(let limit, let code):
      count = min(count, limit)
      failure = code
    case .short(let limit): count = min(count, max(1, limit))
    case .badSector, nil: break
    }
    if offset + count > fileByteLimit {
      if offset >= fileByteLimit { throw SystemError(code: SystemCode.fileTooLarge, call: "pwrite") }
      count = fileByteLimit - offset
    }
    let room = (capacity ?? Int.max) - usedByteCount
    if offset + count - length > max(0, room) {
      count = length + max(0, room) - offset
      if count <= 0 { throw SystemError(code: faults.fullCode, call: "pwrite") }
    }
    if count > 0 {
      let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
      let lie = faults.takeLie(path: operation.path)
      inodes[inode].write(bytes, at: offset, sequence: sequence, lie: lie)
      trace.mix(bytes)
      usedByteCount += inodes[inode].live.count - length
    }
    if let failure { throw SystemError(code: failure, call: "pwrite") }
    return count
  }

  /// Cuts or extends a file. Extending needs room, although it only makes zeros.
  mutating func resize(_ inode: Int, to byteCount: Int, _ operation: DiskOperation) throws(SystemError) {
    if byteCount < 0 { throw SystemError(code: SystemCode.invalid, call: "ftruncate") }
    let growth = byteCount - inodes[inode].live.count
    switch fault(for: operation, allocates: growth > 0) {
    case .error(let code), .errorAfter(_, let code), .failedSync(_, let code, _):
      throw SystemError(code: code, call: "ftruncate")
    case .short, .badSector, nil: break
    }
    if byteCount > fileByteLimit { throw SystemError(code: SystemCode.fileTooLarge, call: "ftruncate") }
    if growth > 0 && growth > (capacity ?? Int.max) - usedByteCount {
      throw SystemError(code: faults.fullCode, call: "ftruncate")
    }
    inodes[inode].resize(to: byteCount, sequence: sequence)
    usedByteCount += growth
  }

  /// Lengthens a file to the end of the range, if it is shorter. What lies below the length has its space already, so
  /// that only the growth needs room. A fault may strike when a part is done.
  mutating func allocate(_ inode: Int, from offset: Int, _ operation: DiskOperation) throws(SystemError) {
    if offset < 0 || operation.count <= 0 { throw SystemError(code: SystemCode.invalid, call: "posix_fallocate") }
    let length = inodes[inode].live.count
    var end = offset + operation.count
    var failure: Int32?
    switch fault(for: operation, allocates: end > length) {
    case .error(let code), .failedSync(_, let code, _): throw SystemError(code: code, call: "posix_fallocate")
    case .errorAfter(let limit, let code):
      end = min(end, offset + limit)
      failure = code
    case .short, .badSector, nil: break
    }
    if end > fileByteLimit { throw SystemError(code: SystemCode.fileTooLarge, call: "posix_fallocate") }
    if end > length {
      if end - length > (capacity ?? Int.max) - usedByteCount {
        throw SystemError(code: faults.fullCode, call: "posix_fallocate")
      }
      inodes[inode].resize(to: end, sequence: sequence)
      usedByteCount += end - length
    }
    if let failure { throw SystemError(code: failure, call: "posix_fallocate") }
  }

  /// Makes a file's bytes and length durable, or fails and loses them in the way that is planned.
  mutating func synchronize(_ inode: Int, _ operation: DiskOperation) throws(SystemError) {
    if isReadOnly && !inodes[inode].pending.isEmpty {
      throw SystemError(code: SystemCode.readOnly, call: "fdatasync")
    }
    switch fault(for: operation) {
    case .error(let code), .errorAfter(_, let code): throw SystemError(code: code, call: "fdatasync")
    case .failedSync(let failure, let code, let survivorsOneIn):
      let length = inodes[inode].live.count
      var random = faults.random.fork()
      inodes[inode].failToSynchronize(failure, sequence: sequence) { _ in
        survivorsOneIn > 0 && random.oneIn(survivorsOneIn)
      }
      usedByteCount += inodes[inode].live.count - length
      throw SystemError(code: code, call: "fdatasync")
    case .short, .badSector, nil: inodes[inode].synchronize(sequence: sequence, upTo: coveredSequence)
    }
  }
}
