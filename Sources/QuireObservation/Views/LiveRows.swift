// The rows of a section, decoded as they are asked for.

public import QuireDatabase
public import QuireViews

/// A row of a view on a screen.
public struct LiveViewRow<Object: Sendable, Metadata: Sendable>: Identifiable, Sendable {
  /// What a row is known by: its group and its key, or its place if it could not be read.
  public struct ID: Hashable, Sendable {
    enum Content: Hashable {
      case row(group: String, RowKey)
      case place(ViewPath)
    }

    let content: Content
  }

  /// What it holds.
  public struct Content: Sendable {
    /// The object.
    public let object: Object
    /// The metadata, if it has some.
    public let metadata: Metadata?
  }

  /// What a list tells it by, over all steps.
  public let id: ID
  /// Where it stands.
  public let path: ViewPath
  /// What it holds, or why it could not be read: `decodingFailed`, `viewRefused` if the screen has gone on since the
  /// collection of rows was asked for, and what reading rows throws.
  public let content: Result<Content, any Error>

  /// Collection and key; nil if it could not be read.
  public var rowKey: RowKey? {
    if case .row(_, let key) = id.content { key } else { nil }
  }
  /// The key in its collection; nil if it could not be read.
  public var key: String? { rowKey?.key }
  /// The object; nil if it could not be read.
  public var object: Object? { try? content.get().object }
  /// The metadata; nil if there are none, or if they could not be read.
  public var metadata: Metadata? { (try? content.get())?.metadata }
}

/// The rows of a section as a step has left them: a collection of which only the pages are decoded that are asked for.
///
/// Counting costs nothing, a row O(log n) and its page of `pageSize` the first time. Of a collection that is kept while
/// the screen goes on, pages that were shown stay, and others say `viewRefused`.
public struct LiveRows<Object: Sendable, Metadata: Sendable>: RandomAccessCollection, Sendable {
  /// How many rows are decoded at a time.
  public static var pageSize: Int { ViewPages<Object, Metadata>.size }

  let pages: ViewPages<Object, Metadata>
  let section: Int
  /// The number of rows.
  public let count: Int

  /// The first row's place in the section.
  public var startIndex: Int { 0 }
  /// The place behind the last row.
  public var endIndex: Int { count }

  /// The row at a place of the section.
  public subscript(row: Int) -> LiveViewRow<Object, Metadata> {
    precondition(row >= 0 && row < count, "A row is asked for that the section does not have.")
    return pages.row(at: ViewPath(section: section, row: row))
  }
}
