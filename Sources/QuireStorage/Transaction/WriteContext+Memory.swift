// What of the running transaction can be written home early, and what can be freed before its end.

extension WriteContext {
  /// Everything that the transaction may still want to read: its trees, those of its savepoints, and what it is
  /// building.
  package var reachableRoots: [PageReference] {
    (savepointTrees + [trees]).flatMap { $0 }.map(\.reference).filter { !$0.isNone } + looseReferences
  }

  /// Whether pages of trees that are being built exist beside `reachableRoots`, and may refer to complete ones.
  package var isBuilding: Bool { !looseReferences.isEmpty }

  /// About how many dirty pages the transaction has made and not spilled.
  package var unspilledCount: Int { editor.pages.born.count - spilledCount }

  /// Notes that all pages that can be reached have been written home, and are no longer edited in place.
  package func noteSpill() {
    assert(spilledCount <= editor.pages.born.count, "more pages have spilled than were made")
    spilledCount = editor.pages.born.count
    hasSpilled = true
    editor.noteSpill()
  }

  /// Frees what the transaction has made and replaced itself, unless a savepoint may return to it.
  package func releaseDead() {
    reclaimer.releaseDead(editor.pages.takeDead(since: savepointMarks.last ?? .start))
    spilledCount = min(spilledCount, editor.pages.born.count)
    examinedCount = editor.pages.born.count
  }

  /// The bytes of rows or entries that a load of the object layer should have wait at a time: an eighth of the budget.
  package var loadByteLimit: Int { editor.store.pool.slotLimit / 8 * editor.store.pageSize }

  /// Charges a load's memory to the budget of pages. The transaction's limit of dirty pages is that of what is left.
  package func chargeLoad(_ byteCount: Int) {
    let store = editor.store
    store.charge(byteCount, to: .load)
    setDirtyLimit(store.hardDirtyLimit)
  }

  /// Has `makeRoom` called at the next change if there are too many dirty pages already.
  package func askForRoom() {
    if editor.store.dirtyCount > editor.store.hardDirtyLimit { editor.pages.askForRoom() }
  }

  /// Sets how many dirty pages there may be before `makeRoom` is called.
  package func setDirtyLimit(_ count: Int) { editor.pages.setDirtyLimit(count) }
}
