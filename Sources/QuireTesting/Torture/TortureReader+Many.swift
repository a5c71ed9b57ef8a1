// Questions after many keys at once, which take other paths than single ones.

internal import QuireStorage

extension TortureReader {
  /// Looks several keys up together, some of them twice.
  func checkMany(_ tx: borrowing ReadTransaction, _ state: ModelState, _ tree: Tree) throws {
    let keys = drawMany(tree.keys)
    var asked = 0
    func compare(_ index: Int, _ value: RawSpan?) throws {
      try compareOne(keys[index], value, state, tree)
      asked += 1
    }
    if tree.keys == .int64 {
      try tx.withValues(for: keys.map { KeyUniverse.number($0) ?? 0 }, in: tree, compare)
    } else {
      try tx.withValues(for: keys, in: tree, compare)
    }
    try log.expect(asked == keys.count, "\(asked) of \(keys.count) keys were answered")
  }

  /// The same in a transaction, whose trees are its own.
  func checkMany(_ tx: borrowing WriteTransaction, _ state: ModelState, _ tree: Tree) throws {
    let keys = drawMany(tree.keys)
    var asked = 0
    func compare(_ index: Int, _ value: RawSpan?) throws {
      try compareOne(keys[index], value, state, tree)
      asked += 1
    }
    if tree.keys == .int64 {
      try tx.withValues(for: keys.map { KeyUniverse.number($0) ?? 0 }, in: tree, compare)
    } else {
      try tx.withValues(for: keys, in: tree, compare)
    }
    try log.expect(asked == keys.count, "\(asked) of \(keys.count) keys were answered")
  }

  private func drawMany(_ kind: KeyKind) -> [[UInt8]] {
    var keys = (0..<1 + random.below(40)).map { _ in random.nextKey(kind) }
    keys.append(random.pick(keys))
    return keys
  }

  private func compareOne(_ key: [UInt8], _ value: RawSpan?, _ state: ModelState, _ tree: Tree) throws {
    let expected = state.value(of: key, in: tree.id)
    let isEqual: Bool
    if let value {
      isEqual = value.withUnsafeBytes { bytes in expected.map { bytes.elementsEqual($0) } ?? false }
    } else {
      isEqual = expected == nil
    }
    try log.expect(isEqual, "among many keys of \(tree.id) one has another value")
  }
}
