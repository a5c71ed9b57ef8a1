// What the table of objects stores: songs as records, and the same songs as bytes under a collection and a key.

internal import Foundation
internal import QuireDatabase
internal import QuireTesting

/// A song as a user declares it. Every field is one that a column can hold, so that SQL has it as easy as can be.
struct CatalogSong: SynthesizedCodable, Sendable, Equatable {
  var title: String
  var artist: String
  var album: String
  var genre: String
  var year: Int
  var rating: Double
  var plays: Int
  var added: Date
  var comment: String
}

/// Songs with their keys, from one seed, and the orders in which they are asked for.
struct CatalogSongs: Sendable {
  static let genreCount = 10

  let keys: [String]
  let songs: [CatalogSong]
  /// All places, shuffled.
  let order: [Int]

  /// Makes `count` songs. Keys come in random order, as those of most apps do, or ascending.
  init(count: Int, seed: UInt64, keysAscend: Bool = false) {
    var random = SeededRandom(seed: seed)
    var numbers = Array(0..<count)
    if !keysAscend { numbers.shuffle(using: &random) }
    keys = numbers.map { "song-\(1_000_000 + $0)" }
    songs = (0..<count).map { index in
      CatalogSong(
        title: "A title of the usual length \(index)", artist: "artist\(random.below(max(1, count / 50)))",
        album: "An album called \(random.below(max(1, count / 10)))", genre: "genre\(random.below(Self.genreCount))",
        year: 1950 + random.below(75), rating: Double(random.below(1 << 30)) / Double(1 << 30),
        plays: random.below(1000), added: Date(timeIntervalSinceReferenceDate: Double(random.below(800_000_000))),
        comment: "What somebody has to say about this song, in a sentence or two: \(random.below(1_000_000)).")
    }
    order = (0..<count).shuffled(using: &random)
  }

  /// What reading the songs at these places must add up to.
  func sum(_ places: some Sequence<Int>) -> UInt64 { places.reduce(0) { $0 &+ songs[$1].digest } }
}

extension CatalogSong {
  /// A number that depends on all fields: each text counts with its length, since what is measured is making it.
  var digest: UInt64 {
    let texts = title.utf8.count + artist.utf8.count + album.utf8.count + genre.utf8.count + comment.utf8.count
    let numbers = UInt64(bitPattern: Int64(year &+ plays &* 31 &+ texts &* 1009))
    return numbers &+ rating.bitPattern &+ added.timeIntervalSinceReferenceDate.bitPattern
  }
}

/// Rows of YapDatabase's shape: a key, an object and metadata, both as bytes that a coder has made before.
struct ShapedRows: Sendable {
  static let collection = "songs"

  let keys: [String]
  /// The songs as JSON, some 280 bytes each.
  let objects: [[UInt8]]
  /// What a list shows and sorts by, as JSON of some 30 bytes.
  let metadata: [[UInt8]]
  /// What objects are replaced by: as long, with other numbers.
  let others: [[UInt8]]
  /// All places, shuffled.
  let order: [Int]

  init(_ songs: CatalogSongs) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    keys = songs.keys
    order = songs.order
    objects = try songs.songs.map { [UInt8](try encoder.encode($0)) }
    metadata = songs.songs.map { Array("{\"plays\":\($0.plays),\"year\":\($0.year)}".utf8) }
    others = objects.map { bytes in bytes.map { $0 == 0x31 ? 0x32 : $0 } }
  }

  /// The mean length of a row: key, object and metadata.
  var byteCount: Int {
    keys.indices.reduce(0) { $0 + keys[$1].utf8.count + objects[$1].count + metadata[$1].count } / max(1, keys.count)
  }

  /// What a walk over all rows in the order of their keys must give.
  func digest(keys hasKeys: Bool = true, objects: [[UInt8]]? = nil, metadata: [[UInt8]]? = nil) -> ShapedDigest {
    var digest = ShapedDigest()
    for index in keys.indices.sorted(by: { keys[$0] < keys[$1] }) {
      if hasKeys { digest.add(key: keys[index]) }
      if let objects { objects[index].withUnsafeBytes { digest.add($0) } }
      if let metadata { metadata[index].withUnsafeBytes { digest.add($0) } }
      digest.endRow()
    }
    return digest
  }
}

/// What a walk has seen: how many rows, which and in what order.
struct ShapedDigest: Equatable {
  private(set) var count = 0
  private var row: UInt64 = 0
  private var sum: UInt64 = 0

  @inline(__always) mutating func add(_ bytes: UnsafeRawBufferPointer) { row &+= QuireBench.sum(of: bytes) }

  @inline(__always) mutating func add(key: String) {
    var key = key
    let bytes = key.withUTF8 { QuireBench.sum(of: UnsafeRawBufferPointer($0)) }
    row &+= bytes
  }

  /// The order counts: what came before is multiplied with every row.
  @inline(__always) mutating func endRow() {
    sum = sum &* 0x100_0000_01b3 &+ row
    row = 0
    count += 1
  }
}

/// The sum of some bytes.
@inline(__always) func sum(of bytes: [UInt8]) -> UInt64 { bytes.withUnsafeBytes { sum(of: $0) } }
