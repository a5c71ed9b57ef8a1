// The one error of the object layer: a code that programs branch on, and a message that tells people what happened to
// which file, collection and key, and what to do about it.

package import QuireStorage

/// An error of the database.
///
/// `code` is what programs compare; `description` says what happened, where, and what helps. Errors that closures and
/// coders of the app throw keep their type: those of closures are rethrown as they are, those of coders are the `cause`
/// of an error that names the row.
///
/// The guide is <doc:Diagnostics>.
public struct DatabaseError: Error, Sendable, CustomStringConvertible {
  private final class Storage: Sendable {
    let code: Code
    let message: String
    let path: String?
    let collection: String?
    let key: String?
    let cause: (any Error)?

    init(_ code: Code, _ message: String, _ path: String?, _ collection: String?, _ key: String?, _ cause: (any Error)?)
    {
      self.code = code
      self.message = message
      self.path = path
      self.collection = collection
      self.key = key
      self.cause = cause
    }
  }

  private let storage: Storage

  /// Makes an error; `message` ends with the remedy. For extensions and coders of an app's own, too.
  public init(
    _ code: Code, _ message: String, path: String? = nil, collection: String? = nil, key: String? = nil,
    cause: (any Error)? = nil
  ) {
    storage = Storage(code, message, path == "" ? nil : path, collection, key, cause)
  }

  /// What kind of failure this is.
  public var code: Code { storage.code }
  /// What happened and what helps, in a sentence or two.
  public var message: String { storage.message }
  /// The file it happened to; nil for a database in memory.
  public var path: String? { storage.path }
  /// The collection it happened to.
  public var collection: String? { storage.collection }
  /// The key it happened to.
  public var key: String? { storage.key }
  /// The error beneath: a coder's, the storage engine's, the system's.
  public var cause: (any Error)? { storage.cause }

  public var description: String {
    var text = "\(code): \(message)"
    var place: [String] = []
    if let path { place.append(path) }
    if let collection { place.append("collection \(Self.quoted(collection))") }
    if let key { place.append("key \(Self.quoted(key))") }
    if !place.isEmpty { text += " [\(place.joined(separator: ", "))]" }
    if let cause = cause as? StorageError, cause.message == message, cause.path == path {
      // The same in the words of the engine: only what it adds is worth saying.
      if let details = cause.details { text += " (\(details))" }
    } else if let cause {
      text += " (\(cause))"
    }
    return text
  }

  /// How much of a name or a key stands in a message, in bytes.
  private static let quotedByteCount = 100

  /// `text` between quotation marks; of a long one the beginning, and how long it is.
  private static func quoted(_ text: String) -> String {
    let count = text.utf8.count
    guard count > quotedByteCount else { return "“\(text)”" }
    var end = text.utf8.index(text.startIndex, offsetBy: quotedByteCount)
    while end.samePosition(in: text) == nil { end = text.utf8.index(before: end) }
    return "“\(text[..<end])…” (\(count) bytes)"
  }
}

extension DatabaseError {
  /// What went wrong in the engine, in the words of this layer.
  package init(_ error: StorageError, collection: String? = nil, key: String? = nil) {
    self.init(
      Code(error.code), error.message, path: error.path, collection: collection, key: key, cause: error)
  }

  /// The same error without the one beneath.
  var withoutCause: DatabaseError {
    DatabaseError(code, message, path: path, collection: collection, key: key)
  }

  /// The same error with the tree of an extension that it happened in.
  func inTree(_ tree: String, of extensionName: String) -> DatabaseError {
    DatabaseError(
      code, "In the tree “\(tree)” of the extension “\(extensionName)”: \(message)", path: path, collection: collection,
      key: key, cause: cause)
  }

  /// Whether the disk has failed or is full, whoever's call it was that met it.
  var isOfDisk: Bool { code == .diskFull || code == .inputOutput || code == .failStop }

  /// The same error with the call of an extension that met it, and the row that this call was about.
  func inCall(_ call: String, of extensionName: String, _ collection: String?, _ key: String?) -> DatabaseError {
    // The row that the disk was asked for, if it is known; one of two rows, and no part of each.
    let isKnown = self.collection != nil
    return DatabaseError(
      code, "In `\(call)` of the extension “\(extensionName)”: \(message)", path: path,
      collection: isKnown ? self.collection : collection, key: isKnown ? self.key : key, cause: cause)
  }

  /// The error for a half of a row that its coder cannot read.
  static func undecodable(
    _ half: String, _ path: String, _ collection: String, _ key: String, _ cause: any Error
  ) -> DatabaseError {
    if let cause = cause as? DatabaseError { return cause.at(collection, key) }
    return DatabaseError(
      .decodingFailed,
      """
      The \(half) of a row does not decode. If its type has changed, make new fields optional or `@Defaulted`, or use \
      `upgrading(from:)`.
      """, path: path, collection: collection, key: key, cause: cause)
  }

  /// The same error with the row that it happened to.
  func at(_ collection: String, _ key: String?) -> DatabaseError {
    DatabaseError(
      code, message, path: path, collection: self.collection ?? collection, key: self.key ?? key, cause: cause)
  }
}
