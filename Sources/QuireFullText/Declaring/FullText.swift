// The extension that finds the rows of a collection by their words.

public import QuireDatabase
public import QuireText

/// The words of the texts of one collection.
///
/// ```swift
/// extension FullText where Object == Song, Metadata == NoMetadata {
///   static var songs: Self {
///     .init("songs.text", over: .songs, version: "1", tokenizer: .words.stemmed(.english)) {
///       SearchField("title", \.title, weight: 4)
///       SearchField("lyrics", \.lyrics)
///       SearchField("tags", each: \.tags)
///     }
///   }
/// }
///
/// try db.register(FullText.songs)
/// let found = try tx[.songs].search("\"night train\" OR express*")
/// ```
///
/// What is stored of a row follows it in the same transaction: a search finds what the snapshot holds, and in a write
/// transaction what it has changed so far. A changed row costs the words that it has gained and lost; folding them into
/// long lists is paid for by the commits, a bounded piece each.
///
/// The guide is <doc:Searching>.
public struct FullText<Object: Sendable, Metadata: Sendable>: Sendable {
  /// What it is registered under.
  public let name: String
  /// The app's version, and sixteen digits for what the declaration says of fields, detail and tokenizer: when one of
  /// these is another one than before, everything is built anew.
  public let version: String
  let collection: RowCollection<Object, Metadata>
  let fields: FieldList<Object, Metadata>
  private(set) var layout: TextLayout
  /// How it is built from the rows that are there.
  var building = TextBuilding()

  /// Describes the full text of a collection.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - collection: the collection whose rows it finds.
  ///   - version: to be changed when a field gives another text for a row than it did. Other fields, another detail and
  ///     another tokenizer are noticed without; weights may change freely.
  ///   - tokenizer: what cuts texts, and what is searched for, into words.
  ///   - detail: how much is kept of the places of words.
  ///   - fields: 1 to 64 of them; their names differ.
  public init(
    _ name: String, over collection: RowCollection<Object, Metadata>, version: String = "",
    tokenizer: some Tokenizer, detail: PostingDetail = .positions,
    @SearchFieldBuilder<Object, Metadata> _ fields: () -> [SearchField<Object, Metadata>]
  ) {
    let fields = FieldList(fields())
    self.name = name
    self.collection = collection
    self.fields = fields
    layout = TextLayout(
      name, collection.name, fields.fields.map { ($0.name, $0.weight) }, tokenizer, detail, fields.halves)
    self.version = version + "/" + TextHash.digits(of: layout.definition)
  }

  /// The names of the fields, in the order of their declaration.
  public var fieldNames: [String] { layout.fieldNames }

  /// The same, with postings merged at another pace.
  func merging(_ pace: MergingPace) -> Self {
    var copy = self
    copy.layout = layout.with(pace)
    return copy
  }
}

/// How a full text is built from the rows that are there.
struct TextBuilding: Sendable {
  /// Whether rows are taken in one by one, as hooks do it, and not in one go at the end: for tests, to which both make
  /// the same.
  var goesRowByRow = false
  /// The memory for postings that wait to be sorted, in bytes; where there are more, they are stored in parts of this
  /// size.
  var gatheredByteCount = 32 << 20
}
