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

  /// Zeroes the leaf of a tree that was made last; old versions stay.
  mutating func zeroNewestLeaf(of tree: String) throws {
    guard let id = trees[tree] else { return }
    let newest = leaves(of: id).max { number(at: $0 + 16) < number(at: $1 + 16) }
    if let newest { data.replaceSubrange(newest..<newest + 4096, with: repeatElement(0, count: 4096)) }
    try Data(data).write(to: URL(fileURLWithPath: path))
  }

  /// The same with the leaves of the catalog.
  mutating func zeroCatalog() throws -> Int { try zeroLeaves(of: 0) }

  private mutating func zeroLeaves(of id: UInt64) throws -> Int {
    let found = leaves(of: id)
    for start in found { data.replaceSubrange(start..<start + 4096, with: repeatElement(0, count: 4096)) }
    try Data(data).write(to: URL(fileURLWithPath: path))
    return found.count
  }

  /// Where leaves of a tree begin.
  private func leaves(of id: UInt64) -> [Int] {
    stride(from: 8192, to: data.count - 4095, by: 4096).filter { data[$0 + 32] == 1 && number(at: $0 + 24) == id }
  }

  private func number(at offset: Int) -> UInt64 {
    data[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
