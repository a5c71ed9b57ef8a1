// One field of a full text: where its texts come from.

/// One field of a full text: a name, and where a row has its texts.
///
/// ```swift
/// SearchField("title", \.title, weight: 4)
/// SearchField("tags", each: \.tags)
/// SearchField("note", metadata: \.note)
/// SearchField("all") { song, metadata in "\(song.title) \(metadata?.note ?? "")" }
/// ```
///
/// A closure gives the same text for the same row each time, or the full text has to get another version.
public struct SearchField<Object: Sendable, Metadata: Sendable>: Sendable {
  /// Calls its closure with the texts of a row.
  typealias Source = @Sendable (Object, Metadata?, (String) throws -> Void) throws -> Void

  /// What searches call it, as in `title: blue`; no other field of the full text has the name.
  public let name: String
  /// How much more than 1 a word counts in it where hits are ranked.
  public let weight: Double
  let readsObject: Bool
  let readsMetadata: Bool
  let source: Source

  private init(_ name: String, _ weight: Double, object: Bool, metadata: Bool, _ source: @escaping Source) {
    (self.name, self.weight, self.source) = (name, weight, source)
    (readsObject, readsMetadata) = (object, metadata)
  }

  // MARK: Of the object

  /// A text of the object.
  public init<Text: StringProtocol & SendableMetatype>(
    _ name: String, _ path: any KeyPath<Object, Text> & Sendable, weight: Double = 1
  ) {
    self.init(name, weight, object: true, metadata: false) { object, _, body in try body(String(object[keyPath: path]))
    }
  }

  /// A text of the object that may be missing.
  public init<Text: StringProtocol & SendableMetatype>(
    _ name: String, _ path: any KeyPath<Object, Text?> & Sendable, weight: Double = 1
  ) {
    self.init(name, weight, object: true, metadata: false) { object, _, body in
      if let text = object[keyPath: path] { try body(String(text)) }
    }
  }

  /// The texts of a list or set of the object. No phrase goes from one into the next.
  public init<Texts: Sequence & SendableMetatype>(
    _ name: String, each path: any KeyPath<Object, Texts> & Sendable, weight: Double = 1
  ) where Texts.Element: StringProtocol, Texts.Iterator: SendableMetatype {
    self.init(name, weight, object: true, metadata: false) { object, _, body in
      for text in object[keyPath: path] { try body(String(text)) }
    }
  }

  /// What a closure makes of the object; nil is no text.
  public init(
    _ name: String, weight: Double = 1, _ text: @escaping @Sendable (_ object: Object) throws -> String?
  ) {
    self.init(name, weight, object: true, metadata: false) { object, _, body in
      if let text = try text(object) { try body(text) }
    }
  }

  // MARK: Of the metadata

  /// A text of the metadata; rows without metadata have none.
  public init<Text: StringProtocol & SendableMetatype>(
    _ name: String, metadata path: any KeyPath<Metadata, Text> & Sendable, weight: Double = 1
  ) {
    self.init(name, weight, object: false, metadata: true) { _, metadata, body in
      if let metadata { try body(String(metadata[keyPath: path])) }
    }
  }

  /// A text of the metadata that may be missing.
  public init<Text: StringProtocol & SendableMetatype>(
    _ name: String, metadata path: any KeyPath<Metadata, Text?> & Sendable, weight: Double = 1
  ) {
    self.init(name, weight, object: false, metadata: true) { _, metadata, body in
      if let metadata, let text = metadata[keyPath: path] { try body(String(text)) }
    }
  }

  /// The texts of a list or set of the metadata. No phrase goes from one into the next.
  public init<Texts: Sequence & SendableMetatype>(
    _ name: String, metadataEach path: any KeyPath<Metadata, Texts> & Sendable, weight: Double = 1
  ) where Texts.Element: StringProtocol, Texts.Iterator: SendableMetatype {
    self.init(name, weight, object: false, metadata: true) { _, metadata, body in
      guard let metadata else { return }
      for text in metadata[keyPath: path] { try body(String(text)) }
    }
  }

  // MARK: Of both

  /// What a closure makes of the object and of the metadata, if the row has some; nil is no text.
  public init(
    _ name: String, weight: Double = 1,
    _ text: @escaping @Sendable (_ object: Object, _ metadata: Metadata?) throws -> String?
  ) {
    self.init(name, weight, object: true, metadata: true) { object, metadata, body in
      if let text = try text(object, metadata) { try body(text) }
    }
  }

  /// The texts that a closure makes of the object and of the metadata, if the row has some. No phrase goes from one
  /// into the next.
  public init(
    _ name: String, weight: Double = 1,
    each texts: @escaping @Sendable (_ object: Object, _ metadata: Metadata?) throws -> [String]
  ) {
    self.init(name, weight, object: true, metadata: true) { object, metadata, body in
      for text in try texts(object, metadata) { try body(text) }
    }
  }
}

/// Puts the fields of a full text together.
@resultBuilder public enum SearchFieldBuilder<Object: Sendable, Metadata: Sendable> {
  /// What a list is put together of.
  public typealias Field = SearchField<Object, Metadata>

  /// One field.
  public static func buildExpression(_ field: Field) -> [Field] { [field] }
  /// All of them.
  public static func buildBlock(_ lists: [Field]...) -> [Field] { lists.flatMap { $0 } }
  /// Those of a condition that holds.
  public static func buildOptional(_ list: [Field]?) -> [Field] { list ?? [] }
  /// Those of the first case.
  public static func buildEither(first list: [Field]) -> [Field] { list }
  /// Those of the second case.
  public static func buildEither(second list: [Field]) -> [Field] { list }
  /// Those of a loop.
  public static func buildArray(_ lists: [[Field]]) -> [Field] { lists.flatMap { $0 } }
}
