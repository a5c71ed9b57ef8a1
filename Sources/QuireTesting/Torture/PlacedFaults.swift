// Failures at chosen places of the engine's work: in the phase of a checkpoint, at the append of a record, at a flush.
// A failure that is drawn call by call hardly ever meets the few calls that decide what becomes of a commit.

internal import QuireStorage
internal import Synchronization

/// What the engine is at when a call fails.
package enum FaultPlace: Int, Sendable, CaseIterable {
  /// Appends a record to the log.
  case append
  /// Syncs the log for those who wait.
  case flush
  /// Makes the log before the first record after an opening, or anything else that is not in this list.
  case setUp
  /// Writes pages home, in a checkpoint or before.
  case pages
  /// Makes the segment that a checkpoint names.
  case segment
  /// Syncs the pages of a checkpoint.
  case sync
  /// Writes or syncs a checkpoint's meta page.
  case meta
  /// Writes or syncs the record that marks it durable.
  case mark
  /// Makes the log longer.
  case lengthening
}

/// A failure to come.
struct PlacedFault: Sendable {
  var place: FaultPlace
  /// Only calls of this kind, if not nil.
  var kind: OperationKind?
  /// Only in the commit of a transaction that is too large for the log.
  var isUnlogged: Bool
  /// How many calls that fit go by before.
  var skipCount: Int
  var code: Int32
  var syncFailure: SyncFailure
  var survivorsOneIn: Int
  /// How much of a write is done before it fails, in eighths.
  var writtenEighths: Int

  /// Mostly where it is decided whether a commit is there.
  init(drawing random: inout SeededRandom) {
    place = random.oneIn(2) ? random.pick([.meta, .meta, .mark, .append, .flush]) : random.pick(FaultPlace.allCases)
    kind = random.oneIn(4) ? random.pick([.write, .synchronize, .synchronizeDirectory]) : nil
    isUnlogged = ![.append, .flush, .setUp, .lengthening].contains(place) && random.oneIn(2)
    skipCount = random.below(random.pick([1, 1, 2, 6]))
    code = random.pick([SystemCode.inputOutput, SystemCode.inputOutput, SystemCode.noSpace])
    syncFailure = random.pick(SyncFailure.allCases)
    survivorsOneIn = random.pick([0, 1, 1, 3])
    writtenEighths = random.pick([0, 0, random.below(8), 8])
  }

  /// What goes wrong with a call.
  func effect(on operation: DiskOperation) -> FaultEffect {
    switch operation.kind {
    case .synchronize, .synchronizeDirectory:
      // A sync that has reverted what it could not write has left nothing of it.
      .failedSync(syncFailure, code, survivorsOneIn: syncFailure == .reverts ? 0 : survivorsOneIn)
    case .write: .errorAfter(operation.count * writtenEighths / 8, code)
    default: .error(code)
    }
  }
}

/// Watches the calls of an engine that is stepped, and lets one of them fail.
final class PlacedFaults: Sendable {
  private struct State {
    weak var core: EngineCore?
    var fault: PlacedFault?
    /// How many have struck, by place, and those of them that struck the commit of an unlogged transaction.
    var struck = [Int](repeating: 0, count: FaultPlace.allCases.count)
    var struckUnlogged = [Int](repeating: 0, count: FaultPlace.allCases.count)
  }

  private let state = Latch(State())

  /// Plans a failure, or none.
  func plan(_ fault: PlacedFault?) { state.withLock { $0.fault = fault } }

  /// How many have struck since this was last asked, by place.
  func takeCounts() -> (all: [Int], unlogged: [Int]) {
    state.withLock { state in
      let none = [Int](repeating: 0, count: FaultPlace.allCases.count)
      defer { (state.struck, state.struckUnlogged) = (none, none) }
      return (state.struck, state.struckUnlogged)
    }
  }

  /// Sees the calls to `disk` from now on, which are those of `core`. What was planned is forgotten.
  func watch(_ disk: SimulatedDisk, _ core: EngineCore, path: String) {
    state.withLock { ($0.core, $0.fault) = (core, nil) }
    disk.removeInterceptors()
    disk.intercept { [self] operation in effect(on: operation, path: path) }
  }

  private func effect(on operation: DiskOperation, path: String) -> FaultEffect? {
    guard operation.path == path || operation.path.hasPrefix("\(path)-log") else { return nil }
    let (core, isWaiting) = state.withLock { ($0.core, $0.fault != nil) }
    guard isWaiting, let core else { return nil }
    let place = Self.place(of: operation, core.checkpointer.stage, isData: operation.path == path)
    let isUnlogged = core.checkpointer.isCommittingByCheckpoint
    return state.withLock { state -> FaultEffect? in
      guard var fault = state.fault, fault.place == place, fault.kind ?? operation.kind == operation.kind,
        operation.kind != .read, operation.kind != .unlink, isUnlogged || !fault.isUnlogged
      else { return nil }
      fault.skipCount -= 1
      state.fault = fault.skipCount < 0 ? nil : fault
      if fault.skipCount >= 0 { return nil }
      state.struck[place.rawValue] += 1
      if isUnlogged { state.struckUnlogged[place.rawValue] += 1 }
      return fault.effect(on: operation)
    }
  }

  /// What the engine is at. While a checkpoint waits for its next step, others append and flush.
  private static func place(of operation: DiskOperation, _ stage: CheckpointStage?, isData: Bool) -> FaultPlace {
    switch stage {
    case .segment: .segment
    case .sync where isData: .sync
    case .meta where isData: .meta
    case .mark where !isData: .mark
    case .longerSegment, .longerMeta, .longerMark: .lengthening
    case nil where isData && operation.kind == .write && operation.count > MetaPage.byteCount: .pages
    case nil where isData: .setUp
    case _ where isData: .pages
    case _ where operation.kind == .synchronize: .flush
    case _ where operation.kind == .write: .append
    default: .setUp
    }
  }
}
