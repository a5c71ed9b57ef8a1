// Trees that live in memory alone, for extensions that are not stored.

/// An ordered map from bytes to bytes that knows the rank of its entries: a B+tree whose nodes are shared by all copies
/// until one of them changes a node.
///
/// Copying costs a retain, so that a snapshot and a savepoint are copies. O(log n) for every question and every change,
/// except `removeRange`, which is O(k log n) for k entries. Values may be used from any thread.
///
/// Invariants:
/// 1. A leaf has as many values as keys, a branch as many children as keys, and neither more than `nodeCapacity`; only
///    the root of an empty tree is empty.
/// 2. Keys ascend by their bytes; a branch's key is not above the first key of its child, and above all keys of the
///    child before.
/// 3. `count` is the number of entries below a node; all leaves are equally deep.
package struct MemoryTree: Sendable {
  /// One node. Changed only through a tree that holds the only reference to it.
  package final class Node: @unchecked Sendable {
    // Sendable: safe because a node that more than one tree refers to is copied before it is changed.
    var keys: [[UInt8]] = []
    var values: [[UInt8]] = []
    var children: [Node] = []
    var count = 0

    init() {}

    init(copying other: Node) {
      keys = other.keys
      values = other.values
      children = other.children
      count = other.count
    }

    var isLeaf: Bool { children.isEmpty }

    /// Whether the node has as many values or children as keys, and no more than there is room for.
    fileprivate var isEven: Bool {
      keys.count == (isLeaf ? values.count : children.count) && keys.count <= MemoryTree.nodeCapacity
    }

    /// Whether the key at an index is above the one before and below the one behind.
    fileprivate func isInOrder(at index: Int) -> Bool {
      (index == 0 || keys[index - 1].lexicographicallyPrecedes(keys[index]))
        && (index + 1 >= keys.count || keys[index].lexicographicallyPrecedes(keys[index + 1]))
    }
  }

  static let nodeCapacity = 64

  private(set) var root = Node()

  /// An empty tree.
  package init() {}

  /// The number of entries. O(1).
  package var count: Int { root.count }

  // MARK: Looking up

  /// The index of the first key in `keys` that is not below `key`.
  private static func lowerBound(_ keys: [[UInt8]], _ key: [UInt8]) -> Int {
    var (low, high) = (0, keys.count)
    while low < high {
      let middle = (low + high) / 2
      if keys[middle].lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The child of a branch that `key` belongs to.
  private static func child(_ node: Node, _ key: [UInt8]) -> Int {
    let index = lowerBound(node.keys, key)
    if index < node.keys.count, node.keys[index] == key { return index }
    return max(0, index - 1)
  }

  /// The value under `key`.
  package func value(for key: [UInt8]) -> [UInt8]? {
    var node = root
    while !node.isLeaf { node = node.children[Self.child(node, key)] }
    let index = Self.lowerBound(node.keys, key)
    return index < node.keys.count && node.keys[index] == key ? node.values[index] : nil
  }

  /// The number of entries whose keys are below `key`.
  package func rank(of key: [UInt8]) -> Int {
    var node = root
    var rank = 0
    while !node.isLeaf {
      let index = Self.child(node, key)
      for child in node.children[..<index] { rank += child.count }
      node = node.children[index]
    }
    return rank + Self.lowerBound(node.keys, key)
  }

  /// The leaf with the entry that has `rank` entries below it, and where it stands in there.
  func leaf(at rank: Int) -> (leaf: Node, index: Int)? {
    guard rank >= 0, rank < count else { return nil }
    var node = root
    var rest = rank
    while !node.isLeaf {
      var index = 0
      while rest >= node.children[index].count {
        rest -= node.children[index].count
        index += 1
      }
      node = node.children[index]
    }
    assert(rest < node.keys.count, "a leaf has fewer entries than it counts")
    return (node, rest)
  }

  /// The entry with `rank` entries below it.
  package func entry(at rank: Int) -> (key: [UInt8], value: [UInt8])? {
    leaf(at: rank).map { ($0.leaf.keys[$0.index], $0.leaf.values[$0.index]) }
  }

  // MARK: Changing

  /// Stores a value; returns whether the key is new.
  @discardableResult
  package mutating func put(_ value: [UInt8], for key: [UInt8]) -> Bool {
    let (isNew, split) = Self.put(&root, key, value)
    if let split {
      let top = Node()
      top.keys = [root.keys[0], split.keys[0]]
      top.children = [root, split]
      top.count = root.count + split.count
      root = top
      assert(top.isEven && top.isInOrder(at: 0), "the root's halves are out of order")
    }
    return isNew
  }

  private static func makeUnique(_ node: inout Node) {
    if !isKnownUniquelyReferenced(&node) { node = Node(copying: node) }
  }

  /// Puts an entry below `node`. Returns what was split off to the right of it, if it was full.
  private static func put(_ node: inout Node, _ key: [UInt8], _ value: [UInt8]) -> (isNew: Bool, split: Node?) {
    makeUnique(&node)
    if node.isLeaf {
      let index = lowerBound(node.keys, key)
      if index < node.keys.count, node.keys[index] == key {
        node.values[index] = value
        return (false, nil)
      }
      node.keys.insert(key, at: index)
      node.values.insert(value, at: index)
      node.count += 1
      assert(node.isInOrder(at: index) && node.count == node.keys.count, "an entry stands in the wrong place")
      return (true, splitIfFull(node))
    }
    let index = child(node, key)
    if key.lexicographicallyPrecedes(node.keys[index]) { node.keys[index] = key }
    let (isNew, split) = put(&node.children[index], key, value)
    if isNew { node.count += 1 }
    if let split {
      node.keys.insert(split.keys[0], at: index + 1)
      node.children.insert(split, at: index + 1)
      assert(node.isInOrder(at: index + 1), "what was split off stands in the wrong place")
    }
    return (isNew, splitIfFull(node))
  }

  private static func splitIfFull(_ node: Node) -> Node? {
    guard node.keys.count > nodeCapacity else { return nil }
    let middle = node.keys.count / 2
    let right = Node()
    right.keys = Array(node.keys[middle...])
    node.keys.removeSubrange(middle...)
    if node.isLeaf {
      right.values = Array(node.values[middle...])
      node.values.removeSubrange(middle...)
      right.count = right.keys.count
    } else {
      right.children = Array(node.children[middle...])
      node.children.removeSubrange(middle...)
      right.count = right.children.reduce(0) { $0 + $1.count }
    }
    node.count -= right.count
    assert(node.isEven && right.isEven && node.count > 0 && right.count > 0, "a node is split unevenly")
    return right
  }

  /// Removes an entry; returns whether there was one.
  @discardableResult
  package mutating func remove(_ key: [UInt8]) -> Bool {
    guard value(for: key) != nil else { return false }
    let countBefore = count
    Self.remove(&root, key)
    while root.children.count == 1 { root = root.children[0] }
    assert(count == countBefore - 1 && (count > 0 || root.isLeaf), "the count of a tree is wrong after a removal")
    return true
  }

  /// Removes an entry that is there.
  private static func remove(_ node: inout Node, _ key: [UInt8]) {
    makeUnique(&node)
    node.count -= 1
    if node.isLeaf {
      let index = lowerBound(node.keys, key)
      assert(index < node.keys.count && node.keys[index] == key, "an entry that is there was not found")
      node.keys.remove(at: index)
      node.values.remove(at: index)
      return
    }
    let index = child(node, key)
    remove(&node.children[index], key)
    if node.children[index].count == 0 {
      node.keys.remove(at: index)
      node.children.remove(at: index)
    } else {
      mergeIfSmall(node, index)
    }
    // A branch without children would pass for a leaf: it is one then, an empty one, and goes with the level above.
  }

  /// Joins a child with its right or left neighbour if both fit into one node with room to grow.
  private static func mergeIfSmall(_ node: Node, _ index: Int) {
    guard node.children[index].keys.count < nodeCapacity / 4, node.children.count > 1 else { return }
    let left = index + 1 < node.children.count ? index : index - 1
    guard node.children[left].keys.count + node.children[left + 1].keys.count <= nodeCapacity / 2 else { return }
    let right = node.children.remove(at: left + 1)
    node.keys.remove(at: left + 1)
    makeUnique(&node.children[left])
    let joined = node.children[left]
    joined.keys += right.keys
    joined.values += right.values
    joined.children += right.children
    joined.count += right.count
    assert(joined.isEven && joined.isLeaf == right.isLeaf, "nodes of different kinds were joined")
  }

  /// Removes the entries from `lower` up to `upper`, which is not among them; nil means no bound. Returns how many.
  @discardableResult
  package mutating func removeRange(from lower: [UInt8]?, upTo upper: [UInt8]?) -> Int {
    if lower == nil, upper == nil {
      defer { root = Node() }
      return count
    }
    let first = lower.map { rank(of: $0) } ?? 0
    let end = upper.map { rank(of: $0) } ?? count
    guard first < end else { return 0 }
    for _ in first..<end {
      guard let (leaf, index) = leaf(at: first) else { break }
      remove(leaf.keys[index])
    }
    return end - first
  }

  // MARK: Invariants

  /// The first invariant that is broken, in words; nil if none is.
  package func brokenInvariant() -> String? {
    var depths: Set<Int> = []
    var keys: [[UInt8]] = []
    if let broken = Self.check(root, 0, &depths, &keys, isRoot: true) { return broken }
    for (left, right) in zip(keys, keys.dropFirst()) where !left.lexicographicallyPrecedes(right) {
      return "Invariant 2: keys do not ascend."
    }
    if depths.count > 1 { return "Invariant 3: leaves are not equally deep." }
    return keys.count == count ? nil : "Invariant 3: the count is wrong."
  }

  private static func check(
    _ node: Node, _ depth: Int, _ depths: inout Set<Int>, _ keys: inout [[UInt8]], isRoot: Bool
  ) -> String? {
    if node.keys.isEmpty, !isRoot { return "Invariant 1: a node is empty." }
    if node.keys.count > nodeCapacity { return "Invariant 1: a node is too full." }
    if node.isLeaf {
      if node.keys.count != node.values.count { return "Invariant 1: a leaf lacks values." }
      if node.count != node.keys.count { return "Invariant 3: the count of a leaf is wrong." }
      depths.insert(depth)
      keys += node.keys
      return nil
    }
    if node.keys.count != node.children.count { return "Invariant 1: a branch lacks keys." }
    if node.count != node.children.reduce(0, { $0 + $1.count }) {
      return "Invariant 3: the count of a branch is wrong."
    }
    for (index, child) in node.children.enumerated() {
      let first = keys.count
      if let broken = check(child, depth + 1, &depths, &keys, isRoot: false) { return broken }
      if keys.count > first, keys[first].lexicographicallyPrecedes(node.keys[index]) {
        return "Invariant 2: a branch's key is above its child's first."
      }
      if first > 0, keys.count > first, !keys[first - 1].lexicographicallyPrecedes(node.keys[index]) {
        return "Invariant 2: a branch's key is not above the child before."
      }
    }
    return nil
  }
}
