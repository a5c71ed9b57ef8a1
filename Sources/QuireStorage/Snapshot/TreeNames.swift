// What the trees of a snapshot are called.

internal import HashTreeCollections

/// The names of the trees of a snapshot; shared by all snapshots between two changes of them.
///
/// Immutable. Another version shares nearly all of its memory with the one that it was made from: a transaction may
/// make thousands of trees, and each of them costs a path through two hash trees.
///
/// Invariants:
/// 1. `ids` and `names` are each other's inverse.
/// 2. `byteCount` is the number of bytes of all names together.
package final class TreeNames: Sendable {
  private let ids: TreeDictionary<String, TreeID>
  private let names: TreeDictionary<TreeID, String>
  /// How many bytes the names have together.
  package let byteCount: Int

  /// Indexes `names` by name; names are unique.
  package convenience init(_ names: [TreeID: String]) {
    self.init(
      ids: TreeDictionary(names.map { ($0.value, $0.key) }, uniquingKeysWith: { first, _ in first }),
      names: TreeDictionary(uniqueKeysWithValues: names.map { ($0.key, $0.value) }),
      byteCount: names.reduce(0) { $0 + $1.value.utf8.count })
  }

  private init(ids: TreeDictionary<String, TreeID>, names: TreeDictionary<TreeID, String>, byteCount: Int) {
    self.ids = ids
    self.names = names
    self.byteCount = byteCount
  }

  /// The tree of this name.
  package func id(of name: String) -> TreeID? { ids[name] }

  /// The name of a tree.
  package subscript(_ id: TreeID) -> String? { names[id] }

  /// How many trees there are.
  package var count: Int { names.count }

  /// All names, in their order.
  package var sorted: [String] { ids.keys.sorted() }

  /// The same with a tree that is not among them, under a name that none of them has. O(log n).
  func adding(_ id: TreeID, _ name: String) -> TreeNames {
    var (ids, names) = (ids, names)
    ids[name] = id
    names[id] = name
    return TreeNames(ids: ids, names: names, byteCount: byteCount + name.utf8.count)
  }

  /// The same without a tree. O(log n).
  func removing(_ id: TreeID) -> TreeNames {
    guard let name = names[id] else { return self }
    var (ids, names) = (ids, names)
    ids[name] = nil
    names[id] = nil
    return TreeNames(ids: ids, names: names, byteCount: byteCount - name.utf8.count)
  }
}
