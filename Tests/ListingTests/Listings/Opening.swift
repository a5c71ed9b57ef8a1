// The listings about opening a database together with its extensions.

import Quire

private struct Song: Codable, Sendable { var title: String, albumID: String }

extension Song: SynthesizedCodable {}

extension RowCollection where Object == Song, Metadata == NoMetadata {
  fileprivate static var songs: Self { .init("songs") }
}

enum OpeningListings {
  private static var byAlbum: AutoView<Song, NoMetadata> {
    AutoView("songs.byAlbum", over: .songs, group: { song in song.albumID }, sortKey: { song in song.title })
  }
  private static var songIndex: Indexes<Song, NoMetadata> {
    .init("songs.indexes", over: .songs) { Index("title", \.title) }
  }

  static func open() async throws -> Database {
    let library = try await Database.open(at: "library.quire", extensions: [byAlbum, songIndex]) { progress in
      print(progress)
    }
    return library
  }

  static func openScratch() throws -> Database {
    let scratch = try Database.inMemory(extensions: [byAlbum, songIndex])
    return scratch
  }
}
