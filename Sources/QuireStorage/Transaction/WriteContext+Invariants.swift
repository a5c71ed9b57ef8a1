// What tests ask of the running transaction after every change.

extension WriteContext {
  /// Checks the invariants of the transaction's trees, dirty pages included; returns what is broken. Touches every page
  /// of every tree. While no other thread reads: a page is copied before the next one is looked up, and nobody else
  /// takes pages out of memory.
  package func checkInvariants(_ permit: borrowing WriterPermit) -> [StorageError] {
    var found: [StorageError] = []
    for (before, tree) in zip(trees, trees.dropFirst()) where before.id >= tree.id {
      found.append(StorageError(.damagedPage, "\(tree.id) stands behind \(before.id)."))
    }
    if names.count != trees.count || trees.contains(where: { names[$0.id] == nil }) {
      found.append(StorageError(.damagedPage, "The names are not those of the trees."))
    }
    if let defect = pending.checkInvariants() {
      found.append(StorageError(.damagedPage, "The transaction is wrong: \(defect)."))
    }
    if let defect = editor.pages.checkInvariants() {
      found.append(StorageError(.damagedPage, "The transaction's pages are wrong: \(defect)."))
    }
    if !pending.isEmpty, putScore == 0 { found.append(StorageError(.damagedPage, "Puts wait and nobody knows.")) }
    let store = editor.store
    // The running commit's number is the highest that a page can have been born with.
    let memory = WalkPages.MemoryAccess(enter: {}, leave: {})
    let verifier = TreeVerifier(store, WalkPages(store, memory: memory), newestBirth: csn)
    for tree in trees {
      do { try verifier.verify(tree) } catch {}
    }
    return found + verifier.defects
  }
}
