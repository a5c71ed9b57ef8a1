// What a tree must hold, kept in the most obvious way, and the comparison of the two.

import QuireStorage
import QuireTesting

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Whether `left` comes before `right` in the order of bytes; fast in debug builds too.
func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
  let order = memcmp(left, right, min(left.count, right.count))
  return order != 0 ? order < 0 : left.count < right.count
}

/// Whether two byte strings are the same; fast in debug builds too.
func equal(_ left: [UInt8]?, _ right: [UInt8]?) -> Bool {
  guard let left, let right else { return left == nil && right == nil }
  return left.count == right.count && memcmp(left, right, left.count) == 0
}

/// The eight bytes that order as the integer does.
func orderedKey(_ key: Int64) -> [UInt8] {
  withUnsafeBytes(of: (UInt64(bitPattern: key) ^ (1 << 63)).bigEndian) { [UInt8]($0) }
}

/// The integer whose ordered form this is.
func integer(_ key: [UInt8]) -> Int64 {
  key.withUnsafeBytes { bytes in
    Int64(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) ^ (1 << 63))
  }
}

/// The entries of a tree in two sorted arrays. Integer keys are in their ordered form of eight bytes.
struct SortedModel {
  private(set) var keys: [[UInt8]] = []
  private(set) var values: [[UInt8]] = []

  var count: Int { keys.count }

  /// How many keys are below `key`, and whether it is one of them.
  func rank(_ key: [UInt8]) -> (rank: Int, isFound: Bool) {
    var low = 0
    var high = keys.count
    while low < high {
      let middle = (low + high) / 2
      if precedes(keys[middle], key) { low = middle + 1 } else { high = middle }
    }
    return (low, low < keys.count && equal(keys[low], key))
  }

  subscript(_ key: [UInt8]) -> [UInt8]? {
    let place = rank(key)
    return place.isFound ? values[place.rank] : nil
  }

  /// Returns whether the key is new.
  mutating func put(_ value: [UInt8], _ key: [UInt8]) -> Bool {
    let place = rank(key)
    if place.isFound {
      values[place.rank] = value
    } else {
      keys.insert(key, at: place.rank)
      values.insert(value, at: place.rank)
    }
    return !place.isFound
  }

  /// Returns whether the key was there.
  mutating func delete(_ key: [UInt8]) -> Bool {
    let place = rank(key)
    guard place.isFound else { return false }
    keys.remove(at: place.rank)
    values.remove(at: place.rank)
    return true
  }
}

/// What both kinds of transaction offer to those who read.
protocol TreeReadable: ~Copyable {
  func value<Key: StorageKey & ~Escapable>(for key: Key, in tree: Tree) throws(StorageError) -> [UInt8]?
  func rank<Key: StorageKey & ~Escapable>(of key: Key, in tree: Tree) throws(StorageError) -> Int
  func count(of tree: Tree) throws(StorageError) -> Int
  func cursor(_ tree: Tree) throws(StorageError) -> Cursor
}

extension ReadTransaction: TreeReadable {}
extension WriteTransaction: TreeReadable {}

extension WriteTransaction {
  /// Puts a value under a key given as bytes, whatever the kind of the tree's keys.
  func modelPut(_ value: [UInt8], _ key: [UInt8], in tree: Tree) throws {
    if tree.keys == .int64 {
      try put(value, for: integer(key), in: tree)
    } else {
      try put(value, for: key, in: tree)
    }
  }

  /// Deletes a key given likewise; false if it was not there.
  func modelDelete(_ key: [UInt8], in tree: Tree) throws -> Bool {
    try tree.keys == .int64 ? delete(integer(key), in: tree) : delete(key, in: tree)
  }
}

extension TreeReadable where Self: ~Copyable {
  /// The value of a key given as bytes, whatever the kind of the tree's keys.
  func modelValue(_ key: [UInt8], in tree: Tree) throws -> [UInt8]? {
    guard tree.keys == .int64 else { return try value(for: key, in: tree) }
    return try value(for: integer(key), in: tree)
  }

  private func modelRank(_ key: [UInt8], in tree: Tree) throws -> Int {
    guard tree.keys == .int64 else { return try rank(of: key, in: tree) }
    return try rank(of: integer(key), in: tree)
  }

  /// Compares everything that can be asked with the model.
  ///
  /// - Parameter strangers: keys to ask for that need not be there.
  func compare(_ tree: Tree, with model: SortedModel, strangers: [[UInt8]]) throws {
    let count = try count(of: tree)
    try require(count == model.count, "count \(count), expected \(model.count)")
    try compareScans(tree, with: model)
    var cursor = try cursor(tree)
    for key in strangers + Self.sample(model) {
      let value = try modelValue(key, in: tree)
      try require(equal(value, model[key]), "value of \(key) is \(String(describing: value))")
      let expected = model.rank(key)
      let rank = try modelRank(key, in: tree)
      try require(rank == expected.rank, "rank of \(key) is \(rank), expected \(expected.rank)")
      let isFound = try tree.keys == .int64 ? cursor.seek(integer(key)) : cursor.seek(key)
      try require(isFound == expected.isFound, "seek \(key) found: \(isFound)")
      try cursor.requireEntry(expected.rank, of: model, "after seek \(key)")
      // One step in either direction and back.
      if try cursor.next() { try cursor.requireEntry(expected.rank + 1, of: model, "next after \(key)") }
      _ = try cursor.previous()
      try cursor.requireEntry(min(expected.rank, model.count - 1), of: model, "back at \(key)")
      let hasPrevious = try cursor.previous()
      try require(
        hasPrevious == (min(expected.rank, model.count - 1) > 0), "previous of \(key) is there: \(hasPrevious)")
    }
    for rank in [0, 1, count / 3, count / 2, count - 1, count, -1] {
      let isThere = try cursor.seek(toIndex: rank)
      try require(isThere == (0..<count).contains(rank), "entry \(rank) is there: \(isThere)")
      if isThere { try cursor.requireEntry(rank, of: model, "entry \(rank)") }
    }
  }

  private func compareScans(_ tree: Tree, with model: SortedModel) throws {
    var cursor = try cursor(tree)
    var index = 0
    while try cursor.next() {
      try cursor.requireEntry(index, of: model, "forward")
      index += 1
    }
    try require(index == model.count, "a scan forward found \(index) entries")
    try require(!cursor.isOnEntry, "a cursor behind the end is on an entry")
    // From the end back, without a new seek.
    while try cursor.previous() {
      index -= 1
      try cursor.requireEntry(index, of: model, "backward")
    }
    try require(index == 0, "a scan backward left \(index) entries out")
  }

  /// All keys of a small model, some of a large one.
  private static func sample(_ model: SortedModel) -> [[UInt8]] {
    let step = max(1, model.count / 20)
    return stride(from: 0, to: model.count, by: step).map { model.keys[$0] }
  }
}

extension Cursor {
  /// The key in the model's form.
  var modelKey: [UInt8]? { integerKey.map(orderedKey) ?? key }

  /// Throws unless the cursor is on entry `index` of the model, or on none if there is no such entry.
  func requireEntry(
    _ index: Int, of model: SortedModel, _ place: @autoclosure () -> String
  ) throws(Mismatch) {
    guard (0..<model.count).contains(index) else {
      return try require(!isOnEntry, "\(place()): on \(String(describing: modelKey)) where nothing is expected")
    }
    let (key, value): ([UInt8]?, [UInt8]?)
    do throws(StorageError) { (key, value) = (modelKey, try self.value) } catch {
      throw Mismatch("\(place()): \(error)")
    }
    try require(
      equal(key, model.keys[index]), "\(place()): on \(String(describing: key)), expected \(model.keys[index])")
    try require(equal(value, model.values[index]), "\(place()): wrong value under \(model.keys[index])")
  }
}
