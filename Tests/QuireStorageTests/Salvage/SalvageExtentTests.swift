// Long values that many entries name: what salvage reads and delivers is bounded by the size of the file.

import QuireTesting
import Testing

@testable import QuireStorage

@Suite struct SalvageExtentTests {
  private static let valueCount = 300

  /// A database of one long value and many that just do not fit a page.
  private static func make() throws -> (disk: SimulatedDisk, tree: Tree) {
    let tiny = TinyDatabase(pageSize: 1024)
    let engine = try tiny.open()
    let tree = try engine.write { tx in
      let tree = try tx.createTree("texts", keys: .bytes)
      for number in 0..<valueCount {
        try tx.put([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1000), for: "k\(number)", in: tree)
      }
      return tree
    }
    try engine.write { tx in try tx.put([UInt8](repeating: 9, count: 400_000), for: "long", in: tree) }
    try engine.close()
    return (tiny.disk, tree)
  }

  /// How many bytes of values are delivered, and of how many keys.
  private static func deliver(_ disk: SimulatedDisk) throws -> (byteCount: Int, keyCount: Int, losses: [SalvageLoss]) {
    let reader = try SalvageReader(at: TinyDatabase.path, fileSystem: disk)
    var (byteCount, keyCount) = (0, 0)
    for tree in reader.trees {
      try reader.forEachEntry(of: tree) { entry in
        byteCount += entry.value.count
        keyCount += 1
      }
    }
    return (byteCount, keyCount, reader.losses)
  }

  @Test func whatAllEntriesNameIsNotDeliveredForEach() throws {
    let (disk, _) = try Self.make()
    let bytes = try #require(disk.bytes(of: TinyDatabase.path))
    let whole = try Self.deliver(disk)
    #expect(whole.losses.isEmpty && whole.keyCount == Self.valueCount + 1)
    var forger = try #require(Forger(bytes, pageSize: 1024))
    let places = forger.extentPlaces()
    #expect(places.count == Self.valueCount + 1)
    let long = try #require(places.max { forger.word($0) < forger.word($1) })
    for place in places where place != long { forger.forge(.anothersPages, place, other: long) }
    forger.seal()
    let forged = SimulatedDisk()
    forged.install(forger.bytes, at: TinyDatabase.path)
    let found = try Self.deliver(forged)
    #expect(found.byteCount <= 6 * bytes.count, "\(found.byteCount) bytes of a file of \(bytes.count)")
    #expect(found.keyCount > 0 && found.losses.count == Self.valueCount + 1 - found.keyCount)
    #expect(found.losses.allSatisfy { $0.kind == .value && $0.count == 1 })
  }

  /// Not even where every attempt fails.
  @Test func damagedValuesAreNotReadForEachEntry() throws {
    let (disk, _) = try Self.make()
    let bytes = try #require(disk.bytes(of: TinyDatabase.path))
    var forger = try #require(Forger(bytes, pageSize: 1024))
    let places = forger.extentPlaces()
    let long = try #require(places.max { forger.word($0) < forger.word($1) })
    for place in places where place != long { forger.forge(.anothersPages, place, other: long) }
    // The last byte of the value: all before it is read.
    forger.bytes[Int(forger.word(long + 8)) * 1024 + 399_999] ^= 1
    forger.seal()
    let forged = SimulatedDisk()
    forged.install(forger.bytes, at: TinyDatabase.path)
    let reader = try SalvageReader(at: TinyDatabase.path, fileSystem: forged)
    let before = forged.counters.readByteCount
    for tree in reader.trees { try reader.forEachEntry(of: tree) { _ in } }
    #expect(forged.counters.readByteCount - before <= 8 * bytes.count)
    #expect(reader.losses.count == Self.valueCount + 1)
  }
}
