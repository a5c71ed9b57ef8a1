// The listings of “SwiftUI and Observation” that need SwiftUI. `.ci/swiftui` checks their types.

import Quire
import QuireObservation
import SwiftUI

struct Song: Codable, Equatable, Sendable {
  var title: String
  var rating = 0
}

extension RowCollection where Object == Song, Metadata == NoMetadata {
  static var songs: Self { Self("songs") }
}

struct Library: View {
  let db: Database

  var body: some View { SongList().environment(\.database, db) }
}

struct SongList: View {
  @LiveResults(RowCollection.songs.query { $0.rating >= 4 }.order(by: \.title)) private var songs

  var body: some View {
    List(songs, id: \.key) { row in Text(row.object.title) }
  }
}

struct SongEditor: View {
  let song: LiveRow<Song, NoMetadata>

  var body: some View { TextField("Title", text: song.binding(\.title, default: "")) }
}
