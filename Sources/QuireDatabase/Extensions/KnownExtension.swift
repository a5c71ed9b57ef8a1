// What transactions have found of a registered extension, kept for those that would find the same.

internal import QuireStorage
internal import Synchronization

/// What one snapshot shows of an extension that reads its trees: which these are, and what was made of its values.
///
/// Found by looks into the catalog, which changes rarely: when something is registered, a tree is made or a value is
/// set. Until then other snapshots show the same, and their transactions need not look.
///
/// Invariants:
/// 1. All that it holds is what the snapshot of `csn` shows; so it only gets more, by transactions that see the same.
/// 2. `trees` has each name once.
final class KnownExtension: Sendable {
  /// The commit that the snapshot shows.
  let csn: CSN
  private let trees = Latch<[(name: String, tree: Tree)]>([])
  private let derived = Latch<(any AnyObject & Sendable)?>(nil)

  init(_ csn: CSN) { self.csn = csn }

  /// The tree of a name, if somebody has found it.
  func tree(_ name: String) -> Tree? {
    trees.withLock { trees in trees.first { $0.name.hasSameBytes(as: name) }?.tree }
  }

  /// Keeps a tree that was found.
  func keep(_ tree: Tree, _ name: String) {
    trees.withLock { trees in
      if trees.contains(where: { $0.name.hasSameBytes(as: name) }) { return }
      trees.append((name, tree))
      assert(Set(trees.map { ByteString($0.name) }).count == trees.count, "a tree is known twice")
    }
  }

  /// What was made of the values.
  var kept: (any AnyObject & Sendable)? { derived.withLock { $0 } }

  /// Keeps what was made of the values.
  func keep(_ made: any AnyObject & Sendable) {
    let former = derived.withLock { derived -> (any AnyObject & Sendable)? in
      let former = derived
      derived = made
      return former
    }
    withExtendedLifetime(former) {}
  }
}

/// The last commit by which what is stored of extensions may have changed: their records, their values, and which trees
/// they have.
final class LastExtensionChange: Sendable {
  private let last = Atomic<UInt64>(0)

  /// A transaction changes something. To be called before its commit can be seen; one that does not commit has called
  /// in vain, which costs others a look.
  func note(in csn: CSN) {
    assert(csn.rawValue >= last.load(ordering: .relaxed), "transactions do not follow each other")
    last.store(csn.rawValue, ordering: .releasing)
  }

  /// Nobody knows what has changed up to the commit `csn`, nor what a commit behind it that was lost had noted.
  func beginAnew(at csn: CSN) { last.store(max(csn.rawValue, last.load(ordering: .relaxed)), ordering: .releasing) }

  /// Whether the snapshots of two commits show the same.
  func isUnchanged(from one: CSN, to other: CSN) -> Bool {
    last.load(ordering: .acquiring) <= min(one.rawValue, other.rawValue)
  }
}

extension TransactionState {
  /// Notes that the transaction changes what is stored of extensions.
  func noteExtensionChange() {
    assert(isWriting, "a transaction that reads changes what is stored")
    database.extensions.changes.note(in: CSN(csn.rawValue + 1))
  }
}

extension RegisteredExtension {
  /// What is known of it for the snapshot of a transaction; nil if the transaction would have to look.
  func known(to transaction: TransactionState) -> KnownExtension? {
    guard !transaction.isWriting, let known = lastKnown.withLock({ $0 }) else { return nil }
    return transaction.database.extensions.changes.isUnchanged(from: known.csn, to: transaction.csn) ? known : nil
  }

  /// Begins to keep what is found in the snapshot of a transaction, which has been seen to show it; nil if others will
  /// not see the same.
  func beginKnowing(_ transaction: TransactionState) -> KnownExtension? {
    let csn = transaction.csn
    guard !transaction.isWriting, transaction.database.extensions.changes.isUnchanged(from: csn, to: csn) else {
      return nil
    }
    let known = KnownExtension(csn)
    lastKnown.withLock { $0 = known }
    return known
  }
}
