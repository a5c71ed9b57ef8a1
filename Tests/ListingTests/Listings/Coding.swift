// The listings about types that change: those of “Changing types and names”, `Defaulted` and `RowCoder`.

import Quire

private struct Song: Codable, Sendable { var title: String, seconds: Int }
private struct SongV1: Codable, Sendable { var name: String }
private struct SongV2: Codable, Sendable { var title: String, minutes: Int }

extension RowCollection where Object == Song, Metadata == NoMetadata {
  static var songs: Self {
    .init(
      "songs",
      coder: .binary
        .upgrading(from: SongV1.self) { old in Song(title: old.name, seconds: 0) }
        .upgrading(from: SongV2.self) { old in Song(title: old.title, seconds: old.minutes * 60) })
  }
}

/// What an app tells its types.
struct Genres: Sendable { var names: [String] }

extension CodingUserInfoKey {
  fileprivate static let genres = CodingUserInfoKey(rawValue: "genres").unsafelyUnwrapped
}

enum CodingListings {
  enum FiveStars: DefaultProvider { static let defaultValue = 5 }

  struct Rated: Codable {
    var title: String
    @Defaulted<Int> var plays = 0  // the default of Int is 0
    @Defaulted<[String]> var tags = []
    @Defaulted<FiveStars> var stars = 5
  }

  /// Stores a song as an earlier version of the program.
  static func storeOldSong(_ db: Database, _ title: String, minutes: Int) throws {
    let old = RowCollection<SongV2, NoMetadata>(
      "songs", coder: .binary.upgrading(from: SongV1.self) { old in SongV2(title: old.name, minutes: 0) })
    try db.write { tx in try tx[old].set(SongV2(title: title, minutes: minutes), for: "s1") }
  }

  /// The seconds of that song.
  static func seconds(_ db: Database) throws -> Int? {
    try db.read { tx in try tx[.songs].get("s1")?.seconds }
  }

  static func upgradeOnce() -> String {
    let coder = RowCoder<Song>.binary.upgrading(from: SongV1.self) { old in Song(title: old.name, seconds: 0) }
    return RowCollection<Song, NoMetadata>("songs", coder: coder).name
  }

  static func tell(_ genres: Genres) -> String {
    let coder = RowCoder<Song>.json.withUserInfo([.genres: genres])
    return RowCollection<Song, NoMetadata>("songs", coder: coder).name
  }

  static func upgradeTwice() -> String {
    let coder = RowCoder<Song>.binary
      .upgrading(from: SongV1.self) { old in Song(title: old.name, seconds: 0) }
      .upgrading(from: SongV2.self) { old in Song(title: old.title, seconds: old.minutes * 60) }
    return RowCollection<Song, NoMetadata>("songs", coder: coder).name
  }
}
