// Damaging trees by their names.

import Foundation
import QuireStorage

/// The pages of a database file that was closed, by the trees that they are of.
struct TreePages {
  private let path: String
  private var data: [UInt8]
  private let trees: [String: UInt64]

  init(_ path: String) throws {
    self.path = path
    let engine = try StorageEngine(at: path, options: StorageOptions(isReadOnly: true))
    trees = try engine.read { tx in
      Dictionary(
        uniqueKeysWithValues: tx.treeNames.compactMap { name in tx.tree(named: name).map { (name, $0.id.rawValue) } })
    }
    try engine.close()
    data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  /// The names of the trees that end so.
  func names(endingWith end: String) -> [String] { trees.keys.filter { $0.hasSuffix(end) }.sorted() }

  /// Zeroes all leaves of a tree, and old versions of them; returns how many.
  @discardableResult
  mutating func zeroLeaves(of tree: String) throws -> Int {
    guard let id = trees[tree] else { return 0 }
    return try zeroLeaves(of: id)
  }

  /// The same with the leaves of the catalog.
  mutating func zeroCatalog() throws -> Int { try zeroLeaves(of: 0) }

  private mutating func zeroLeaves(of id: UInt64) throws -> Int {
    var count = 0
    for start in stride(from: 8192, to: data.count, by: 4096) where data[start + 32] == 1 {
      let owner = data[start + 24..<start + 32].reversed().reduce(0) { $0 << 8 | UInt64($1) }
      guard owner == id else { continue }
      data.replaceSubrange(start..<start + 4096, with: repeatElement(0, count: 4096))
      count += 1
    }
    try Data(data).write(to: URL(fileURLWithPath: path))
    return count
  }
}
