// Identifiers as keys: their order, their way back, and rows under them.

import Foundation
import QuireDatabase
import QuireTesting
import Testing

@Suite struct RowKeyConvertibleTests {
  struct SongID: RawRepresentable, RowKeyConvertible, Hashable { var rawValue: UUID }
  enum Slot: UInt8, RowKeyConvertible, CaseIterable { case first = 1, second = 200 }

  @Test("Keys of integers are in the order of the integers, and come back")
  func integers() {
    var random = SeededRandom(seed: 1)
    var numbers: [Int64] = [.min, .min + 1, -1_000_000, -100, -99, -10, -9, -1, 0, 1, 9, 10, 99, 100, .max - 1, .max]
    for _ in 0..<2000 { numbers.append(Int64(truncatingIfNeeded: random.next()) >> Int64(random.below(64))) }
    for number in numbers { #expect(Int64.fromRowKey(number.rowKey) == number) }
    let sorted = Set(numbers).sorted()
    let keys = sorted.map(\.rowKey)
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    #expect(UInt64.fromRowKey(UInt64.max.rowKey) == .max && 42.rowKey == "b42" && (-42).rowKey == "-y57")
    for odd in ["", "a", "b4", "a42", "042", "b04", "-", "-y", "-y99", "-z9", "b4x", "c256", "é"] {
      #expect(UInt8.fromRowKey(odd) == nil, "\(odd)")
    }
  }

  @Test("Keys of UUIDs are in the order of their bytes, and come back")
  func identifiers() {
    let ids = (0..<200).map { _ in UUID() }.sorted { $0.uuidString < $1.uuidString }
    for id in ids { #expect(UUID.fromRowKey(id.rowKey) == id && SongID.fromRowKey(id.rowKey)?.rawValue == id) }
    #expect(UUID.fromRowKey(UUID().uuidString.lowercased()) == nil)
    #expect(Slot.allCases.map(\.rowKey) == ["a1", "c200"] && Slot.fromRowKey("a2") == nil)
  }

  @Test("Rows are stored, found and removed by identifiers")
  func rows() throws {
    let names = RowCollection<String, Int>("names")
    let db = try Database.inMemory()
    let ids = (0..<5).map { _ in SongID(rawValue: UUID()) }
    try db.write { tx in
      for (number, id) in ids.enumerated() { try tx[names].set("n\(number)", metadata: number, for: id) }
      let done = [
        try tx[names].update(ids[0]) { $0 += "!" }, try tx[names].replace("two", for: ids[2]),
        try tx[names].replaceMetadata(nil, for: ids[3]), try tx[names].remove(ids[4]),
      ]
      #expect(done == [true, true, true, true])
    }
    try db.read { tx in
      let (first, second) = (try tx[names].get(ids[0]), try tx[names].row(ids[2]))
      #expect(first == "n0!" && second?.id() == ids[2])
      let (metadata, isThere) = (try tx[names].metadata(ids[1]), try tx[names].contains(ids[4]))
      #expect(metadata == 1 && !isThere)
      let objects = try tx[names].objects(for: ids)
      #expect(Set(objects) == ["n0!", "n1", "two", "n3"])
    }
    try db.write { tx in
      let count = try tx[names].remove(ids)
      #expect(count == 4)
    }
    try db.close()
  }
}
