// The trees of a view, for reading.

internal import QuireDatabase

/// The number that stands for a group in a view's entries. Never given twice in one view.
struct GroupID: Hashable, Sendable {
  let rawValue: UInt32

  /// The first bytes of the group's entries.
  var prefix: [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }
  /// The first key behind the group's entries.
  var end: [UInt8] { GroupID(rawValue: rawValue + 1).prefix }

  /// The key under which the group's name stands.
  var nameKey: RowID { RowID(Int64(rawValue)) }

  init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Appends the first bytes of the group's entries: the number, highest byte first.
  func append(to bytes: inout [UInt8]) {
    for shift in stride(from: 24 as UInt32, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: rawValue >> shift))
    }
  }

  /// Reads the first four bytes of an entry's key, or of what is noted for a name.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 4 else { return nil }
    rawValue = bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    guard rawValue < .max else { return nil }
  }
}

/// Where a row stands in a view.
struct ViewEntry: Hashable, Sendable {
  /// The group's number and the order within the group.
  let key: [UInt8]

  init(key: [UInt8]) { self.key = key }
  init(_ group: GroupID, _ order: [UInt8]) {
    var key: [UInt8] = []
    key.reserveCapacity(4 + order.count)
    group.append(to: &key)
    key += order
    self.key = key
  }

  /// What places a row within its group: a sort key, and behind it the row's id, as no two entries have one key.
  static func order(_ sortKey: [UInt8], _ rowID: RowID) -> [UInt8] {
    sortKey.prefix(ViewLimits.sortKeyByteCount) + rowID.orderedBytes
  }

  var group: GroupID? { GroupID(key) }
  /// What places the row within the group.
  var order: [UInt8] { Array(key.dropFirst(4)) }
}

/// A view's trees.
///
/// - `entries`: the group's number (4 bytes, big-endian) and the order within the group → the row's id. Groups are
///   ranges, so that counts and indexes are ranks.
/// - `rows`: the row's id → the keys of its entries, each with its length (2 bytes, little-endian) in front.
/// - `groups`: the group's name → its number; there only while the group has rows.
/// - `names`: the group's number → its name, likewise.
///
/// Invariants:
/// 1. Every entry's row names that entry, and every key that a row names is an entry of it.
/// 2. A group is named if and only if it has an entry; `groups` and `names` say the same.
struct ViewTrees {
  let entries: ExtensionTree<[UInt8]>
  let rows: ExtensionTree<RowID>
  let groups: ExtensionTree<[UInt8]>
  let names: ExtensionTree<RowID>
  /// The name that the view is registered under.
  let viewName: String

  init(_ store: ExtensionStore) throws {
    viewName = store.name
    entries = try store.tree("entries", of: [UInt8].self)
    rows = try store.tree("rows", of: RowID.self)
    groups = try store.tree("groups", of: [UInt8].self)
    names = try store.tree("names", of: RowID.self)
  }

  // MARK: Groups

  /// The number of a group that has rows.
  func group(_ name: String) throws -> GroupID? {
    guard let bytes = try groups.value(for: Array(name.utf8)) else { return nil }
    guard let id = GroupID(bytes) else { throw damaged() }
    return id
  }

  /// The names of the groups, in the order of their bytes, with their numbers.
  func allGroups() throws -> [(name: String, id: GroupID)] {
    var all: [(name: String, id: GroupID)] = []
    let cursor = try groups.cursor()
    while try cursor.next() {
      guard let (key, value) = try cursor.entry, let id = GroupID(value),
        let name = String(validating: key, as: UTF8.self)
      else { throw damaged() }
      all.append((name, id))
    }
    return all
  }

  /// The name of a group.
  func name(of id: GroupID) throws -> String {
    guard let bytes = try names.value(for: id.nameKey), let name = String(validating: bytes, as: UTF8.self) else {
      throw damaged()
    }
    return name
  }

  // MARK: Positions

  /// The number of rows of a group. O(log n).
  func count(_ group: GroupID) throws -> Int { try entries.count(from: group.prefix, upTo: group.end) }

  /// The number of rows of the group in front of an entry's place.
  func index(of entry: ViewEntry, in group: GroupID) throws -> Int {
    try entries.rank(of: entry.key) - entries.rank(of: group.prefix)
  }

  /// The entry at an index of a group; nil if the group has not so many.
  func entry(at index: Int, in group: GroupID) throws -> (entry: ViewEntry, rowID: RowID)? {
    guard index >= 0, let found = try entries.entry(at: try entries.rank(of: group.prefix) + index) else { return nil }
    guard found.key.starts(with: group.prefix) else { return nil }
    return (ViewEntry(key: found.key), try rowID(found.value))
  }

  /// The entries of a row.
  func entries(of rowID: RowID) throws -> [ViewEntry] {
    try rows.value(for: rowID).map(decodeEntries) ?? []
  }

  /// Whether some row with a number between these is in the view. O(log n).
  func hasRows(in bounds: ClosedRange<RowID>) throws -> Bool {
    let last = bounds.upperBound.rawValue
    return try rows.count(from: bounds.lowerBound, upTo: last == .max ? nil : RowID(last + 1)) > 0
  }

  /// The ids of all rows that are in the view. O(n).
  func allRows() throws -> [RowID] {
    var all: [RowID] = []
    let cursor = try rows.cursor()
    while try cursor.next() {
      guard let rowID = cursor.key else { throw damaged() }
      all.append(rowID)
    }
    return all
  }

  /// The row that an entry's value names.
  func rowID(_ value: [UInt8]) throws -> RowID {
    guard let rowID = RowID(orderedBytes: value), rowID.rawValue > 0 else { throw damaged() }
    return rowID
  }

  // MARK: Bytes

  static func encode(_ entries: [ViewEntry]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(entries.reduce(0) { $0 + 2 + $1.key.count })
    for entry in entries { append(entry.key[...], to: &bytes) }
    return bytes
  }

  /// Appends the key of an entry, as rows name it.
  static func append(_ key: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
    assert((4...Int(UInt16.max)).contains(key.count), "the length of an entry's key does not fit two bytes")
    bytes.append(UInt8(truncatingIfNeeded: key.count))
    bytes.append(UInt8(truncatingIfNeeded: key.count >> 8))
    bytes += key
  }

  func decodeEntries(_ bytes: [UInt8]) throws -> [ViewEntry] {
    var entries: [ViewEntry] = []
    var offset = 0
    while offset < bytes.count {
      guard bytes.count - offset >= 2 else { throw damaged() }
      let count = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
      offset += 2
      guard count >= 4, bytes.count - offset >= count else { throw damaged() }
      entries.append(ViewEntry(key: Array(bytes[offset..<offset + count])))
      offset += count
    }
    return entries
  }

  /// The error for trees that break the format.
  func damaged() -> DatabaseError {
    DatabaseError(
      .damagedRow,
      """
      What is stored of the view “\(viewName)” breaks the format. Verify the database; unregister the view, and \
      register it again.
      """)
  }

  /// Adds the view and the group to the error of a loop whose transaction was changed inside it.
  func naming<Result>(_ group: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as DatabaseError where error.code == .mutatedDuringIteration {
      throw DatabaseError(
        .mutatedDuringIteration,
        """
        The database was changed inside a loop over the rows of group “\(group)” of the view “\(viewName)”. End the \
        loop after the change, or collect the keys first and change the rows afterwards.
        """, path: error.path, cause: error)
    }
  }

  // MARK: Invariants

  /// Throws `damagedRow` if an invariant is broken. O(n log n).
  func checkInvariants() throws {
    var count = 0
    var present: Set<GroupID> = []
    let cursor = try entries.cursor()
    while try cursor.next() {
      guard let (key, value) = try cursor.entry, let group = GroupID(key) else { throw damaged() }
      guard try entries(of: rowID(value)).contains(ViewEntry(key: key)) else {
        throw broken(1, "a row does not name its entry")
      }
      present.insert(group)
      count += 1
    }
    let rowCursor = try rows.cursor()
    while try rowCursor.next() {
      guard let (rowID, value) = try rowCursor.entry else { throw damaged() }
      let named = try decodeEntries(value)
      for entry in named where try entries.value(for: entry.key) != rowID.orderedBytes {
        throw broken(1, "\(rowID) names an entry that is not its own")
      }
      count -= named.count
      if named.isEmpty { throw broken(1, "\(rowID) names no entry") }
    }
    guard count == 0 else { throw broken(1, "entries and rows differ by \(count)") }
    let named = try allGroups()
    guard Set(named.map(\.id)) == present, named.count == present.count, try names.count == named.count,
      try named.allSatisfy({ try name(of: $0.id) == $0.name })
    else {
      throw broken(2, "names and groups differ")
    }
  }

  private func broken(_ number: Int, _ what: String) -> DatabaseError {
    DatabaseError(
      .damagedRow,
      """
      Rule \(number) of the view “\(viewName)” is broken: \(what). Verify the database; unregister the view, and \
      register it again.
      """)
  }
}
