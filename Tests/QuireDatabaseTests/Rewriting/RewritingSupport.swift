// A collection in three versions of a program.

import QuireDatabase

struct TrackV1: Codable, Sendable, Equatable { var name: String }
struct TrackV2: Codable, Sendable, Equatable { var title: String, minutes: Int }
struct Track: Codable, Sendable, Equatable { var title: String, seconds: Int }

struct MarkV1: Codable, Sendable, Equatable { var stars: Int }
struct Mark: Codable, Sendable, Equatable { var percent: Int }

struct Unreadable: Error, Equatable { var title: String }

/// The collection as each version describes it.
enum Tracks {
  static func first(_ compression: Compression = .none) -> RowCollection<TrackV1, MarkV1> {
    RowCollection("tracks", compression: compression)
  }

  static func second(_ compression: Compression = .none) -> RowCollection<TrackV2, MarkV1> {
    RowCollection(
      "tracks", coder: .binary.upgrading(from: TrackV1.self) { TrackV2(title: $0.name, minutes: 0) },
      compression: compression)
  }

  /// - Parameter unreadable: the titles that the second upgrade refuses.
  static func third(
    _ compression: Compression = .none, unreadable: Set<String> = []
  ) -> RowCollection<Track, Mark> {
    RowCollection(
      "tracks",
      coder: .binary.upgrading(from: TrackV1.self) { Track(title: $0.name, seconds: 0) }
        .upgrading(from: TrackV2.self) { old in
          if unreadable.contains(old.title) { throw Unreadable(title: old.title) }
          return Track(title: old.title, seconds: old.minutes * 60)
        },
      metadataCoder: .binary.upgrading(from: MarkV1.self) { Mark(percent: $0.stars * 20) }, compression: compression)
  }

  static func key(_ number: Int) -> String { "k\(number)" }

  /// The title of a row; every fifth one is long, and gets shorter by compression.
  static func title(_ number: Int) -> String {
    number % 5 == 0 ? "long \(number) " + String(repeating: "la ", count: 200) : "title \(number)"
  }

  /// Stores rows of the first version under even numbers, of the second under odd ones; every third has no metadata.
  static func fill(_ db: Database, _ range: Range<Int>, isSecond: Bool) throws {
    try db.write { tx throws in
      for number in range where isSecond == (number % 2 == 1) {
        let mark = number % 3 == 0 ? nil : MarkV1(stars: number % 6)
        let (key, title) = (key(number), title(number))
        if isSecond {
          try tx[second()].set(TrackV2(title: title, minutes: number), metadata: mark, for: key)
        } else {
          try tx[first()].set(TrackV1(name: title), metadata: mark, for: key)
        }
      }
    }
  }

  /// What the third version reads of a row that `fill` stored.
  static func expected(_ number: Int) -> (Track, Mark?) {
    let track = Track(title: title(number), seconds: number % 2 == 1 ? number * 60 : 0)
    return (track, number % 3 == 0 ? nil : Mark(percent: number % 6 * 20))
  }

  /// The number of the version that stands in front of each object, by key.
  static func versions(_ tx: ReadTransaction) -> [String: UInt8] {
    var versions: [String: UInt8] = [:]
    for row in tx.rawRows("tracks") { versions[row.key] = row.object.first }
    return versions
  }
}
