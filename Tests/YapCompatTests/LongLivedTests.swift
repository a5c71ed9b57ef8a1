// Long-lived reads, and what their notifications say.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

@Suite struct LongLivedTests {
  let fixture: YapFixture
  let screen: YapDatabaseConnection
  let writer: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    screen = fixture.connection
    writer = fixture.database.newConnection()
  }

  @Test func aLongLivedReadStaysAndSteps() throws {
    #expect(!screen.isInLongLivedReadTransaction() && screen.endLongLivedReadTransaction().isEmpty)
    #expect(try screen.beginLongLivedReadTransaction().isEmpty)
    #expect(screen.isInLongLivedReadTransaction() && screen.pinnedSnapshot != nil)
    let before = screen.snapshot
    for number in 1...3 {
      try writer.readWrite { $0.setObject("v", forKey: "key\(number)", inCollection: "a") }
    }
    #expect(try screen.read { $0.numberOfKeys(inCollection: "a") } == 0)
    #expect(screen.snapshot == before && writer.snapshot > before && fixture.database.snapshot == writer.snapshot)

    let notifications = try screen.beginLongLivedReadTransaction()
    #expect(notifications.count == 3 && screen.snapshot == writer.snapshot)
    #expect(try screen.read { $0.numberOfKeys(inCollection: "a") } == 3)
    let snapshots = notifications.compactMap { $0.userInfo?[YapDatabaseSnapshotKey] as? UInt64 }
    #expect(snapshots.count == 3 && snapshots == snapshots.sorted() && snapshots.last == screen.snapshot)
    for notification in notifications {
      #expect(notification.name == .YapDatabaseModified)
      #expect(notification.object as? YapDatabase === fixture.database)
      #expect(notification.userInfo?[YapDatabaseConnectionKey] as? YapDatabaseConnection === writer)
    }
    try writer.readWrite { $0.setObject("v", forKey: "key4", inCollection: "a") }
    #expect(screen.endLongLivedReadTransaction().count == 1)
    #expect(!screen.isInLongLivedReadTransaction())
    #expect(try screen.read { $0.numberOfKeys(inCollection: "a") } == 4)
  }

  // Who holds an old snapshot is told with the place in the app's code, not in this module's.
  @Test func thePlaceInTheCodeIsTheApps() throws {
    func check(_ kind: HeldSnapshot.Kind, _ name: String?) {
      let held = fixture.database.quire.heldSnapshots
      #expect(held.count == 1 && held.first?.kind == kind && held.first?.connection == name)
      #expect(held.first?.fileID == "YapCompatTests/LongLivedTests.swift")
    }
    try screen.beginLongLivedReadTransaction()
    check(.pin, nil)
    screen.endLongLivedReadTransaction()
    screen.name = "screen"
    try screen.read { _ in check(.read, "screen") }
  }

  @Test func writingOnAPinnedConnectionIsAnError() throws {
    try screen.beginLongLivedReadTransaction()
    #expect(errorCode { try screen.readWrite { _ in } } == .notPermitted)
    #expect(screen.isInLongLivedReadTransaction())
    screen.disableExceptionsForImplicitlyEndingLongLivedReadTransaction()
    try screen.readWrite { $0.setObject("v", forKey: "key", inCollection: nil) }
    #expect(!screen.isInLongLivedReadTransaction())
    try screen.beginLongLivedReadTransaction()
    screen.enableExceptionsForImplicitlyEndingLongLivedReadTransaction()
    #expect(errorCode { try screen.readWrite { _ in } } == .notPermitted)
  }

  @Test func changesAreAskedFor() throws {
    try fixture.fill("a")
    try fixture.fill("cleared")
    try screen.beginLongLivedReadTransaction()
    try writer.readWrite { transaction in
      transaction.replace("new", forKey: "key1", inCollection: "a")
      transaction.replaceMetadata("new", forKey: "key2", inCollection: "a")
      transaction.touchMetadata(forKey: "key3", inCollection: "a")
      transaction.removeObject(forKey: "key4", inCollection: "a")
      transaction.setObject("v", forKey: "new", inCollection: "b")
    }
    try writer.readWrite { $0.removeAllObjects(inCollection: "cleared") }
    let notifications = try screen.beginLongLivedReadTransaction()
    #expect(notifications.count == 2)

    #expect(screen.hasChange(forCollection: "a", in: notifications))
    #expect(screen.hasObjectChange(forCollection: "b", in: notifications))
    #expect(screen.hasMetadataChange(forCollection: "cleared", in: notifications))
    #expect(!screen.hasChange(forCollection: "c", in: notifications))
    func changes(_ key: String) -> [Bool] {
      [
        screen.hasChange(forKey: key, inCollection: "a", in: notifications),
        screen.hasObjectChange(forKey: key, inCollection: "a", in: notifications),
        screen.hasMetadataChange(forKey: key, inCollection: "a", in: notifications),
      ]
    }
    #expect(changes("key1") == [true, true, false] && changes("key2") == [true, false, true])
    #expect(changes("key3") == [true, false, true] && changes("key4") == [true, true, true])
    #expect(changes("key5") == [false, false, false])
    #expect(screen.hasChange(forAnyKeys: ["key5", "key1"], inCollection: "a", in: notifications))
    #expect(!screen.hasObjectChange(forAnyKeys: ["key5", "key2"], inCollection: "a", in: notifications))
    #expect(screen.hasMetadataChange(forAnyKeys: ["key3"], inCollection: "a", in: notifications))
    #expect(screen.hasChange(forKey: "key1", inCollection: "cleared", in: notifications))
    #expect(screen.didClearCollection("cleared", in: notifications))
    #expect(!screen.didClearCollection("a", in: notifications) && !screen.didClearAllCollections(in: notifications))

    var keys: [String] = []
    screen.enumerateChangedKeys(inCollection: "a", in: notifications) { key, _ in keys.append(key) }
    #expect(keys == ["key1", "key2", "key3", "key4"])
    screen.enumerateChangedKeys(inCollection: "cleared", in: notifications) { key, _ in keys.append(key) }
    screen.enumerateChangedCollectionKeys(in: notifications) { row, stop in
      keys.append("\(row)")
      stop.pointee = keys.count == 5
    }
    #expect(keys.count == 5 && keys.last == "a/key1")
    try writer.readWrite { $0.removeAllObjectsInAllCollections() }
    let cleared = try screen.beginLongLivedReadTransaction()
    #expect(screen.didClearAllCollections(in: cleared) && screen.didClearCollection("a", in: cleared))
    #expect(cleared.first?.userInfo?[YapDatabaseAllKeysRemovedKey] as? Bool == true)
    #expect(!screen.hasChange(forCollection: "a", in: [Notification(name: .init("another"))]))
  }

  @Test func theUserInfoListsTheChanges() throws {
    try fixture.fill("a", 3)
    try fixture.fill("cleared", 2)
    try screen.beginLongLivedReadTransaction()
    try writer.readWrite { transaction in
      transaction.replace("new", forKey: "key1", inCollection: "a")
      transaction.touchMetadata(forKey: "key2", inCollection: "a")
      transaction.removeObject(forKey: "key3", inCollection: "a")
      transaction.setObject("v", forKey: "new", inCollection: "a")
      transaction.removeAllObjects(inCollection: "cleared")
      transaction.yapDatabaseModifiedNotificationCustomObject = "sync"
      #expect(transaction.yapDatabaseModifiedNotificationCustomObject as? String == "sync")
    }
    try fixture.database.quire.write { tx throws in
      tx.commitInfo = 7
      try tx[.texts("a")].remove("new")
    }
    let notifications = try screen.beginLongLivedReadTransaction()
    let info = try #require(notifications.first?.userInfo)
    func rows(_ key: String) -> [String]? { (info[key] as? Set<YapCollectionKey>)?.sorted().map(\.description) }
    #expect(rows(YapDatabaseObjectChangesKey) == ["a/key1", "a/new"])
    #expect(rows(YapDatabaseMetadataChangesKey) == ["a/key2", "a/new"])
    #expect(rows(YapDatabaseInsertedKeysKey) == ["a/new"])
    #expect(rows(YapDatabaseRemovedKeysKey) == ["a/key3"])
    #expect(info[YapDatabaseRemovedCollectionsKey] as? Set<String> == ["cleared"])
    #expect(info[YapDatabaseCustomKey] as? String == "sync" && info[YapDatabaseAllKeysRemovedKey] == nil)
    // Commits of the new API are told, too.
    #expect(notifications.last?.userInfo?[YapDatabaseCustomKey] as? Int == 7)
    #expect(notifications.last?.userInfo?[YapDatabaseConnectionKey] == nil)
  }

  // Trap 3: touching tells, and stores nothing.
  @Test func touchingIsTold() throws {
    try fixture.fill("a", 2)
    try screen.beginLongLivedReadTransaction()
    try writer.readWrite { transaction in
      transaction.iterateKeys(inCollection: "a") { key, _ in transaction.touchObject(forKey: key, inCollection: "a") }
      transaction.touchRow(forKey: "missing", inCollection: "a")
    }
    let notifications = try screen.beginLongLivedReadTransaction()
    #expect(screen.hasObjectChange(forKey: "key2", inCollection: "a", in: notifications))
    #expect(!screen.hasMetadataChange(forKey: "key2", inCollection: "a", in: notifications))
    #expect(!screen.hasChange(forKey: "missing", inCollection: "a", in: notifications))
  }

  @Test(.timeLimit(.minutes(1))) func commitsArePosted() async throws {
    let (posted, done) = (Recorder(), Gate())
    MainQueueProbe.install()
    let token = NotificationCenter.default.addObserver(
      forName: .YapDatabaseModified, object: fixture.database, queue: nil
    ) { notification in
      let custom = notification.userInfo?[YapDatabaseCustomKey] as? String ?? "nil"
      posted.append("\(custom) \(MainQueueProbe.isCurrent)")
      done.open()
    }
    for number in 1...3 {
      try writer.readWrite { transaction in
        transaction.setObject("v", forKey: "key", inCollection: nil)
        transaction.yapDatabaseModifiedNotificationCustomObject = "\(number)"
      }
    }
    try writer.readWrite { _ in }
    await done.wait(3)
    #expect(posted.values == ["1 true", "2 true", "3 true"])
    NotificationCenter.default.removeObserver(token)
  }

  // As in the original, which sends the notification to the main queue before it sends the completion blocks anywhere.
  @Test(.timeLimit(.minutes(1))) func notificationsComeBeforeCompletionBlocks() async throws {
    let (order, done) = (Recorder(), Gate())
    let token = NotificationCenter.default.addObserver(
      forName: .YapDatabaseModified, object: fixture.database, queue: nil
    ) { notification in order.append("\(notification.userInfo?[YapDatabaseCustomKey] as? String ?? "")") }
    let rounds = 50
    @Sendable func write(_ transaction: YapDatabaseReadWriteTransaction, _ what: String) {
      transaction.setObject(what, forKey: "key", inCollection: nil)
      transaction.yapDatabaseModifiedNotificationCustomObject = what
      transaction.addCompletionQueue(nil) { order.append("\(what) added") }
    }
    for round in 0..<rounds {
      for (name, connection) in [("a", screen), ("b", writer)] {
        let what = "\(name)\(round)"
        connection.asyncReadWrite({ write($0, what) }) {
          order.append("\(what) done")
          done.open()
        }
      }
      if round % 10 == 0 { await done.wait(2 * (round == 0 ? 1 : 10)) }
    }
    await done.wait(2 * (rounds - 1 - (rounds - 1) / 10 * 10))
    for round in 0..<rounds {
      try writer.readWrite { write($0, "sync\(round)") }
      DispatchQueue.main.async {
        order.append("sync\(round) done")
        done.open()
      }
    }
    await done.wait(rounds)
    NotificationCenter.default.removeObserver(token)
    let places = Dictionary(uniqueKeysWithValues: order.values.enumerated().map { ($1, $0) })
    #expect(places.count == 9 * rounds)
    for what in (0..<rounds).flatMap({ ["a\($0)", "b\($0)", "sync\($0)"] }) {
      let (posted, added) = (try #require(places[what]), try #require(places["\(what) added"]))
      #expect(posted < added && added < places["\(what) done"] ?? 0, "\(what)")
    }
  }

  // As in the original: letting everything go closes the file.
  @Test(.timeLimit(.minutes(1))) func lettingGoIsPosted() async throws {
    let folder = try TestFolder()
    let (path, done) = (folder.path, Gate())
    let token = NotificationCenter.default.addObserver(forName: .YapDatabaseClosed, object: nil, queue: nil) { note in
      if (note.userInfo?[YapDatabaseUrlKey] as? URL)?.path == path { done.open() }
    }
    func use() throws {
      let database = try YapDatabase(path: path)
      YapFixture.register(database)
      try database.newConnection().readWrite { $0.setObject("v", forKey: "k", inCollection: nil) }
    }
    try use()
    await done.wait()
    let again = try YapDatabase(path: path)
    YapFixture.register(again)
    #expect(try again.newConnection().read { $0.numberOfKeysInAllCollections() } == 1)
    NotificationCenter.default.removeObserver(token)
  }

  @Test(.timeLimit(.minutes(1))) func closingIsPosted() async throws {
    let fixture = try YapFixture()
    let path = fixture.database.databasePath
    let done = Gate()
    let token = NotificationCenter.default.addObserver(forName: .YapDatabaseClosed, object: nil, queue: nil) { note in
      if (note.userInfo?[YapDatabaseUrlKey] as? URL)?.path == path { done.open() }
    }
    try fixture.connection.beginLongLivedReadTransaction()
    #expect(errorCode { try fixture.database.close() } == .inUse)
    fixture.connection.endLongLivedReadTransaction()
    try fixture.database.close()
    await done.wait()
    #expect(errorCode { try fixture.connection.read { _ in } } == .closed)
    #expect(errorCode { try fixture.connection.beginLongLivedReadTransaction() } == .closed)
    NotificationCenter.default.removeObserver(token)
  }
}
