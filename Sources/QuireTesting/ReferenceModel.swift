// What a database must hold, commit by commit, kept in the simplest way that is still quick enough to be compared with
// after every simulated crash.

internal import DequeModule
package import QuireStorage

/// The content of all trees at one commit. A value: copying it costs nothing, which is how savepoints are made.
package struct ModelState: Sendable {
  /// The commit that made this state.
  package fileprivate(set) var csn: CSN
  private var trees: [TreeID: ModelTree] = [:]
  /// The digest of all trees and entries; equal to that of a scan that finds the same.
  package private(set) var digest = StateDigest()

  /// A state without trees.
  package init(csn: CSN = CSN(0)) { self.csn = csn }

  // MARK: Changes

  /// Makes an empty tree. The tree must not exist.
  package mutating func create(_ tree: TreeID) {
    precondition(trees[tree] == nil, "\(tree) exists already")
    trees[tree] = ModelTree(tree)
    digest.insert(tree)
  }

  /// Removes a tree and all that is in it; false if there is none. O(1).
  @discardableResult package mutating func drop(_ tree: TreeID) -> Bool {
    guard let old = trees.removeValue(forKey: tree) else { return false }
    digest.remove(old.digest)
    digest.remove(tree)
    return true
  }

  /// Sets a value. The tree must exist.
  package mutating func put(_ key: [UInt8], _ value: [UInt8], in tree: TreeID) {
    change(tree) { $0.put(key, value) }
  }

  /// Removes a key; false if it is not there. The tree must exist.
  @discardableResult package mutating func delete(_ key: [UInt8], in tree: TreeID) -> Bool {
    change(tree) { $0.delete(key) }
  }

  /// Removes all keys in a range; returns how many there were. The tree must exist.
  @discardableResult package mutating func deleteAll(in range: ModelRange, of tree: TreeID) -> Int {
    let doomed = entries(in: range, of: tree)
    return change(tree) { changed in
      for entry in doomed { _ = changed.delete(entry.key) }
      return doomed.count
    }
  }

  private mutating func change<Result>(_ tree: TreeID, _ body: (inout ModelTree) -> Result) -> Result {
    guard let index = trees.index(forKey: tree) else { preconditionFailure("\(tree) does not exist") }
    digest.remove(trees.values[index].digest)
    defer { digest.insert(trees.values[index].digest) }
    return body(&trees.values[index])
  }

  // MARK: Questions

  /// The trees that exist, ascending.
  package var treeIDs: [TreeID] { trees.keys.sorted() }

  /// How many entries all trees hold together.
  package var entryCount: Int { trees.values.reduce(0) { $0 + $1.count } }

  /// Whether the tree exists.
  package func contains(_ tree: TreeID) -> Bool { trees[tree] != nil }

  /// The value under a key, or nil.
  package func value(of key: [UInt8], in tree: TreeID) -> [UInt8]? { trees[tree]?.value(of: key) }

  /// How many entries the range holds; all of the tree's by default.
  package func count(in range: ModelRange = ModelRange(), of tree: TreeID) -> Int {
    trees[tree]?.ranks(of: range).count ?? 0
  }

  /// How many keys of the tree come before `key`, whether that exists or not.
  package func rank(of key: [UInt8], in tree: TreeID) -> Int { trees[tree]?.rank(of: key) ?? 0 }

  /// The n-th entry of the tree, from 0, or nil.
  package func entry(at rank: Int, in tree: TreeID) -> ModelEntry? { trees[tree]?.entry(at: rank) }

  /// The entries in a range, ascending; all of the tree's by default.
  package func entries(in range: ModelRange = ModelRange(), of tree: TreeID) -> [ModelEntry] {
    guard let tree = trees[tree] else { return [] }
    return tree.entries(tree.ranks(of: range))
  }

  /// In what `actual` differs from this state, a line for each difference, at most `limit` of them.
  package func differences(in actual: ModelState, limit: Int = 20) -> [String] {
    var lines: [String] = []
    for tree in Set(treeIDs + actual.treeIDs).sorted() where lines.count < limit {
      if !contains(tree) { lines.append("\(tree) should not exist") }
      if !actual.contains(tree) { lines.append("\(tree) is missing") }
      for entry in entries(of: tree) {
        let found = actual.value(of: entry.key, in: tree)
        if found == entry.value { continue }
        let answer = found.map { "\(Self.text($0)) instead of \(Self.text(entry.value))" } ?? "missing"
        lines.append("\(tree), key \(Self.text(entry.key)): \(answer)")
      }
      for entry in actual.entries(of: tree) where value(of: entry.key, in: tree) == nil {
        lines.append("\(tree), key \(Self.text(entry.key)): should not exist")
      }
    }
    return Array(lines.prefix(limit))
  }

  /// The first way in which the state contradicts itself: a test of the model, not of what it models.
  package func brokenInvariant() -> String? {
    var digest = StateDigest()
    for tree in treeIDs {
      if let text = trees[tree]?.brokenInvariant() { return "\(tree): \(text)" }
      digest.insert(tree)
      for entry in entries(of: tree) { digest.insert(entry.key, entry.value, in: tree) }
    }
    return digest == self.digest ? nil : "the digest is wrong"
  }

  /// The first bytes in hexadecimal, and how many there are.
  private static func text(_ bytes: [UInt8]) -> String {
    let start = bytes.prefix(12).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return "\(start)\(bytes.count > 12 ? "…" : "") (\(bytes.count) B)"
  }
}

/// The states that a database may be in after a crash or show to a reader, by commit.
///
/// ```swift
/// var draft = model.newest
/// draft.put(key, value, in: tree)
/// model.append(draft, as: CSN(7))  // the commit was appended
/// model.acknowledge(CSN(7))  // and is durable: no recovery may come back without it
/// ```
///
/// Invariants:
/// 1. There is at least one state, and CSNs ascend strictly.
/// 2. `durable` is at least the CSN of the oldest state and at most that of the newest.
package struct ReferenceModel: Sendable {
  private var states: Deque<ModelState>
  /// The newest commit that was acknowledged as durable.
  package private(set) var durable: CSN

  /// A model whose only state is `initial`, which is taken for durable.
  package init(_ initial: ModelState = ModelState()) {
    states = [initial]
    durable = initial.csn
  }

  /// The newest state, on which the next transaction builds.
  package var newest: ModelState { states[states.count - 1] }

  /// The CSN of the oldest state that is still remembered.
  package var oldestCSN: CSN { states[0].csn }

  /// How many states are remembered.
  package var stateCount: Int { states.count }

  /// Adds the state after a commit, whose CSN must be above all others.
  package mutating func append(_ state: ModelState, as csn: CSN) {
    precondition(csn > newest.csn)
    var state = state
    state.csn = csn
    states.append(state)
  }

  /// Notes that everything up to `csn` is durable; lower numbers change nothing.
  package mutating func acknowledge(_ csn: CSN) {
    precondition(csn <= newest.csn)
    durable = max(durable, csn)
  }

  /// The state that a reader at `csn` sees: that of the last commit up to it; nil if it was forgotten. O(log n).
  package func state(at csn: CSN) -> ModelState? {
    let index = firstIndex { $0.csn > csn }
    return index == 0 ? nil : states[index - 1]
  }

  /// The commits that a recovered database with this digest may stand for, newest first: those not older than the last
  /// acknowledged one. Several if commits changed nothing; none means that something was lost or invented.
  package func candidates(_ digest: StateDigest) -> [CSN] {
    let oldest = durableState.csn
    return states.reversed().prefix { $0.csn >= oldest }.filter { $0.digest == digest }.map(\.csn)
  }

  /// The state of the newest acknowledged commit.
  package var durableState: ModelState { states[max(0, firstIndex { $0.csn > durable } - 1)] }

  /// Drops what came after `csn`, as a recovery did; what is left is what everybody saw, and so is durable.
  package mutating func truncate(to csn: CSN) {
    precondition(csn >= durableState.csn, "an acknowledged commit may not be dropped")
    states.removeLast(states.count - firstIndex { $0.csn > csn })
    durable = newest.csn
  }

  /// Forgets the states that neither a reader at `csn` or later nor a recovery can ask for.
  package mutating func forget(before csn: CSN) {
    let kept = firstIndex { $0.csn > min(csn, durable) } - 1
    if kept > 0 { states.removeFirst(kept) }
  }

  /// The index of the first state for which `holds`, which holds for all later ones; the count if for none.
  private func firstIndex(_ holds: (ModelState) -> Bool) -> Int {
    var low = 0
    var high = states.count
    while low < high {
      let middle = (low + high) / 2
      if holds(states[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
