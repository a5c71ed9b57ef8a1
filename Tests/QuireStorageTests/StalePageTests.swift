// A page that the disk has lost a write of: what stands at its place is sound, and older.

import QuireStorage
import QuireTesting
import Testing

@Suite struct StalePageTests {
  /// Rows that change their values and nothing else: the pages of their tree have the same shape in every version, and
  /// places go from one version of a page to another one.
  @Test("An older version of a page is an error, though it verifies by itself") func olderVersions() throws {
    let tiny = TinyDatabase(pageSize: 512)
    let engine = try tiny.open()
    let tree = try engine.write { tx in try tx.createTree("t", keys: .int64) }
    var images: [[UInt8]] = []
    for round in 0..<8 {
      try engine.write { tx in
        for key in Int64(0)..<12 { try tx.put([UInt8](repeating: UInt8(round), count: 20), for: key, in: tree) }
      }
      try engine.checkpoint()
      images.append(try #require(tiny.disk.bytes(of: TinyDatabase.path)))
    }
    let expected = try DatabaseContent(of: engine)
    try engine.close()
    let newest = try #require(tiny.disk.bytes(of: TinyDatabase.path))
    var told = 0
    for image in images {
      for offset in stride(from: 1024, to: min(image.count, newest.count), by: 512) {
        let older = Array(image[offset..<offset + 512])
        if older == Array(newest[offset..<offset + 512]) { continue }
        let disk = tiny.disk.copy()
        disk.overwrite(older, at: offset, of: TinyDatabase.path)
        do {
          let engine = try tiny.open(disk)
          let isSame = try DatabaseContent(of: engine) == expected
          #expect(isSame, "page \(offset / 512)")
          try engine.close()
        } catch let error as StorageError {
          #expect(error.code == .damagedPage, "\(error)")
          if error.message.contains("not the version") { told += 1 }
        }
      }
    }
    #expect(told > 0, "no place had an older version of its page")
  }
}
