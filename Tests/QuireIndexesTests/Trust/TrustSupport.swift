// What the tests of crashes, damage and failing disks share.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

/// What must not be.
struct TrustBroken: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

extension RowCollection where Object == Int, Metadata == NoMetadata {
  /// Rows that no index is of.
  static var others: Self { .init("others") }
}

// MARK: - Lists of indexes

/// A list of indexes, as one version of a program declares it.
struct IndexSchema: Equatable {
  /// Some of the indexes that the tests know.
  var numbers: [Int] = []
  /// How an index over three fields is unique; without it there is none.
  var uniqueness: Index<Track, Plays>.Uniqueness?
  var version = 0

  var indexes: Indexes<Track, Plays> {
    var indexes = Indexes<Track, Plays>("tracks.indexes", over: .tracks, version: "\(version)") {
      for number in numbers { Indexes<Track, Plays>.all[number] }
      if let uniqueness { Index("seat", \.added, \.mood, \.title).unique(uniqueness) }
    }
    // Records of few rows are completed in several steps.
    indexes.completedStepCount = 16
    return indexes
  }

  static func random(_ random: inout SeededRandom, version: Int) -> Self {
    let numbers = Indexes<Track, Plays>.all.indices.filter { _ in random.oneIn(3) }
    let uniqueness = ([nil, .atCommit, .immediate] as [Index<Track, Plays>.Uniqueness?])[random.below(3)]
    return Self(numbers: numbers, uniqueness: uniqueness, version: version)
  }
}

// MARK: - Models

/// The rows of the collection, by key.
typealias TrackModel = [String: ModelRow]

extension TrackModel {
  /// Whether two rows have the same values in the unique index.
  var hasTwins: Bool {
    Set(values.map { $0.track.added.sortBytes + $0.track.mood.sortBytes + $0.track.title.sortBytes }).count < count
  }

  /// Whether the rows of a transaction are these.
  func isWhat(_ found: [Row<Track, Plays>]) -> Bool {
    found.count == count
      && found.allSatisfy { row in
        self[row.key].map { $0.plays == row.metadata && $0.track.isSame(as: row.object) } ?? false
      }
  }

  /// The rows of a transaction.
  static func rows(_ tx: ReadTransaction) throws -> [Row<Track, Plays>] {
    let rows = tx[.tracks]
    let all = Array(rows.rows)
    // A loop cannot throw: an error in it is thrown by the next call.
    _ = try rows.contains("")
    return all
  }
}

extension Track {
  /// Whether this is the same track, also where its score is not a number.
  fileprivate func isSame(as other: Track) -> Bool {
    var (one, two) = (self, other)
    guard score.bitPattern == other.score.bitPattern || score.isNaN && other.score.isNaN else { return false }
    (one.score, two.score) = (0, 0)
    return one == two
  }
}

extension Database {
  /// Checks that the indexes agree with the rows, and that some queries find what they would find in the model.
  func check(_ schema: IndexSchema, _ model: TrackModel, _ random: inout SeededRandom, queries: Int) throws {
    try read { tx in
      let reader = try tx.access(to: schema.indexes)
      for name in reader.names where !reader.isReady(indexNamed: name) {
        throw TrustBroken("“\(name)” is registered, and not ready")
      }
      try reader.verify()
      for _ in 0..<queries {
        try QueryLife.check(tx[.tracks], model, &random, choices: [.best, .driver(1)]) { _ in }
      }
    }
  }
}

// MARK: - Errors

/// Whether a unique index has refused rows.
func isNotUnique(_ error: any Error) -> Bool {
  if case .notUnique? = (error as? DatabaseError)?.cause as? IndexError { return true }
  return false
}

/// Whether an error says that something stored is damaged, and what.
func namesDamage(_ error: any Error) -> Bool {
  if case .damaged(let index, let detail)? = error as? IndexError { return !index.isEmpty && !detail.isEmpty }
  guard let error = error as? DatabaseError else { return false }
  let codes: [DatabaseError.Code] = [
    .damagedPage, .damagedMetaPage, .damagedLog, .missingLog, .truncatedFile, .notADatabase, .damagedRow,
    .decodingFailed, .collectionMismatch, .keyTooLong, .newerFormat,
  ]
  if codes.contains(error.code) { return !error.message.isEmpty }
  return error.code == .extensionFailed && (error.cause.map { namesDamage($0) } ?? false)
}

// MARK: - Threads

/// Runs `body` on another thread, and waits for it. False if it is not done after so many seconds; it is left behind
/// then.
func isDone(within seconds: Int = 3600, _ body: @escaping @Sendable () -> Void) -> Bool {
  let done = DispatchSemaphore(value: 0)
  Thread {
    body()
    done.signal()
  }.start()
  return done.wait(timeout: .now() + .seconds(seconds)) == .success
}

/// Runs `body` on another thread, and waits for it: beside a transaction of this thread, in which it cannot begin
/// another one.
func elsewhere(_ body: () throws -> Void) throws {
  try withoutActuallyEscaping(body) { body in
    let call = ForeignCall(body)
    _ = isDone { call.run() }
    if let error = call.error { throw error }
  }
}

/// A call on another thread, for which its caller waits.
private final class ForeignCall: @unchecked Sendable {
  // Sendable: safe because one thread waits while the other runs.
  private var body: (() throws -> Void)?
  private(set) var error: (any Error)?

  init(_ body: @escaping () throws -> Void) { self.body = body }

  func run() {
    do { try body?() } catch { self.error = error }
    body = nil
  }
}
