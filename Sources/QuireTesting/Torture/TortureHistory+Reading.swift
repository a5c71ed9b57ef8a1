// Questions to snapshots, and their answers according to the model.

internal import QuireStorage

extension TortureHistory {
  // MARK: Pins

  func openPin() throws {
    let snapshot = try opened().pin()
    let state = try state(at: snapshot.csn)
    let trees = notes[snapshot.csn.rawValue]?.trees ?? []
    try see(snapshot.csn)
    pins.append(HeldPin(snapshot: snapshot, state: state, trees: trees))
    note("pinned \(snapshot.csn)")
  }

  /// Asks a pin something.
  func readPin(at index: Int, isThorough: Bool = false) throws {
    let pin = pins[index]
    try pin.snapshot.read { tx in
      try check(tx, pin.state, pin.trees, isThorough: isThorough || random.oneIn(8))
    }
  }

  /// Asks the newest snapshot something.
  func readNewest(isThorough: Bool = false) throws {
    let engine = try opened()
    try engine.read { tx in
      let state = try state(at: tx.csn)
      try see(tx.csn)
      try check(tx, state, notes[tx.csn.rawValue]?.trees ?? [], isThorough: isThorough || random.oneIn(8))
    }
  }

  /// The model's state of exactly this commit.
  private func state(at csn: CSN) throws -> ModelState {
    guard let state = model.state(at: csn), state.csn == csn else {
      throw failure(.ghost, "a reader was shown \(csn), which was never committed")
    }
    return state
  }

  /// Notes that a reader was shown a commit: it may not vanish any more.
  private func see(_ csn: CSN) throws {
    if csn > certain { throw failure(.ghost, "a reader was shown \(csn) although its commit failed") }
    if csn < shown { throw failure(.wrongRead, "a reader was shown \(csn) after \(shown)") }
    if csn < model.durable {
      throw failure(.wrongRead, "a reader was shown \(csn), but \(model.durable) was acknowledged")
    }
    shown = csn
    if waitsForFlush { model.acknowledge(csn) }
  }

  // MARK: Comparing

  /// Compares a snapshot with a state: all of it, or a sample.
  func check(
    _ tx: borrowing ReadTransaction, _ state: ModelState, _ trees: [NamedTree], isThorough: Bool
  ) throws {
    if isThorough {
      let found = try digest(of: tx)
      if found != state.digest {
        let content = try content(of: tx)
        throw failure(.wrongRead, "\(tx.csn) differs: \(state.differences(in: content, limit: 6))")
      }
    }
    guard !trees.isEmpty else { return }
    for _ in 0..<2 {
      let named = random.pick(trees)
      let tree = named.tree
      let there = tx.tree(named: named.name)
      try expect(there == tree && there?.keys == tree.keys, "\(tx.csn) has another tree \(named.name)")
      let count = try tx.count(of: tree)
      try expect(count == state.count(of: tree.id), "\(tx.csn) counts \(count) entries")
      let key = nextKey(tree.keys)
      let value = try tx.find(key, in: tree)
      try expect(value == state.value(of: key, in: tree.id), "\(tx.csn) has another value")
      let rank = try tx.rank(key, in: tree)
      try expect(rank == state.rank(of: key, in: tree.id), "\(tx.csn) gives rank \(rank)")
      if random.oneIn(2) { try checkMany(tx, state, tree) }
      try checkRange(tx, state, tree)
      var cursor = try tx.cursor(tree)
      try walk(&cursor, tree, state, steps: 6)
    }
  }

  private func checkRange(_ tx: borrowing ReadTransaction, _ state: ModelState, _ tree: Tree) throws {
    let range = nextRange(tree.keys)
    guard let lower = range.lower, let upper = range.upper else { return }
    let count = max(0, try tx.rank(upper, in: tree) - tx.rank(lower, in: tree))
    try expect(count == state.count(in: range, of: tree.id), "\(tx.csn) counts \(count) in a range")
  }

  /// Seeks a key or a rank and walks from there, in one direction or to and fro.
  func walk(_ cursor: inout Cursor, _ tree: Tree, _ state: ModelState, steps: Int) throws {
    let count = state.count(of: tree.id)
    var rank: Int
    if random.oneIn(2) {
      let key = nextKey(tree.keys)
      let isThere = try cursor.goTo(key, in: tree)
      rank = state.rank(of: key, in: tree.id)
      try expect(isThere == (state.value(of: key, in: tree.id) != nil), "seek said there: \(isThere)")
    } else {
      rank = random.below(count + 2)
      let isThere = try cursor.seek(toIndex: rank)
      try expect(isThere == (rank < count), "seek to \(rank) of \(count) said \(isThere)")
    }
    guard rank < count else { return }
    let direction = random.below(3)
    for _ in 0..<steps {
      let entry = state.entry(at: rank, in: tree.id)
      let (key, value) = (cursor.storedKey, try cursor.value)
      try expect(key == entry?.key && value == entry?.value, "a cursor shows another entry at \(rank) of \(count)")
      let isForward = direction == 0 || (direction == 2 && random.oneIn(2))
      rank += isForward ? 1 : -1
      let isThere = isForward ? try cursor.next() : try cursor.previous()
      let shouldBe = rank >= 0 && rank < count
      try expect(isThere == shouldBe, "a cursor stepped to \(rank) of \(count) and said \(isThere)")
      if !isThere { return }
    }
  }

  /// The digest of all that a snapshot holds, by cursor.
  func digest(of tx: borrowing ReadTransaction) throws -> StateDigest {
    report.snapshotReads += 1
    do { return try StateDigest(of: tx) } catch let mismatch as ContentMismatch {
      throw failure(.wrongRead, mismatch.description)
    }
  }

  /// The same as a state of the model, to tell what differs.
  func content(of tx: borrowing ReadTransaction) throws -> ModelState {
    var state = ModelState(csn: tx.csn)
    for name in tx.treeNames {
      guard let tree = tx.tree(named: name) else { continue }
      state.create(tree.id)
      var cursor = try tx.cursor(tree)
      while try cursor.next() { state.put(cursor.storedKey ?? [], try cursor.value ?? [], in: tree.id) }
    }
    return state
  }
}

extension Cursor {
  /// The key in the form of the model.
  var storedKey: [UInt8]? {
    borrowedKey.map { [UInt8](UnsafeRawBufferPointer(start: $0.base, count: $0.count)) }
  }
}
