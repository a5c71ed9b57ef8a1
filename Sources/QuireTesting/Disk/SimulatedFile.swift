// An open file of the simulated disk.

package import QuireStorage
internal import Synchronization

/// An open file of a simulated disk; every call is one operation of the disk.
package final class SimulatedFile: File {
  package let path: String
  private let disk: SimulatedDisk
  let inode: Int
  private let handle: Int
  private let isWritable: Bool
  private let processID: Int32
  private let isClosed = Atomic(false)

  init(disk: SimulatedDisk, path: String, inode: Int, handle: Int, isWritable: Bool, processID: Int32) {
    self.disk = disk
    self.path = path
    self.inode = inode
    self.handle = handle
    self.isWritable = isWritable
    self.processID = processID
  }

  deinit { close() }

  package func readSome(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    let operation = DiskOperation(kind: .read, path: path, offset: offset, count: buffer.count)
    return try perform(operation) { (state) throws(SystemError) in
      try state.read(inode, into: buffer, at: offset, operation)
    }
  }

  package func writeSome(_ buffer: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    let operation = DiskOperation(kind: .write, path: path, offset: offset, count: buffer.count, isChange: true)
    return try perform(operation) { (state) throws(SystemError) in
      try requireWritable(operation)
      return try state.write(inode, buffer, at: offset, operation)
    }
  }

  package func synchronize() throws(SystemError) {
    let operation = DiskOperation(kind: .synchronize, path: path, isChange: true)
    _ = try perform(operation) { (state) throws(SystemError) in
      try state.synchronize(inode, operation)
      return 0
    }
  }

  package func resize(to byteCount: Int) throws(SystemError) {
    let operation = DiskOperation(kind: .resize, path: path, offset: byteCount, isChange: true)
    _ = try perform(operation) { (state) throws(SystemError) in
      try requireWritable(operation)
      try state.resize(inode, to: byteCount, operation)
      return 0
    }
  }

  package func allocate(from offset: Int, count: Int) throws(SystemError) -> Bool {
    let operation = DiskOperation(kind: .allocate, path: path, offset: offset, count: count, isChange: true)
    _ = try perform(operation) { (state) throws(SystemError) in
      try requireWritable(operation)
      try state.allocate(inode, from: offset, operation)
      return 0
    }
    return true
  }

  package func status() throws(SystemError) -> FileStatus {
    let operation = DiskOperation(kind: .status, path: path)
    var linkCount = 0
    let byteCount = try perform(operation) { (state) throws(SystemError) in
      try state.failIfPlanned(operation)
      linkCount = state.inodes[inode].linkCount
      return state.inodes[inode].live.count
    }
    // Inode numbers start at 1, as 0 stands for nothing in real file systems.
    return FileStatus(
      identity: FileIdentity(device: disk.device, inode: UInt64(inode + 1)), byteCount: byteCount,
      linkCount: linkCount, isRegularFile: true)
  }

  package func lock(_ kind: LockKind) throws(SystemError) {
    let operation = DiskOperation(kind: .lock, path: path)
    _ = try perform(operation) { (state) throws(SystemError) in
      try state.lock(inode, handle: handle, kind, processID: processID, operation)
      return 0
    }
  }

  package func lockHolder() -> Int32? {
    disk.withState { state in
      isClosed.load(ordering: .relaxed) || state.isPoweredOff ? nil : state.inodes[inode].locks.first?.processID
    }
  }

  package func close() {
    disk.withState { state in
      if isClosed.exchange(true, ordering: .relaxed) { return }
      state.close(inode, handle: handle)
    }
  }

  private func perform(
    _ operation: DiskOperation, _ body: (inout DiskState) throws(SystemError) -> Int
  ) throws(SystemError) -> Int {
    try disk.perform(operation) { (state) throws(SystemError) in
      if isClosed.load(ordering: .relaxed) {
        throw SystemError(code: SystemCode.badFile, call: operation.kind.call)
      }
      return try body(&state)
    }
  }

  private func requireWritable(_ operation: DiskOperation) throws(SystemError) {
    if !isWritable { throw SystemError(code: SystemCode.badFile, call: operation.kind.call) }
  }
}
