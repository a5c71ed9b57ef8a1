// What the tests of indexes share.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

/// A row of the tests, with a field of each kind that indexes tell apart.
struct Track: SynthesizedCodable, Sendable, Equatable {
  enum Mood: String, Codable, Sendable, SortKey, CaseIterable { case calm, happy, sad }
  struct Album: SynthesizedCodable, Sendable, Equatable { var name: String }

  var title: String
  var year: Int
  var rating: Double?
  var mood: Mood
  var tags: [String]
  var album: Album
  var added: Date
  var score: Double
}

struct Plays: Codable, Sendable, Equatable { var count: Int }

extension RowCollection where Object == Track, Metadata == Plays {
  static var tracks: Self { .init("tracks") }
}

typealias TrackCondition = Condition<Track, Plays>

extension Indexes where Object == Track, Metadata == Plays {
  /// The indexes of `numbers` among all that the tests know.
  static func tracks(_ numbers: [Int] = Array(0..<all.count), version: String = "1") -> Self {
    Indexes("tracks.indexes", over: .tracks, version: version) { for number in numbers { all[number] } }
  }

  static var all: [Index<Track, Plays>] {
    [
      Index("title", \.title), Index("year", \.year), Index("rating", .descending(\.rating)),
      Index("year-rating", \.year, .descending(\.rating)), Index("tags", each: \.tags),
      Index("mood-year-title", \.mood, \.year, \.title), Index("album", \.album.name),
      Index("plays", metadata: \.count), Index("folded", \.title.folded),
      Index("recent", \.added).where { $0.year >= 1995 }, Index("score", \.score),
      Index("tag-year", .each(\.tags), .descending(\.year)), Index(StoredField("when", \.added)),
      Index(StoredField("labels", each: \.tags)), Index(StoredField("count", metadata: \.count)),
    ]
  }
}

/// A folder that is gone when nobody has it any more.
final class TemporaryFolder {
  private let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("quire-index-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

/// The seed of a long run, if one is asked for.
func seeds(_ count: Int) -> [UInt64] {
  environmentNumber("QUIRE_INDEX_SEED").map { [UInt64($0)] } ?? (1...UInt64(count)).map { $0 }
}

/// How many steps a random life has.
func steps(_ count: Int) -> Int {
  environmentNumber("QUIRE_INDEX_STEPS") ?? count
}
