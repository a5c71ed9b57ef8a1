// The rows of a group while steps are replayed, by index.

/// A list of rows that counts: runs of rows that no step has touched, and inserted rows, in the order of the group.
///
/// Finds the row at an index and changes the list there in O(log n) for n pieces, however long the runs are. A B+ tree
/// in one array: leaves hold pieces, branches hold the numbers of their children and how many rows these have. Nodes
/// that run empty stay, as a replay is short and only ever adds as many as it has steps.
///
/// Invariants:
/// - a branch's slot has the sum of the lengths of its child's slots; the root's slots come to the count;
/// - all leaves lie equally deep;
/// - a leaf has room for two more slots, a branch for one; no piece has length 0, an inserted row has length 1.
struct PieceTree {
  /// A run of rows as they were before, or an inserted row.
  struct Piece: Equatable {
    /// The index before all steps of the first row of the run; of an inserted row its number in the caller's list.
    let start: Int
    let length: Int
    let isInserted: Bool

    fileprivate init(_ slot: Slot, offset: Int = 0, length: Int? = nil) {
      isInserted = slot.start < 0
      start = isInserted ? ~slot.start : slot.start + offset
      self.length = length ?? slot.length
    }
  }

  /// In a leaf a piece: the start of an inserted row is the complement of its number. In a branch a child's number and
  /// how many rows it has.
  fileprivate struct Slot {
    var start: Int
    var length: Int
  }

  private static let capacity = 32

  /// `capacity` for each node.
  private var slots: [Slot] = []
  /// How many of them each node uses.
  private var used: [Int] = []
  private var root = 0
  /// The number of branches above each leaf.
  private var height = 0
  /// The slots of branches that the last descent went through, from the root.
  private var path: [Int] = []
  /// The number of rows.
  private(set) var count = 0

  /// A list of untouched rows.
  init(count: Int) {
    assert(count >= 0, "a group has fewer rows than none")
    root = makeNode()
    if count > 0 {
      slots[0] = Slot(start: 0, length: count)
      used[0] = 1
      self.count = count
    }
  }

  /// The row at an index, as a piece of its own.
  func row(at index: Int) -> Piece {
    precondition(index >= 0 && index < count)
    var node = root
    var rest = index
    for _ in 0..<height { node = slots[slot(with: &rest, in: node)].start }
    return Piece(slots[slot(with: &rest, in: node)], offset: rest, length: 1)
  }

  /// Inserts a row of the caller's list at an index.
  mutating func insert(_ number: Int, at index: Int) {
    precondition(index >= 0 && index <= count)
    count += 1
    var node = root
    var rest = index
    path.removeAll(keepingCapacity: true)
    for _ in 0..<height {
      let at = slot(before: &rest, in: node)
      slots[at].length += 1
      path.append(at)
      node = slots[at].start
    }
    let new = Slot(start: ~number, length: 1)
    let at = slot(before: &rest, in: node)
    if rest == 0 || used[node] == 0 {
      add(new, at: at, to: node)
    } else if rest == slots[at].length {
      add(new, at: at + 1, to: node)
    } else {
      let whole = slots[at]
      slots[at].length = rest
      add(new, at: at + 1, to: node)
      add(Slot(start: whole.start + rest, length: whole.length - rest), at: at + 2, to: node)
    }
    splitIfFull(leaf: node)
  }

  /// Removes the row at an index and says which it was.
  mutating func remove(at index: Int) -> Piece {
    precondition(index >= 0 && index < count)
    count -= 1
    var node = root
    var rest = index
    path.removeAll(keepingCapacity: true)
    for _ in 0..<height {
      let at = slot(with: &rest, in: node)
      slots[at].length -= 1
      path.append(at)
      node = slots[at].start
    }
    let at = slot(with: &rest, in: node)
    let piece = slots[at]
    assert(rest < piece.length && (piece.start >= 0 || piece.length == 1), "a row is looked for in another piece")
    if piece.length == 1 {
      drop(at: at, from: node)
    } else if rest == 0 {
      slots[at] = Slot(start: piece.start + 1, length: piece.length - 1)
    } else {
      slots[at].length = rest
      let left = piece.length - rest - 1
      if left > 0 { add(Slot(start: piece.start + rest + 1, length: left), at: at + 1, to: node) }
      splitIfFull(leaf: node)
    }
    return Piece(piece, offset: rest, length: 1)
  }

  /// Removes all rows and gives what they were.
  mutating func removeAll() -> [Piece] {
    let all = pieces
    self = PieceTree(count: 0)
    return all
  }

  /// All pieces in the order of the group. O(pieces).
  var pieces: [Piece] {
    var result: [Piece] = []
    result.reserveCapacity(slots.count)
    collect(root, height: height, into: &result)
    assert(result.reduce(0) { $0 + $1.length } == count, "the pieces are not all rows")
    return result
  }

  /// No deeper than the tree, which a replay cannot make deep.
  private func collect(_ node: Int, height: Int, into result: inout [Piece]) {
    for at in slots(of: node) {
      if height > 0 {
        collect(slots[at].start, height: height - 1, into: &result)
      } else {
        result.append(Piece(slots[at]))
      }
    }
  }

  // MARK: Nodes

  private func slots(of node: Int) -> Range<Int> {
    node * Self.capacity..<node * Self.capacity + used[node]
  }

  private mutating func makeNode() -> Int {
    slots.append(contentsOf: repeatElement(Slot(start: 0, length: 0), count: Self.capacity))
    used.append(0)
    return used.count - 1
  }

  /// The slot of a node that has the row at an index, and the index within it.
  private func slot(with rest: inout Int, in node: Int) -> Int {
    var at = node * Self.capacity
    while rest >= slots[at].length {
      rest -= slots[at].length
      at += 1
    }
    assert(slots(of: node).contains(at), "a row is looked for behind its node")
    return at
  }

  /// The first slot of a node that ends at or after an index, and the index within it.
  private func slot(before rest: inout Int, in node: Int) -> Int {
    var at = node * Self.capacity
    while rest > slots[at].length {
      rest -= slots[at].length
      at += 1
    }
    assert(used[node] == 0 || slots(of: node).contains(at), "a place is looked for behind its node")
    return at
  }

  private mutating func add(_ slot: Slot, at place: Int, to node: Int) {
    assert(used[node] < Self.capacity, "a node has no room for a slot")
    assert(place == slots(of: node).upperBound || slots(of: node).contains(place), "a slot is added to another node")
    var at = node * Self.capacity + used[node]
    used[node] += 1
    while at > place {
      slots[at] = slots[at - 1]
      at -= 1
    }
    slots[place] = slot
  }

  private mutating func drop(at place: Int, from node: Int) {
    assert(slots(of: node).contains(place), "a slot is dropped from another node")
    used[node] -= 1
    for at in place..<node * Self.capacity + used[node] { slots[at] = slots[at + 1] }
  }

  /// Parts a leaf without room in two, and the branches above it that have none left by that.
  private mutating func splitIfFull(leaf: Int) {
    guard used[leaf] > Self.capacity - 2 else { return }
    var node = leaf
    while true {
      let other = makeNode()
      let half = used[node] / 2
      var moved = 0
      for (to, from) in slots(of: node).dropFirst(half).enumerated() {
        slots[other * Self.capacity + to] = slots[from]
        moved += slots[from].length
      }
      used[other] = used[node] - half
      used[node] = half
      assert(used[node] > 0 && used[other] > 0, "a node is parted in one with slots and one without")
      guard let above = path.popLast() else { return raise(other, moved) }
      slots[above].length -= moved
      node = above / Self.capacity
      add(Slot(start: other, length: moved), at: above + 1, to: node)
      if used[node] < Self.capacity { return }
    }
  }

  /// Puts a branch above the root and its new neighbour.
  private mutating func raise(_ other: Int, _ moved: Int) {
    assert(path.isEmpty && (0...count).contains(moved), "a branch is put above a node that is not the root")
    let branch = makeNode()
    slots[branch * Self.capacity] = Slot(start: root, length: count - moved)
    slots[branch * Self.capacity + 1] = Slot(start: other, length: moved)
    used[branch] = 2
    root = branch
    height += 1
  }

  /// Stops the process if the invariants at the head of the type do not hold.
  func checkInvariants() {
    precondition(check(root, height: height) == count, "the rows of the root")
  }

  private func check(_ node: Int, height: Int) -> Int {
    precondition(used[node] <= Self.capacity - (height > 0 ? 1 : 2), "room in node \(node)")
    var sum = 0
    for at in slots(of: node) {
      let slot = slots[at]
      if height > 0 {
        precondition(check(slot.start, height: height - 1) == slot.length, "the rows of node \(slot.start)")
      } else {
        precondition(slot.length > 0 && (slot.start >= 0 || slot.length == 1), "length of a piece")
      }
      sum += slot.length
    }
    return sum
  }
}
