// Conditions on the texts of rows: searches among other conditions.

public import QuireFullText
public import QuireIndexes

extension Fields {
  /// The rows in which a text is found, written as SQLite's FTS5 has it.
  ///
  /// ```swift
  /// let trains = tx[.songs].find { $0.year > 1990 && $0.matches("\"night train\" OR express*") }.order(by: \.year)
  /// ```
  ///
  /// Served by the full text of the collection that is asked. What is wrong with the text is thrown by results, as
  /// `SearchSyntaxError`, and `FullTextError.notServed` where no full text is registered.
  public func matches(_ text: String) -> Condition<Object, Metadata> {
    .rows(SearchSelection<Object, Metadata>(text))
  }

  /// The rows that an expression finds.
  public func matches(_ expression: SearchExpression) -> Condition<Object, Metadata> {
    .rows(SearchSelection<Object, Metadata>(expression))
  }
}
