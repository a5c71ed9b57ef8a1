// The rows of a group while steps are replayed, by index.

/// A list of rows that counts: runs of rows that no step has touched, and inserted rows, in the order of the group.
///
/// Finds the row at an index and changes the list there in O(log n) for n pieces, however long the runs are. A treap: a
/// search tree by position and a heap by random priorities, so that its depth is logarithmic whatever the steps are.
///
/// Invariants: the total of a node is its length and the totals of its children; no child has a higher priority; no
/// length is 0; an inserted row has length 1.
struct PieceTree {
  /// A run of rows as they were before, or an inserted row.
  struct Piece: Equatable {
    /// The index before all steps of the first row of the run; of an inserted row its number in the caller's list.
    var start: Int
    var length: Int
    let isInserted: Bool
  }

  private struct Node {
    var left: Int32 = -1
    var right: Int32 = -1
    let priority: UInt32
    var total: Int
    var piece: Piece
  }

  /// The link that leads to a node: the root, or a child of another node.
  private enum Link {
    case root
    case left(Int32)
    case right(Int32)
  }

  private var nodes: [Node] = []
  private var root: Int32 = -1
  private var random: UInt64 = 0x9e37_79b9_7f4a_7c15

  /// A list of untouched rows.
  init(count: Int) {
    if count > 0 { root = makeNode(Piece(start: 0, length: count, isInserted: false)) }
  }

  /// The number of rows.
  var count: Int { total(root) }

  /// The piece with the row at an index, and which row of the piece it is.
  func piece(at index: Int) -> (piece: Piece, offset: Int) {
    precondition(index >= 0 && index < count)
    var node = root
    var rest = index
    while true {
      let before = total(nodes[Int(node)].left)
      let piece = nodes[Int(node)].piece
      if rest < before {
        node = nodes[Int(node)].left
      } else if rest < before + piece.length {
        return (piece, rest - before)
      } else {
        rest -= before + piece.length
        node = nodes[Int(node)].right
      }
    }
  }

  /// Inserts a row of the caller's list at an index.
  mutating func insert(_ number: Int, at index: Int) {
    precondition(index >= 0 && index <= count)
    cut(at: index)
    put(makeNode(Piece(start: number, length: 1, isInserted: true)), at: index)
  }

  /// Removes the row at an index and says which it was.
  mutating func remove(at index: Int) -> Piece {
    let found = piece(at: index)
    let removed = Piece(start: found.piece.start + found.offset, length: 1, isInserted: found.piece.isInserted)
    // A row inside a run becomes the first one of its piece.
    if found.offset > 0, found.offset < found.piece.length - 1 { cut(at: index) }
    let isFirst = found.offset < found.piece.length - 1 || found.piece.length == 1
    shorten(at: index, by: 1, fromFront: isFirst)
    return removed
  }

  /// Removes all rows and gives what they were.
  mutating func removeAll() -> [Piece] {
    let all = pieces
    nodes.removeAll(keepingCapacity: true)
    root = -1
    return all
  }

  /// All pieces in the order of the group. O(pieces).
  var pieces: [Piece] {
    var result: [Piece] = []
    result.reserveCapacity(nodes.count)
    var ancestors: [Int32] = []
    var node = root
    while node >= 0 || !ancestors.isEmpty {
      while node >= 0 {
        ancestors.append(node)
        node = nodes[Int(node)].left
      }
      guard let next = ancestors.popLast() else { break }
      result.append(nodes[Int(next)].piece)
      node = nodes[Int(next)].right
    }
    return result
  }

  private func total(_ node: Int32) -> Int { node < 0 ? 0 : nodes[Int(node)].total }

  private mutating func makeNode(_ piece: Piece) -> Int32 {
    random ^= random << 13
    random ^= random >> 7
    random ^= random << 17
    nodes.append(Node(priority: UInt32(truncatingIfNeeded: random >> 16), total: piece.length, piece: piece))
    return Int32(nodes.count - 1)
  }

  private mutating func set(_ link: Link, to node: Int32) {
    switch link {
    case .root: root = node
    case .left(let parent): nodes[Int(parent)].left = node
    case .right(let parent): nodes[Int(parent)].right = node
    }
  }

  /// Sees to it that no run has rows both before and from an index on.
  private mutating func cut(at index: Int) {
    guard index > 0, index < count else { return }
    let found = piece(at: index)
    guard found.offset > 0 else { return }
    let cutOff = found.piece.length - found.offset
    shorten(at: index, by: cutOff, fromFront: false)
    let rest = Piece(start: found.piece.start + found.offset, length: cutOff, isInserted: false)
    put(makeNode(rest), at: index)
  }

  /// Takes rows from one end of the piece with the row at an index, and the piece out if it has no more.
  private mutating func shorten(at index: Int, by number: Int, fromFront: Bool) {
    var link = Link.root
    var node = root
    var rest = index
    while true {
      let at = Int(node)
      nodes[at].total -= number
      let before = total(nodes[at].left)
      let length = nodes[at].piece.length
      if rest < before {
        link = .left(node)
        node = nodes[at].left
      } else if rest < before + length {
        nodes[at].piece.length -= number
        if fromFront { nodes[at].piece.start += number }
        if length == number { join(nodes[at].left, nodes[at].right, at: link) }
        return
      } else {
        rest -= before + length
        link = .right(node)
        node = nodes[at].right
      }
    }
  }

  /// Puts a node where no piece has to be cut.
  private mutating func put(_ new: Int32, at index: Int) {
    let priority = nodes[Int(new)].priority
    let length = nodes[Int(new)].piece.length
    var link = Link.root
    var node = root
    var rest = index
    while node >= 0, nodes[Int(node)].priority >= priority {
      let at = Int(node)
      nodes[at].total += length
      let before = total(nodes[at].left)
      if rest <= before {
        link = .left(node)
        node = nodes[at].left
      } else {
        rest -= before + nodes[at].piece.length
        link = .right(node)
        node = nodes[at].right
      }
    }
    nodes[Int(new)].total = length + total(node)
    split(node, at: rest, below: new)
    set(link, to: new)
  }

  /// Parts a subtree at an index between two pieces, and hangs both parts below a node.
  private mutating func split(_ subtree: Int32, at index: Int, below new: Int32) {
    var (lowLink, highLink) = (Link.left(new), Link.right(new))
    var node = subtree
    var rest = index
    while node >= 0 {
      let at = Int(node)
      let before = total(nodes[at].left)
      if rest <= before {
        set(highLink, to: node)
        highLink = .left(node)
        nodes[at].total -= rest
        node = nodes[at].left
      } else {
        set(lowLink, to: node)
        lowLink = .right(node)
        let inner = rest - before - nodes[at].piece.length
        nodes[at].total = rest
        rest = inner
        node = nodes[at].right
      }
    }
    set(lowLink, to: -1)
    set(highLink, to: -1)
  }

  /// Joins two subtrees, all of the first before all of the second.
  private mutating func join(_ first: Int32, _ second: Int32, at place: Link) {
    var (low, high, link) = (first, second, place)
    while low >= 0, high >= 0 {
      if nodes[Int(low)].priority >= nodes[Int(high)].priority {
        set(link, to: low)
        nodes[Int(low)].total += total(high)
        link = .right(low)
        low = nodes[Int(low)].right
      } else {
        set(link, to: high)
        nodes[Int(high)].total += total(low)
        link = .left(high)
        high = nodes[Int(high)].left
      }
    }
    set(link, to: low >= 0 ? low : high)
  }

  /// Stops the process if the invariants at the head of the type do not hold.
  func checkInvariants() {
    var sum = 0
    for piece in pieces {
      precondition(piece.length > 0 && (!piece.isInserted || piece.length == 1), "length of \(piece)")
      sum += piece.length
    }
    precondition(sum == count, "the total of the root")
    for node in nodes.indices where nodes[node].piece.length > 0 {
      let (left, right) = (nodes[node].left, nodes[node].right)
      precondition(nodes[node].total == nodes[node].piece.length + total(left) + total(right), "total of \(node)")
      for child in [left, right] where child >= 0 {
        precondition(nodes[Int(child)].priority <= nodes[node].priority, "order of priorities")
      }
    }
  }
}
