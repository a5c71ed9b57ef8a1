// What a search view says of its search.

internal import QuireDatabase

/// What a search view shows the rows of.
public struct ShownSearch: Hashable, Sendable {
  /// The name of the selection.
  public let name: String
  /// The text of which the selection can be made again, such as what was typed; nil if it has none.
  public let storedForm: String?
  /// Whether the search was given up, so that rows may be missing that it would have found.
  public let isPartial: Bool

  static let nameValue = "name"
  static let formValue = "storedForm"
  static let partialValue = "isPartial"
}

extension ViewReader {
  /// What is searched for, in the view that the snapshot shows; nil for a view that is no search view, and for one
  /// before its first search. O(log n).
  ///
  /// - Throws: `transactionClosed`, `damagedPage`, `inputOutput`.
  public var shownSearch: ShownSearch? {
    get throws {
      guard let name = try store.value(ShownSearch.nameValue, as: String.self) else { return nil }
      return ShownSearch(
        name: name, storedForm: try store.value(ShownSearch.formValue),
        isPartial: try store.value(ShownSearch.partialValue) ?? false)
    }
  }
}
