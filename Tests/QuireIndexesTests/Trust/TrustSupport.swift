// What the tests of crashes, damage and failing disks share.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Synchronization
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
  /// Some of the indexes with many and long keys.
  var wideNumbers: [Int] = []
  /// The memory for sorting: with the least, the keys of some tens of rows go to a temporary file, if pages are small.
  var sortedByteCount: Int?

  var indexes: Indexes<Track, Plays> {
    var indexes = Indexes<Track, Plays>("tracks.indexes", over: .tracks, version: "\(version)") {
      for number in numbers { Indexes<Track, Plays>.all[number] }
      for number in wideNumbers { Indexes<Track, Plays>.wide[number] }
      if let uniqueness { Index("seat", \.added, \.mood, \.title).unique(uniqueness) }
    }
    // Records of few rows are completed in several steps.
    indexes.completedStepCount = 16
    if let sortedByteCount { indexes.sortedByteCount = sortedByteCount }
    return indexes
  }

  static func random(_ random: inout SeededRandom, version: Int) -> Self {
    let numbers = Indexes<Track, Plays>.all.indices.filter { _ in random.oneIn(3) }
    let uniqueness = ([nil, .atCommit, .immediate] as [Index<Track, Plays>.Uniqueness?])[random.below(3)]
    return Self(numbers: numbers, uniqueness: uniqueness, version: version)
  }

  /// A list with indexes that are sorted on disk.
  static func randomWide(_ random: inout SeededRandom, version: Int) -> Self {
    var schema = Self.random(&random, version: version)
    schema.numbers = schema.numbers.filter { _ in random.oneIn(2) }
    schema.wideNumbers = Indexes<Track, Plays>.wide.indices.filter { _ in random.oneIn(2) }
    schema.sortedByteCount = 0
    return schema
  }
}

extension Indexes where Object == Track, Metadata == Plays {
  /// Indexes with several entries for each row, and with long keys where titles are long.
  static var wide: [Index<Track, Plays>] {
    [
      Index("tag-title", .each(\.tags), .descending(\.title)),
      Index("folded-tag", .ascending(\.title.folded), .each(\.tags)),
      Index("tag-some", .each(\.tags), .ascending(\.title), .ascending(\.year)).where { $0.year >= 1990 },
    ]
  }
}

extension SeededRandom {
  /// A track with several tags, and with a title that is often longer than what keys hold of it.
  mutating func wideTrack() -> Track {
    var track = track()
    if oneIn(3) { track.title += String(repeating: "t", count: 230 + below(20)) + "\(below(4))" }
    track.tags += (0..<2 + below(5)).map { "t\(7 * $0 + below(7))" }
    return track
  }
}

// MARK: - Temporary files

/// Watches the temporary files that sorting writes, and cuts the power off while there is one.
final class RunFileWatch: Sendable {
  private struct State {
    /// How many were made.
    var count = 0
    /// So many changes of the disk after the next one is made the power goes off.
    var delay: Int?
    /// The change before which the power goes off.
    var target: Int?
    var cutsRuns = false
  }

  private let state = Mutex(State())

  /// How many files were made.
  var count: Int { state.withLock { $0.count } }
  /// Whether there was a file when the power went off.
  var cutsRuns: Bool { state.withLock { $0.cutsRuns } }

  /// - Parameters:
  ///   - target: the change of the disk before which the power goes off; nil for none.
  ///   - delay: it goes off so many changes after the next file is made.
  init(_ disk: SimulatedDisk, cutBefore target: Int? = nil, afterRunFile delay: Int? = nil) {
    state.withLock { ($0.target, $0.delay) = (target, delay) }
    disk.powerOff(beforeChange: target)
    disk.intercept { [weak self, weak disk] operation in
      if let self, let disk { see(operation, disk) }
      return nil
    }
  }

  private func see(_ operation: DiskOperation, _ disk: SimulatedDisk) {
    guard operation.isChange else { return }
    let number = disk.changeCount
    state.withLock { state in
      if operation.kind == .open, isRunFile(operation.path) {
        state.count += 1
        if let delay = state.delay {
          (state.target, state.delay) = (number + delay, nil)
          disk.powerOff(beforeChange: number + delay)
        }
      }
      if number == state.target, !disk.isPoweredOff {
        state.cutsRuns = disk.namelessFileCount() > 0 || disk.names.contains(where: isRunFile)
      }
    }
  }
}

/// Whether a path is that of a temporary file for sorting.
func isRunFile(_ path: String) -> Bool { path.contains("-run") }

extension SimulatedDisk {
  /// Throws if there is a temporary file, with a name or without; as long as the power is on, since what cannot be
  /// removed for want of it is not missed.
  func checkForRunFiles() throws {
    if isPoweredOff { return }
    if let name = names.first(where: isRunFile) { throw TrustBroken("\(name) is left behind") }
    let count = namelessFileCount()
    if count > 0 { throw TrustBroken("\(count) files without a name are open") }
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
  /// Checks of the indexes that are ready, while others may be being built, that they agree with the rows. Does nothing
  /// while there is nothing to ask.
  func checkWhatIsReady(_ schema: IndexSchema) throws {
    try read { tx in
      do { try tx.access(to: schema.indexes).verify() } catch let error as DatabaseError {
        guard error.code == .extensionNotReady else { throw error }
      }
    }
  }

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
