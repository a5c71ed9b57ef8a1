// Whether something that belongs to one process is open, in a word that a child forked from that process finds changed.

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif
internal import Synchronization

/// How often this process is the child of a process that had something open; 0 in a process that was started afresh.
private let forkCount = Atomic<Int>(0)
/// The newest of all words; each refers to the one before it.
private let newestWord = Atomic<UInt>(0)
/// The handler is installed once, with the first thing that is opened, and for good.
private let isHandlerInstalled: Bool = pthread_atfork(nil, nil, { markForkedChild() }) == 0

/// Runs in the child, before `fork` returns there. Other threads may have been anywhere when they vanished, so this
/// takes no lock and no memory.
private func markForkedChild() {
  forkCount.add(1, ordering: .relaxed)
  var address = newestWord.load(ordering: .acquiring)
  while let word = UnsafeMutablePointer<OpenFlag.Word>(bitPattern: address) {
    if word.pointee.state.load(ordering: .relaxed) != OpenFlag.unused {
      word.pointee.state.store(OpenFlag.forked, ordering: .relaxed)
    }
    address = word.pointee.older
  }
}

/// Tells a process from the children that are forked from it later.
struct ForkCheck: Sendable {
  private let count: Int

  /// Belongs to the process that calls.
  init() {
    _ = isHandlerInstalled
    count = forkCount.load(ordering: .relaxed)
  }

  /// Whether this process was forked since.
  @inline(__always) var isChild: Bool { forkCount.load(ordering: .relaxed) != count }

  /// Throws `EPERM` for `call` in a process that was forked since.
  @inline(__always) func check(_ call: String) throws(SystemError) {
    if isChild { throw SystemError(code: EPERM, call: call) }
  }
}

/// Says whether an engine is open. Asking costs two loads, which also tell a child of `fork` that the engine is its
/// parent's: a handler that runs in the child changes the word, so that nobody has to ask for process ids.
///
/// Words are used again and never freed. Invariants:
/// 1. A word is in the list from its making on; `older` never changes.
/// 2. A word whose state is not `unused` has one owner, or is a parent's, for good.
struct OpenFlag: @unchecked Sendable {
  // Sendable: safe because the words' states are atomics, and the rest of them never changes.
  fileprivate struct Word: ~Copyable {
    let state: Atomic<UInt>
    let older: UInt
  }

  fileprivate static let unused: UInt = 0
  private static let open: UInt = 1
  private static let closed: UInt = 2
  fileprivate static let forked: UInt = 3
  private static let undecided: UInt = 4
  private static let suspended: UInt = 5

  private let word: UnsafeMutablePointer<Word>

  /// Says open.
  init() {
    _ = isHandlerInstalled
    var address = newestWord.load(ordering: .acquiring)
    while let old = UnsafeMutablePointer<Word>(bitPattern: address) {
      let (isTaken, _) = old.pointee.state.compareExchange(
        expected: Self.unused, desired: Self.open, ordering: .acquiringAndReleasing)
      if isTaken {
        word = old
        return
      }
      address = old.pointee.older
    }
    // A cache line of its own: it is read with every transaction.
    let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 64)
    word = memory.bindMemory(to: Word.self, capacity: 1)
    var newest = newestWord.load(ordering: .acquiring)
    while true {
      word.initialize(to: Word(state: Atomic(Self.open), older: newest))
      let (isDone, actual) = newestWord.compareExchange(
        expected: newest, desired: UInt(bitPattern: word), ordering: .acquiringAndReleasing)
      if isDone { return }
      newest = actual
    }
  }

  /// Whether this process has it open, and nobody is about to close it: see `awaitDecision`.
  @inline(__always) var isOpen: Bool { word.pointee.state.load(ordering: .acquiring) == Self.open }

  /// Whether it is open, or closed, in the process that this one was forked from.
  var isForked: Bool { word.pointee.state.load(ordering: .acquiring) == Self.forked }

  /// Says that it is being decided whether it is closed: from now on nobody is let in, and nobody sent away.
  func beginClosing() { change(from: Self.open, to: Self.undecided) }

  /// Says what has been decided. No more than a look at the readers lies between.
  func endClosing(isOpen: Bool) { change(from: Self.undecided, to: isOpen ? Self.open : Self.closed) }

  /// Whether it has been given up for a while, or is about to be.
  var isSuspended: Bool { word.pointee.state.load(ordering: .acquiring) == Self.suspended }

  /// Says that it is given up for a while: from now on nobody is let in.
  func beginSuspension() { change(from: Self.open, to: Self.suspended) }

  /// Says that it is not given up after all.
  func endSuspension() { change(from: Self.suspended, to: Self.open) }

  /// Says that what was given up for a while is closed.
  func closeSuspended() { change(from: Self.suspended, to: Self.closed) }

  /// In a forked child nothing changes.
  private func change(from old: UInt, to new: UInt) {
    _ = word.pointee.state.compareExchange(expected: old, desired: new, ordering: .sequentiallyConsistent)
  }

  /// Whether this process has it open; waits while that is being decided.
  @inline(never) func awaitDecision() -> Bool {
    while true {
      // One look decides. Between two of them the next attempt to close may begin.
      let state = word.pointee.state.load(ordering: .acquiring)
      if state != Self.undecided { return state == Self.open }
      Pause.yield()
    }
  }

  /// Gives the word back, for the next one; nobody asks from now on.
  func release() {
    for state in [Self.open, Self.closed, Self.suspended] {
      let (isDone, _) = word.pointee.state.compareExchange(
        expected: state, desired: Self.unused, ordering: .acquiringAndReleasing)
      if isDone { return }
    }
  }
}
