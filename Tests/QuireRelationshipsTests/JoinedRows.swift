// The rows that tests of joins join: tracks, and the records that they are on.

import Quire

struct JoinedTrack: Codable, Sendable, Equatable {
  var rating: Int
  var albums: [String]
}

struct JoinedRecord: Codable, Sendable, Equatable { var year: Int }

extension RowCollection where Object == JoinedTrack, Metadata == NoMetadata {
  static var tracks: Self { .init("tracks") }
}

extension RowCollection where Object == JoinedRecord, Metadata == NoMetadata {
  static var records: Self { .init("records") }
}

/// From each track to the records that it is on.
let onRecord = Relationship<JoinedTrack>("onRecord", over: .tracks) { track in
  track.albums.map { Edge("on", to: .records, key: $0) }
}
