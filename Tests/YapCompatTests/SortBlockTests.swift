// What sort blocks cost, sort keys, and when blocks are asked again.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Sorting of YapCompat's views") struct SortBlockTests {
  private let fixture: YapFixture
  /// The keys of rows that were decoded, in their order.
  private let decoded = Recorder()

  init() throws {
    fixture = try YapFixture()
    let decoded = decoded
    fixture.database.registerSerializer({ _, _, object in Data("\(object)".utf8) }, forCollection: "raw")
    fixture.database.registerDeserializer(
      { _, key, data in
        decoded.append(key)
        return String(data: data, encoding: .utf8)
      }, forCollection: "raw")
  }

  private func set(_ key: String, _ text: String) throws {
    try fixture.connection.readWrite { $0.setObject(text, forKey: key, inCollection: "raw") }
  }

  private func keys() throws -> [String] {
    try fixture.connection.read { transaction in
      let view = try #require(transaction.ext("view") as? YapDatabaseViewTransaction)
      return (0..<view.numberOfItems(inGroup: "all")).compactMap { view.key(at: $0, inGroup: "all") }
    }
  }

  private func register(_ sorting: YapDatabaseViewSorting) {
    let view = YapDatabaseAutoView(
      grouping: .withKeyBlock { _, collection, _ in collection == "raw" ? "all" : nil }, sorting: sorting)
    #expect(fixture.database.register(view, withName: "view"))
  }

  @Test("A sort block decodes no row twice for one operation") func decodings() throws {
    register(
      .withObjectBlock { _, _, _, _, first, _, _, second in
        ((first as? String) ?? "").compare((second as? String) ?? "", options: .literal)
      })
    try fixture.connection.readWrite { transaction in
      for number in 0..<300 {
        transaction.setObject("\(1000 + number)", forKey: "k\(number)", inCollection: "raw")
      }
    }
    for (key, text) in [("new", "1150.5"), ("k7", "1200.5"), ("k7", "1200.6"), ("k9", "0"), ("k11", "9")] {
      decoded.removeAll()
      try set(key, text)
      let all = decoded.values
      // Itself, its neighbours, the ends of the group, and halves of it.
      #expect(Set(all).count == all.count && all.count <= 1 + 2 + 2 + 9, "\(key) to \(text): \(all)")
      #expect(try keys().contains(key))
    }
    #expect(try keys().first == "k9" && keys().last == "k11")
  }

  @Test("A sort key decodes the row alone") func sortKeys() throws {
    register(.withObjectSortKey { _, _, _, object in (object as? String) ?? "" })
    for (key, text) in [("a", "3"), ("b", "1"), ("c", "2")] {
      decoded.removeAll()
      try set(key, text)
      #expect(Set(decoded.values).isSubset(of: [key]))
    }
    #expect(try keys() == ["b", "c", "a"])
    try set("a", "0")
    #expect(try keys() == ["a", "b", "c"])
  }

  @Test("Sort keys are made of metadata and of whole rows, too") func otherSortKeys() throws {
    func check(_ sorting: YapDatabaseViewSorting, _ expected: [String]) throws {
      let view = YapDatabaseAutoView(
        grouping: .withKeyBlock { _, collection, _ in collection == "songs" ? "all" : nil }, sorting: sorting)
      #expect(fixture.database.register(view, withName: "view"))
      #expect(try keys() == expected)
      fixture.database.unregisterExtension(withName: "view")
    }
    try fixture.connection.readWrite { transaction in
      for (key, title, plays) in [("a", "x", 3), ("b", "y", 1), ("c", "x", 2)] {
        transaction.setObject(
          Song(title: title), forKey: key, inCollection: "songs", withMetadata: PlayState(plays: plays))
      }
    }
    try check(.withMetadataSortKey { _, _, _, metadata in (metadata as? PlayState)?.plays ?? 0 }, ["b", "c", "a"])
    try check(
      .withRowSortKey { _, _, key, object, metadata in
        ((object as? Song)?.title ?? "") + "\((metadata as? PlayState)?.plays ?? 0)" + key
      }, ["c", "a", "b"])
  }

  @Test("Blocks are asked again for what they are said to depend on", arguments: [true, false])
  func invocations(_ isModified: Bool) throws {
    let asked = Recorder()
    let options: YapDatabaseBlockInvoke = isModified ? .ifObjectModified : .ifObjectTouched
    let view = YapDatabaseAutoView(
      grouping: .withObjectBlock(options: options) { _, _, key, _ in
        asked.append(key)
        return "all"
      }, sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1.compare(key2, options: .literal) })
    #expect(fixture.database.register(view, withName: "view"))
    func asks(_ body: (YapDatabaseReadWriteTransaction) -> Void) throws -> Int {
      asked.removeAll()
      try fixture.connection.readWrite(body)
      return asked.values.count
    }
    #expect(try asks { $0.setObject(Song(title: "1"), forKey: "s", inCollection: "songs") } == 1)
    #expect(try asks { $0.setObject(Song(title: "2"), forKey: "s", inCollection: "songs") } == (isModified ? 1 : 0))
    #expect(try asks { $0.replace(Song(title: "3"), forKey: "s", inCollection: "songs") } == (isModified ? 1 : 0))
    #expect(try asks { $0.touchObject(forKey: "s", inCollection: "songs") } == (isModified ? 0 : 1))
    #expect(try asks { $0.touchRow(forKey: "s", inCollection: "songs") } == (isModified ? 0 : 1))
    #expect(try asks { $0.touchMetadata(forKey: "s", inCollection: "songs") } == 0)
    #expect(
      try asks { $0.replaceMetadata(PlayState(plays: 1), forKey: "s", inCollection: "songs") } == 0)
  }
}
