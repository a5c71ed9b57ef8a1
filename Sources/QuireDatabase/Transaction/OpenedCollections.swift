// The collections that a transaction has used, to be found by name and by number.

/// The collections of one transaction.
///
/// Most transactions use a few, which are compared one after the other; a transaction that uses thousands must not
/// compare thousands at each use of another one, so that from some number on there is a table.
///
/// Invariants:
/// 1. `all` has one collection for each name.
/// 2. `table` is empty up to `listedCount` collections; with more it has all of them.
/// 3. What `names` and `lastName` say of a collection that exists is true.
struct OpenedCollections {
  private(set) var all: [CollectionState] = []
  private var table: [ByteString: CollectionState] = [:]
  /// Names by number, as far as somebody has asked for one.
  private var names: [CollectionID: String] = [:]
  /// The name that was asked for last: most rows are of the collection of the row before.
  private var lastName: (id: CollectionID, name: String)?

  /// So many are looked through one by one.
  private static let listedCount = 16

  /// Whether a name is looked up, and not looked for.
  var hasTable: Bool { !table.isEmpty }

  /// The collection of this name, if the transaction has used it.
  subscript(name: String) -> CollectionState? {
    if hasTable { return table[ByteString(name)] }
    for state in all where state.name.hasSameBytes(as: name) { return state }
    return nil
  }

  /// Takes up a collection whose name is not among them.
  mutating func append(_ state: CollectionState) {
    assert(self[state.name] == nil, "a collection is taken up twice")
    all.append(state)
    if hasTable {
      table[ByteString(state.name)] = state
    } else if all.count > Self.listedCount {
      for state in all { table[ByteString(state.name)] = state }
    }
    assert(table.count == (all.count > Self.listedCount ? all.count : 0), "the table lacks a collection")
  }

  // MARK: Numbers

  /// The name of the collection of this number, if it is known.
  mutating func name(of id: CollectionID) -> String? {
    if let lastName, lastName.id == id { return lastName.name }
    guard let name = names[id] else { return nil }
    lastName = (id, name)
    return name
  }

  /// Notes what a collection of this number is called.
  mutating func note(_ name: String, of id: CollectionID) {
    assert(names[id].map { $0.hasSameBytes(as: name) } ?? true, "a number is that of two collections")
    names[id] = name
    if lastName?.id == id { lastName = nil }
  }

  /// Forgets the names: numbers that a savepoint has taken back are given again.
  mutating func forgetNames() { (names, lastName) = ([:], nil) }
}

extension CollectionState {
  /// A collection as a transaction has used it, under one of its descriptions. The transaction keeps both.
  @safe struct Use {
    let use: CollectionFingerprint
    let state: Unmanaged<CollectionState>
    /// The `KeptCollection` of the types in `use`.
    let description: UnsafeRawPointer

    init(_ use: CollectionFingerprint, _ state: CollectionState, _ description: AnyObject) {
      self.use = use
      unsafe self.state = unsafe .passUnretained(state)
      unsafe self.description = unsafe UnsafeRawPointer(Unmanaged.passUnretained(description).toOpaque())
    }
  }
}
