// What tests see of a simulated disk without going through its calls, and what they set.

extension SimulatedDisk {
  // MARK: Counters and trace

  /// Calls so far, and the number of the next.
  package var operationCount: Int { withState { $0.operationCount } }

  /// Calls so far that could change the disk.
  public var changeCount: Int { withState { $0.changeCount } }

  /// How often each call was made and how many bytes it moved.
  package var counters: DiskCounters { withState { $0.trace.counters } }

  /// Writes to the file under `path` since it was made.
  package func writeCount(of path: String) -> Int { withInode(path) { $0.writeCount } ?? 0 }

  /// A hash of all calls with their arguments, the bytes written and the results. Equal seeds give equal hashes, or
  /// something in the run does not come from the seed.
  package var traceHash: UInt64 { withState { $0.trace.hash.value } }

  /// Whether calls are listed in `trace`. Off at first: the hash is kept anyway.
  package var isTracing: Bool {
    get { withState { $0.trace.isRecording } }
    set { withState { $0.trace.isRecording = newValue } }
  }

  /// The calls made while `isTracing` was set.
  package var trace: [TracedOperation] { withState { $0.trace.operations } }

  // MARK: Names and bytes

  /// The names that programs see, sorted.
  package var names: [String] { withState { $0.names.entries.map(\.path) } }

  /// The names that a power cut leaves for certain, sorted.
  package var durableNames: [String] { withState { $0.durableNames.entries.map(\.path) } }

  /// All bytes that programs see under `path`; nil if there is no such name.
  package func bytes(of path: String) -> [UInt8]? { withInode(path) { $0.live.array } }

  /// The bytes of the file as of its last successful sync.
  package func durableBytes(of path: String) -> [UInt8]? { withInode(path) { $0.durable.array } }

  /// Bytes written to the file and not yet synced, overwritten ones counted again.
  package func pendingByteCount(of path: String) -> Int { withInode(path) { $0.pendingBytes.count } ?? 0 }

  /// How often the file is open; the whole disk's open files if `path` is nil.
  package func openFileCount(of path: String? = nil) -> Int {
    withState { state in
      if let path { return state.names[path].map { state.inodes[$0].openCount } ?? 0 }
      return state.inodes.reduce(0) { $0 + $1.openCount }
    }
  }

  /// How many open files have no name any more.
  package func namelessFileCount() -> Int {
    withState { state in
      state.inodes.indices.count { state.inodes[$0].openCount > 0 && !state.names.holds($0) }
    }
  }

  /// Puts a file there, durably in name and content, whatever stood under the name before. Not an operation.
  package func install(_ bytes: [UInt8], at path: String) {
    withState { state in
      state.remove(path)
      let inode = state.allocateInode()
      state.inodes[inode].settle(DiskBytes(bytes))
      state.names[path] = inode
      state.durableNames[path] = inode
      state.inodes[inode].linkCount = 1
      state.usedByteCount += bytes.count
    }
  }

  func withInode<Result: Sendable>(_ path: String, _ body: (inout Inode) -> Result) -> Result? {
    withState { state in
      guard let inode = state.names[path] else { return nil }
      let before = state.inodes[inode].live.count
      let result = body(&state.inodes[inode])
      state.usedByteCount += state.inodes[inode].live.count - before
      return result
    }
  }

  // MARK: Limits

  /// How many bytes all files may have together; nil for no limit. May be lowered and raised at any time.
  public var capacity: Int? {
    get { withState { $0.capacity } }
    set { withState { $0.capacity = newValue } }
  }

  /// What calls are told that find no space, because of `capacity` or of `fill(duringOperations:)`: that the disk is
  /// full, as a rule, or that a quota is used up, or that the file would become too long.
  package var fullCode: Int32 {
    get { withState { $0.faults.fullCode } }
    set { withState { $0.faults.fullCode = newValue } }
  }

  /// Whether it says how much space is left: without a limit, more than anybody asks for.
  package var tellsFreeByteCount: Bool {
    get { withState { $0.tellsFreeByteCount } }
    set { withState { $0.tellsFreeByteCount = newValue } }
  }

  /// The lengths of all files together, unlinked but open ones included.
  public var usedByteCount: Int { withState { $0.usedByteCount } }

  /// How long a file may become before writes fail with EFBIG.
  package var fileByteLimit: Int {
    get { withState { $0.fileByteLimit } }
    set { withState { $0.fileByteLimit = newValue } }
  }

  /// Whether everything that changes the disk fails with EROFS.
  package var isReadOnly: Bool {
    get { withState { $0.isReadOnly } }
    set { withState { $0.isReadOnly = newValue } }
  }

  /// Whether a power cut leaves the bytes alone that no write touches, as we assume. If not, a sector that becomes
  /// zeros or garbage takes all bytes in it along.
  package var isPowerSafe: Bool {
    get { withState { $0.isPowerSafe } }
    set { withState { $0.isPowerSafe = newValue } }
  }

  /// The process that files are opened for by the plain `open`.
  package var processID: Int32 {
    get { withState { $0.processID } }
    set { withState { $0.processID = newValue } }
  }

  /// Lets the disk be full for the calls of these numbers: those fail that need space, whatever `capacity` says.
  package func fill(duringOperations numbers: Range<Int>) { withState { $0.faults.fullRange = numbers } }

  /// Whether every write needs space, also one to bytes that were written or allocated before: as on file systems that
  /// write each change to a new place. Concerns `fill(duringOperations:)` only.
  package var isCopyOnWrite: Bool {
    get { withState { $0.isCopyOnWrite } }
    set { withState { $0.isCopyOnWrite = newValue } }
  }

  // MARK: Faults

  /// Begins to draw faults from `plan`; sectors that an earlier plan made unreadable can be read again.
  package func setFaultPlan(_ plan: FaultPlan) {
    withState { state in
      state.faults.setPlan(plan)
      for index in state.inodes.indices { state.inodes[index].unreadable.removeAll { $0.isDrawn } }
    }
  }

  /// Takes back what was planned to go wrong, and the plan that faults are drawn from.
  package func removeFaults() {
    setFaultPlan(.none)
    withState { $0.faults.removePlanned() }
  }

  /// Whether faults strike at all, drawn and planned ones; off while a test verifies what it has.
  package var faultsAreEnabled: Bool {
    get { withState { $0.faults.isEnabled } }
    set { withState { $0.faults.isEnabled = newValue } }
  }

  /// Lets the operation of this number go wrong.
  package func fail(operation number: Int, with effect: FaultEffect) {
    withState { $0.faults.add(number: number, effect) }
  }

  /// Lets the next call of this kind go wrong, for `path` or for any file, after skipping some.
  package func failNext(
    _ kind: OperationKind, of path: String? = nil, skipping skipCount: Int = 0, with effect: FaultEffect
  ) {
    withState { $0.faults.add(kind, path: path, skipCount: skipCount, effect) }
  }
}
