// One checkpoint's pages: values, trees, catalog, free map. What surrounds them, the log and the meta page, is the
// engine's.

/// What a checkpoint freezes.
package struct CheckpointState {
  package let csn: CSN
  package let trees: [TreeRoot]
  package let names: TreeNames
  /// The least id that none of the trees up to `csn` has had.
  package let nextTreeID: UInt64

  /// Puts the frozen parts together; the caller protects the snapshot that `trees` came from.
  package init(csn: CSN, trees: [TreeRoot], names: TreeNames, nextTreeID: UInt64) {
    self.csn = csn
    self.trees = trees
    self.names = names
    self.nextTreeID = nextTreeID
  }
}

/// Writes the pages of one checkpoint in steps of one buffer each.
///
/// The caller protects the snapshot meanwhile and makes sure that everything in it is durable in the log before the
/// result is named by a meta page (hazard A10).
package final class CheckpointPages {
  private enum Phase {
    case values
    case trees(Int)
    case catalog
    case catalogPages
    case map
    case done
  }

  /// From how many bytes of pages on the disk is asked to begin with them before they are synced. A transaction that
  /// lacks memory may wait until fewer have been written, and what it has spilled in between would be begun, too.
  private static let longByteCount = 64 << 20

  private let state: CheckpointState
  private let catalog: Catalog
  private let freeMap: FreeMapFile
  private let allocator: PageAllocator
  private let values: ValueWriter
  private let writer: PageWriter
  private var phase = Phase.values
  private var plan: FreeMapFile.Plan?
  package private(set) var freeMapRoot = PageRoot()
  /// Pages at this place or above are written anew even if nothing in them changes; see `vacate`.
  private var vacated: UInt64 = .max

  /// Freezes `state` and takes the places that commits up to it gave up into the map. Nothing is written before `step`.
  package init(
    _ state: CheckpointState, store: PageStore, allocator: PageAllocator, reclaimer: Reclaimer, catalog: Catalog,
    freeMap: FreeMapFile
  ) {
    self.state = state
    self.catalog = catalog
    self.freeMap = freeMap
    self.allocator = allocator
    allocator.rewind()
    allocator.applySuperseded(upTo: state.csn.rawValue)
    allocator.trim()
    values = ValueWriter(store)
    let isLong = store.frames.dirtyCount * store.pageSize >= Self.longByteCount
    writer = PageWriter(store: store, allocator: allocator, reclaimer: reclaimer, startsWriting: isLong)
    if let first = state.trees.first { writer.begin(first.reference) }
  }

  /// The catalog's root; valid when all pages are written.
  package var catalogRoot: TreeRoot { catalog.root }
  /// Slots whose pages were replaced by translated images.
  package var oldSlots: [UInt] { writer.oldSlots }
  /// How many pages the file has that the meta page is to name; valid when all pages are written.
  package var pageCount: UInt64 { allocator.mapPageCount }
  /// Tree and catalog pages handed to the system so far.
  package var pagesWritten: Int { writer.pagesWritten }
  /// How many values of one page have been written while there may be more of them; nil when tree pages are next.
  var valuesWritten: Int? {
    if case .values = phase { values.writtenCount } else { nil }
  }

  /// Has the pages of the catalog and of the free map that stand at `limit` or above moved to lower places, as far as
  /// there are any. Called before the first step.
  package func vacate(from limit: UInt64) { vacated = limit }

  /// Whether the next step looks into pages that may be evicted. Dirty ones are protected by the frozen snapshot.
  package var looksPagesUp: Bool {
    switch phase {
    case .values, .trees, .catalogPages: false
    default: true
    }
  }

  /// Does the next piece of work; false when all pages have been written.
  ///
  /// - Throws: `diskFull`, `inputOutput`, and what reading catalog pages throws. The caller then calls `undo`.
  package func step() throws(StorageError) -> Bool {
    switch phase {
    case .values:
      // Those of commits behind the frozen one and of the running transaction are free in this map, and so are those
      // that the frozen commits have replaced.
      if try values.step(allocator.usedPlaces) { return true }
      phase = .trees(0)
      return try step()
    case .trees(let index):
      if try writer.step() { return true }
      if index + 1 < state.trees.count {
        writer.begin(state.trees[index + 1].reference)
        phase = .trees(index + 1)
      } else {
        try writer.flush()
        phase = .catalog
      }
      return true
    case .catalog:
      try catalog.update(to: state.trees, names: state.names, csn: state.csn, vacating: vacated)
      writer.begin(catalog.root.reference)
      phase = .catalogPages
      return true
    case .catalogPages:
      if try writer.step() { return true }
      try writer.flush()
      catalog.finishPages()
      phase = .map
      return true
    case .map:
      let plan = try freeMap.plan(allocator, vacating: vacated)
      self.plan = plan
      freeMapRoot = try freeMap.write(plan, allocator, birth: state.csn.rawValue)
      phase = .done
      return false
    case .done:
      return false
    }
  }

  /// Called when the meta page is durable.
  package func finish() { catalog.finish() }

  /// Puts everything back that the next checkpoint would stumble over. Tree pages that were written stay written.
  package func undo() {
    writer.abandon()
    if let plan { freeMap.undo(plan, allocator) }
    plan = nil
    catalog.undo()
  }
}
