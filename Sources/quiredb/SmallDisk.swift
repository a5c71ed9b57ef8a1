// Fills a real disk, deletes, and fills it again, for the script that has made a small one.

import ArgumentParser
import QuireStorage
import QuireTesting

/// `quiredb small-disk`: what `Tests/small-disk` runs on a file system of a few MiB.
struct SmallDisk: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "small-disk",
    abstract: "Fills the disk that a folder lies on, deletes half, and fills it again, on one open database.",
    discussion: "Only for a disk that nobody else needs. Ends with status 1 if anything was lost or refused.",
    shouldDisplay: false)

  @Argument(help: "A folder on a small disk; the database is made in it and stays there.")
  var folder: String
  @Option(help: "How often to fill the disk.")
  var cycles = 20

  func run() throws {
    let path = folder + "/small.quire"
    var content: [Int64: Int] = [:]
    var random = SeededRandom(seed: 1)
    var counts: [Int] = []
    do {
      let engine = try StorageEngine(at: path)
      let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
      var next: Int64 = 0
      for _ in 0..<cycles {
        while try put(&content, from: &next, random.below(200), in: tree, of: engine) {}
        counts.append(content.count)
        try check(engine, tree, content)
        let gone = content.keys.sorted().filter { _ in random.oneIn(2) }
        for start in stride(from: 0, to: gone.count, by: 50) {
          let batch = gone[start..<min(start + 50, gone.count)]
          try engine.write { tx in for key in batch { try tx.delete(key, in: tree) } }
          for key in batch { content[key] = nil }
        }
        try engine.checkpoint()
        try engine.verify()
      }
      try check(engine, tree, content)
      try engine.close()
    }
    let engine = try StorageEngine(at: path)
    let tree = try engine.read { tx in tx.tree(named: "rows") }
    guard let tree else { throw ValidationError("the tree is gone") }
    try check(engine, tree, content)
    try engine.close()
    print("rows at each full disk: \(counts)")
    guard let least = counts.min(), least > 0, least * 4 > counts[0] else {
      throw ValidationError("the space of deleted rows did not come back")
    }
  }

  /// Adds ten rows; false if the disk was full, and then none is there.
  private func put(
    _ content: inout [Int64: Int], from next: inout Int64, _ byteCount: Int, in tree: Tree, of engine: StorageEngine
  ) throws -> Bool {
    let keys = next..<next + 10
    next += 10
    do {
      try engine.write { tx in
        for key in keys { try tx.put([UInt8](repeating: UInt8(byteCount), count: byteCount), for: key, in: tree) }
      }
    } catch let error as StorageError where error.code == .diskFull { return false }
    for key in keys { content[key] = byteCount }
    return true
  }

  private func check(_ engine: StorageEngine, _ tree: Tree, _ content: [Int64: Int]) throws {
    try engine.read { tx in
      guard try tx.count(of: tree) == content.count else { throw ValidationError("rows were lost or invented") }
      for (key, byteCount) in content {
        guard try tx.value(for: key, in: tree) == [UInt8](repeating: UInt8(byteCount), count: byteCount) else {
          throw ValidationError("row \(key) is not what was written")
        }
      }
    }
  }
}
