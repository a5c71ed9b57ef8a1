// Screens: mappings, and what notifications tell of their sections and rows.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite("Screens of YapCompat") struct ScreenTests {
  private let fixture: YapFixture
  private let screen: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    #expect(fixture.database.register(Self.makeView(), withName: "view"))
    try fixture.connection.readWrite { transaction in
      for number in 0..<6 {
        transaction.setObject(
          Song(title: "song \(number)", albumID: number < 4 ? "a1" : "a2"), forKey: "s\(number)",
          inCollection: "songs")
      }
    }
    screen = fixture.database.newConnection()
    try screen.beginLongLivedReadTransaction()
  }

  private static func makeView() -> YapDatabaseAutoView {
    YapDatabaseAutoView(
      grouping: .withObjectBlock { _, _, _, object in (object as? Song)?.albumID },
      sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1.compare(key2, options: .literal) }, versionTag: "1")
  }

  private func changes(_ name: String = "view") throws -> YapDatabaseViewConnection {
    try #require(screen.ext(name) as? YapDatabaseViewConnection)
  }

  private func makeMappings(_ groups: String..., view: String = "view") throws -> YapDatabaseViewMappings {
    let mappings = YapDatabaseViewMappings(groups: groups, view: view)
    try screen.read { mappings.update(with: $0) }
    return mappings
  }

  private func set(_ key: String, _ album: String, title: String = "x") throws {
    try fixture.connection.readWrite {
      $0.setObject(Song(title: title, albumID: album), forKey: key, inCollection: "songs")
    }
  }

  /// What a screen is told, as text.
  private func told(_ notifications: [Notification], _ mappings: YapDatabaseViewMappings) throws -> String {
    let (sections, rows) = try changes().getChanges(forNotifications: notifications, withMappings: mappings)
    return (sections.map(\.description) + rows.map(\.description)).joined(separator: " ")
  }

  private static let reload = "delete section 0 (a1) insert section 0 (a1)"

  @Test("One long-lived read serves any number of screens") func severalScreens() throws {
    let (first, second, third) = (try makeMappings("a1"), try makeMappings("a2"), try makeMappings("a2", "a1"))
    try set("s9", "a1")
    try set("s4", "a1")
    let notifications = try screen.beginLongLivedReadTransaction()
    #expect(notifications.count == 2)
    #expect(try told(notifications, second) == "D0.0")
    #expect(try told(notifications, first) == "I→0.5 I→0.4")
    var (sections, rows) = ([YapDatabaseViewSectionChange](), [YapDatabaseViewRowChange]())
    try changes().getSectionChanges(&sections, rowChanges: &rows, forNotifications: notifications, with: third)
    #expect(sections.isEmpty && rows.map(\.type) == [.insert, .move])
    #expect(rows[1].indexPath == IndexPath(indexes: [0, 0]) && rows[1].newIndexPath == IndexPath(indexes: [1, 4]))
    #expect(rows[1].originalGroup == "a2" && rows[1].finalGroup == "a1" && rows[1].collectionKey?.key == "s4")
    for mappings in [first, second, third] {
      #expect(mappings.snapshotOfLastUpdate == screen.snapshot)
      // Told once.
      #expect(try told(notifications, mappings) == "")
      #expect(try told([], mappings) == "")
    }
    #expect(first.numberOfItems(inSection: 0) == 6 && third.numberOfItemsInAllGroups() == 7)
    #expect(try changes().getChanges(forNotifications: notifications, withMappings: nil) == ([], []))
  }

  @Test("A screen that was hidden asks for several jumps at once") func severalJumps() throws {
    let (shown, hidden, late) = (try makeMappings("a1"), try makeMappings("a1"), try makeMappings("a1"))
    var all: [Notification] = []
    for round in 0..<3 {
      try set("s1", "a1", title: "\(round)")
      try set("n\(round)", "a1")
      let notifications = try screen.beginLongLivedReadTransaction()
      let text = try told(notifications, shown)
      #expect(text == "U0.\(round + 1)→0.\(round + 2) I→0.\(round)")
      all += notifications
    }
    let text = try told(all, hidden)
    #expect(text == "U0.1→0.4 I→0.0 I→0.1 I→0.2")
    // A part of the way, or the wrong one, leads nowhere: made anew, never wrong.
    #expect(try told(Array(all.suffix(2)), late) == Self.reload)
    #expect(late.numberOfItems(inSection: 0) == 7)
  }

  @Test("A jump over nothing takes mappings along") func emptyJumps() throws {
    let mappings = try makeMappings("a1")
    #expect(try screen.beginLongLivedReadTransaction().isEmpty)
    #expect(try told([], mappings) == "")
    // Nothing of this is told, and the snapshot goes on.
    #expect(
      fixture.database.register(
        YapDatabaseFilteredView(parentViewName: "view", filtering: .withKeyBlock { _, _, _, _ in true }),
        withName: "other"))
    let before = screen.snapshot
    let notifications = try screen.beginLongLivedReadTransaction()
    #expect(notifications.isEmpty && screen.snapshot > before)
    #expect(try told(notifications, mappings) == "" && mappings.snapshotOfLastUpdate == screen.snapshot)
    try set("s9", "a1")
    #expect(try told(screen.beginLongLivedReadTransaction(), mappings) == "I→0.4")
  }

  @Test("Mappings are updated in any read transaction") func updatedAnywhere() throws {
    let mappings = YapDatabaseViewMappings(groups: ["a1"], view: "view")
    #expect(mappings.numberOfSections() == 0 && mappings.snapshotOfLastUpdate == .max)
    let other = fixture.database.newConnection()
    try other.read { mappings.update(with: $0) }
    #expect(mappings.numberOfItems(inGroup: "a1") == 4)
    try fixture.connection.readWrite { $0.touchObject(forKey: "s1", inCollection: "songs") }
    try set("s9", "a1")
    let text = try told(screen.beginLongLivedReadTransaction(), mappings)
    #expect(text == "U0.1→0.1 I→0.4")
    // Ahead of the long-lived read: brought back by making the screen anew, and on from there.
    try set("s8", "a1")
    try other.read { mappings.update(with: $0) }
    #expect(try told([], mappings) == Self.reload)
    #expect(mappings.numberOfItems(inGroup: "a1") == 5)
    #expect(try told(screen.beginLongLivedReadTransaction(), mappings) == "I→0.4")
    let error = errorCode { try fixture.connection.readWrite { mappings.update(with: $0) } }
    #expect(error == .invalidOption)
  }

  // A commit that only touches has the number of the one before it: the snapshot that follows looks the same.
  @Test("Touches are told, also behind a jump", arguments: [false, true]) func touches(_ ends: Bool) throws {
    let (first, second) = (try makeMappings("a1"), try makeMappings("a1"))
    var unread: [Notification] = []
    for round in 0..<3 {
      try fixture.connection.readWrite { $0.touchObject(forKey: "s1", inCollection: "songs") }
      if ends { screen.endLongLivedReadTransaction() }
      let notifications = try screen.beginLongLivedReadTransaction()
      #expect(notifications.count == (ends ? 0 : 1))
      // The connection has let go of the snapshot: at the same commit nothing stored has changed.
      #expect(try told(notifications, first) == (ends ? "" : "U0.1→0.1"), "\(round)")
      unread += notifications
    }
    #expect(try told(unread, second) == (ends ? "" : "U0.1→0.1"))
  }

  @Test("A row that is touched in a view is told to the screens of that view alone") func touchesInViews() throws {
    let other = YapDatabaseFilteredView(parentViewName: "view", filtering: .withKeyBlock { _, _, _, _ in true })
    #expect(fixture.database.register(other, withName: "other"))
    try screen.beginLongLivedReadTransaction()
    let (mappings, others) = (try makeMappings("a1"), try makeMappings("a1", view: "other"))
    try fixture.connection.readWrite { transaction in
      let view = try #require(transaction.ext("view") as? YapDatabaseViewTransaction)
      view.touchRow(forKey: "s1", inCollection: "songs")
      view.touchObject(forKey: "s2", inCollection: "songs")
      view.touchMetadata(forKey: "s3", inCollection: "songs")
      // In another group, and nowhere.
      view.touchRow(forKey: "s5", inCollection: "songs")
      view.touchRow(forKey: "none", inCollection: "songs")
    }
    let notifications = try screen.beginLongLivedReadTransaction()
    #expect(notifications.count == 1 && !screen.hasChange(forCollection: "songs", in: notifications))
    let rows = try changes().getChanges(forNotifications: notifications, withMappings: mappings).rowChanges
    #expect(rows.map(\.type) == [.update, .update, .update] && rows.compactMap(\.indexPath?.last) == [1, 2, 3])
    #expect(rows.map(\.changes) == [[.object, .metadata], .object, .metadata])
    let unchanged = try changes("other").getChanges(forNotifications: notifications, withMappings: others)
    #expect(unchanged.rowChanges.isEmpty && unchanged.sectionChanges.isEmpty)
    let code = errorCode {
      try screen.read { ($0.ext("view") as? YapDatabaseViewTransaction)?.touchRow(forKey: "s1", inCollection: "songs") }
    }
    #expect(code == .readOnly)
  }

  @Test("Posted notifications lead nowhere by themselves") func postedNotifications() throws {
    let mappings = try makeMappings("a1")
    try set("s9", "a1")
    let notifications = try screen.beginLongLivedReadTransaction()
    let posted = Notification(name: .YapDatabaseModified, object: fixture.database)
    #expect(try told([posted], mappings) == Self.reload)
    #expect(try told([posted] + notifications, mappings) == "")
  }

  @Test("Groups are chosen by blocks, with a transaction") func dynamicGroups() throws {
    let mappings = YapDatabaseViewMappings(
      groupFilterBlock: { group, transaction in
        transaction.hasObject(forKey: "shown " + group, inCollection: "songs")
      },
      sortBlock: { left, right, _ in right.compare(left) }, view: "view")
    try set("shown a1", "none")
    try screen.beginLongLivedReadTransaction()
    try screen.read { mappings.update(with: $0) }
    #expect(mappings.allGroups == ["a1"])
    try set("shown a2", "none")
    let text = try told(screen.beginLongLivedReadTransaction(), mappings)
    #expect(text == "insert section 0 (a2) I→0.0 I→0.1")
    #expect(mappings.visibleGroups == ["a2", "a1"] && mappings.section(forGroup: "a1") == 1)
    #expect(mappings.group(forSection: 0) == "a2" && mappings.group(forSection: 2) == nil)
  }

  @Test("Apps that return at once when a jump tells nothing keep their screens") func skippedJumps() throws {
    let mappings = try makeMappings("a1")
    for name in ["one", "two"] {
      // Nothing of this is told, and the snapshot goes on.
      let filter = YapDatabaseViewFiltering.withKeyBlock { _, _, _, _ in true }
      #expect(
        fixture.database.register(YapDatabaseFilteredView(parentViewName: "view", filtering: filter), withName: name))
      #expect(try screen.beginLongLivedReadTransaction().isEmpty)
    }
    try set("s9", "a1")
    #expect(try told(screen.beginLongLivedReadTransaction(), mappings) == "I→0.4")
  }

  @Test("A view that was registered anew has the screen made anew") func anotherLife() throws {
    let mappings = try makeMappings("a1")
    fixture.database.unregisterExtension(withName: "view")
    #expect(fixture.database.register(Self.makeView(), withName: "view"))
    let notifications = try screen.beginLongLivedReadTransaction()
    #expect(try told(notifications, mappings) == Self.reload)
    #expect(mappings.numberOfItems(inGroup: "a1") == 4)
  }

  @Test("Mappings are brought on by their own view only") func otherViews() throws {
    // The same name to look at, in other bytes.
    for name in ["caf\u{e9}", "cafe\u{301}"] {
      #expect(fixture.database.register(Self.makeView(), withName: name))
    }
    try screen.beginLongLivedReadTransaction()
    let mappings = try makeMappings("a1", view: "caf\u{e9}")
    let stands = mappings.snapshotOfLastUpdate
    try fixture.connection.readWrite { $0.removeObject(forKey: "s1", inCollection: "songs") }
    let notifications = try screen.beginLongLivedReadTransaction()
    let other = try changes("cafe\u{301}")
    let code = errorCode { _ = try other.getChanges(forNotifications: notifications, withMappings: mappings) }
    #expect(code == .viewRefused && mappings.snapshotOfLastUpdate == stands)
    let own = try changes("caf\u{e9}").getChanges(forNotifications: notifications, withMappings: mappings)
    #expect(own.rowChanges.map(\.type) == [.delete])
    screen.endLongLivedReadTransaction()
    let ended = errorCode { _ = try changes().getChanges(forNotifications: [], withMappings: makeMappings("a1")) }
    #expect(ended == .invalidOption)
  }

  @Test("Settings and places have the original's names") func settings() throws {
    let mappings = try makeMappings("a2", "a1", "none")
    #expect(mappings.numberOfSections() == 3 && !mappings.isDynamicSectionForAllGroups)
    mappings.setIsDynamicSection(true, forGroup: "none")
    #expect(mappings.numberOfSections() == 2 && mappings.isDynamicSection(forGroup: "none"))
    mappings.setIsDynamicSectionForAllGroups(true)
    #expect(mappings.isDynamicSectionForAllGroups && mappings.view == "view" && !mappings.isEmpty())
    #expect(mappings.isEmptyGroup("none") && !mappings.isEmptyGroup("a1"))
    mappings.setIsReversed(true, forGroup: "a1")
    #expect(mappings.isReversed(forGroup: "a1") && mappings.index(forRow: 0, inGroup: "a1") == 3)
    let range = YapDatabaseViewRangeOptions.flexibleRange(withLength: 2, offset: 0, from: .end)
    (range.minLength, range.maxLength, range.growOptions) = (1, 3, .onBothSides)
    mappings.setRangeOptions(range, forGroup: "a1")
    let path = IndexPath(indexes: [1, 0])
    #expect(mappings.numberOfItems(inGroup: "a1") == 2 && mappings.group(for: path) == "a1")
    #expect(mappings.index(for: path) == mappings.index(forRow: 0, inSection: 1))
    let index = try #require(mappings.index(for: path))
    #expect(mappings.indexPath(forIndex: index, inGroup: "a1") == path)
    #expect(mappings.row(forIndex: index, inGroup: "a1") == 0)
    #expect(mappings.indexPath(forIndex: 99, inGroup: "a1") == nil)
    #expect(mappings.index(forRow: .max, inSection: .max) == nil)
    let read = try #require(mappings.rangeOptions(forGroup: "a1"))
    #expect(read.isFlexibleRange && !read.isFixedRange && read.length == 2 && read.offset == 0 && read.pin == .end)
    #expect(read.minLength == 1 && read.maxLength == 3 && read.growOptions == .onBothSides)
    let position = try #require(mappings.rangePosition(forGroup: "a1"))
    #expect(position.length == 2 && position.offsetFromBeginning + position.offsetFromEnd == 2)
    mappings.setRangeOptions(
      YapDatabaseViewRangeOptions.fixedRange(withLength: 9, offset: 9, from: .beginning).copy(withNewLength: 1)
        .copy(withNewOffset: 1), forGroup: "a1")
    #expect(mappings.numberOfItems(inGroup: "a1") == 1)
    mappings.removeRangeOptions(forGroup: "a1")
    #expect(mappings.numberOfItems(inGroup: "a1") == 4 && mappings.rangeOptions(forGroup: "a1") == nil)
    mappings.setCellDrawingDependencyForNeighboringCell(withOffset: -1, forGroup: "a2")
    mappings.setCellDrawingDependencyOffsets([1, -1], forGroup: "a1")
    #expect(mappings.cellDrawingDependencyOffsets(forGroup: "a1") == [1, -1])
    #expect(mappings.cellDrawingDependencyOffsets(forGroup: "a2") == [-1])
    mappings.setAutoConsolidateGroupsThreshold(10, withConsolidatedGroupName: "all")
    #expect(mappings.isUsingConsolidatedGroup && mappings.consolidatedGroupName == "all")
    #expect(mappings.autoConsolidateGroupsThreshold == 10 && mappings.numberOfItems(inSection: 0) == 6)
    #expect(mappings.nearestIndexPath(forRow: 9, inGroup: "a2") == IndexPath(indexes: [0, 1]))
    #expect(mappings.getGroupIndex(for: IndexPath(indexes: [0, 0]))?.group == "a2")
    #expect(mappings.mappings.viewName == "view")
  }
}
