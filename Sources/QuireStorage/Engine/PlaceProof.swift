// When the free map of a file that was opened is proven, and by whom.

internal import Synchronization

/// How far the proof has come that the places which the map of the opened checkpoint calls free are free.
///
/// Until it is there, the allocator gives out places behind the end of the file alone, so that the file may become
/// longer, and nothing that it had when it was opened is written over. Opening does not wait for the proof, nor does a
/// process that only reads pay for it: it begins with the first transaction that needs places.
///
/// A page that cannot be read ends the walk without a result: what hangs below it is not known, and no place of the old
/// map is given out in this life. Transactions go on all the same; a read of that page throws.
///
/// Invariant: `allocator` withholds places exactly as long as `isOver` is false.
final class PlaceProof: Sendable {
  private struct State {
    /// The walk that is under way.
    var walk: FreeMapProof?
    /// What refutes the map.
    var refusal: StorageError?
    /// Why the walk has ended without a result.
    var failure: StorageError?
    /// Whether a thread has been asked to walk.
    var isRequested = false
  }

  private let store: PageStore
  private let allocator: PageAllocator
  /// The checkpoint that was opened.
  private let meta: MetaPage
  private let state = Latch(State())
  private let isOverWord: Atomic<Bool>

  /// A proof for the map of `meta`, which `allocator` has been given.
  init(_ store: PageStore, _ allocator: PageAllocator, _ meta: MetaPage) {
    self.store = store
    self.allocator = allocator
    self.meta = meta
    isOverWord = Atomic(!allocator.isWithholding)
  }

  /// Whether all places may be given out.
  var isOver: Bool { isOverWord.load(ordering: .acquiring) }
  /// How many pages the file had.
  var pageCount: UInt64 { meta.pageCount }

  /// How many pages a step reads.
  private static let pagesPerStep = 64

  /// Does the next piece of the walk, on any thread; false when there is nothing left to do.
  ///
  /// - Parameter isRetry: whether a page that was found damaged is looked at again; one that the disk did not give is,
  ///   in any case.
  /// - Throws: `damagedPage` if the map is refuted, again and again; and what a page that cannot be read throws.
  func step(isRetry: Bool = false) throws(StorageError) -> Bool {
    if isOver { return false }
    return try state.withLock { (state) throws(StorageError) -> Bool in
      if isOver { return false }
      if let refusal = state.refusal { throw refusal }
      if let failure = state.failure, failure.code != .inputOutput, !isRetry { throw failure }
      let walk = state.walk ?? FreeMapProof(store, meta)
      state.walk = nil
      let outcome: FreeMapProof.Outcome
      do throws(StorageError) { outcome = try walk.step(pageLimit: Self.pagesPerStep) } catch {
        state.failure = error
        throw error
      }
      switch outcome {
      case .more:
        state.walk = walk
        return true
      case .refuted(let error):
        state.refusal = error
        throw error
      case .proven:
        allocator.trust()
        isOverWord.store(true, ordering: .releasing)
        return false
      }
    }
  }

  /// What has refuted the map; nil as long as nothing has.
  var refusal: StorageError? { state.withLock { $0.refusal } }

  /// Whether the caller is the first to ask for a thread that walks.
  func takeRequest() -> Bool {
    state.withLock { state in
      defer { state.isRequested = true }
      return !state.isRequested
    }
  }
}
