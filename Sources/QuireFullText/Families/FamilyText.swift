// A full text of rows of many collections, whatever their types.

public import QuireDatabase
public import QuireText

/// The words of the texts of rows of any collections, taken from each row by one closure: for collections that are
/// named at run time, and for rows whose types are known at run time only. Where the types of the rows are known,
/// ``FullText`` is the one to choose, which stores no texts.
///
/// ```swift
/// let words = FamilyText("words", over: .all, tokenizer: .words, fields: ["content"]) { change in [text(of: change)] }
/// try db.register(words)
/// let found = try db.read { tx in try tx.access(to: words).rowIDs(matching: SearchExpression("hello wor*")) }
/// ```
///
/// The texts are stored beside their words, as the closure may look at more than the row and so give another text for
/// the same row at another time. A search finds a row by the texts that it had when the closure was last asked.
public struct FamilyText: DatabaseExtension {
  public static var kind: String { "quire.familyText" }
  public static var formatVersion: UInt32 { FullTextTrees.formatVersion }

  /// Gives the texts of a row, one for each field, nil where a field has none; nil for a row that is not to be found.
  public typealias Texts = @Sendable (RowChange) throws -> [String?]?

  public let name: String
  public let version: String
  public let isPersistent: Bool
  public let collections: CollectionFilter
  public let halves: ChangedHalves
  let layout: TextLayout
  let texts: Texts

  /// Describes a full text.
  ///
  /// - Parameters:
  ///   - name: what it is registered under.
  ///   - collections: whose rows it finds; the same ones for as long as the version stays the same.
  ///   - version: to be changed when the closure gives other texts than it did. Other fields and another tokenizer are
  ///     noticed without.
  ///   - isPersistent: whether it is stored; if not, it is built at each opening.
  ///   - halves: what of a row is stored or touched for the closure to be asked again; of new rows it always is.
  ///   - tokenizer: what cuts texts, and what is searched for, into words.
  ///   - fields: the names of 1 to 64 fields, which differ not in case alone.
  ///   - texts: gives the texts of a row in the order of the fields. Called in the transaction that changes the row.
  public init(
    _ name: String, over collections: CollectionFilter, version: String = "", isPersistent: Bool = true,
    halves: ChangedHalves = [.storedObject, .storedMetadata], tokenizer: some Tokenizer, fields: [String],
    _ texts: @escaping Texts
  ) {
    self.name = name
    self.collections = collections
    self.isPersistent = isPersistent
    self.halves = halves
    self.texts = texts
    layout = TextLayout(name, "", fields.map { ($0, 1) }, tokenizer, .positions, halves)
    self.version = version + "/" + TextHash.digits(of: layout.definition)
  }

  /// The names of the fields, in the order of their declaration.
  public var fieldNames: [String] { layout.fieldNames }

  public func checkRegistration(beside others: [any DatabaseExtension]) throws {
    try layout.check()
  }

  public func makeReader(_ store: ExtensionStore) throws -> FamilyTextReader {
    FamilyTextReader(self, try FullTextTrees(store, layout), try FamilyTexts(store, layout))
  }

  public func makeWriter(_ store: ExtensionStore) throws -> FamilyTextWriter {
    try FamilyTextWriter(self, store)
  }
}

/// The texts of the rows of a full text over many collections, in the tree "texts".
///
/// The value of a row has for each field a varint, 0 where there is no text, else 1 and the number of bytes, and the
/// bytes as UTF-8.
struct FamilyTexts {
  static let treeName = "texts"

  let tree: ExtensionTree<RowID>
  private let layout: TextLayout

  init(_ store: ExtensionStore, _ layout: TextLayout) throws {
    tree = try store.tree(Self.treeName, of: RowID.self)
    self.layout = layout
  }

  /// The texts in the form in which they are stored.
  static func bytes(_ texts: [String?]) -> [UInt8] {
    var bytes: [UInt8] = []
    for text in texts {
      bytes.appendVarint(text.map { UInt64($0.utf8.count) + 1 } ?? 0)
      if let text { bytes += text.utf8 }
    }
    return bytes
  }

  /// The texts of a row; nil if it has none.
  ///
  /// - Throws: `FullTextError.damaged` if what is stored breaks the format.
  func texts(of row: RowID) throws -> [String?]? {
    guard let bytes = try tree.value(for: row) else { return nil }
    return try texts(bytes, of: row)
  }

  /// What is stored of a row as texts.
  func texts(_ bytes: [UInt8], of row: RowID) throws -> [String?] {
    let count = layout.fieldNames.count
    let texts = unsafe bytes.withUnsafeBytes { bytes -> [String?]? in
      var reader = unsafe ByteReader(bytes)
      var texts: [String?] = []
      for _ in 0..<count {
        guard let length = reader.varint().flatMap({ Int(exactly: $0) }) else { return nil }
        if length == 0 {
          texts.append(nil)
          continue
        }
        guard let part = unsafe reader.take(length - 1), let text = unsafe String(validating: part, as: UTF8.self)
        else { return nil }
        texts.append(text)
      }
      return reader.remainingCount == 0 ? texts : nil
    }
    guard let texts else {
      throw FullTextError.damaged(
        fullText: layout.name, tree: Self.treeName, key: "\(row.rawValue)",
        detail: "the texts of the row break the format")
    }
    return texts
  }

  /// Calls `body` with each field that has a text, and the text.
  static func forEachText(_ texts: [String?], _ body: (Int, RawSpan) throws -> Void) throws {
    for (field, text) in texts.enumerated() {
      guard var text else { continue }
      try text.withUTF8 { bytes in try unsafe body(field, UnsafeRawBufferPointer(bytes).bytes) }
    }
  }

  /// All rows that have texts, in order.
  func rowIDs() throws -> [RowID] {
    var rows: [RowID] = []
    try tree.forEach(from: nil) { row, _ in
      rows.append(row)
      return true
    }
    return rows
  }
}
