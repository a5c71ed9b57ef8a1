// The listing of `RowSelection`.

import Quire

struct JoinListingSong: Codable, Sendable { var title: String, year: Int, rating: Double, albumID: String }

private typealias Song = JoinListingSong

extension RowCollection where Object == Song, Metadata == NoMetadata {
  fileprivate static var songs: Self { .init("songs") }
}

enum JoinListings {
  static func recent(_ recentKeys: [String]) -> Condition<JoinListingSong, NoMetadata> {
    let recent = Condition<Song, NoMetadata>.rows("recent") { tx in
      try recentKeys.compactMap { try tx[.songs].rowID($0) }
    }
    return recent
  }
}
