// The words of a full text, for completing what somebody types.

internal import QuireDatabase

/// The words of a full text that begin with a text, with the number of rows that have each.
///
/// ```swift
/// for term in try tx[.songs].terms(beginningWith: "nig").prefix(8) { print(term.text, term.rowCount) }
/// ```
///
/// As a sequence in the order of their bytes, found as they are asked for: O(log n) each. For the thread and the life
/// of its transaction, until that changes something.
public struct FoundTerms: Sequence {
  /// A word, as it is compared, and how many rows have it.
  public struct Term: Hashable, Sendable {
    /// The word: in small letters, without accents and cut down to its stem where the tokenizer does that.
    public let text: String
    /// How many rows have it, exactly.
    public let rowCount: Int
  }

  private let trees: FullTextTrees
  private let prefix: [UInt8]?

  /// - Parameter text: what the words begin with, before it is cut; of several words the last.
  init(_ trees: FullTextTrees, _ text: String) throws {
    self.trees = trees
    prefix = text.isEmpty ? [] : try ExpressionResolver(trees.layout).lastTerm(of: text)
  }

  /// The words that most rows have, no more than `count`: those of most rows first, of equally many by their bytes.
  /// Reads all words that begin so.
  public func mostFrequent(_ count: Int) throws -> [Term] {
    guard let prefix, count > 0 else { return [] }
    var terms: [(term: [UInt8], rowCount: Int)] = []
    try trees.forEachTerm(beginningWith: prefix) { terms.append(($0, $1)) }
    terms.sort { left, right in
      left.rowCount != right.rowCount
        ? left.rowCount > right.rowCount : left.term.lexicographicallyPrecedes(right.term)
    }
    return terms.prefix(count).map { Term(text: String(decoding: $0.term, as: UTF8.self), rowCount: $0.rowCount) }
  }

  public func makeIterator() -> Iterator {
    Iterator(
      trees.store,
      trees.store.noting(nil) { try prefix.map { try TermWalk(trees, beginningWith: $0) } })
  }

  /// Steps through the words. A step cannot throw: an error ends the loop, and is thrown by the transaction's next
  /// call, at the latest at its end.
  public struct Iterator: IteratorProtocol {
    private let store: ExtensionStore
    private let walk: TermWalk?

    init(_ store: ExtensionStore, _ walk: TermWalk?) { (self.store, self.walk) = (store, walk) }

    /// The next word; nil behind the last one, and after an error.
    public func next() -> Term? {
      store.noting(nil) {
        try walk?.next().map { Term(text: String(decoding: $0.term, as: UTF8.self), rowCount: $0.rowCount) }
      }
    }
  }
}
