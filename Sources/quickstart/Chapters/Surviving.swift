// Chapter: what was acknowledged outlives the process that wrote it.

import Foundation
import Quire

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// What the victim stores: the number of a commit.
struct Receipt: Codable, Hashable, Sendable {
  var number: Int
  var date: Date

  /// The key of a number: in the order of the numbers.
  static func key(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 10 - digits.count)) + digits
  }
}

extension RowCollection where Object == Receipt, Metadata == NoMetadata {
  static var receipts: Self { .init("receipts") }
}

extension Chapter {
  /// Lets a child process commit, kills it, and looks for every commit that it acknowledged.
  static let surviving = Chapter(
    title: "Survive: kill -9 in the middle of a commit",
    code: """
      // In a child process, over and over, until it is killed:
      try db.write { tx in
        try tx[.receipts].set(Receipt(number: number, date: Date()), for: Receipt.key(number))
      }
      try acknowledge(number)

      // Then in this process:
      let db = try Database(at: path)
      let missing = try db.read { tx in try acknowledged.filter { try !tx[.receipts].contains(Receipt.key($0)) } }
      """
  ) { tour in
    let packages = try tour.openDatabase().read { tx in tx[.packages].count }
    // One process at a time: the child gets the files.
    try tour.close()
    let (acknowledged, life) = try Victim.spawn(at: tour.path).kill(after: .milliseconds(300))
    tour.screen.done(
      "Killed after \(text(acknowledged.count)) acknowledged commits", text(life),
      rate(acknowledged.count, "durable commits", in: life))

    let path = tour.path
    let (db, time) = try tour.timing {
      let db = try Database(at: path)
      return db
    }
    let missing = try db.read { tx in try acknowledged.filter { try !tx[.receipts].contains(Receipt.key($0)) } }
    let count = try db.read { tx in tx[.receipts].count }
    let left = try db.read { tx in tx[.packages].count }
    try db.close()
    try tour.open()
    guard missing.isEmpty, count <= acknowledged.count + 1, left == packages else {
      throw TourError(
        "\(missing.count) acknowledged commits are missing; \(count) receipts and \(left) packages are there.")
    }
    tour.screen.done("Reopened, and all \(text(acknowledged.count)) are there", "recovery \(text(time))")
    if count > acknowledged.count {
      tour.screen.note("And one more, which was durable when the kill came and had no time to say so.")
    }
  }
}

/// A child process that commits until it is killed, and says so after each commit.
struct Victim {
  private let process: Process
  private let output: FileHandle

  // MARK: In the parent

  /// Starts the child: this program again, on the database at `path`.
  static func spawn(at path: String) throws -> Victim {
    let process = Process()
    let pipe = Pipe()
    guard let program = Bundle.main.executableURL else { throw TourError("This program does not know its own path.") }
    process.executableURL = program
    process.arguments = ["--victim", path]
    process.standardOutput = pipe
    try process.run()
    return Victim(process: process, output: pipe.fileHandleForReading)
  }

  /// Waits for the first acknowledgement, kills the child some time after that, and returns all numbers that it has
  /// acknowledged, and the time from the first one to the kill.
  ///
  /// - Throws: `TourError` if the child ended by itself.
  func kill(after delay: Duration) throws -> (numbers: [Int], life: Duration) {
    let clock = ContinuousClock()
    var numbers: [Int] = []
    var first: ContinuousClock.Instant?
    var life: Duration?
    var rest: [UInt8] = []
    while let piece = try output.read(upToCount: 8), !piece.isEmpty {
      rest += piece
      // Eight bytes go through a pipe whole, but reads may cut them.
      guard rest.count >= 8 else { continue }
      numbers.append(rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) })
      rest.removeFirst(8)
      if let start = first {
        if life == nil, clock.now - start >= delay {
          signal(SIGKILL)
          life = clock.now - start
        }
      } else {
        first = clock.now
      }
    }
    process.waitUntilExit()
    guard let life, process.terminationReason == .uncaughtSignal else {
      throw TourError("The child ended by itself, with status \(process.terminationStatus).")
    }
    return (numbers, life)
  }

  private func signal(_ number: Int32) {
    systemKill(process.processIdentifier, number)
  }

  // MARK: In the child

  /// Commits until killed.
  static func run(at path: String) throws {
    let db = try Database(at: path)
    for number in 1... {
      try db.write { tx in
        try tx[.receipts].set(Receipt(number: number, date: Date()), for: Receipt.key(number))
      }
      try acknowledge(number)
    }
  }

  /// Tells the parent that a commit is durable.
  private static func acknowledge(_ number: Int) throws {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    try FileHandle.standardOutput.write(contentsOf: bytes)
  }
}

/// The system's call, of which the type has a member of the same name.
private func systemKill(_ process: Int32, _ signal: Int32) { _ = kill(process, signal) }
