// The fields of a full text, with the types of the rows.

internal import QuireDatabase
internal import QuireText

/// The texts of the rows of a full text.
///
/// The fields are numbered in the order of their declaration, and texts are given in the order of these numbers.
struct FieldList<Object: Sendable, Metadata: Sendable>: Sendable {
  let fields: [SearchField<Object, Metadata>]
  /// Whether a row's metadata have to be at hand.
  let needsMetadata: Bool

  init(_ fields: [SearchField<Object, Metadata>]) {
    self.fields = fields
    needsMetadata = fields.contains(where: \.readsMetadata)
  }

  /// The halves of rows that texts are made of.
  var halves: ChangedHalves {
    var halves: ChangedHalves = []
    if fields.contains(where: \.readsObject) { halves.insert(.storedObject) }
    if needsMetadata { halves.insert(.storedMetadata) }
    return halves
  }

  /// Calls `body` with the texts of a row, field by field: the field's number, and the bytes of the text as UTF-8, good
  /// until it returns.
  ///
  /// - Throws: what a field's closure throws, and what `body` throws.
  func forEachText(
    of object: Object, _ metadata: Metadata?, _ body: (_ field: Int, _ text: RawSpan) throws -> Void
  ) throws {
    for number in fields.indices {
      try fields[number].source(object, metadata) { text in
        var text = text
        try text.withUTF8 { bytes in
          try unsafe body(number, UnsafeRawBufferPointer(bytes).bytes)
        }
      }
    }
  }

  /// The texts of one field of a row.
  func texts(ofField number: Int, _ object: Object, _ metadata: Metadata?) throws -> [String] {
    var texts: [String] = []
    try fields[number].source(object, metadata) { texts.append($0) }
    return texts
  }
}
