// What collections are called in the file and in the program, where a rename cannot be written.

/// The names that collections are stored under in a database that is only read, and that have others for the program.
struct CollectionAliases: Sendable, Equatable {
  private let storedNames: [ByteString: String]
  private let shownNames: [ByteString: String]

  init(_ names: [(old: String, new: String)]) {
    storedNames = Dictionary(names.map { (ByteString($0.new), $0.old) }) { first, _ in first }
    shownNames = Dictionary(names.map { (ByteString($0.old), $0.new) }) { first, _ in first }
  }

  /// What a collection is stored under; nil for a name that it has no more.
  func storedName(_ name: String) -> String? {
    if storedNames.isEmpty { return name }
    return storedNames[ByteString(name)] ?? (shownNames[ByteString(name)] == nil ? name : nil)
  }

  /// What the program calls a collection.
  func shownName(_ name: String) -> String { shownNames.isEmpty ? name : shownNames[ByteString(name)] ?? name }
}
