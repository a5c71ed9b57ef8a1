// The columns of an index, from its declaration in words.

internal import QuireDatabase

extension IndexCatalog.Entry {
  /// Its columns as the declaration describes them; where that says less, without types.
  var storedColumns: [StoredColumn] {
    let parts = Self.parts(summary)
    return places.enumerated().map { number, place in
      Self.column(number < parts.count ? parts[number] : "", at: place)
    }
  }

  /// Whether it is an index, and not a field that is stored beside the columns of indexes.
  var hasEntries: Bool { !Self.parts(summary).dropFirst(places.count).contains(IndexDeclaration.withoutEntries[...]) }

  /// Divides a declaration at its commas, which are not those within the name of a type.
  private static func parts(_ summary: String) -> [Substring] {
    var parts: [Substring] = []
    var (start, depth) = (summary.startIndex, 0)
    for index in summary.indices {
      switch summary[index] {
      case "<", "(", "[": depth += 1
      case ">", ")", "]": depth -= 1
      case "," where depth == 0:
        parts.append(summary[start..<index])
        start = summary.index(after: index)
      default: break
      }
    }
    parts.append(summary[start...])
    return parts.map { $0.first == " " ? $0.dropFirst() : $0 }
  }

  /// Reads what `IndexDeclaration.summary` says of a column.
  private static func column(_ part: Substring, at place: Int) -> StoredColumn {
    var text = part
    func drop(_ suffix: String) -> Bool {
      guard text.utf8.count > suffix.utf8.count, text.hasSuffix(suffix) else { return false }
      text = text.dropLast(suffix.count)
      return true
    }
    let isDescending = drop(IndexDeclaration.descending)
    let isMetadata = drop(IndexDeclaration.ofMetadata)
    var name: String?
    // A name has none of the characters that a type's name may have in front of such a mark.
    if let mark = text.firstRange(of: IndexDeclaration.nameMark), text[..<mark.lowerBound].allSatisfy(\.isOfFieldName) {
      name = (isMetadata ? IndexDeclaration.metadataFields : "") + text[..<mark.lowerBound]
      text = text[mark.upperBound...]
    }
    let hasElements = text.hasPrefix(IndexDeclaration.eachOf)
    if hasElements { text = text.dropFirst(IndexDeclaration.eachOf.count) }
    return StoredColumn(
      name: name, typeName: String(text), hasElements: hasElements, isMetadata: isMetadata, isDescending: isDescending,
      place: place)
  }
}
