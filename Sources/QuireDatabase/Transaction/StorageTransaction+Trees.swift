// The engine's trees by name, for either kind of transaction.

internal import QuireStorage

extension StorageTransaction {
  /// The engine's tree of a name.
  func tree(named name: String) -> Tree? {
    switch storage {
    case .reading(let tx): unsafe tx.pointee.tree(named: name)
    case .writing(let tx): unsafe tx.pointee.tree(named: name)
    case .ended: nil
    }
  }

  /// Makes a tree.
  func createTree(_ name: String, _ keys: KeyKind) throws(StorageError) -> Tree {
    switch storage {
    case .writing(let tx): unsafe try tx.pointee.createTree(name, keys: keys)
    default: throw StorageHandle.unfit()
    }
  }

  /// Drops a tree.
  func dropTree(_ tree: Tree) throws(StorageError) {
    switch storage {
    case .writing(let tx): unsafe try tx.pointee.dropTree(tree)
    default: throw StorageHandle.unfit()
    }
  }

  /// The names of the engine's trees.
  var treeNames: [String] {
    switch storage {
    case .reading(let tx): unsafe tx.pointee.treeNames
    case .writing(let tx): unsafe tx.pointee.treeNames
    case .ended: []
    }
  }

  /// The value under an integer key, copied.
  func value(_ key: Int64, in tree: Tree) throws(StorageError) -> [UInt8]? {
    switch storage {
    case .reading(let tx): unsafe try tx.pointee.value(for: key, in: tree)
    case .writing(let tx): unsafe try tx.pointee.value(for: key, in: tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// The number of entries below an integer key.
  func rank(_ key: Int64, in tree: Tree) throws(StorageError) -> Int {
    switch storage {
    case .reading(let tx): unsafe try tx.pointee.rank(of: key, in: tree)
    case .writing(let tx): unsafe try tx.pointee.rank(of: key, in: tree)
    case .ended: throw StorageHandle.unfit()
    }
  }

  /// Removes the entries between two keys in their ordered form; nil means no bound.
  func deleteRange(
    _ lower: [UInt8]?, _ upper: [UInt8]?, isNumber: Bool, in tree: Tree
  ) throws(StorageError) -> Int {
    switch storage {
    case .writing(let tx):
      if isNumber {
        unsafe try deleteRange(
          lower.flatMap { RowID(orderedBytes: $0) }, upper.flatMap { RowID(orderedBytes: $0) }, tx.pointee, tree)
      } else {
        unsafe try deleteRange(lower, upper, tx.pointee, tree)
      }
    default: throw StorageHandle.unfit()
    }
  }

  private func deleteRange(
    _ lower: [UInt8]?, _ upper: [UInt8]?, _ tx: borrowing QuireStorage.WriteTransaction, _ tree: Tree
  ) throws(StorageError) -> Int {
    switch (lower, upper) {
    case (nil, nil): try tx.deleteAll(in: tree)
    case (let lower?, nil): try tx.deleteRange(from: lower, in: tree)
    case (nil, let upper?): try tx.deleteRange(to: upper, in: tree)
    case (let lower?, let upper?): try tx.deleteRange(from: lower, to: upper, in: tree)
    }
  }

  private func deleteRange(
    _ first: RowID?, _ end: RowID?, _ tx: borrowing QuireStorage.WriteTransaction, _ tree: Tree
  ) throws(StorageError) -> Int {
    switch (first?.rawValue, end?.rawValue) {
    case (nil, nil): try tx.deleteAll(in: tree)
    case (let first?, nil): try tx.deleteRange(from: first, in: tree)
    case (nil, let end?): try tx.deleteRange(to: end, in: tree)
    case (let first?, let end?): try tx.deleteRange(from: first, to: end, in: tree)
    }
  }
}
