// The examples of the original's page on relationships, as Swift spells them.

import Foundation
import QuireTesting
import Testing
import YapCompat

// What the page tells of.
private struct Player: Codable, Sendable, YapDatabaseRelationshipNode {
  var playerId: String
  var avatarKey: String?

  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    guard let avatarKey else { return nil }
    return [
      YapDatabaseRelationshipEdge(
        name: "avatar", destinationKey: avatarKey, collection: "avatars",
        nodeDeleteRules: [.deleteDestinationIfSourceDeleted, .notifyIfDestinationDeleted])
    ]
  }

  func yapDatabaseRelationshipEdgeDeleted(
    _ edge: YapDatabaseRelationshipEdge, with reason: YDB_NotifyReason
  ) -> Any? {
    guard reason == .destinationNodeDeleted, edge.name == "avatar" else { return nil }
    var copy = self
    copy.avatarKey = nil
    return copy
  }
}

private struct Track: Codable, Sendable, YapDatabaseRelationshipNode {
  var albumId: String
  var artistId: String

  func yapDatabaseRelationshipEdges() -> [YapDatabaseRelationshipEdge]? {
    let albumEdge = YapDatabaseRelationshipEdge(
      name: "album", destinationKey: albumId, collection: "albums",
      nodeDeleteRules: [.deleteDestinationIfAllSourcesDeleted, .deleteSourceIfDestinationDeleted])
    let artistEdge = YapDatabaseRelationshipEdge(
      name: "artist", destinationKey: artistId, collection: "artists",
      nodeDeleteRules: [.deleteDestinationIfAllSourcesDeleted, .deleteSourceIfDestinationDeleted])
    return [albumEdge, artistEdge]
  }
}

extension YapDatabaseReadTransaction {
  fileprivate var graph: YapDatabaseRelationshipTransaction? {
    ext("relationships") as? YapDatabaseRelationshipTransaction
  }
}

@Suite struct RelationshipPageTests {
  private let fixture: YapFixture
  private var connection: YapDatabaseConnection { fixture.connection }

  init() throws {
    fixture = try YapFixture()
    fixture.database.registerCodableSerialization(Player.self, forCollection: "players")
    fixture.database.registerCodableSerialization(Track.self, forCollection: "songs")
    #expect(fixture.database.register(YapDatabaseRelationship(versionTag: "1"), withName: "relationships"))
  }

  /// Stores texts under a key in each of the collections, with edges between them.
  private func fill(_ rows: [(String, String)], _ edges: [YapDatabaseRelationshipEdge]) throws {
    try connection.readWrite { transaction in
      for (collection, key) in rows { transaction.setObject(key, forKey: key, inCollection: collection) }
      for edge in edges { transaction.graph?.add(edge) }
    }
  }

  private func remove(_ key: String, _ collection: String) throws {
    try connection.readWrite { $0.removeObject(forKey: key, inCollection: collection) }
  }

  private func has(_ key: String, _ collection: String) throws -> Bool {
    try connection.read { $0.hasObject(forKey: key, inCollection: collection) }
  }

  private func edge(
    _ name: String, _ source: (String, String), _ destination: (String, String), _ rules: YDB_NodeDeleteRules
  ) -> YapDatabaseRelationshipEdge {
    YapDatabaseRelationshipEdge(
      name: name, sourceKey: source.1, collection: source.0, destinationKey: destination.1, collection: destination.0,
      nodeDeleteRules: rules)
  }

  // MARK: Examples 1 to 4

  @Test("One to one, in either direction", arguments: [false, true]) func oneToOne(_ isInverse: Bool) throws {
    let (player, avatar) = (("owners", "p"), ("avatars", "a"))
    let owns =
      isInverse
      ? edge("player", avatar, player, .deleteSourceIfDestinationDeleted)
      : edge("avatar", player, avatar, .deleteDestinationIfSourceDeleted)
    try fill([player, avatar], [owns])
    // The rule is of one end only.
    try remove("a", "avatars")
    #expect(try has("p", "owners"))
    try fill([avatar], [owns])
    try remove("p", "owners")
    #expect(try !has("a", "avatars"))
  }

  @Test("One to many, in either direction", arguments: [false, true]) func oneToMany(_ isInverse: Bool) throws {
    let contact = ("contacts", "c")
    let numbers = (1...3).map { ("phoneNumbers", "n\($0)") }
    let edges = numbers.map { number in
      isInverse
        ? edge("contact", number, contact, .deleteSourceIfDestinationDeleted)
        : edge("number", contact, number, .deleteDestinationIfSourceDeleted)
    }
    try fill([contact] + numbers, edges)
    try remove("n2", "phoneNumbers")
    #expect(try has("c", "contacts") && has("n1", "phoneNumbers"))
    try remove("c", "contacts")
    #expect(try connection.read { $0.numberOfKeys(inCollection: "phoneNumbers") } == 0)
  }

  @Test("Rules are combined, and who is notified changes itself") func notification() throws {
    try connection.readWrite { transaction in
      transaction.setObject(Player(playerId: "p", avatarKey: "a"), forKey: "p", inCollection: "players")
      transaction.setObject("picture", forKey: "a", inCollection: "avatars")
    }
    try remove("a", "avatars")
    let player = try connection.read { $0.object(forKey: "p", inCollection: "players") as? Player }
    #expect(player?.playerId == "p" && player?.avatarKey == nil)
  }

  @Test("Reference counting") func referenceCounting() throws {
    let info = ("infos", "neighborhoodInfo")
    let properties = (1...3).map { ("properties", "property\($0)") }
    try fill(
      [info] + properties, properties.map { edge("neighborhood", $0, info, .deleteDestinationIfAllSourcesDeleted) })
    for number in 1...3 {
      #expect(try has("neighborhoodInfo", "infos"))
      #expect(try connection.read { $0.graph?.edgeCount(withName: "neighborhood") } == UInt(4 - number))
      try remove("property\(number)", "properties")
    }
    #expect(try !has("neighborhoodInfo", "infos"))
  }

  // MARK: Edges

  @Test("An edge by hand is added with its rows, and tells its parts") func manualEdge() throws {
    let newPlayer = Player(playerId: "p7")
    try connection.readWrite { transaction in
      transaction.setObject(newPlayer, forKey: newPlayer.playerId, inCollection: "players")
      transaction.setObject("newPlayerAvatar", forKey: newPlayer.playerId, inCollection: "avatars")

      let edge = YapDatabaseRelationshipEdge(
        name: "avatar", sourceKey: newPlayer.playerId, collection: "players", destinationKey: newPlayer.playerId,
        collection: "avatars", nodeDeleteRules: .deleteDestinationIfSourceDeleted)

      (transaction.ext("relationships") as? YapDatabaseRelationshipTransaction)?.add(edge)
    }
    var found: [YapDatabaseRelationshipEdge] = []
    try connection.read { transaction in
      transaction.graph?.enumerateEdges(withName: "avatar") { edge, _ in found.append(edge) }
    }
    #expect(found.count == 1 && found[0].name == "avatar" && found[0].isManualEdge)
    #expect(found[0].sourceKey == "p7" && found[0].sourceCollection == "players")
    #expect(found[0].destinationKey == "p7" && found[0].destinationCollection == "avatars")
    #expect(found[0].nodeDeleteRules == .deleteDestinationIfSourceDeleted)
    try remove("p7", "players")
    #expect(try !has("p7", "avatars"))
  }

  @Test(
    "Combinations of rules that make no sense are errors",
    arguments: [
      [YDB_NodeDeleteRules.deleteSourceIfDestinationDeleted, .deleteSourceIfAllDestinationsDeleted],
      [.deleteDestinationIfSourceDeleted, .deleteDestinationIfAllSourcesDeleted],
    ]) func illegalRules(_ rules: [YDB_NodeDeleteRules]) throws
  {
    let (a, b) = (("owners", "a"), ("owners", "b"))
    let error = databaseError { try fill([a, b], [edge("x", a, b, rules.reduce([]) { $0.union($1) })]) }
    #expect(error != nil)
    #expect(try !has("a", "owners"))
  }

  @Test("Given a song, its album and artist are fetched") func implicitRelationship() throws {
    try fillSongs()
    try connection.read { transaction in
      let song = try #require(transaction.object(forKey: "s1", inCollection: "songs") as? Track)
      let album = transaction.object(forKey: song.albumId, inCollection: "albums")
      let artist = transaction.object(forKey: song.artistId, inCollection: "artists")
      #expect(album as? String == "al" && artist as? String == "old")
    }
  }

  private func fillSongs() throws {
    try connection.readWrite { transaction in
      for key in ["s1", "s2"] {
        transaction.setObject(Track(albumId: "al", artistId: "old"), forKey: key, inCollection: "songs")
      }
      transaction.setObject("al", forKey: "al", inCollection: "albums")
      for key in ["old", "new"] { transaction.setObject(key, forKey: key, inCollection: "artists") }
    }
  }

  @Test("A song is edited: the edge moves, and the artist goes with the last of its songs") func editedSong() throws {
    try fillSongs()
    for (songId, isLast) in [("s1", false), ("s2", true)] {
      try connection.readWrite { transaction in
        guard var song = transaction.object(forKey: songId, inCollection: "songs") as? Track else { return }
        song.artistId = "new"
        transaction.setObject(song, forKey: songId, inCollection: "songs")
      }
      #expect(try has("old", "artists") == !isLast)
    }
    // Both rules of one edge.
    try remove("s1", "songs")
    #expect(try has("al", "albums"))
    try remove("al", "albums")
    #expect(try !has("s2", "songs") && !has("new", "artists"))
  }

  @Test("`replace` asks for edges as well") func replacedSong() throws {
    try fillSongs()
    try connection.readWrite { transaction in
      for key in ["s1", "s2"] {
        transaction.replace(Track(albumId: "al", artistId: "new"), forKey: key, inCollection: "songs")
      }
    }
    #expect(try !has("old", "artists") && has("new", "artists"))
  }

  @Test("Songs that are there are asked when the extension is registered first") func existingSongs() throws {
    fixture.database.unregisterExtension(withName: "relationships")
    try fillSongs()
    #expect(fixture.database.register(YapDatabaseRelationship(versionTag: "2"), withName: "relationships"))
    #expect(try connection.read { $0.graph?.edgeCount(withName: "album") } == 2)
    for key in ["s1", "s2"] { try remove(key, "songs") }
    #expect(try !has("al", "albums"))
  }

  // MARK: Querying

  @Test("All phone numbers of a contact, and all songs of an album") func querying() throws {
    let numbers = ["n1", "n2"].map { ("phoneNumbers", $0) }
    try fill(
      [("contacts", "c")] + numbers,
      numbers.map { edge("number", ("contacts", "c"), $0, .deleteDestinationIfSourceDeleted) })
    try fillSongs()
    var (edges, songs) = ([YapDatabaseRelationshipEdge](), [Track]())
    try connection.read { transaction in
      transaction.graph?.enumerateEdges(withName: "number", sourceKey: "c", collection: "contacts") { edge, _ in
        edges.append(edge)
      }
      transaction.graph?.enumerateEdges(withName: "album", destinationKey: "al", collection: "albums") { edge, _ in
        let song = transaction.object(forKey: edge.sourceKey ?? "", inCollection: edge.sourceCollection)
        if let song = song as? Track { songs.append(song) }
      }
      #expect(transaction.graph?.edgeCount(withName: "number", sourceKey: "c", collection: "contacts") == 2)
      #expect(transaction.graph?.edgeCount(withName: "album", destinationKey: "al", collection: "albums") == 2)
    }
    #expect(edges.compactMap(\.destinationKey).sorted() == ["n1", "n2"])
    #expect(songs.map(\.artistId) == ["old", "old"])
  }

  // MARK: Processing

  @Test("Rules run at the end of the transaction") func processing() throws {
    try fill(
      [("owners", "p"), ("avatars", "a")],
      [edge("avatar", ("owners", "p"), ("avatars", "a"), .deleteDestinationIfSourceDeleted)])
    try connection.readWrite { transaction in
      transaction.removeObject(forKey: "p", inCollection: "owners")
      #expect(transaction.hasObject(forKey: "a", inCollection: "avatars"))
    }
    #expect(try !has("a", "avatars"))
  }

  @Test("`flush` runs them at once") func flushing() throws {
    try fill(
      [("owners", "p"), ("avatars", "a")],
      [edge("player", ("avatars", "a"), ("owners", "p"), .deleteSourceIfDestinationDeleted)])
    try connection.readWrite { transaction in
      transaction.removeObject(forKey: "p", inCollection: "owners")
      (transaction.ext("relationships") as? YapDatabaseRelationshipTransaction)?.flush()
      #expect(!transaction.hasObject(forKey: "a", inCollection: "avatars"))
    }
  }

  @Test("Both ends removed by hand leave no edge") func bothRemoved() throws {
    try fill(
      [("owners", "p"), ("avatars", "a")],
      [edge("avatar", ("owners", "p"), ("avatars", "a"), .deleteDestinationIfSourceDeleted)])
    try connection.readWrite { transaction in
      transaction.removeObject(forKey: "p", inCollection: "owners")
      transaction.removeObject(forKey: "a", inCollection: "avatars")
    }
    #expect(try connection.read { $0.graph?.edgeCount(withName: "avatar") } == 0)
  }

  @Test("An edge may lead to what comes later in the transaction") func laterDestination() throws {
    try connection.readWrite { transaction in
      transaction.setObject(Player(playerId: "p", avatarKey: "a"), forKey: "p", inCollection: "players")
      transaction.setObject("picture", forKey: "a", inCollection: "avatars")
    }
    #expect(try has("p", "players") && has("a", "avatars"))
    #expect(try connection.read { $0.graph?.edgeCount(withName: "avatar", sourceKey: "p", collection: "players") } == 1)
  }
}
