// Rows by their places on a screen, the places of rows, and searching by the view's order.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Places of rows in views") struct ViewPlaceTests {
  private let fixture: YapFixture
  private let screen: YapDatabaseConnection
  private let mappings: YapDatabaseViewMappings

  init() throws {
    fixture = try YapFixture()
    let view = YapDatabaseAutoView(
      grouping: .withObjectBlock { _, _, _, object in (object as? Song)?.albumID },
      sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1.compare(key2, options: .literal) }, versionTag: "1")
    #expect(fixture.database.register(view, withName: "view"))
    try fixture.connection.readWrite { transaction in
      for number in 0..<9 {
        transaction.setObject(
          Song(title: "song \(number)", albumID: number < 6 ? "a1" : "a2"), forKey: "s\(number)",
          inCollection: "songs", withMetadata: number == 1 ? nil : PlayState(plays: number))
      }
    }
    screen = fixture.database.newConnection()
    try screen.beginLongLivedReadTransaction()
    mappings = YapDatabaseViewMappings(groups: ["a2", "a1"], view: "view")
    mappings.setIsReversed(true, forGroup: "a1")
    try screen.read { mappings.update(with: $0) }
  }

  private func read(_ body: (YapDatabaseViewTransaction) throws -> Void) throws {
    try screen.read { transaction in
      try body(try #require(transaction.ext("view") as? YapDatabaseViewTransaction))
    }
  }

  @Test("An index path leads to a row, and a row to its index path") func indexPaths() throws {
    try read { view in
      let path = IndexPath(indexes: [1, 0])
      #expect(view.getCollectionKey(at: path, with: mappings).map { "\($0) \($1)" } == "songs s5")
      #expect(view.object(at: path, with: mappings) as? Song == Song(title: "song 5", albumID: "a1"))
      #expect(view.metadata(at: path, with: mappings) as? PlayState == PlayState(plays: 5))
      #expect(view.getGroupIndex(at: path, with: mappings).map { "\($0) \($1)" } == "a1 5")
      #expect(view.indexPath(forKey: "s5", inCollection: "songs", with: mappings) == path)
      #expect(view.metadata(at: IndexPath(indexes: [1, 4]), with: mappings) == nil)
      for wrong in [[2, 0], [0, 3], [0], [], [0, 0, 0], [-1, 0], [0, -1], [0, .max]] {
        let path = IndexPath(indexes: wrong)
        #expect(view.getCollectionKey(at: path, with: mappings) == nil, "\(wrong)")
        #expect(view.object(at: path, with: mappings) == nil && view.metadata(at: path, with: mappings) == nil)
        #expect(view.getGroupIndex(at: path, with: mappings) == nil)
      }
      #expect(view.indexPath(forKey: "none", inCollection: "songs", with: mappings) == nil)
      #expect(view.indexPath(forKey: "s5", inCollection: nil, with: mappings) == nil)
    }
  }

  @Test("So do row and section") func rowsAndSections() throws {
    try read { view in
      for (key, row, section) in [("s6", 0, 0), ("s8", 2, 0), ("s5", 0, 1), ("s0", 5, 1)] as [(String, UInt, UInt)] {
        #expect(view.getCollectionKey(atRow: row, inSection: section, with: mappings)?.1 == key)
        #expect((view.object(atRow: row, inSection: section, with: mappings) as? Song)?.title.last == key.last)
        #expect(view.metadata(atRow: row, inSection: section, with: mappings) as? PlayState != nil)
        let place = view.getRowSection(forKey: key, inCollection: "songs", with: mappings)
        #expect(place?.row == row && place?.section == section)
      }
      #expect(view.object(atRow: .max, inSection: 0, with: mappings) == nil)
      #expect(view.object(atRow: 0, inSection: .max, with: mappings) == nil)
      #expect(view.getRowSection(forKey: "none", inCollection: "songs", with: mappings) == nil)
    }
  }

  @Test("Mappings of another view fail the transaction") func otherMappings() throws {
    let other = YapDatabaseFilteredView(parentViewName: "view", filtering: .withKeyBlock { _, _, _, _ in true })
    #expect(fixture.database.register(other, withName: "other"))
    let code = errorCode {
      try fixture.connection.read { transaction in
        let view = try #require(transaction.ext("other") as? YapDatabaseViewTransaction)
        #expect(view.object(at: IndexPath(indexes: [0, 0]), with: mappings) == nil)
      }
    }
    #expect(code == .viewRefused)
  }

  @Test("A search asks what it needs of rows, in the view's own order") func finding() throws {
    func compare(_ number: Int?) -> ComparisonResult {
      guard let number, number >= 2 else { return .orderedAscending }
      return number <= 4 ? .orderedSame : .orderedDescending
    }
    let finds: [YapDatabaseViewFind] = [
      .withKeyBlock { _, key in compare(Int(key.dropFirst())) },
      .withObjectBlock { _, _, object in compare((object as? Song).flatMap { Int($0.title.dropFirst(5)) }) },
      .withMetadataBlock { _, _, metadata in compare((metadata as? PlayState)?.plays) },
      .withRowBlock { _, key, object, metadata in
        #expect(object is Song && (metadata != nil || key == "s1"))
        return compare(Int(key.dropFirst()))
      },
    ]
    try read { view in
      for find in finds {
        #expect(
          view.findRange(inGroup: "a1", using: find) == 2..<5 && view.findFirstMatch(inGroup: "a1", using: find) == 2)
        #expect(
          view.findRange(inGroup: "a2", using: find) == nil && view.findFirstMatch(inGroup: "none", using: find) == nil)
      }
    }
  }

  @Test("Enumerations go over parts, in both directions, until they are stopped") func enumerations() throws {
    func keys(_ body: (_ note: (String, UInt) -> Void) throws -> Void) rethrows -> [String] {
      var found: [String] = []
      try body { found.append("\($0)@\($1)") }
      return found
    }
    try read { view in
      #expect(
        keys { note in view.enumerateKeys(inGroup: "a2") { _, key, index, _ in note(key, index) } } == [
          "s6@0", "s7@1", "s8@2",
        ])
      #expect(
        keys { note in
          view.enumerateKeys(inGroup: "a1", with: .reverse, range: NSRange(location: 1, length: 3)) {
            _, key, index, _ in
            note(key, index)
          }
        } == ["s3@3", "s2@2", "s1@1"])
      #expect(
        keys { note in
          view.enumerateKeysAndMetadata(inGroup: "a1", range: NSRange(location: 4, length: .max)) {
            _, key, metadata, index, _ in
            note(key + "\((metadata as? PlayState)?.plays ?? 0)", index)
          }
        } == ["s44@4", "s55@5"])
      #expect(
        keys { note in
          view.enumerateKeysAndObjects(inGroup: "a1") { _, key, object, index, stop in
            note((object as? Song)?.title ?? "?", index)
            stop.pointee = index == 1
          }
        } == ["song 0@0", "song 1@1"])
      #expect(
        keys { note in
          view.enumerateRows(inGroup: "a2", with: [.concurrent, .reverse]) {
            collection, key, object, metadata, index, _ in
            note("\(collection) \(object is Song) \(metadata is PlayState)", index)
          }
        } == ["songs true true@2", "songs true true@1", "songs true true@0"])
      for nowhere in [
        NSRange(location: NSNotFound, length: 1), NSRange(location: 2, length: 0), NSRange(location: -1, length: 2),
      ] {
        #expect(
          keys { note in view.enumerateKeys(inGroup: "a1", range: nowhere) { _, key, index, _ in note(key, index) } }
            == [])
      }
      var groups: [String] = []
      view.enumerateGroups { group, stop in
        groups.append(group)
        stop.pointee = true
      }
      #expect(groups == ["a1"])
    }
  }
}
