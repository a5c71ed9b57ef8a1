// The listings of “Coming from YapDatabase” and `YapDatabase`.

import Foundation
import Quire
import YapCompat

enum YapListings {
  struct Song: Codable, Sendable { var title: String, seconds: Int }
  struct PlayState: Codable, Sendable { var plays: Int }
}

private typealias Song = YapListings.Song
private typealias PlayState = YapListings.PlayState

extension RowCollection where Object == Song, Metadata == PlayState {
  static var songs: Self { .init("songs") }
}

extension YapListings {
  static func comeOver(
    _ url: URL, _ song: YapListings.Song, _ state: YapListings.PlayState,
    _ report: @escaping @Sendable (any Error) -> Void
  ) throws {
    let database = try YapDatabase(url: url) { error in report(error) }
    database.registerCodableSerialization(Song.self, metadata: PlayState.self, forCollection: "songs")

    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject(song, forKey: "s1", inCollection: "songs", withMetadata: state)
      transaction.addCompletionQueue(.main) {}
    }
    connection.asyncRead { transaction in _ = transaction.object(forKey: "s1", inCollection: "songs") as? Song }

    try database.quire.write { tx in try tx[.songs].update("s1") { $0.seconds += 1 } }
  }

  static func open(_ url: URL, _ song: YapListings.Song) throws {
    let database = try YapDatabase(url: url)
    database.registerCodableSerialization(Song.self, metadata: PlayState.self, forCollection: "songs")
    let connection = database.newConnection()
    try connection.readWrite { transaction in
      transaction.setObject(song, forKey: "s1", inCollection: "songs")
    }
  }

  static func index(_ database: YapDatabase, _ connection: YapDatabaseConnection) throws {
    let setup = YapDatabaseSecondaryIndexSetup()
    setup.addColumn("title", with: .text)
    setup.addColumn("seconds", with: .integer)
    let handler = YapDatabaseSecondaryIndexHandler.withObjectBlock { _, dict, _, _, object in
      guard let song = object as? Song else { return }
      dict["title"] = song.title
      dict["seconds"] = song.seconds
    }
    let index = YapDatabaseSecondaryIndex(setup: setup, handler: handler, versionTag: "1")
    database.register(index, withName: "songIndex")

    let query = YapDatabaseQuery(string: "WHERE seconds < ? ORDER BY title LIMIT 10", parameters: [180])
    try connection.read { transaction in
      let index = transaction.ext("songIndex") as? YapDatabaseSecondaryIndexTransaction
      index?.iterateKeysAndObjects(matching: query) { collection, key, object, stop in print(key, object) }
    }
  }
}
