// The trees in memory of all extensions, as of one commit each.

internal import QuireStorage
internal import Synchronization

/// The trees that live in memory alone, by extension and name, and what such extensions note about themselves.
struct MemoryForest: Sendable {
  /// Which tree of which extension.
  struct Place: Hashable, Sendable {
    let id: ExtensionID
    let name: ByteString
  }

  var trees: [Place: MemoryTree] = [:]
  /// The records of extensions that are not stored, by name.
  var records: [ByteString: ExtensionRecord] = [:]
  /// The values that extensions, stored ones too, have set for as long as the process lives.
  var values: [ExtensionID: [ByteString: [UInt8]]] = [:]
  /// The number of the life of an extension's content, given once in a process; none for content that was there.
  var lives: [ExtensionID: Int] = [:]
  /// The number that was given last to an extension that is not stored.
  var lastID = ExtensionID.firstInMemory

  /// Notes that the content of an extension is started over.
  mutating func beginLife(of id: ExtensionID) { lives[id] = Self.lastLife.add(1, ordering: .relaxed).newValue }

  /// Counted over all databases and openings: what is kept from an earlier opening never fits another life.
  private static let lastLife = Atomic<Int>(0)

  /// Forgets the trees of an extension.
  mutating func removeTrees(of id: ExtensionID) {
    trees = trees.filter { $0.key.id != id }
  }
}

/// The forests that readers may still see.
///
/// A commit's forest enters under the writer lock before any reader can see the commit.
///
/// Invariant: the versions' CSNs ascend, and there is one for each snapshot that is published or announced, or all of
/// them are younger, which means that the forest was empty then.
final class MemoryVersions: Sendable {
  private struct Version {
    let csn: CSN
    let forest: MemoryForest
  }

  private let versions = Latch<[Version]>([])

  /// The forest of the newest commit, published or not; for the writer.
  var newest: MemoryForest { versions.withLock { $0.last?.forest } ?? MemoryForest() }

  /// The forest that the snapshot of `csn` shows.
  func forest(at csn: CSN) -> MemoryForest {
    versions.withLock { versions in versions.last { $0.csn <= csn }?.forest } ?? MemoryForest()
  }

  /// Takes in what the commit `csn` has made of the forest, and lets go of what nobody sees. `oldest` is the oldest
  /// snapshot that a reader has announced or may announce.
  func publish(_ forest: MemoryForest, csn: CSN, oldest: CSN) {
    versions.withLock { versions in
      assert(versions.last.map { $0.csn < csn } ?? true, "a forest comes after that of a newer commit")
      assert(oldest < csn, "a commit is seen whose forest nobody has")
      versions.append(Version(csn: csn, forest: forest))
      if let first = versions.lastIndex(where: { $0.csn <= oldest }) { versions.removeSubrange(..<first) }
    }
  }

  /// Begins anew with `forest`, as of the commit `csn`: the trees in memory are not those of the rows any more.
  func beginAnew(_ forest: MemoryForest, csn: CSN) {
    let former = versions.withLock { versions in
      defer { versions = [Version(csn: csn, forest: forest)] }
      return versions
    }
    withExtendedLifetime(former) {}
  }

  /// Throws if the versions are out of order, or if a tree of the newest one breaks an invariant. O(entries).
  func checkInvariants() throws(DatabaseError) {
    let versions = versions.withLock { $0 }
    guard zip(versions, versions.dropFirst()).allSatisfy({ $0.csn < $1.csn }) else {
      throw DatabaseError(.damagedRow, "The versions of the trees in memory are out of order.")
    }
    for (place, tree) in versions.last?.forest.trees ?? [:] {
      guard let broken = tree.brokenInvariant() else { continue }
      throw DatabaseError(.damagedRow, "In the tree “\(place.name.string)” in memory: \(broken)")
    }
  }

  /// How many forests are kept.
  var count: Int { versions.withLock { $0.count } }
}
