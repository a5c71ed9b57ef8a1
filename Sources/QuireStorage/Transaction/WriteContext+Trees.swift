// Making, finding and removing trees in the running transaction.

extension WriteContext {
  /// Makes an empty tree.
  package func createTree(_ name: String, _ kind: KeyKind) throws(StorageError) -> Tree {
    try checkUsable()
    guard name.utf8.count <= Limits.treeNameByteCount, !name.isEmpty else {
      throw StorageError(
        .invalidOption, "A tree's name has 1 to \(Limits.treeNameByteCount) bytes; this has \(name.utf8.count).")
    }
    guard names.ids[name] == nil else {
      throw StorageError(.treeMismatch, "There is a tree named “\(name)” already. Open it with tree(named:).")
    }
    hasGrown = true
    let id = TreeID(treeIDCounter)
    treeIDCounter += 1
    log.createTree(id, kind, name: name)
    addTree(id, kind, name: name)
    return Tree(id: id, keys: kind, hint: trees.count - 1)
  }

  /// Enters a tree; also what replay does.
  func addTree(_ id: TreeID, _ kind: KeyKind, name: String) {
    trees.append(TreeRoot(id: id, keyKind: kind))
    var all = names.names
    all[id] = name
    names = TreeNames(all)
    treeIDCounter = max(treeIDCounter, id.rawValue + 1)
    mutations &+= 1
  }

  /// Removes a tree with all its entries. Touches its branch pages.
  package func dropTree(_ tree: Tree) throws(StorageError) {
    try checkUsable()
    let index = try settledIndex(of: tree)
    do throws(StorageError) { try enter() } catch { throw fail(error) }
    log.dropTree(tree.id)
    hasRemoved = true
    try removeTree(at: index)
  }

  /// Removes the tree at an index; also what replay does.
  func removeTree(at index: Int) throws(StorageError) {
    do throws(StorageError) {
      try editor.supersedeAll(of: trees[index])
    } catch {
      throw fail(error)
    }
    var all = names.names
    all[trees[index].id] = nil
    names = TreeNames(all)
    trees.remove(at: index)
    mutations &+= 1
  }

  /// The tree of this name.
  package func tree(named name: String) -> Tree? {
    guard let id = names.ids[name], let index = trees.firstIndex(where: { $0.id == id }) else { return nil }
    return Tree(id: id, keys: trees[index].keyKind, hint: index)
  }
}
