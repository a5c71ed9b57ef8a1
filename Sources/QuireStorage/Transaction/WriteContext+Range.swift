// Range deletes of the running transaction.

extension WriteContext {
  /// Removes every entry from `lower` on and below `upper`; nil leaves an end open. Returns how many there were.
  package func deleteRange(
    from lower: SearchKey?, to upper: SearchKey?, in tree: Tree
  ) throws(StorageError) -> Int {
    try checkUsable()
    let index = try settledIndex(of: tree)
    do throws(StorageError) { try enter() } catch { throw fail(error) }
    let before = log.position
    let copy = log.deleteRange(tree.id, tree.keys, from: lower.map(shortened), to: upper.map(shortened))
    mutations &+= 1
    do throws(StorageError) {
      var deletion = RangeDeletion(editor)
      let count = try deletion.delete(from: copy.lower, to: copy.upper, in: &trees[index])
      if count == 0 { log.truncate(to: before) } else { hasRemoved = true }
      return count
    } catch {
      throw fail(error)
    }
  }

  /// A bound that orders with all possible keys as `key` does, and is at most one byte longer than they are.
  private func shortened(_ key: SearchKey) -> SearchKey {
    key.count <= limits.keyByteCount ? key : SearchKey(base: key.base, count: limits.keyByteCount + 1)
  }
}
