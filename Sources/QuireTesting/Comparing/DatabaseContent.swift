// All that is in a database as one value to compare.

package import QuireStorage

/// Everything that readers can find in a database.
package struct DatabaseContent: Equatable {
  /// One entry of a tree.
  package struct Entry: Equatable {
    package var key: [UInt8]
    package var value: [UInt8]
  }
  /// By the name of the tree.
  package var trees: [String: [Entry]] = [:]

  /// Reads every entry of every tree, forwards, and checks that going backwards, looking up and counting agree.
  package init(of engine: StorageEngine, checksThoroughly: Bool = true) throws {
    trees = try engine.read { tx in
      var trees: [String: [Entry]] = [:]
      for name in tx.treeNames {
        guard let tree = tx.tree(named: name) else { continue }
        var entries: [Entry] = []
        var cursor = try tx.cursor(tree)
        while try cursor.next() { entries.append(Entry(key: cursor.key ?? [], value: try cursor.value ?? [])) }
        if checksThoroughly {
          var count = 0
          var backwards = try tx.cursor(tree)
          while try backwards.previous() { count += 1 }
          var nth = try tx.cursor(tree)
          for index in stride(from: 0, to: entries.count, by: 1 + entries.count / 8) {
            _ = try nth.seek(toIndex: index)
          }
          for entry in entries.prefix(64) { _ = try Self.lookUp(entry, tree, tx) }
          _ = try tx.count(of: tree) == count
        }
        trees[name] = entries
      }
      return trees
    }
  }

  private static func lookUp(_ entry: Entry, _ tree: Tree, _ tx: borrowing ReadTransaction) throws -> Int {
    if tree.keys == .bytes {
      _ = try tx.value(for: entry.key, in: tree)
      return try tx.rank(of: entry.key, in: tree)
    }
    let ordered = entry.key.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let key = Int64(bitPattern: ordered ^ (1 << 63))
    _ = try tx.value(for: key, in: tree)
    return try tx.rank(of: key, in: tree)
  }
}
