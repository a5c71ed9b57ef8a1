// Making, finding and removing trees in the running transaction.

extension WriteContext {
  /// Makes an empty tree.
  package func createTree(_ name: String, _ kind: KeyKind) throws(StorageError) -> Tree {
    try checkUsable()
    guard name.utf8.count <= Limits.treeNameByteCount, !name.isEmpty else {
      throw StorageError(
        .invalidOption, "A tree's name has 1 to \(Limits.treeNameByteCount) bytes; this has \(name.utf8.count).")
    }
    guard names.id(of: name) == nil else {
      throw StorageError(.treeMismatch, "There is a tree named “\(name)” already. Open it with tree(named:).")
    }
    guard treeIDCounter < UInt64(Limits.treeID) else {
      throw StorageError(.limitReached, "The ids of trees are used up (next: \(treeIDCounter)).")
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
    names = names.adding(id, name)
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
      var deletion = TreeDeletion(editor)
      try deletion.delete(trees[index])
    } catch {
      throw fail(error)
    }
    names = names.removing(trees[index].id)
    trees.remove(at: index)
    mutations &+= 1
  }

  /// The tree of this name.
  package func tree(named name: String) -> Tree? {
    guard let id = names.id(of: name), let index = search(id) else { return nil }
    return Tree(id: id, keys: trees[index].keyKind, hint: index)
  }

  /// Where the tree of this id is in `trees`, which are in the order of their ids.
  func search(_ id: TreeID) -> Int? {
    var low = 0
    var high = trees.count
    while low < high {
      let middle = (low + high) / 2
      if trees[middle].id == id { return middle }
      if trees[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}
