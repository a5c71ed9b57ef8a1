// The engine's trees by name, for either kind of transaction.

internal import QuireStorage

extension TransactionState {
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
}
