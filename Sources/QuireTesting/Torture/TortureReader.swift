// Questions to snapshots, and their answers according to the model.

internal import QuireStorage

/// A snapshot that is held, and what it must show.
struct HeldPin {
  let snapshot: PinnedSnapshot
  let state: ModelState
  let trees: [NamedTree]
}

/// Reads snapshots and holds what they show against the model.
///
/// Invariant: the state and the trees of a pin are those of its commit, whatever has become of the model since.
final class TortureReader {
  let log: TortureLog
  let random: TortureRandom
  let system: TortureSystem
  let oracle: TortureOracle
  private(set) var pins: [HeldPin] = []

  init(_ random: TortureRandom, _ system: TortureSystem, _ oracle: TortureOracle) {
    self.random = random
    self.system = system
    self.oracle = oracle
    log = system.log
  }

  // MARK: Pins

  func openPin() throws {
    let snapshot = try system.opened().pin()
    let state = try oracle.state(at: snapshot.csn)
    let trees = oracle.notes[snapshot.csn.rawValue]?.trees ?? []
    try oracle.see(snapshot.csn)
    pins.append(HeldPin(snapshot: snapshot, state: state, trees: trees))
    log.note("pinned \(snapshot.csn)")
  }

  /// Lets go one of the pins that follow the first `count`.
  func closePin(keeping count: Int) {
    if pins.count > count { pins.remove(at: count + random.below(pins.count - count)) }
  }

  /// Lets all pins go.
  func closePins() { pins = [] }

  /// Asks a pin something.
  func readPin(at index: Int, isThorough: Bool = false) throws {
    let pin = pins[index]
    try pin.snapshot.read { tx in
      try check(tx, pin.state, pin.trees, isThorough: isThorough || random.oneIn(8))
    }
  }

  /// Asks the newest snapshot something.
  func readNewest(isThorough: Bool = false) throws {
    let engine = try system.opened()
    try engine.read { tx in
      let state = try oracle.state(at: tx.csn)
      try oracle.see(tx.csn)
      try check(tx, state, oracle.notes[tx.csn.rawValue]?.trees ?? [], isThorough: isThorough || random.oneIn(8))
    }
  }

  // MARK: Comparing

  /// Which commit the database stands for: it must be one that may be there, and nothing else may be.
  func identify(_ engine: StorageEngine, floor: CSN) throws -> CSN {
    do {
      return try engine.read { tx in
        let csn = tx.csn
        let digest = try digest(of: tx)
        if let state = oracle.model.state(at: csn), state.csn == csn, state.digest == digest {
          guard csn >= floor else {
            throw log.failure(.lost, "recovery came back with \(csn), but \(floor) was acknowledged or shown")
          }
          return csn
        }
        throw try diagnosis(tx, digest, floor: floor)
      }
    } catch let failure as TortureFailure {
      throw failure
    } catch {
      throw log.failure(.falseAlarm, "reading what recovery made threw \(error)")
    }
  }

  private func diagnosis(
    _ tx: borrowing ReadTransaction, _ digest: StateDigest, floor: CSN
  ) throws -> TortureFailure {
    let content = try content(of: tx)
    try oracle.checkRefusal(tx.csn, digest)
    let nearest = oracle.model.state(at: tx.csn) ?? oracle.model.newest
    let differences = nearest.differences(in: content, limit: 6)
    let verdict: TortureFailure.Verdict = tx.csn < floor ? .lost : .ghost
    return log.failure(
      verdict,
      """
      recovery calls itself \(tx.csn); acknowledged or shown is \(floor), appended \(oracle.model.newest.csn); \
      compared with \(nearest.csn): \(differences)
      """)
  }

  /// Compares a snapshot with a state: all of it, or a sample.
  func check(
    _ tx: borrowing ReadTransaction, _ state: ModelState, _ trees: [NamedTree], isThorough: Bool
  ) throws {
    if isThorough {
      let found = try digest(of: tx)
      if found != state.digest {
        let content = try content(of: tx)
        throw log.failure(.wrongRead, "\(tx.csn) differs: \(state.differences(in: content, limit: 6))")
      }
    }
    guard !trees.isEmpty else { return }
    for _ in 0..<2 {
      let named = random.pick(trees)
      let tree = named.tree
      let there = tx.tree(named: named.name)
      try log.expect(there == tree && there?.keys == tree.keys, "\(tx.csn) has another tree \(named.name)")
      let count = try tx.count(of: tree)
      try log.expect(count == state.count(of: tree.id), "\(tx.csn) counts \(count) entries")
      let key = random.nextKey(tree.keys)
      let value = try tx.find(key, in: tree)
      try log.expect(value == state.value(of: key, in: tree.id), "\(tx.csn) has another value")
      let rank = try tx.rank(key, in: tree)
      try log.expect(rank == state.rank(of: key, in: tree.id), "\(tx.csn) gives rank \(rank)")
      if random.oneIn(2) { try checkMany(tx, state, tree) }
      try checkRange(tx, state, tree)
      var cursor = try tx.cursor(tree)
      try walk(&cursor, tree, state, steps: 6)
    }
  }

  private func checkRange(_ tx: borrowing ReadTransaction, _ state: ModelState, _ tree: Tree) throws {
    let range = random.nextRange(tree.keys)
    guard let lower = range.lower, let upper = range.upper else { return }
    let count = max(0, try tx.rank(upper, in: tree) - tx.rank(lower, in: tree))
    try log.expect(count == state.count(in: range, of: tree.id), "\(tx.csn) counts \(count) in a range")
  }

  /// Seeks a key or a rank and walks from there, in one direction or to and fro.
  func walk(_ cursor: inout Cursor, _ tree: Tree, _ state: ModelState, steps: Int) throws {
    let count = state.count(of: tree.id)
    var rank: Int
    if random.oneIn(2) {
      let key = random.nextKey(tree.keys)
      let isThere = try cursor.goTo(key, in: tree)
      rank = state.rank(of: key, in: tree.id)
      try log.expect(isThere == (state.value(of: key, in: tree.id) != nil), "seek said there: \(isThere)")
    } else {
      rank = random.below(count + 2)
      let isThere = try cursor.seek(toIndex: rank)
      try log.expect(isThere == (rank < count), "seek to \(rank) of \(count) said \(isThere)")
    }
    guard rank < count else { return }
    let direction = random.below(3)
    for _ in 0..<steps {
      let entry = state.entry(at: rank, in: tree.id)
      let (key, value) = (cursor.storedKey, try cursor.value)
      try log.expect(key == entry?.key && value == entry?.value, "a cursor shows another entry at \(rank) of \(count)")
      let isForward = direction == 0 || (direction == 2 && random.oneIn(2))
      rank += isForward ? 1 : -1
      let isThere = isForward ? try cursor.next() : try cursor.previous()
      let shouldBe = rank >= 0 && rank < count
      try log.expect(isThere == shouldBe, "a cursor stepped to \(rank) of \(count) and said \(isThere)")
      if !isThere { return }
    }
  }

  /// The digest of all that a snapshot holds, by cursor.
  func digest(of tx: borrowing ReadTransaction) throws -> StateDigest {
    log.report.snapshotReads += 1
    do { return try StateDigest(of: tx) } catch let mismatch as ContentMismatch {
      throw log.failure(.wrongRead, mismatch.description)
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
