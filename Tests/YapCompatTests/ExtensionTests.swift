// Views, relationships, hooks and extensions of the new API, registered in the original's way.

import Foundation
import Quire
import QuireTesting
import Testing
import YapCompat

private struct Album: Codable, Sendable, Equatable { var title: String }

private struct Track: Codable, Sendable, YapDatabaseRelationshipNode {
  var album: String
  var losses = 0

  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    [
      YapDatabaseRelationshipEdge(
        name: "album", destinationKey: album, collection: "albums",
        nodeDeleteRules: [.deleteDestinationIfAllSourcesDeleted, .notifyIfDestinationDeleted])
    ]
  }

  func yapDatabaseRelationshipEdgeDeleted(
    _ edge: YapDatabaseRelationshipEdge, with reason: YDB_NotifyReason
  ) -> Any? {
    Track(album: album, losses: losses + (reason == .destinationNodeDeleted ? 1 : 0))
  }
}

@Suite struct ExtensionTests {
  let fixture: YapFixture
  let database: YapDatabase
  let connection: YapDatabaseConnection

  init() throws {
    fixture = try YapFixture()
    (database, connection) = (fixture.database, fixture.connection)
    database.registerCodableSerialization(Album.self, forCollection: "albums")
    database.registerCodableSerialization(Track.self, forCollection: "tracks")
  }

  /// Songs by album and everything else by its collection, sorted by key.
  private func makeView() -> YapDatabaseAutoView {
    YapDatabaseAutoView(
      grouping: .withObjectBlock { transaction, collection, key, object in
        #expect(transaction.hasObject(forKey: key, inCollection: collection))
        if key == "hidden" { return nil }
        return (object as? Song)?.albumID ?? collection
      },
      sorting: .withKeyBlock { _, _, _, key1, _, key2 in key1.compare(key2, options: .literal) }, versionTag: "1")
  }

  private func store() throws {
    try connection.readWrite { transaction in
      for (key, album) in [("s3", "a1"), ("s1", "a1"), ("s2", "a2"), ("hidden", "a1")] {
        transaction.setObject(
          Song(title: key, albumID: album), forKey: key, inCollection: "songs", withMetadata: PlayState(plays: 1))
      }
      transaction.setObject("text", forKey: "t1", inCollection: "texts")
    }
  }

  // MARK: Registering

  @Test func extensionsAreRegisteredOnce() async throws {
    let view = makeView()
    #expect(database.register(view, withName: "view") && view.registeredName == "view")
    #expect(database.registeredExtension("view") === view && database.registeredExtensions().count == 1)
    #expect(!database.register(view, withName: "again") && !database.register(makeView(), withName: "view"))
    #expect(!database.register(makeView(), withName: ""))
    #expect(fixture.errors.values == ["extensionExists", "extensionExists", "invalidOption"])
    #expect(database.registeredExtension("view") === view)
    let orphan = YapDatabaseFilteredView(parentViewName: "nobody", filtering: .withKeyBlock { _, _, _, _ in true })
    #expect(!database.register(orphan, withName: "orphan") && fixture.errors.values.last == "missingDependency")
    try connection.read { transaction in
      #expect(transaction.ext("nobody") == nil)
      #expect(!database.register(makeView(), withName: "inside"))
    }
    #expect(fixture.errors.values.last == "nestedTransaction")

    let (ready, done) = (Recorder(), Gate())
    database.asyncRegister(
      YapDatabaseFilteredView(parentViewName: "view", filtering: .withKeyBlock { _, _, _, key in key != "s1" }),
      withName: "filtered", completionQueue: .global()
    ) { isReady in ready.append("\(isReady)") }
    database.flushExtensionRequests(withCompletionQueue: .global()) { done.open() }
    await done.wait()
    #expect(database.registeredExtensions().count == 2)
    // Unregistering a parent takes its children along.
    database.asyncUnregisterExtension(withName: "view", completionQueue: .global()) { done.open() }
    await done.wait()
    #expect(database.registeredExtensions().isEmpty && view.registeredName == nil)
    database.unregisterExtension(withName: "view")
    #expect(fixture.errors.values.last == "extensionNotRegistered")
  }

  @Test func formerExtensionsAreListed() throws {
    try store()
    #expect(database.register(makeView(), withName: "view"))
    try database.close()
    let again = try YapDatabase(url: database.databaseURL)
    YapFixture.register(again)
    #expect(again.previouslyRegisteredExtensionNames() == ["view"])
    let view = makeView()
    #expect(again.register(view, withName: "view") && again.previouslyRegisteredExtensionNames().isEmpty)
    let groups = try again.newConnection().read { ($0.ext("view") as? YapDatabaseViewTransaction)?.allGroups() }
    #expect(groups == ["a1", "a2", "texts"])
  }

  // MARK: Views

  @Test func aViewShowsRowsOfSeveralTypes() throws {
    try store()
    #expect(database.register(makeView(), withName: "view"))
    try connection.read { transaction in
      let view = try #require(transaction.ext("view") as? YapDatabaseAutoViewTransaction)
      #expect(transaction.extension("view") === view && view.transaction === transaction)
      #expect(view.allGroups() == ["a1", "a2", "texts"] && view.numberOfGroups() == 3 && view.hasGroup("a2"))
      #expect(view.numberOfItems(inGroup: "a1") == 2 && view.numberOfItemsInAllGroups() == 4 && !view.isEmpty())
      #expect(view.isEmptyGroup("nobody") && view.versionTag() == "1")
      #expect(view.key(at: 1, inGroup: "a1") == "s3" && view.collection(at: 0, inGroup: "texts") == "texts")
      #expect(view.key(at: 2, inGroup: "a1") == nil && view.lastObject(inGroup: "nobody") == nil)
      #expect((view.object(at: 0, inGroup: "a1") as? Song)?.title == "s1")
      #expect(view.firstObject(inGroup: "texts") as? String == "text")
      #expect((view.lastObject(inGroup: "a1") as? Song)?.title == "s3")
      #expect(view.metadata(at: 0, inGroup: "a1") as? PlayState == PlayState(plays: 1))
      #expect(view.group(forKey: "s2", inCollection: "songs") == "a2")
      #expect(view.group(forKey: "hidden", inCollection: "songs") == nil)
      let place = try #require(view.getGroupIndex(forKey: "s3", inCollection: "songs"))
      #expect(place == ("a1", 1))
      let first = try #require(view.getCollectionKey(atIndex: 0, inGroup: "a1"))
      #expect(first == ("songs", "s1"))
      var seen: [String] = []
      view.iterateGroups { group, stop in
        seen.append(group)
        stop = group == "a2"
      }
      view.iterateKeys(inGroup: "a1", reversed: true) { _, key, index, _ in seen.append("\(key)\(index)") }
      view.iterateKeysAndObjects(inGroup: "a1", range: 1..<9) { _, _, object, _, _ in
        seen.append((object as? Song)?.title ?? "nil")
      }
      view.iterateKeysAndMetadata(inGroup: "texts") { _, key, metadata, _, _ in seen.append("\(key)\(metadata == nil)")
      }
      view.iterateRows(inGroup: "a1") { _, key, object, metadata, _, stop in
        seen.append("\(key) \(object is Song) \((metadata as? PlayState)?.plays ?? 0)")
        stop = true
      }
      #expect(seen == ["a1", "a2", "s31", "s10", "s3", "t1true", "s1 true 1"])
      #expect(view.findRange(inGroup: "a1") { _, key, _ in key < "s2" ? .orderedAscending : .orderedSame } == 1..<2)
      #expect(view.findFirstMatch(inGroup: "a1") { _, _, _ in .orderedDescending } == nil)
    }
  }

  @Test func viewsFollowTransactions() throws {
    #expect(database.register(makeView(), withName: "view"))
    let filtered = YapDatabaseFilteredView(
      parentViewName: "view", filtering: .withMetadataBlock { _, _, _, _, metadata in metadata is PlayState })
    #expect(database.register(filtered, withName: "filtered"))
    let filteredTwice = YapDatabaseFilteredView(
      parentViewName: "filtered",
      filtering: .withRowBlock { _, group, _, _, object, _ in group == "a1" && (object as? Song)?.title != "s1" })
    #expect(database.register(filteredTwice, withName: "twice"))
    let screen = database.newConnection()
    try screen.beginLongLivedReadTransaction()
    try store()
    try connection.readWrite { transaction in
      let view = try #require(transaction.ext("view") as? YapDatabaseAutoViewTransaction)
      transaction.setObject(Song(title: "s0"), forKey: "s0", inCollection: "songs")
      #expect(view.key(at: 0, inGroup: "a1") == "s0")
      transaction.removeObject(forKey: "t1", inCollection: "texts")
      #expect(!view.hasGroup("texts"))
    }
    try connection.read { transaction in
      let parent = transaction.ext("view") as? YapDatabaseViewTransaction
      let child = transaction.ext("filtered") as? YapDatabaseFilteredViewTransaction
      let grandchild = transaction.ext("twice") as? YapDatabaseFilteredViewTransaction
      #expect(parent?.numberOfItemsInAllGroups() == 4 && child?.numberOfItemsInAllGroups() == 3)
      #expect(grandchild?.numberOfItemsInAllGroups() == 1 && grandchild?.key(at: 0, inGroup: "a1") == "s3")
    }
    // A snapshot from before has what it had.
    try screen.read { transaction in
      #expect((transaction.ext("view") as? YapDatabaseViewTransaction)?.isEmpty() == true)
    }
    let changes = try #require(screen.ext("view") as? YapDatabaseViewConnection)
    let notifications = try screen.beginLongLivedReadTransaction()
    #expect(changes.hasChanges(for: notifications) && changes.hasChanges(forGroup: "a2", in: notifications))
    #expect(!changes.hasChanges(forAnyGroups: ["a3"], in: notifications))
    #expect(changes.numberOfRawChanges(for: notifications) > 4)
    #expect((notifications.first?.userInfo?[YapDatabaseExtensionsKey] as? [String: Any])?["view"] is ViewChanges)

    try connection.readWrite { transaction in
      let view = try #require(transaction.ext("view") as? YapDatabaseAutoViewTransaction)
      view.setGrouping(
        .withKeyBlock { _, _, _ in "all" }, sorting: .withMetadataBlock { _, _, _, _, _, _, _, _ in .orderedSame },
        versionTag: "2")
      #expect(view.allGroups() == ["all"])
      view.setSorting(
        .withObjectBlock { _, _, _, _, first, _, _, second in
          ((second as? Song)?.title ?? "").compare((first as? Song)?.title ?? "", options: .literal)
        }, versionTag: "3")
      #expect(view.key(at: 0, inGroup: "all") == "s3")
      let child = try #require(transaction.ext("filtered") as? YapDatabaseFilteredViewTransaction)
      child.setFiltering(.withObjectBlock { _, _, _, key, _ in key == "s1" }, versionTag: "2")
      #expect(child.numberOfItemsInAllGroups() == 1)
      #expect(view.versionTag() == "3" && child.versionTag() == "2" && filtered.versionTag == nil)
    }
    #expect(filtered.versionTag == "2" && (database.registeredExtension("view") as? YapDatabaseView)?.versionTag == "3")
    let error = databaseError {
      try connection.read { transaction in
        (transaction.ext("view") as? YapDatabaseAutoViewTransaction)?.setSorting(
          .withKeyBlock { _, _, _, _, _, _ in .orderedSame }, versionTag: "9")
      }
    }
    #expect(error?.code == .readOnly)
  }

  @Test func aBlockThatFailsFailsTheTransaction() throws {
    let view = YapDatabaseAutoView(
      grouping: .withObjectBlock { transaction, _, key, _ in
        if key == "bad" { _ = transaction.object(forKey: "s1", inCollection: "unregistered but asked") as? Song }
        return "all"
      }, sorting: .withKeyBlock { _, _, _, _, _, _ in .orderedSame })
    #expect(database.register(view, withName: "view"))
    try connection.readWrite { $0.setObject(Song(title: "x"), forKey: "good", inCollection: "songs") }
    database.registerSerializer(YapDatabase.propertyListSerializer(), forCollection: "unregistered but asked")
    try connection.readWrite { $0.setObject("x", forKey: "s1", inCollection: "unregistered but asked") }
    let error = databaseError {
      try connection.readWrite { $0.setObject(Song(title: "x"), forKey: "bad", inCollection: "songs") }
    }
    #expect(error?.code == .extensionFailed)
    #expect(try connection.read { $0.numberOfKeys(inCollection: "songs") } == 1)
  }

  @Test func aViewOfAllCollectionsFollowsThoseThatComeLater() throws {
    #expect(database.register(makeView(), withName: "view"))
    try connection.readWrite { $0.setObject("text", forKey: "t1", inCollection: "later") }
    func groups(_ database: YapDatabase) throws -> [String]? {
      try database.newConnection().read { ($0.ext("view") as? YapDatabaseViewTransaction)?.allGroups() }
    }
    #expect(try groups(database) == ["later"])
    try database.close()
    let again = try YapDatabase(url: database.databaseURL)
    YapFixture.register(again)
    #expect(again.register(makeView(), withName: "view"))
    #expect(try groups(again) == ["later"])
    // A whitelist may name collections that are to come.
    let options = YapDatabaseViewOptions()
    options.allowedCollections = YapWhitelistBlacklist(whitelist: ["coming"])
    let coming = YapDatabaseAutoView(
      grouping: .withKeyBlock { _, collection, _ in collection },
      sorting: .withRowBlock { _, _, _, _, _, _, _, _, _, _ in .orderedSame }, options: options)
    #expect(again.register(coming, withName: "coming"))
    try again.newConnection().readWrite { transaction in
      transaction.setObject("text", forKey: "t1", inCollection: "coming")
      #expect((transaction.ext("coming") as? YapDatabaseViewTransaction)?.allGroups() == ["coming"])
    }
  }

  @Test func listsAreOrderedByTheApp() throws {
    try store()
    let options = YapDatabaseViewOptions()
    options.allowedCollections = YapWhitelistBlacklist(whitelist: ["songs"])
    #expect(database.register(YapDatabaseManualView(options: options), withName: "favourites"))
    try connection.readWrite { transaction in
      let list = try #require(transaction.ext("favourites") as? YapDatabaseManualViewTransaction)
      #expect(list.addKey("s1", inCollection: "songs", toGroup: "g"))
      #expect(list.insertKey("s2", inCollection: "songs", atIndex: 0, inGroup: "g"))
      #expect(!list.addKey("s1", inCollection: "songs", toGroup: "other"))
      #expect(!list.addKey("missing", inCollection: "songs", toGroup: "g"))
      #expect(!list.addKey("t1", inCollection: "texts", toGroup: "g"))
      #expect(!list.insertKey("s3", inCollection: "songs", atIndex: 7, inGroup: "g"))
      #expect(list.key(at: 0, inGroup: "g") == "s2")
      #expect(!list.removeKey("s2", inCollection: "songs", fromGroup: "other"))
      #expect(list.removeKey("s2", inCollection: "songs", fromGroup: "g"))
      #expect(!list.removeItem(atIndex: 5, inGroup: "g") && list.removeItem(atIndex: 0, inGroup: "g"))
      #expect(list.addKey("s3", inCollection: "songs", toGroup: "g") && list.removeAllItems(inGroup: "g"))
      #expect(!list.removeAllItems(inGroup: "g") && list.isEmpty())
      #expect(list.addKey("s3", inCollection: "songs", toGroup: "g"))
    }
    try connection.read { transaction in
      let list = try #require(transaction.ext("favourites") as? YapDatabaseManualViewTransaction)
      #expect(!list.addKey("s1", inCollection: "songs", toGroup: "g") && list.numberOfItems(inGroup: "g") == 1)
    }
  }

  // MARK: Relationships

  @Test func edgesFollowObjectsAndRules() throws {
    #expect(database.register(YapDatabaseRelationship(versionTag: "1"), withName: "graph"))
    try connection.readWrite { transaction in
      transaction.setObject(Album(title: "one"), forKey: "a1", inCollection: "albums")
      for key in ["t1", "t2"] { transaction.setObject(Track(album: "a1"), forKey: key, inCollection: "tracks") }
      let graph = try #require(transaction.ext("graph") as? YapDatabaseRelationshipTransaction)
      graph.add(
        YapDatabaseRelationshipEdge(
          name: "cover", sourceKey: "a1", collection: "albums", destinationKey: "t1", collection: "tracks",
          nodeDeleteRules: .notifyIfSourceDeleted))
    }
    try connection.read { transaction in
      let graph = try #require(transaction.ext("graph") as? YapDatabaseRelationshipTransaction)
      #expect(graph.edgeCount(withName: "album") == 2 && graph.edgeCount(withName: nil) == 3)
      #expect(graph.edgeCount(withName: "album", sourceKey: "t1", collection: "tracks") == 1)
      #expect(graph.edgeCount(withName: "album", destinationKey: "a1", collection: "albums") == 2)
      #expect(
        graph.edgeCount(
          withName: nil, sourceKey: "a1", collection: "albums", destinationKey: "t1", collection: "tracks") == 1)
      var edges: [YapDatabaseRelationshipEdge] = []
      graph.iterateEdges(name: "album") { edge, _ in edges.append(edge) }
      graph.iterateEdges(name: nil, sourceKey: "a1", collection: "albums") { edge, _ in edges.append(edge) }
      graph.iterateEdges(name: nil, destinationKey: "a1", collection: "albums") { edge, stop in
        edges.append(edge)
        stop = true
      }
      #expect(edges.map(\.name) == ["album", "album", "cover", "album"] && edges.map(\.isManualEdge)[2])
      let edge = try #require(edges.first)
      #expect(edge.sourceKey == "t1" && edge.sourceCollection == "tracks" && edge.destinationFileURL == nil)
      #expect(edge.destinationKey == "a1" && edge.nodeDeleteRules.contains(.deleteDestinationIfAllSourcesDeleted))
      #expect(graph.sourceNode(for: edge) is Track && graph.destinationNode(for: edge) is Album)
    }
    try connection.readWrite { $0.removeObject(forKey: "t2", inCollection: "tracks") }
    #expect(try connection.read { $0.hasObject(forKey: "a1", inCollection: "albums") })
    // Structures are told, too; the original asked classes only.
    try connection.readWrite { transaction in
      transaction.removeObject(forKey: "a1", inCollection: "albums")
      (transaction.ext("graph") as? YapDatabaseRelationshipTransaction)?.flush()
      #expect((transaction.object(forKey: "t1", inCollection: "tracks") as? Track)?.losses == 1)
    }
    try connection.readWrite { transaction in
      transaction.setObject(Album(title: "two"), forKey: "a2", inCollection: "albums")
      transaction.setObject(Track(album: "a2"), forKey: "t1", inCollection: "tracks")
    }
    try connection.readWrite { $0.removeObject(forKey: "t1", inCollection: "tracks") }
    #expect(try connection.read { !$0.hasObject(forKey: "a2", inCollection: "albums") })
  }

  @Test func edgesByHandGoByHand() throws {
    let options = YapDatabaseRelationshipOptions()
    options.disableYapDatabaseRelationshipNodeProtocol = true
    #expect(database.register(YapDatabaseRelationship(options: options), withName: "graph"))
    let file = try fixture.folder.makeFile("cover.png")
    let edge = YapDatabaseRelationshipEdge(
      name: "file", sourceKey: "t1", collection: "tracks", destinationFileURL: file,
      nodeDeleteRules: .deleteDestinationIfSourceDeleted)
    try connection.readWrite { transaction in
      transaction.setObject(Track(album: "none"), forKey: "t1", inCollection: "tracks")
      let graph = try #require(transaction.ext("graph") as? YapDatabaseRelationshipTransaction)
      graph.add(edge)
      #expect(graph.edgeCount(withName: "file", destinationFileURL: file) == 1)
      var found: [URL?] = []
      graph.iterateEdges(name: "file", destinationFileURL: file) { edge, _ in found.append(edge.destinationFileURL) }
      #expect(found.map { $0?.path } == [file.path])
      graph.remove(edge, withProcessing: .edgeDeleted)
      #expect(graph.edgeCount(withName: nil) == 0)
      graph.add(edge)
    }
    #expect(fixture.folder.hasFile("cover.png"))
    try connection.readWrite { $0.removeObject(forKey: "t1", inCollection: "tracks") }
    #expect(!fixture.folder.hasFile("cover.png"))
    let wrong = YapDatabaseRelationshipEdge(
      name: "x", sourceKey: "t1", collection: "tracks", destinationKey: "t2", collection: "tracks",
      nodeDeleteRules: [.deleteSourceIfDestinationDeleted, .deleteSourceIfAllDestinationsDeleted])
    let error = databaseError {
      try connection.readWrite { ($0.ext("graph") as? YapDatabaseRelationshipTransaction)?.add(wrong) }
    }
    #expect(error != nil)
    #expect(
      errorCode {
        try connection.read { ($0.ext("graph") as? YapDatabaseRelationshipTransaction)?.add(edge) }
      } == .readOnly)
  }

  // MARK: Hooks

  // TestYapDatabaseHooks
  @Test func hooksAreCalledBeforeAndAfter() throws {
    let (hooks, told) = (YapDatabaseHooks(), Recorder())
    hooks.allowedCollections = YapWhitelistBlacklist(whitelist: ["+", "-"])
    hooks.willModifyRow = { _, _, key, _, _, flags in told.append("willModify \(key) \(flags.rawValue)") }
    hooks.didModifyRow = { transaction, collection, key, object, metadata, flags in
      let stored = transaction.object(forKey: key, inCollection: collection) as? String
      told.append(
        "didModify \(key) \(flags.rawValue) \(object.realObject as? String == stored) \(metadata.realObject != nil)")
    }
    hooks.willRemoveRow = { transaction, collection, key in
      told.append("willRemove \(key) \(transaction.hasObject(forKey: key, inCollection: collection))")
    }
    hooks.didRemoveRow = { transaction, collection, key in
      told.append("didRemove \(key) \(transaction.hasObject(forKey: key, inCollection: collection))")
    }
    hooks.willRemoveAllRows = { _ in told.append("willRemoveAll") }
    hooks.didRemoveAllRows = { _ in told.append("didRemoveAll") }
    #expect(database.register(hooks, withName: "hooks"))
    try connection.readWrite { transaction in
      for key in 0..<4 { transaction.setObject("object", forKey: "\(key)", inCollection: "+") }
      transaction.setObject("object", forKey: "4", inCollection: "-")
      transaction.setObject("object", forKey: "5", inCollection: "x")
      for key in 0..<3 { transaction.setObject("other", forKey: "\(key)", inCollection: "+") }
      transaction.replace("third", forKey: "3", inCollection: "+")
      transaction.replaceMetadata("metadata", forKey: "4", inCollection: "-")
      transaction.replaceMetadata("metadata", forKey: "5", inCollection: "x")
      transaction.touchObject(forKey: "4", inCollection: "-")
      transaction.touchMetadata(forKey: "4", inCollection: "-")
      transaction.touchRow(forKey: "4", inCollection: "-")
      transaction.removeObject(forKey: "0", inCollection: nil)
      transaction.removeObject(forKey: "5", inCollection: "x")
      transaction.removeObjects(forKeys: ["1", "2"], inCollection: nil)
      transaction.removeAllObjects(inCollection: "+")
      transaction.removeAllObjectsInAllCollections()
    }
    func count(_ prefix: String) -> Int { told.values.filter { $0.hasPrefix(prefix) }.count }
    #expect(count("willModify") == 13 && count("didModify") == 13)
    #expect(count("willRemove ") == 4 && count("didRemove ") == 4)
    #expect(count("willRemoveAll") == 1 && count("didRemoveAll") == 1)
    #expect(told.values.contains("didModify 0 13 true false") && told.values.contains("didModify 0 14 true false"))
    #expect(told.values.contains("didModify 3 6 true false") && told.values.contains("didModify 4 10 true true"))
    for flags in [16, 32, 48] { #expect(told.values.contains("didModify 4 \(flags) true true")) }
    #expect(told.values.contains("willRemove 3 true") && told.values.contains("didRemove 3 false"))
  }

  @Test func aHookMayRollBackAndFail() throws {
    let hooks = YapDatabaseHooks()
    hooks.didModifyRow = { transaction, collection, key, _, _, _ in
      if key == "fails" { transaction.setObject(7, forKey: "k", inCollection: "texts") }
      if key == "adds", collection == "songs" { transaction.setObject("too", forKey: "added", inCollection: "texts") }
    }
    #expect(database.register(hooks, withName: "hooks"))
    let song = Song(title: "x")
    let code = errorCode { try connection.readWrite { $0.setObject(song, forKey: "fails", inCollection: "songs") } }
    #expect(code == .extensionFailed)
    try connection.readWrite { $0.setObject(song, forKey: "adds", inCollection: "songs") }
    #expect(try connection.read { $0.allCollections() } == ["songs", "texts"])
  }

  // MARK: Values

  @Test func unregisteringRemovesValues() throws {
    let child = YapDatabaseFilteredView(
      parentViewName: "view", filtering: .withKeyBlock { _, _, _, _ in true })
    func register() {
      #expect(database.register(makeView(), withName: "view"))
      #expect(database.register(child, withName: "child"))
      #expect(database.register(YapDatabaseHooks(), withName: "hooks"))
      // Its name begins with that of another one.
      #expect(database.register(makeView(), withName: "view2"))
    }
    func values() throws -> [String] {
      try connection.read { transaction in
        ["view", "child", "hooks", "view2"].flatMap { name in
          [true, false].compactMap { isPersistent in
            transaction.ext(name)?.stringValue(forExtensionKey: "key", persistent: isPersistent).map { "\(name) \($0)" }
          }
        }
      }
    }
    register()
    try connection.readWrite { transaction in
      for name in ["view", "child", "hooks", "view2"] {
        for (text, isPersistent) in [("stored", true), ("kept", false)] {
          transaction.ext(name)?.setStringValue(text, forExtensionKey: "key", persistent: isPersistent)
        }
      }
    }
    #expect(try values().count == 8)
    // The child goes with its parent.
    for name in ["view", "hooks"] { database.unregisterExtension(withName: name) }
    #expect(try values() == ["view2 stored", "view2 kept"])
    database.unregisterExtension(withName: "view2")
    register()
    #expect(try values().isEmpty)
    #expect(fixture.errors.values.isEmpty)
  }

  @Test func unregisteringRemovesValuesOfEarlierOpenings() throws {
    #expect(database.register(makeView(), withName: "view"))
    #expect(database.register(YapDatabaseHooks(), withName: "hooks"))
    try connection.readWrite { transaction in
      for name in ["view", "hooks"] {
        transaction.ext(name)?.setStringValue("stored", forExtensionKey: "key", persistent: true)
      }
    }
    let path = database.databaseURL.path
    try database.close()
    let errors = Recorder()
    let later = try YapDatabase(path: path) { errors.append(($0 as? DatabaseError)?.code.description ?? "") }
    YapFixture.register(later)
    for name in ["view", "hooks"] { later.unregisterExtension(withName: name) }
    // Hooks store nothing but their values: as an extension they were known to the earlier opening alone.
    #expect(errors.values == ["extensionNotRegistered"])
    #expect(later.register(makeView(), withName: "view"))
    #expect(later.register(YapDatabaseHooks(), withName: "hooks"))
    try later.newConnection().read { transaction in
      for name in ["view", "hooks"] {
        let known = try #require(transaction.ext(name))
        #expect(known.stringValue(forExtensionKey: "key", persistent: true) == nil)
      }
    }
  }

  @Test func extensionsKeepValues() throws {
    #expect(database.register(makeView(), withName: "view"))
    #expect(database.register(YapDatabaseHooks(), withName: "hooks"))
    try connection.readWrite { transaction in
      let (view, hooks) = (try #require(transaction.ext("view")), try #require(transaction.ext("hooks")))
      view.setBoolValue(true, forExtensionKey: "b", persistent: true)
      view.setIntValue(-7, forExtensionKey: "i", persistent: true)
      view.setDoubleValue(1.5, forExtensionKey: "d", persistent: true)
      view.setStringValue("text", forExtensionKey: "s", persistent: true)
      view.setDataValue(Data([1, 2]), forExtensionKey: "data", persistent: true)
      view.setStringValue("memory", forExtensionKey: "s", persistent: false)
      hooks.setStringValue("other", forExtensionKey: "s", persistent: true)
      view.setIntValue(1, forExtensionKey: "removed", persistent: true)
      view.removeValue(forExtensionKey: "removed", persistent: true)
    }
    func check(_ database: YapDatabase, memory: String?) throws {
      try database.newConnection().read { transaction in
        let (view, hooks) = (try #require(transaction.ext("view")), try #require(transaction.ext("hooks")))
        #expect(view.boolValue(forExtensionKey: "b", persistent: true))
        #expect(view.intValue(forExtensionKey: "i", persistent: true) == -7)
        #expect(view.doubleValue(forExtensionKey: "d", persistent: true) == 1.5)
        #expect(view.stringValue(forExtensionKey: "s", persistent: true) == "text")
        #expect(view.dataValue(forExtensionKey: "data", persistent: true) == Data([1, 2]))
        #expect(view.stringValue(forExtensionKey: "s", persistent: false) == memory)
        #expect(hooks.stringValue(forExtensionKey: "s", persistent: true) == "other")
        var (bool, int, double) = (true, 1, 1.0)
        #expect(!view.getIntValue(&int, forExtensionKey: "removed", persistent: true) && int == 0)
        #expect(view.getBoolValue(&bool, forExtensionKey: "b", persistent: true) && bool)
        #expect(!view.getDoubleValue(&double, forExtensionKey: "nothing", persistent: true) && double == 0)
      }
    }
    try check(database, memory: "memory")
    // What was rolled back was not set.
    try connection.readWrite { transaction in
      transaction.ext("view")?.setIntValue(8, forExtensionKey: "i", persistent: true)
      transaction.rollback()
    }
    try check(database, memory: "memory")
    #expect(
      errorCode {
        try connection.read { $0.ext("view")?.setIntValue(8, forExtensionKey: "i", persistent: true) }
      } == .readOnly)
    // They stay when rows change without anybody knowing of them.
    try database.close()
    let plain = try Database(at: database.databasePath)
    try plain.write { tx throws in try tx[.texts("texts")].set("v", for: "k") }
    try plain.close()
    let again = try YapDatabase(url: database.databaseURL)
    YapFixture.register(again)
    #expect(again.register(makeView(), withName: "view") && again.register(YapDatabaseHooks(), withName: "hooks"))
    try check(again, memory: nil)
  }

  // MARK: Extensions of the new API

  @Test func extensionsOfTheNewAPIAreReached() throws {
    let byAlbum = AutoView("byAlbum", over: .songs, version: "1", group: { $0.albumID }, sortKey: { $0.title })
    #expect(!database.register(YapDatabaseCustomExtension(byAlbum), withName: "another"))
    #expect(fixture.errors.values == ["invalidOption"])
    #expect(database.register(YapDatabaseCustomExtension(byAlbum), withName: "byAlbum"))
    try connection.readWrite { transaction in
      transaction.setObject(Song(title: "x"), forKey: "s1", inCollection: "songs")
      let view =
        transaction.ext("byAlbum")
        as? YapDatabaseCustomExtensionTransaction<AutoView<Song, PlayState>>
      #expect(view?.writer?.reader.count == 1 && view?.reader == nil)
    }
    try connection.read { transaction in
      let view =
        transaction.ext("byAlbum")
        as? YapDatabaseCustomExtensionTransaction<AutoView<Song, PlayState>>
      #expect(view?.reader?.groups == ["a1"])
    }
  }
}
