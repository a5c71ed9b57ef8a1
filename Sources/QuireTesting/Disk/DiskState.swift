// All that the simulated disk is, as one value: copying it is copying the disk.

internal import QuireStorage

/// The state behind the lock of a simulated disk.
///
/// Invariants:
/// 1. Every live or durable name, and every pending one, leads to a used inode.
/// 2. An inode's `linkCount` is the number of live names that lead to it.
/// 3. `usedByteCount` is the sum of the live lengths of the used inodes.
/// 4. An exclusive lock is the only lock on its inode.
struct DiskState: Sendable {
  var inodes: [Inode] = []
  /// What programs see.
  var names = NameTable()
  /// What the last syncs of the directories left.
  var durableNames = NameTable()
  var pendingNames: [PendingName] = []

  /// Calls answered so far; the number of the next call.
  private(set) var operationCount = 0
  private(set) var changeCount = 0
  /// Numbers changes in order, over images too, where `operationCount` starts again.
  private(set) var sequence = 0
  var powerOffBeforeOperation: Int?
  var powerOffBeforeChange: Int?
  /// The next write to this file that begins below an offset is the last change.
  var lastWrite: (path: String, end: Int)?
  var isPoweredOff = false

  var faults = FaultState()
  var trace = DiskTrace()
  var capacity: Int?
  var tellsFreeByteCount = true
  /// Whether a full disk has no room for what is written over, either.
  var isCopyOnWrite = false
  var usedByteCount = 0
  var fileByteLimit = 1 << 30
  var historyPageCount = 32
  var isReadOnly = false
  var isPowerSafe = true
  var processID: Int32 = 4711
  /// The newest change that the sync which runs has to cover; nil for all.
  private(set) var coveredSequence: Int?
  private var nextHandle = 1

  /// Takes what came in between the program and this call.
  mutating func enter(_ interception: DiskInterception) {
    faults.immediate = interception.effect
    coveredSequence = interception.coveredSequence
  }

  /// Begins a call: counts it, unless the power is off.
  mutating func begin(_ operation: DiskOperation) throws(SystemError) {
    if operationCount >= powerOffBeforeOperation ?? Int.max { isPoweredOff = true }
    if operation.isChange && changeCount >= powerOffBeforeChange ?? Int.max { isPoweredOff = true }
    if isPoweredOff {
      throw SystemError(code: SystemCode.inputOutput, call: operation.kind.call + " with the power off")
    }
    operationCount += 1
    sequence += 1
    if operation.isChange { changeCount += 1 }
    if operation.kind == .write, let last = lastWrite, operation.path == last.path, operation.offset < last.end {
      (powerOffBeforeChange, lastWrite) = (changeCount, nil)
    }
  }

  /// Refuses changes on a disk that is mounted for reading only; a sync with nothing to write still works.
  func requireWritable(_ operation: DiskOperation) throws(SystemError) {
    let mayWork = operation.kind == .synchronize || operation.kind == .synchronizeDirectory
    if isReadOnly && operation.isChange && !mayWork {
      throw SystemError(code: SystemCode.readOnly, call: operation.kind.call)
    }
  }

  /// Ends a call with what it returns.
  mutating func end(_ operation: DiskOperation, result: Int) {
    trace.record(operation, number: operationCount - 1, result: result)
  }

  /// What is planned or drawn to go wrong with this call.
  mutating func fault(for operation: DiskOperation, allocates: Bool = false) -> FaultEffect? {
    faults.effect(for: operation, number: operationCount - 1, allocates: allocates)
  }

  /// The same for calls that work or fail as a whole.
  mutating func failIfPlanned(_ operation: DiskOperation, allocates: Bool = false) throws(SystemError) {
    switch fault(for: operation, allocates: allocates) {
    case .error(let code), .errorAfter(_, let code), .failedSync(_, let code, _):
      throw SystemError(code: code, call: operation.kind.call)
    case .short, .badSector, nil: return
    }
  }
}

/// What came in between a program and one of its calls.
struct DiskInterception: Sendable {
  /// What goes wrong with the call.
  var effect: FaultEffect?
  /// The newest change when the call was made; nil for those that need not know.
  var coveredSequence: Int?
}

/// What opening gave.
struct OpenedFile: Sendable {
  var inode: Int
  var handle: Int
}

// MARK: - Names

extension DiskState {
  /// Opens a file; returns its inode and the handle of the open file.
  mutating func open(_ mode: OpenMode, _ operation: DiskOperation) throws(SystemError) -> OpenedFile {
    let path = operation.path
    try failIfPlanned(operation, allocates: mode == .createNew)
    let inode: Int
    if mode == .createNew {
      if names[path] != nil { throw SystemError(code: SystemCode.exists, call: "open") }
      inode = allocateInode()
      setName(path, to: inode)
    } else {
      guard let found = names[path] else { throw SystemError(code: SystemCode.noEntry, call: "open") }
      if mode == .readWrite && isReadOnly { throw SystemError(code: SystemCode.readOnly, call: "open") }
      inode = found
    }
    inodes[inode].openCount += 1
    defer { nextHandle += 1 }
    return OpenedFile(inode: inode, handle: nextHandle)
  }

  /// Gives a file a second name, pending.
  mutating func link(_ path: String, to newPath: String, _ operation: DiskOperation) throws(SystemError) {
    try failIfPlanned(operation)
    guard let inode = names[path] else { throw SystemError(code: SystemCode.noEntry, call: "link") }
    if names[newPath] != nil { throw SystemError(code: SystemCode.exists, call: "link") }
    setName(newPath, to: inode)
  }

  /// Moves a name over another one, pending. The disk may learn the new meaning and not the end of the old name.
  mutating func rename(_ path: String, to newPath: String, _ operation: DiskOperation) throws(SystemError) {
    try failIfPlanned(operation)
    guard let inode = names[path] else { throw SystemError(code: SystemCode.noEntry, call: "rename") }
    let replaced = names[newPath]
    // As POSIX has it: of two names of one file, both stay.
    if replaced == inode { return }
    setName(newPath, to: inode)
    setName(path, to: nil)
    if let replaced { retireIfUnreachable(replaced) }
  }

  /// Takes a name away, pending.
  mutating func unlink(_ path: String, _ operation: DiskOperation) throws(SystemError) {
    try failIfPlanned(operation)
    guard let inode = names[path] else { throw SystemError(code: SystemCode.noEntry, call: "unlink") }
    setName(path, to: nil)
    retireIfUnreachable(inode)
  }

  /// Makes what happened to the names of a directory durable, or fails and loses it in the way that is planned.
  mutating func synchronizeDirectory(of path: String, _ operation: DiskOperation) throws(SystemError) {
    let directory = NameTable.directory(of: path)
    switch fault(for: operation) {
    case .error(let code), .errorAfter(_, let code): throw SystemError(code: code, call: operation.kind.call)
    case .failedSync(let failure, let code, let survivorsOneIn):
      var random = faults.random.fork()
      // What a later change to the directory brings back is pending until then, and so it stays.
      if failure != .forgetsUntilTouched {
        settleNames(of: directory) { survivorsOneIn > 0 && random.oneIn(survivorsOneIn) }
      }
      throw SystemError(code: code, call: operation.kind.call)
    case .short, .badSector, nil: settleNames(of: directory) { true }
    }
  }

  /// Ends the waiting of a directory's changes: each becomes durable, or is forgotten although programs see it.
  private mutating func settleNames(of directory: String, _ survives: () -> Bool) {
    for change in pendingNames where change.directory == directory && survives() {
      durableNames[change.path] = change.inode
    }
    pendingNames.removeAll { $0.directory == directory }
    retireUnreachable()
  }

  /// Ends an open file and its lock.
  mutating func close(_ inode: Int, handle: Int) {
    inodes[inode].locks.removeAll { $0.handle == handle }
    inodes[inode].openCount -= 1
    retireIfUnreachable(inode)
  }

  /// Takes or converts the lock of an open file.
  mutating func lock(
    _ inode: Int, handle: Int, _ kind: LockKind, processID: Int32, _ operation: DiskOperation
  ) throws(SystemError) {
    try failIfPlanned(operation)
    let isExclusive = kind == .exclusive
    if inodes[inode].locks.contains(where: { $0.handle != handle && (isExclusive || $0.isExclusive) }) {
      throw SystemError(code: SystemCode.wouldBlock, call: "flock")
    }
    inodes[inode].locks.removeAll { $0.handle == handle }
    inodes[inode].locks.append(HeldLock(handle: handle, isExclusive: isExclusive, processID: processID))
  }

  /// Ends everything that lives no longer than a process.
  mutating func closeAll() {
    for index in inodes.indices {
      inodes[index].locks = []
      inodes[index].openCount = 0
    }
  }

  /// Switches the power on: forgets open files, locks, plans and counters.
  mutating func restart() {
    closeAll()
    isPoweredOff = false
    powerOffBeforeOperation = nil
    powerOffBeforeChange = nil
    lastWrite = nil
    operationCount = 0
    changeCount = 0
    faults = FaultState()
    trace = DiskTrace()
  }

  /// Counts links and bytes afresh, and gives up what no name leads to.
  mutating func settleLinks() {
    usedByteCount = 0
    for index in inodes.indices where inodes[index].isUsed {
      inodes[index].linkCount = names.entries.count { $0.inode == index }
      usedByteCount += inodes[index].live.count
    }
    retireUnreachable()
  }

  /// An unused inode; numbers are used again as soon as they can be, as file systems do.
  mutating func allocateInode() -> Int {
    var inode = Inode()
    inode.limitHistory(to: historyPageCount)
    if let index = inodes.firstIndex(where: { !$0.isUsed }) {
      inodes[index] = inode
      return index
    }
    inodes.append(inode)
    return inodes.count - 1
  }

  /// Changes what a name means to programs, and remembers that the disk does not know.
  mutating func setName(_ path: String, to inode: Int?) {
    if let old = names[path] { inodes[old].linkCount -= 1 }
    if let inode { inodes[inode].linkCount += 1 }
    names[path] = inode
    pendingNames.append(
      PendingName(sequence: sequence, directory: NameTable.directory(of: path), path: path, inode: inode))
  }

  private mutating func retireUnreachable() {
    for index in inodes.indices { retireIfUnreachable(index) }
  }

  /// Frees a file that no program, no name and no crash can lead to any more.
  mutating func retireIfUnreachable(_ index: Int) {
    let inode = inodes[index]
    if !inode.isUsed || inode.openCount > 0 || inode.linkCount > 0 { return }
    if durableNames.holds(index) || pendingNames.contains(where: { $0.inode == index }) { return }
    usedByteCount -= inode.live.count
    inodes[index].retire()
  }
}

// MARK: - Invariants

extension DiskState {
  /// The first of the invariants that does not hold, in their order.
  func brokenInvariant() -> String? {
    let pending = pendingNames.filter { $0.inode != nil }.map { (path: $0.path, inode: $0.inode ?? 0) }
    for (path, inode) in names.entries + durableNames.entries + pending {
      if !inodes.indices.contains(inode) || !inodes[inode].isUsed { return "\(path) leads to no inode" }
    }
    for (index, inode) in inodes.enumerated() {
      if inode.linkCount != names.entries.count(where: { $0.inode == index }) { return "inode \(index): links" }
      if inode.locks.count > 1 && inode.locks.contains(where: \.isExclusive) { return "inode \(index): locks" }
      if !inode.isUsed && (inode.openCount > 0 || inode.live.count > 0) { return "inode \(index): unused but alive" }
      if let text = inode.brokenInvariant() { return "inode \(index): \(text)" }
    }
    return inodes.reduce(0) { $0 + $1.live.count } == usedByteCount ? nil : "used bytes"
  }
}

extension Inode {
  /// The same for one file.
  func brokenInvariant() -> String? {
    if zip(pending, pending.dropFirst()).contains(where: { $0.sequence > $1.sequence }) { return "order of changes" }
    if pending.contains(where: { $0.start + $0.count > pendingBytes.count }) { return "bytes of changes" }
    return live.brokenInvariant() ?? durable.brokenInvariant()
  }
}

extension SimulatedDisk {
  /// What is wrong with the disk itself; nil if all is well.
  package func brokenInvariant() -> String? { withState { $0.brokenInvariant() } }
}
