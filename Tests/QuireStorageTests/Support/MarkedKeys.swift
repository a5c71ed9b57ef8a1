// What suites about the log put into a database, and how they find out whether it is there.

import QuireStorage
import QuireTesting

/// How many keys the tree `t` holds: all from 0 on, each with its own value of 60 bytes; 0 without the tree.
func markedCount(_ engine: StorageEngine) throws -> Int {
  try engine.read { tx in
    guard let tree = tx.tree(named: "t") else { return 0 }
    var cursor = try tx.cursor(tree)
    var count = 0
    while try cursor.next() {
      let (key, value) = (cursor.integerKey, try cursor.value)
      try require(key == Int64(count), "key \(count) is missing")
      try require(value == [UInt8](marked: count, count: 60), "key \(count) has another's value")
      count += 1
    }
    return count
  }
}
