// A disk made of memory that loses, tears, reorders, refuses and lies, always the same way for the same seed.

public import QuireStorage
internal import Synchronization

/// A disk in memory for crash and fault tests.
///
/// Databases are opened on it with ``openDatabase(at:options:extensions:hasBackgroundWork:)``. It knows what programs
/// see and what a power cut would leave, file by file and name by name:
///
/// ```swift
/// let disk = SimulatedDisk()
/// let db = try disk.openDatabase()
/// try db.write { tx in try tx[.songs].set(song, for: "s1") }
/// let after = disk.crashImage(seed: 42)  // what the machine may find when it is switched on again
/// let found = try after.openDatabase().read { tx in try tx[.songs].get("s1") }
/// ```
///
/// Every call that can change the disk is counted, so that ``powerOff(beforeChange:)`` can plan a crash; within the
/// package all are, and enter `traceHash`, so that a seed can be proven to repeat. ``refuse(_:after:with:)`` has calls
/// fail, and ``capacity`` makes it full.
///
/// Thread-safe; every call takes one lock. A call costs its own bytes, never the length of the file, except the first
/// change after a copy.
public final class SimulatedDisk: FileSystem {
  /// Every disk is a device of its own, or tests that run side by side would meet in the engine's registry of open
  /// files.
  private static let deviceCount = Atomic<UInt64>(0)

  /// What `status()` gives as the device of all files here.
  package let device: UInt64
  /// What the crash did that this disk is the image of.
  package let crashReport: CrashReport?
  private let state: Latch<DiskState>
  let interceptors = DiskInterceptors()

  /// An empty disk with the power on and nothing planned.
  public convenience init() { self.init(DiskState(), crashReport: nil) }

  private init(_ state: DiskState, crashReport: CrashReport?) {
    device = Self.deviceCount.wrappingAdd(1, ordering: .relaxed).newValue
    self.crashReport = crashReport
    self.state = Latch(state)
  }

  package func open(_ path: String, _ mode: OpenMode) throws(SystemError) -> any File {
    try open(path, mode, processID: withState { $0.processID })
  }

  /// Opens a file on behalf of another process, which is what `lockHolder()` then tells.
  package func open(_ path: String, _ mode: OpenMode, processID: Int32) throws(SystemError) -> SimulatedFile {
    let operation = DiskOperation(kind: .open, path: path, isChange: mode == .createNew)
    var opened = OpenedFile(inode: 0, handle: 0)
    _ = try perform(operation) { (state) throws(SystemError) in
      opened = try state.open(mode, operation)
      return opened.inode
    }
    return SimulatedFile(
      disk: self, path: path, inode: opened.inode, handle: opened.handle, isWritable: mode != .readOnly,
      processID: processID)
  }

  package func link(_ path: String, to newPath: String) throws(SystemError) {
    let operation = DiskOperation(kind: .link, path: newPath, isChange: true)
    _ = try perform(operation) { (state) throws(SystemError) in
      try state.link(path, to: newPath, operation)
      return 0
    }
  }

  package func rename(_ path: String, to newPath: String) throws(SystemError) {
    let operation = DiskOperation(kind: .rename, path: newPath, isChange: true)
    _ = try perform(operation) { (state) throws(SystemError) in
      try state.rename(path, to: newPath, operation)
      return 0
    }
  }

  package func unlink(_ path: String) throws(SystemError) {
    let operation = DiskOperation(kind: .unlink, path: path, isChange: true)
    _ = try perform(operation) { (state) throws(SystemError) in
      try state.unlink(path, operation)
      return 0
    }
  }

  package func synchronizeDirectory(of path: String) throws(SystemError) {
    let operation = DiskOperation(kind: .synchronizeDirectory, path: path, isChange: true)
    _ = try perform(operation) { (state) throws(SystemError) in
      try state.synchronizeDirectory(of: path, operation)
      return 0
    }
  }

  /// Looks at names; not an operation, as below.
  package func exists(_ path: String) -> Bool { withState { !$0.isPoweredOff && $0.names[path] != nil } }

  /// Looks at lengths; not an operation, as above.
  package func freeByteCount(at path: String) -> Int? {
    withState { state in
      guard state.tellsFreeByteCount else { return nil }
      return state.capacity.map { max(0, $0 - state.usedByteCount) } ?? .max
    }
  }

  /// Looks at names and lengths; not an operation, so that nothing fails here, and plans count on as before.
  package func change(of file: any File, byteCount: Int) -> FileChange? {
    guard let file = file as? SimulatedFile else { return nil }
    return withState { state in
      if state.isPoweredOff { return nil }
      guard let inode = state.names[file.path] else { return .gone }
      if inode != file.inode { return .replaced }
      let length = state.inodes[inode].live.count
      return length < byteCount ? .truncated(byteCount: length) : nil
    }
  }

  /// Counts, does and traces one call under the lock.
  func perform(
    _ operation: DiskOperation, _ body: (inout DiskState) throws(SystemError) -> Int
  ) throws(SystemError) -> Int {
    let interception = intercepted(operation)
    return try state.withLock { (state) throws(SystemError) in
      state.enter(interception)
      try state.begin(operation)
      do throws(SystemError) {
        try state.requireWritable(operation)
        let result = try body(&state)
        state.end(operation, result: result)
        return result
      } catch {
        state.end(operation, result: -Int(error.code))
        throw error
      }
    }
  }

  /// Shows a call to those who come in between, on its thread and without the lock.
  private func intercepted(_ operation: DiskOperation) -> DiskInterception {
    if interceptors.isEmpty { return DiskInterception() }
    let covered = operation.kind == .synchronize ? withState { $0.sequence } : nil
    return DiskInterception(effect: interceptors.effect(on: operation), coveredSequence: covered)
  }

  /// Looks at or changes the state without its being an operation.
  func withState<Result: Sendable>(_ body: (inout DiskState) -> Result) -> Result {
    state.withLock { body(&$0) }
  }
}

// MARK: - Crashes

extension SimulatedDisk {
  /// One possible image of the disk after a power cut at this moment. May be asked any number of times, whether the
  /// power is off or on; this disk stays as it is. Costs a copy of each file with unsynced changes.
  ///
  /// The image has its power on, nothing planned and nobody at it; `operationCount` begins at 0.
  package func crashImage(_ mode: CrashMode) -> SimulatedDisk {
    let (state, report, _) = withState { $0.crashed(mode) }
    return SimulatedDisk(state, crashReport: report)
  }

  /// How many units `.loseOne` can choose from at this moment.
  package func pendingUnitCount(sectorByteCount: Int = DiskGeometry.sectorByteCount) -> Int {
    withState { $0.crashed(.loseOne(-1, sectorByteCount: sectorByteCount)).unitCount }
  }

  /// One possible image of the disk after a power cut at this moment, drawn from the seed: what was synced is there,
  /// and of the rest each sector is new, old, torn or worse. May be asked any number of times, whether the power is off
  /// or on; this disk stays as it is. The image has its power on and nothing planned. Costs a copy of each file with
  /// unsynced changes.
  public func crashImage(seed: UInt64) -> SimulatedDisk { crashImage(.random(seed)) }

  /// The disk after all processes were killed: what they wrote is all there, but what was pending still is. As
  /// `crashImage` else.
  public func processKillImage() -> SimulatedDisk { SimulatedDisk(withState { $0.killed() }, crashReport: nil) }

  /// The disk with its counters, plans and faults, but without its open files. Costs nothing until one of the two
  /// changes.
  package func copy() -> SimulatedDisk {
    SimulatedDisk(withState { $0.withoutOpenFiles() }, crashReport: crashReport)
  }

  /// Switches the power off before the operation of this number, counted from 0: so many operations happen.
  package func powerOff(beforeOperation number: Int?) { withState { $0.powerOffBeforeOperation = number } }

  /// Switches the power off before the change of this number, counted from 0 as `changeCount` does: before a write, a
  /// sync or whatever else can change the disk. Between two of them all crashes are alike. Nil takes it back.
  public func powerOff(beforeChange number: Int?) { withState { $0.powerOffBeforeChange = number } }

  /// Switches the power off before the change that follows the next write to `path` which begins below an offset:
  /// before the sync of a page at the front, as a rule. Nil for no file.
  package func powerOff(behindWriteTo path: String?, below end: Int = 0) {
    withState { $0.lastWrite = path.map { ($0, end) } }
  }

  /// Switches the power off now: every call fails with EIO, and nothing changes any more.
  public func powerOff() { withState { $0.isPoweredOff = true } }

  /// Whether the power is off.
  public var isPoweredOff: Bool { withState { $0.isPoweredOff } }
}
