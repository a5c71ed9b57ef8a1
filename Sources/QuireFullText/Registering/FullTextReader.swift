// A full text in one transaction, as those see it who know its types.

internal import QuireDatabase

/// What a full text holds in one snapshot; searches read it, and apps need not.
///
/// For the thread and the life of its transaction.
public struct FullTextReader<Object: Sendable, Metadata: Sendable> {
  let fullText: FullText<Object, Metadata>
  /// The trees as they are, ready or not.
  let stored: FullTextTrees
  /// Whether the transaction is known to be one that can be searched.
  private let checked = Checked()

  /// What is known of the transaction, for all copies.
  private final class Checked {
    var isReady = false
  }

  init(_ fullText: FullText<Object, Metadata>, _ trees: FullTextTrees) {
    (self.fullText, stored) = (fullText, trees)
  }

  /// The trees, with everything in them that the transaction has changed so far. To be asked for anew for each search.
  ///
  /// - Throws: `FullTextError.notReady` while it is built, `FullTextError.damaged`.
  func trees() throws -> FullTextTrees {
    if checked.isReady { return stored }
    if try stored.storeGathered() {
      try stored.checkReady()
      return stored
    }
    // What an observed read has looked at is noted, and so it looks at no more than it must.
    if stored.store.mayFetchAhead {
      // An extension keeps one thing: that a state can be searched, and the lengths that rankings have read of it.
      _ = try stored.store.keeping {
        try stored.checkReady()
        return LengthTable(totalLength: try stored.totalLength)
      }
    } else {
      try stored.checkReady()
    }
    checked.isReady = true
    return stored
  }

  /// The names of the fields, in the order of their declaration.
  public var fieldNames: [String] { fullText.fieldNames }

  /// The number of rows that have words. O(1).
  public var documentCount: Int {
    get throws { try trees().documentCount }
  }
}

// MARK: - Verifying

extension FullTextReader {
  /// Throws `FullTextError.damaged`, with the tree and the key, if what is stored differs from the rows: words and
  /// where they stand, how many rows have them, lengths, limits, and what no row has. Reads and cuts all rows, in
  /// bounded memory and with a temporary file where there are many.
  ///
  /// - Throws: also what the fields' closures throw, `FullTextError.notReady`, `damagedPage`, `inputOutput`.
  public func verify() throws {
    let trees = try trees()
    var verifier = try TextVerifier(trees)
    let halves: RowHalves = fullText.fields.needsMetadata ? [.object, .metadata] : .object
    let reader = FieldReader(trees.store.readTransaction[fullText.collection], halves: halves)
    try reader.forEachRow { rowID, _ in
      let row = try reader.row()
      try verifier.add(rowID, row.key) { body in
        try fullText.fields.forEachText(of: row.object, row.metadata, body)
      }
      return true
    }
    try verifier.finish()
  }
}
