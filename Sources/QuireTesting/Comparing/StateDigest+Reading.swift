// The digest of what readers find, or of what the decoder finds: equal if both find the same.

package import QuireStorage

/// A snapshot whose parts disagree with each other.
package struct ContentMismatch: Error, CustomStringConvertible {
  package let description: String

  /// Says what disagrees.
  package init(description: String) { self.description = description }
}

extension StateDigest {
  /// The digest of all that a snapshot holds, read by cursors from end to end.
  ///
  /// - Parameter isIncluded: which trees count, by name; all of them if left out.
  /// - Throws: `ContentMismatch` if a tree is listed and not there, or counts wrongly; what reading throws.
  package init(of tx: borrowing ReadTransaction, _ isIncluded: (String) -> Bool = { _ in true }) throws {
    self.init()
    for name in tx.treeNames where isIncluded(name) {
      guard let tree = tx.tree(named: name) else { throw ContentMismatch(description: "\(name) is listed, not there") }
      insert(tree.id)
      var cursor = try tx.cursor(tree)
      var count = 0
      while try cursor.next() {
        guard let key = cursor.borrowedKey else { continue }
        try cursor.withValue { value in
          value.withUnsafeBytes { insert(UnsafeRawBufferPointer(start: key.base, count: key.count), $0, in: tree.id) }
        }
        count += 1
      }
      let expected = try tx.count(of: tree)
      guard count == expected else {
        throw ContentMismatch(description: "\(tree.id) has \(count) entries and counts \(expected)")
      }
    }
  }
}

extension DecodedDatabase {
  /// The digest of all trees and entries.
  package var digest: StateDigest {
    var digest = StateDigest()
    for (number, tree) in trees {
      let id = TreeID(number)
      digest.insert(id)
      for (key, value) in tree.entries { digest.insert(key, value, in: id) }
    }
    return digest
  }

  /// Decodes what programs see on a disk. Leaves out log files that are not there.
  package init(_ disk: SimulatedDisk, path: String) throws(DecodingFailure) {
    var logs: [Int: [UInt8]] = [:]
    for index in 0..<Limits.segmentFileCount { logs[index] = disk.bytes(of: "\(path)-log\(index)") }
    try self.init(data: disk.bytes(of: path) ?? [], logs: logs)
  }
}
