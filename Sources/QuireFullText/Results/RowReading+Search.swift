// Asking a collection for rows by their text.

public import QuireDatabase

extension RowReading {
  /// The rows in which a text is found, written as SQLite's FTS5 has it: `"night train" OR express* -live`; see
  /// ``/QuireFullText/SearchExpression/init(_:fields:)``.
  ///
  /// Served by the collection's registered ``/QuireFullText/FullText``, of several by the first.
  ///
  /// - Throws: `SearchSyntaxError` with the place in the text, `FullTextError.notServed` where no full text of the
  ///   collection is registered.
  public func search(_ text: String) throws -> MatchedRows<Object, Metadata> {
    let reader = try textReader()
    return MatchedRows(try SearchExpression(text, fields: reader.fieldNames), readable, reader)
  }

  /// The rows that an expression finds.
  ///
  /// - Throws: `FullTextError.notServed` where no full text of the collection is registered.
  public func search(_ expression: SearchExpression) throws -> MatchedRows<Object, Metadata> {
    MatchedRows(expression, readable, try textReader())
  }

  /// The rows that have all words of what somebody types into a search field, of which the last one may not be
  /// complete; see ``/QuireFullText/SearchExpression/init(typing:in:)``. Whatever is typed, and whatever the full text
  /// keeps, it is no error.
  ///
  /// - Throws: `FullTextError.notServed` where no full text of the collection is registered.
  public func search(typing text: String) throws -> MatchedRows<Object, Metadata> {
    try search(SearchExpression(typing: text))
  }

  /// The words of the collection's full text that begin with a text, as they are compared: for completing what
  /// somebody types. All words for an empty text.
  ///
  /// - Throws: `FullTextError.notServed` where no full text of the collection is registered.
  public func terms(beginningWith text: String) throws -> FoundTerms {
    let reader = try textReader()
    return try FoundTerms(try reader.trees(), text)
  }

  /// The collection's full text.
  private func textReader() throws -> FullTextReader<Object, Metadata> {
    let reader = try readTransaction.access(FullText<Object, Metadata>.self, serving: collectionName)
    guard let reader else { throw FullTextError.notServed(collection: collectionName) }
    return reader
  }
}
