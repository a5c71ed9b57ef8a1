// Inputs that are lists of entries, which are put into the trees of a database below the objects.
//
//     byte 0         which tree, as an index into the sorted names, modulo their number
//     byte 1         0 to 127 put, else remove
//     byte 2         the length of the key
//     bytes 3 to 4   the length of the value, little-endian; of a removal it has none
//     then           key and value
//
// What does not make a whole entry at the end is no entry.

import QuireStorage
import QuireTesting

/// One change of a tree.
struct EntryChange {
  var tree: UInt8
  /// Nil for a removal.
  var value: [UInt8]?
  var key: [UInt8]

  /// The changes that bytes say.
  static func list(_ bytes: [UInt8]) -> [EntryChange] {
    var changes: [EntryChange] = []
    var rest = bytes[...]
    while rest.count >= 3 {
      let head = Array(rest.prefix(5))
      let isPut = head[1] < 128
      guard head.count == 5 || !isPut else { break }
      rest = rest.dropFirst(isPut ? 5 : 3)
      let valueCount = isPut ? Int(head[3]) | Int(head[4]) << 8 : 0
      guard rest.count >= Int(head[2]) + valueCount else { break }
      let key = Array(rest.prefix(Int(head[2])))
      rest = rest.dropFirst(key.count)
      changes.append(EntryChange(tree: head[0], value: isPut ? Array(rest.prefix(valueCount)) : nil, key: key))
      rest = rest.dropFirst(valueCount)
    }
    return changes
  }

  /// The bytes that say so.
  var bytes: [UInt8] {
    let key = key.prefix(255)
    guard let value = value?.prefix(0xffff) else { return [tree, 128, UInt8(key.count)] + key }
    return [tree, 0, UInt8(key.count), UInt8(value.count & 0xff), UInt8(value.count >> 8)] + key + value
  }
}

/// Uses inputs as changes of trees.
struct EntryInput {
  /// The databases that may be changed.
  enum Base {
    case rows, dictionaries, extensions

    /// The database.
    func get() throws -> EntryBase {
      switch self {
      case .rows: try EntryBase.rows.get()
      case .dictionaries: try EntryBase.dictionaries.get()
      case .extensions: try EntryBase.extensions.get()
      }
    }
  }

  let base: Base

  // MARK: Running

  /// Makes the changes, and does all there is to do with the database.
  func run(_ bytes: [UInt8]) throws {
    let base = try base.get()
    let disk = base.disk.copy()
    let engine = try EntryBase.open(disk)
    try engine.write { tx in
      for change in EntryChange.list(bytes).prefix(64) {
        let name = base.treeNames[Int(change.tree) % base.treeNames.count]
        guard let tree = tx.tree(named: name), let key = FuzzKey(tree.keys, change.key) else { continue }
        if let value = change.value { try key.put(tx, value, tree) } else { _ = try key.delete(tx, tree) }
      }
    }
    try engine.close()
    var exercise = DatabaseExercise(disk: disk, of: base, random: choices(of: bytes))
    try exercise.run()
  }

  // MARK: Seeds

  /// For each tree some of its entries as they are, and removals of others.
  func seeds() throws -> [(name: String, bytes: [UInt8])] {
    let base = try base.get()
    let engine = try EntryBase.open(base.disk.copy())
    let content = try DatabaseContent(of: engine, checksThoroughly: false)
    try engine.close()
    return base.treeNames.enumerated().compactMap { number, name in
      let entries = content.trees[name] ?? []
      let some = stride(from: 0, to: entries.count, by: 1 + entries.count / 5).map { entries[$0] }
      let puts = some.filter { $0.value.count < 4096 }
        .map { EntryChange(tree: UInt8(number), value: $0.value, key: $0.key).bytes }
      let removal = entries.last.map { EntryChange(tree: UInt8(number), value: nil, key: $0.key).bytes } ?? []
      return some.isEmpty ? nil : (name, puts.flatMap { $0 } + removal)
    }
  }

  // MARK: Mutations

  /// Changes one entry, or the list of them.
  func mutate(_ bytes: [UInt8], _ mutation: inout Mutation) -> [UInt8] {
    var changes = EntryChange.list(bytes)
    if changes.isEmpty || mutation.isOneIn(8) { return mutation.whole(bytes) }
    let index = mutation.random.below(changes.count)
    let other = mutation.random.below(changes.count)
    switch mutation.random.below(10) {
    case 0: changes.remove(at: index)
    case 1: changes.insert(changes[other], at: index)
    case 2: changes[index].tree = UInt8(mutation.random.below(64))
    case 3: changes[index].value = changes[index].value == nil ? changes[other].value : nil
    case 4: (changes[index].value, changes[other].value) = (changes[other].value, changes[index].value)
    case 5, 6: changes[index].key = Self.changed(changes[index].key, &mutation, most: 255)
    default:
      if let value = changes[index].value { changes[index].value = Self.changed(value, &mutation, most: 4096) }
    }
    return Array(changes.flatMap(\.bytes).prefix(mutation.limit))
  }

  private static func changed(_ bytes: [UInt8], _ mutation: inout Mutation, most: Int) -> [UInt8] {
    let keepsLength = !bytes.isEmpty && mutation.isOneIn(2)
    return Array(mutation.part(0..<bytes.count, of: bytes, keepsLength: keepsLength).prefix(most))
  }
}
