// Coming in between a program and its disk: calls that are held, that take their time, or that fail at a moment which
// only the program knows.

internal import QuireStorage
internal import Synchronization

/// Sees each call on the thread that makes it, before the disk does, and without the disk's lock: it may wait, ask the
/// program where it stands, and say what goes wrong with the call.
package typealias DiskInterceptor = @Sendable (DiskOperation) -> FaultEffect?

/// Calls that take their time, so that the calls of other threads come in between.
package struct DiskPauses: Sendable {
  /// Where the draws begin. Which thread meets which of them is up to the threads.
  package var seed: UInt64
  /// One call in so many is paused.
  package var oneIn: Int
  /// The longest pause, in microseconds.
  package var longestMicroseconds: Int
  /// The kinds of calls that may be paused.
  package var kinds: [OperationKind]

  /// Pauses of the calls that change the disk, if nothing else is said.
  package init(
    seed: UInt64, oneIn: Int, longestMicroseconds: Int,
    kinds: [OperationKind] = [.write, .synchronize, .synchronizeDirectory, .allocate, .open, .resize]
  ) {
    self.seed = seed
    self.oneIn = oneIn
    self.longestMicroseconds = longestMicroseconds
    self.kinds = kinds
  }
}

extension SimulatedDisk {
  /// Lets `interceptor` see every call from now on. It is asked in its turn, until one says that something goes wrong.
  ///
  /// While there is an interceptor a sync covers what was written before it was called, and nothing that came while it
  /// was held: the least that a disk has to do.
  package func intercept(_ interceptor: @escaping DiskInterceptor) { interceptors.add(interceptor) }

  /// Lets calls go to the disk at once again. What is held stays so until it is released.
  package func removeInterceptors() { interceptors.removeAll() }

  /// Lets `interceptor` see one call alone: the next one that `isMatch` means, after letting some of them go by.
  package func interceptOnce(
    skipping skipCount: Int = 0, where isMatch: @escaping @Sendable (DiskOperation) -> Bool,
    _ interceptor: @escaping DiskInterceptor
  ) {
    let left = Latch(skipCount)
    intercept { operation in
      guard isMatch(operation) else { return nil }
      let isTurn = left.withLock { left -> Bool in
        left -= 1
        return left == -1
      }
      return isTurn ? interceptor(operation) : nil
    }
  }

  /// Holds the next call of this kind, for `path` or for any file, after letting some go by.
  ///
  /// - Parameter isMatch: has the last word on whether a call is meant.
  package func hold(
    _ kind: OperationKind, of path: String? = nil, skipping skipCount: Int = 0,
    where isMatch: @escaping @Sendable (DiskOperation) -> Bool = { _ in true }
  ) -> HeldCall {
    let held = HeldCall()
    interceptOnce(
      skipping: skipCount,
      where: { $0.kind == kind && (path == nil || path == $0.path) && isMatch($0) },
      { _ in held.stay() })
    return held
  }

  /// Makes calls take their time.
  package func pause(_ pauses: DiskPauses) {
    let random = Latch(SeededRandom(seed: pauses.seed))
    intercept { operation in
      guard pauses.kinds.contains(operation.kind) else { return nil }
      let pause = random.withLock { random -> Int in
        random.oneIn(pauses.oneIn) ? random.below(pauses.longestMicroseconds + 1) : 0
      }
      if pause > 0 { Pause.sleep(microseconds: UInt32(pause)) }
      return nil
    }
  }
}

/// Who comes in between.
final class DiskInterceptors: Sendable {
  private let list = Latch<[DiskInterceptor]>([])
  private let isInUse = Atomic<Bool>(false)

  /// Whether there is any; every call asks.
  var isEmpty: Bool { !isInUse.load(ordering: .acquiring) }

  func add(_ interceptor: @escaping DiskInterceptor) {
    list.withLock { $0.append(interceptor) }
    isInUse.store(true, ordering: .releasing)
  }

  func removeAll() {
    isInUse.store(false, ordering: .releasing)
    list.withLock { $0 = [] }
  }

  /// What the first of them says that has something to say.
  func effect(on operation: DiskOperation) -> FaultEffect? {
    for interceptor in list.withLock({ $0 }) {
      if let effect = interceptor(operation) { return effect }
    }
    return nil
  }
}
