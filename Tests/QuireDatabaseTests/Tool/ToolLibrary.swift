// A database with something of everything that the operators' tool shows.

import Foundation
import Quire
import QuireTesting

/// A small library of songs with views, edges, indexes and a feed.
struct ToolLibrary {
  struct Song: Codable, Sendable { var title: String, album: String, year: Int }

  static let songs = RowCollection<Song, Int>("songs")
  static let albums = RowCollection<String, NoMetadata>("albums")
  static let feed = ChangeFeed("sql", over: .only(["songs"]), keeping: .bothValues)
  static let byAlbum = AutoView(
    "songs.byAlbum", over: songs, version: "1", group: { song in song.album }, sortKey: { song in song.title })
  static let old = FilteredView("songs.old", of: byAlbum, filter: .byObject { song in song.year < 1955 })
  static let albumOf = Relationship<Song>("song.album", over: songs) { song in
    [
      Edge("album", to: albums, key: song.album, rules: [.deleteSourceIfDestinationDeleted]),
      Edge("cover", toFile: "/covers/\(song.album)"),
    ]
  }
  static var indexes: Indexes<Song, Int> { Indexes("songs.indexes", over: songs) { Index("year", \.year) } }

  let folder: TestFolder
  var path: String { folder.path }

  init() throws {
    folder = try TestFolder()
    let db = try open()
    try db.write { tx throws in
      for number in 0..<3 { try tx[Self.albums].set("Album \(number)", for: "a\(number)") }
      for number in 0..<30 {
        let song = Song(title: "Song \(number % 10)\(number)", album: "a\(number % 3)", year: 1950 + number)
        try tx[Self.songs].set(song, metadata: number, for: "s\(number)")
      }
    }
    try db.register(Self.byAlbum)
    try db.register(Self.old)
    try db.register(Self.albumOf)
    try db.register(Self.indexes)
    try db.write { tx throws in
      try tx.relationship(Self.albumOf).add(Edge("likes", from: Self.albums, "a0", to: Self.songs, "s1"))
      try tx[Self.songs].remove("s29")
    }
    try db.close()
  }

  func open() throws -> Database {
    try Database(at: path, options: Database.Options(durability: .relaxed, feeds: [Self.feed]))
  }
}

/// What a run of the tool gave.
struct ToolResult {
  var status: Int32
  var output: String
  var errors: String

  /// The output's lines as JSON.
  var records: [RowValue] {
    get throws { try output.split(separator: "\n").map { try RowValue(json: String($0)) } }
  }
}

/// Runs the tool; nil if it is not where the tests are.
func runTool(_ arguments: [String]) throws -> ToolResult? {
  guard let tool = toolPath("quiredb") else { return nil }
  let errors = FileManager.default.temporaryDirectory.appendingPathComponent("quire-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: errors) }
  guard let result = runProgram(tool, arguments, errorsTo: errors.path) else { return nil }
  let text = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
  return ToolResult(status: result.status, output: result.output, errors: text)
}
