// What a full text says of itself, without the types of the rows.

internal import QuireDatabase
internal import QuireText

/// What a full text was declared as, as far as no type of the rows is needed to say it.
final class TextLayout: Sendable {
  /// What the full text is registered under.
  let name: String
  /// The name of the collection.
  let collection: String
  /// The fields, by their numbers.
  let fieldNames: [String]
  let weights: [Double]
  let tokenizer: any Tokenizer
  let detail: PostingDetail
  /// The halves of rows that texts are made of.
  let halves: ChangedHalves
  /// What the trees depend on: the names of the fields in order, the detail, the tokenizer.
  let definition: [UInt8]
  let pace: MergingPace

  init(
    _ name: String, _ collection: String, _ fields: [(String, Double)], _ tokenizer: any Tokenizer,
    _ detail: PostingDetail, _ halves: ChangedHalves,
    _ pace: MergingPace = MergingPace()
  ) {
    (self.name, self.collection, self.tokenizer, self.detail, self.halves) = (
      name, collection, tokenizer, detail, halves
    )
    self.pace = pace
    fieldNames = fields.map(\.0)
    weights = fields.map(\.1)
    definition = TextDefinition(fieldNames: fieldNames, detail: detail, tokenizer: tokenizer.identity).bytes
  }

  /// The same at another pace.
  func with(_ pace: MergingPace) -> TextLayout {
    TextLayout(name, collection, Array(zip(fieldNames, weights)), tokenizer, detail, halves, pace)
  }

  /// How postings are stored. Of a declaration that is refused, what comes nearest.
  var form: PostingForm {
    PostingForm(fieldCount: min(max(1, fieldNames.count), PostingForm.maximumFieldCount), detail: detail)
  }

  /// Throws what is wrong with the declaration.
  func check() throws {
    guard (1...PostingForm.maximumFieldCount).contains(fieldNames.count) else {
      throw FullTextError.fieldCount(fullText: name, count: fieldNames.count)
    }
    var known: Set<String> = []
    // Searches do not tell the case of names apart.
    for field in fieldNames where !known.insert(field.lowercased()).inserted {
      throw FullTextError.nameUsedTwice(fullText: name, field: field)
    }
    try check(weights)
  }

  /// Throws unless ranking can go by such weights, of the fields in their order.
  func check(_ weights: [Double]) throws {
    for (field, weight) in zip(fieldNames, weights) where !(weight >= 0 && weight.isFinite) {
      throw FullTextError.badWeight(fullText: name, field: field, weight: weight)
    }
  }

  /// The number of a field; nil if there is none of this name.
  func field(named name: String) -> Int? { fieldNames.firstIndex(of: name) }
}

/// What is stored of a declaration, for those who know no types of rows, and to see that trees are of this one.
///
///     varint   number of fields, then of each: varint number of bytes, and its name
///     1 byte   detail, as in `PostingDetail`
///     the rest what the tokenizer calls itself
struct TextDefinition: Hashable {
  let fieldNames: [String]
  let detail: PostingDetail
  let tokenizer: String

  init(fieldNames: [String], detail: PostingDetail, tokenizer: String) {
    (self.fieldNames, self.detail, self.tokenizer) = (fieldNames, detail, tokenizer)
  }

  /// What the bytes say; nil if they break the format.
  init?(_ bytes: [UInt8]) {
    let parsed = unsafe bytes.withUnsafeBytes { bytes -> (names: [String], detail: PostingDetail, tokenizer: String)? in
      var reader = unsafe ByteReader(bytes)
      guard let count = reader.varint(), count <= PostingForm.maximumFieldCount else { return nil }
      var names: [String] = []
      for _ in 0..<count {
        guard let length = reader.varint().flatMap({ Int(exactly: $0) }), let name = unsafe reader.take(length),
          let text = unsafe String(validating: name, as: UTF8.self)
        else { return nil }
        names.append(text)
      }
      guard let detail = reader.byte().flatMap({ PostingDetail(rawValue: $0) }),
        let rest = unsafe reader.take(reader.remainingCount),
        let tokenizer = unsafe String(validating: rest, as: UTF8.self)
      else { return nil }
      return (names, detail, tokenizer)
    }
    guard let parsed else { return nil }
    self.init(fieldNames: parsed.names, detail: parsed.detail, tokenizer: parsed.tokenizer)
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.appendVarint(UInt64(fieldNames.count))
    for name in fieldNames {
      bytes.appendVarint(UInt64(name.utf8.count))
      bytes += name.utf8
    }
    bytes.append(detail.rawValue)
    return bytes + tokenizer.utf8
  }
}
