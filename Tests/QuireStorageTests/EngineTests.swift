// The engine on the real disk: the calls that every user makes.

import QuireStorage
import QuireTesting
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A folder of its own for one test.
final class TemporaryFolder {
  let path: String
  init() {
    var template = Array("/tmp/quire-test-XXXXXX".utf8CString)
    path = template.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return "/tmp" }
      return String(cString: base)
    }
  }
  deinit {
    guard let directory = opendir(path) else { return }
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { unlink("\(path)/\(name)") }
    }
    closedir(directory)
    rmdir(path)
  }
}

@Suite struct EngineTests {
  @Test func storesAndReopens() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a.quire"
    let engine = try StorageEngine(at: path)
    let tree = try engine.write { tx in try tx.createTree("songs", keys: .bytes) }
    try engine.write { tx in
      try tx.put("Blue Train", for: "s1", in: tree)
      try tx.put("Naima", for: "s2", in: tree)
    }
    try engine.read { tx in
      let value = try tx.value(for: "s1", in: tree)
      let count = try tx.count(of: tree)
      #expect(value == Array("Blue Train".utf8))
      #expect(count == 2)
    }
    try engine.close()
    let again = try StorageEngine(at: path)
    try again.read { tx in
      let found = tx.tree(named: "songs")
      let tree = try #require(found)
      let value = try tx.value(for: "s2", in: tree)
      #expect(value == Array("Naima".utf8))
    }
    try again.close()
  }

  @Test func manyLookUpsFindNoNeighbours() throws {
    let engine = try SimulatedDisk().openEngine()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .bytes) }
    let texts = ["", "a", "abc", "abcdef", "b", "bbbbbbbbbbbbbbbbbbbb", "c"]
    try engine.write { tx in for text in texts { try tx.put(text, for: text, in: tree) } }
    let asked = texts + ["ab", "abcd", "abcdefg", "bb", "bbbbbbbbbbbbbbbbbbb", "bbbbbbbbbbbbbbbbbbbbb", "ca", "z"]
    let found = try engine.read { tx in try tx.values(for: asked.map { Array($0.utf8) }, in: tree) }
    #expect(found == asked.map { texts.contains($0) ? Array($0.utf8) : nil })
    try engine.close()
  }

  @Test func manyRowsSurviveReopening() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a.quire"
    var random = SeededRandom(seed: 7)
    var model: [Int64: [UInt8]] = [:]
    do {
      let engine = try StorageEngine(at: path)
      let tree = try engine.write { tx in try tx.createTree("rows", keys: .int64) }
      for _ in 0..<200 {
        try engine.write { tx in
          for _ in 0..<100 {
            let key = Int64(random.below(10_000))
            if random.oneIn(4) {
              let isDeleted = try tx.delete(key, in: tree)
              #expect(isDeleted == (model.removeValue(forKey: key) != nil))
            } else {
              let value = [UInt8](repeating: UInt8(random.below(256)), count: random.below(200))
              try tx.put(value, for: key, in: tree)
              model[key] = value
            }
          }
        }
      }
      try check(engine, model)
      try engine.checkpoint()
      try check(engine, model)
      // No close: the next opening recovers.
    }
    let engine = try StorageEngine(at: path)
    try check(engine, model)
    try engine.close()
    let last = try StorageEngine(at: path)
    try check(last, model)
    try last.close()
  }

  private func check(_ engine: StorageEngine, _ model: [Int64: [UInt8]]) throws {
    try engine.read { tx in
      let found = tx.tree(named: "rows")
      let tree = try #require(found)
      let count = try tx.count(of: tree)
      #expect(count == model.count)
      for (key, expected) in model {
        let value = try tx.value(for: key, in: tree)
        #expect(value == expected)
      }
      var cursor = try tx.cursor(tree)
      var keys: [Int64] = []
      while try cursor.next() { keys.append(cursor.integerKey ?? .min) }
      #expect(keys == model.keys.sorted())
    }
  }
}
