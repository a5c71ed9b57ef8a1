// What of the running transaction can be written home early, and what can be freed before its end.

extension WriteContext {
  /// Everything that the transaction may still want to read: its trees, those of its savepoints, and what it is
  /// building.
  package var reachableRoots: [PageReference] {
    (savepointTrees + [trees]).flatMap { $0 }.map(\.reference).filter { !$0.isNone } + looseReferences
  }

  /// About how many dirty pages the transaction has made and not spilled.
  package var unspilledCount: Int { editor.pages.born.count - spilledCount }

  /// Notes that all pages that can be reached have been written home, and are no longer edited in place.
  package func noteSpill() {
    assert(spilledCount <= editor.pages.born.count, "more pages have spilled than were made")
    spilledCount = editor.pages.born.count
    editor.noteSpill()
  }

  /// Frees what the transaction has made and replaced itself, unless a savepoint may return to it.
  package func releaseDead() {
    reclaimer.releaseDead(editor.pages.takeDead(since: savepointMarks.last ?? .start))
    spilledCount = min(spilledCount, editor.pages.born.count)
    examinedCount = editor.pages.born.count
  }

  /// Sets how many dirty pages there may be before `makeRoom` is called.
  package func setDirtyLimit(_ count: Int) { editor.pages.setDirtyLimit(count) }
}
