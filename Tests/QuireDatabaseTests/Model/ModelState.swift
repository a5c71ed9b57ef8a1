// What the database must hold and tell, kept in dictionaries.

import QuireDatabase

/// An object whose fields depend on its value, so that a collection learns new ones again and again; some refuse to be
/// encoded, when a part of them is already.
struct Bag: Codable, Sendable, Equatable {
  enum Name: String, CodingKey, CaseIterable {
    case a, b, c, d, e, f, g, h, i, j, k, l, m, n, text, refuses
  }
  struct Refused: Error {}

  var numbers: [Int: Int] = [:]
  var text: String?
  var refuses = false

  private static let names = Array(Name.allCases.prefix(14))

  init(numbers: [Int: Int], text: String?, refuses: Bool) {
    self.numbers = numbers
    self.text = text
    self.refuses = refuses
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Name.self)
    for (index, name) in Self.names.enumerated() {
      if let number = try container.decodeIfPresent(Int.self, forKey: name) { numbers[index] = number }
    }
    text = try container.decodeIfPresent(String.self, forKey: .text)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Name.self)
    for (index, number) in numbers.sorted(by: { $0.key < $1.key }) {
      try container.encode(number, forKey: Self.names[index])
    }
    if refuses { throw Refused() }
    try container.encodeIfPresent(text, forKey: .text)
  }
}

/// A row of the model.
struct ModelRow: Equatable {
  var object: Bag
  var metadata: Int?
  var rowID: RowID
}

/// All rows after some commit.
struct ModelState: Equatable {
  var collections: [String: [String: ModelRow]] = [:]
  /// The highest id that was ever given to a row since the database was opened, and before that to one that was
  /// committed: an id that a rollback has undone may be given again by the next process, as nobody has seen it.
  var newestRowID = RowID(0)
  var committedRowID = RowID(0)

  /// The rows are committed.
  mutating func commit() {
    for row in collections.values.joined() { committedRowID = max(committedRowID, row.value.rowID) }
  }

  /// The same, as another process finds it.
  var reopened: ModelState {
    var state = self
    state.newestRowID = committedRowID
    return state
  }

  var count: Int { collections.values.reduce(0) { $0 + $1.count } }
  var names: [String] { inByteOrder(collections.filter { !$0.value.isEmpty }.keys) }
  func keys(_ name: String) -> [String] { inByteOrder(collections[name, default: [:]].keys) }

  static func == (left: Self, right: Self) -> Bool {
    left.collections.filter { !$0.value.isEmpty } == right.collections.filter { !$0.value.isEmpty }
  }
}

func inByteOrder(_ texts: some Sequence<String>) -> [String] {
  texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
}

/// What must be told of a commit.
struct ModelChanges: Equatable {
  struct Row: Equatable {
    var object = false
    var metadata = false
    var isInserted = false
    var isRemoved = false
  }
  struct Collection: Equatable {
    var rows: [String: Row] = [:]
    var isCleared = false
  }

  var collections: [String: Collection] = [:]
  var isAllCleared = false
  var isEmpty: Bool { collections.isEmpty && !isAllCleared }

  mutating func note(_ name: String, _ key: String, _ body: (inout Row) -> Void) {
    body(&collections[name, default: Collection()].rows[key, default: Row()])
  }

  /// The same as read from a change set.
  init(_ changes: ChangeSet) {
    isAllCleared = changes.didClearAll
    for name in changes.collections {
      var collection = Collection(isCleared: !isAllCleared && changes.didClear(collectionNamed: name))
      for key in changes.changedKeys(inCollection: name) { collection.rows[key] = Row() }
      for key in changes.changedKeys(inCollection: name, .object) { collection.rows[key]?.object = true }
      for key in changes.changedKeys(inCollection: name, .metadata) { collection.rows[key]?.metadata = true }
      for key in changes.insertedKeys(inCollection: name) { collection.rows[key]?.isInserted = true }
      for key in changes.removedKeys(inCollection: name) { collection.rows[key]?.isRemoved = true }
      collections[name] = collection
    }
  }

  init() {}

  /// As the change set tells it: what was removed counts as both halves changed, and after everything was cleared every
  /// collection was.
  var told: ModelChanges {
    var told = self
    for (name, collection) in collections {
      for (key, row) in collection.rows where row.isRemoved {
        told.collections[name]?.rows[key]?.object = true
        told.collections[name]?.rows[key]?.metadata = true
      }
      if isAllCleared { told.collections[name]?.isCleared = false }
    }
    return told
  }
}
