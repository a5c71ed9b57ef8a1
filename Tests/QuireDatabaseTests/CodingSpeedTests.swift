// What coding a row costs beside Foundation's JSON coder, measured in one run:
//
//     QUIRE_MEASURE=1 swift test -c release --filter CodingSpeedTests

import Foundation
import QuireDatabase
import Testing

@Suite(.enabled(if: ProcessInfo.processInfo.environment["QUIRE_MEASURE"] != nil))
struct CodingSpeedTests {
  struct Song: Codable, Sendable {
    var title: String, album: String, seconds: Int, rating: Double, added: Date, tags: [String]
  }

  private let song = Song(
    title: String(repeating: "t", count: 28), album: String(repeating: "a", count: 33), seconds: 12_345, rating: 4.25,
    added: Date(timeIntervalSinceReferenceDate: 7.5e8), tags: ["rock", "a longer tag here", "third one"])

  @Test func binaryBesideJSON() throws {
    let context = RowCodingContext(schema: RowSchema())
    var bytes: [UInt8] = []
    let (jsonEncoder, jsonDecoder) = (JSONEncoder(), JSONDecoder())
    let json = try jsonEncoder.encode(song)
    try RowCoder<Song>.binary.encode(song, into: &bytes, context)
    let row = bytes
    var sum = 0
    var best = [Duration](repeating: .seconds(1_000), count: 4)
    // Alternating runs, so that a busy machine is busy for all.
    for _ in 0..<20 {
      try measure(&best[0]) {
        bytes.removeAll(keepingCapacity: true)
        try RowCoder<Song>.binary.encode(song, into: &bytes, context)
      }
      try measure(&best[1]) { sum &+= try jsonEncoder.encode(song).count }
      try measure(&best[2]) {
        sum &+= try row.withUnsafeBytes { try RowCoder<Song>.binary.decode($0, context).seconds }
      }
      try measure(&best[3]) { sum &+= try jsonDecoder.decode(Song.self, from: json).seconds }
    }
    let (encoding, decoding) = (best[1] / best[0], best[3] / best[2])
    print("binary: \(row.count) bytes, encode \(best[0] / Self.count), decode \(best[2] / Self.count)")
    print("JSON: \(json.count) bytes, encode \(best[1] / Self.count), decode \(best[3] / Self.count)")
    print("encoding \(encoding) times as fast, decoding \(decoding) times (\(sum))")
    #expect(encoding > 6 && decoding > 4)
  }

  private static let count = 5_000

  private func measure(_ best: inout Duration, _ body: () throws -> Void) rethrows {
    let time = try ContinuousClock().measure { for _ in 0..<Self.count { try body() } }
    best = min(best, time)
  }
}
