// Files that are being deleted, while others write.

internal import Dispatch
internal import QuireDatabase
internal import Synchronization

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Android)
  internal import Android
#endif

/// A file that a deletion has claimed.
///
/// Invariant: a claim goes from `claimed` to `running` and on to `done` or `left`, from `done` to `left` if that is not
/// durable, or from `claimed` to `left`. While it is `running` nobody but the thread that removes the file changes the
/// stage, and nobody else makes `left` of `done`.
final class FileClaim: Sendable {
  /// Where the deletion stands.
  enum Stage {
    /// It has not begun.
    case claimed
    /// The file's name is being removed, by this thread.
    case running(UInt)
    /// The name is gone.
    case done
    /// The file stays on its list, for now: it could not be removed, or not durably, or an edge came that keeps it.
    case left
  }

  struct State {
    var stage = Stage.claimed
    /// Whether the file has been put on a list since, or an edge to it added: what becomes of it must then be
    /// decided again.
    var isDueAgain = false

    /// Whether the name is being removed.
    fileprivate var isRunning: Bool { if case .running = stage { true } else { false } }
  }

  let path: [UInt8]
  fileprivate let state = Mutex(State())
  /// Waits for the end of the removal.
  fileprivate let removal = DispatchGroup()

  fileprivate init(_ path: [UInt8]) { self.path = path }

  /// Whether the name is gone.
  var isDone: Bool { state.withLock { if case .done = $0.stage { true } else { false } } }

  /// Whether the name is gone, and the file has not been asked for since.
  var isSettled: Bool {
    state.withLock { state in
      if case .done = state.stage { return !state.isDueAgain }
      return false
    }
  }

  var isDueAgain: Bool { state.withLock { $0.isDueAgain } }

  /// Removes the name, unless an edge has come meanwhile.
  func run(_ remove: () throws -> Void) {
    let isOurs = state.withLock { state -> Bool in
      guard case .claimed = state.stage else { return false }
      state.stage = .running(FileClaims.currentThread)
      removal.enter()
      return true
    }
    guard isOurs else { return }
    let stage: FileClaim.Stage
    do {
      try remove()
      stage = .done
    } catch { stage = .left }
    state.withLock { state in
      assert(state.isRunning, "the stage of a claim was changed while its file was being removed")
      state.stage = stage
    }
    removal.leave()
  }

  /// The name is gone, and may be back after a power cut: the file stays on its list.
  func leave() { state.withLock { $0.stage = .left } }

  /// An edge to the file comes. If its removal has begun, waits for its end: the edge comes after it.
  fileprivate func withdraw() {
    let mustWait = state.withLock { state -> Bool in
      state.isDueAgain = true
      switch state.stage {
      case .claimed:
        state.stage = .left
        return false
      case .running(let thread): return thread != FileClaims.currentThread
      case .done, .left: return false
      }
    }
    if mustWait { removal.wait() }
  }

  fileprivate func noteDue() { state.withLock { $0.isDueAgain = true } }
}

/// All claims of the process.
///
/// A file is deleted outside of any transaction, as that may take its time. Claims keep edges to it from being made
/// meanwhile: the transaction that finds that nothing keeps a file claims it, and one that makes an edge which keeps a
/// file asks for claims first. Both hold the writer lock.
///
/// Invariant: a file has one claim at the most; it ends when the file is off the lists, or stays on them.
final class FileClaims: Sendable {
  static let shared = FileClaims()

  private struct Place: Hashable {
    let database: Database
    let path: [UInt8]
  }

  private let claims = Mutex<[Place: FileClaim]>([:])
  /// How many claims there are: nearly always none.
  private let count = Atomic<Int>(0)

  fileprivate static var currentThread: UInt {
    #if canImport(Glibc)
      UInt(pthread_self())
    #else
      unsafe UInt(bitPattern: pthread_self())
    #endif
  }

  /// Claims a file; nil if somebody else has.
  func claim(_ path: [UInt8], _ database: Database) -> FileClaim? {
    claims.withLock { claims in
      let place = Place(database: database, path: path)
      guard claims[place] == nil else { return nil }
      let claim = FileClaim(path)
      claims[place] = claim
      count.store(claims.count, ordering: .sequentiallyConsistent)
      return claim
    }
  }

  /// Ends a claim.
  func end(_ claim: FileClaim, _ database: Database) {
    claims.withLock { claims in
      let place = Place(database: database, path: claim.path)
      assert(claims[place] === claim, "a claim ends that is not the file's")
      claims[place] = nil
      count.store(claims.count, ordering: .sequentiallyConsistent)
    }
  }

  private func find(_ path: [UInt8], _ database: Database) -> FileClaim? {
    guard count.load(ordering: .sequentiallyConsistent) > 0 else { return nil }
    return claims.withLock { $0[Place(database: database, path: path)] }
  }

  /// An edge comes that keeps a file. Waits if the file is just being removed. In a write transaction.
  func willKeep(_ path: [UInt8], _ database: @autoclosure () -> Database) {
    guard count.load(ordering: .sequentiallyConsistent) > 0 else { return }
    find(path, database())?.withdraw()
  }

  /// A file is put on a list. In a write transaction.
  func noteDue(_ path: [UInt8], _ database: @autoclosure () -> Database) {
    guard count.load(ordering: .sequentiallyConsistent) > 0 else { return }
    find(path, database())?.noteDue()
  }
}
