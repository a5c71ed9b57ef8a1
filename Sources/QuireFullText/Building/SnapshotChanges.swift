// What has happened to postings since building began, as a snapshot has it.

internal import QuireDatabase

/// The postings that were added or have become void between the beginning of building and the snapshot that it reads,
/// term by term.
///
/// Rows are read as the snapshot has them, but the blocks have to be those of the beginning: an added posting is left
/// out of them, and one that is void is there, with any content.
final class SnapshotChanges {
  private let trees: FullTextTrees
  private let cursor: ExtensionCursor<[UInt8]>
  private var isOnEntry: Bool
  /// The term that `advance` has come to; nil behind the last one.
  private(set) var term: [UInt8]?
  /// The rows of postings of the term that were added, in order.
  private(set) var added: [RowID] = []
  /// The rows of postings of the term that are void, in order.
  private(set) var void: [RowID] = []

  init(_ trees: FullTextTrees) throws {
    self.trees = trees
    cursor = try trees.recent.cursor()
    isOnEntry = try cursor.seekFirst()
    try advance()
  }

  /// Goes to the next term.
  func advance() throws {
    (term, added, void) = (nil, [], [])
    while isOnEntry {
      let isOfTerm = try cursor.withEntry { key, _ -> Bool in
        guard let parsed = TermKeys.parseRecent(key) else {
          throw trees.damaged(FullTextTrees.recentName, key.copied, "the key is none")
        }
        if let term, !key.begins(with: term, parsed.termByteCount) { return false }
        if term == nil { term = Array(key.copied.prefix(parsed.termByteCount)) }
        if parsed.isAdded { added.append(parsed.row) } else { void.append(parsed.row) }
        return true
      }
      guard isOfTerm == true else { return }
      isOnEntry = try cursor.next()
    }
  }
}
