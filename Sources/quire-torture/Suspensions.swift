// quire-torture suspend: what it takes to give a file up, and to take it again.

import ArgumentParser
import QuireDatabase
import QuireTesting

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Suspends and resumes a database, and measures both.
struct Suspensions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "suspend",
    abstract: "Measures suspending and resuming a database.",
    discussion: """
      Makes a database of --rows rows of about 120 bytes in the folder, which is removed at the end, and suspends and \
      resumes it --runs times in each case: at rest; after 1,000 commits that were not flushed; with 64 MiB in the \
      log; with 20 extensions; after a commit of somebody else, without extensions, with 20 that the other has \
      registered as well, and with 20 of which it knows nothing, so that they are built anew. Tells the medians.
      """)

  @Argument(help: "A folder for the database, which is removed at the end.", completion: .directory)
  var folder: String
  @Option(help: "Rows.")
  var rows = 10_000
  @Option(help: "How often each case is measured.")
  var runs = 9

  mutating func validate() throws {
    if rows < 1 || rows > 1 << 24 { throw ValidationError("--rows must be 1 to 2^24.") }
    if runs < 1 || runs > 1000 { throw ValidationError("--runs must be 1 to 1000.") }
  }

  private static let items = RowCollection<String, Int>("items", compression: .none)
  private static let extensions = (0..<20).map { TextIndex(name: "items.\($0)", collection: items) }
  private static let options = Database.Options(durability: .relaxed, maintainsWhenIdle: false)

  private var path: String { folder + "/suspend.quire" }

  func run() throws {
    guard access(path, F_OK) != 0 else {
      complain("\(path) exists already.")
      throw ExitCode.failure
    }
    defer { for name in [path] + (0..<64).map({ "\(path)-log\($0)" }) { unlink(name) } }
    do { try measureAll() } catch let error as DatabaseError {
      complain(error.description)
      throw ExitCode.failure
    }
  }

  private func measureAll() throws {
    let db = try Database(at: path, options: Self.options)
    try fill(db)
    print("\(rows) rows; medians of \(runs) runs")
    print(padded("case", 40) + aligned("µs to suspend", 14) + aligned("to resume", 12))
    try measure("at rest", db) { try db.checkpoint() }
    try measure("after 1,000 commits", db) {
      try db.checkpoint()
      for number in 0..<1000 { try store(number, in: db) }
    }
    try measure("64 MiB in the log", db) {
      try db.checkpoint()
      let text = String(repeating: "x", count: 64 << 10)
      for number in 0..<1024 {
        try db.write { tx in try tx[Self.items].set(text, metadata: 0, for: "large \(number)") }
      }
    }
    try db.write { tx in for number in 0..<1024 { try tx[Self.items].remove("large \(number)") } }
    try measure("a commit of another", db, whileSuspended: { try writeElsewhere([]) }) { try db.checkpoint() }
    for one in Self.extensions { try db.register(one) }
    try measure("20 extensions", db) { try db.checkpoint() }
    try measure("a commit of another, who has them, too", db, whileSuspended: { try writeElsewhere(Self.extensions) }) {
      try db.checkpoint()
    }
    try measure("a commit of another, who has none", db, whileSuspended: { try writeElsewhere([]) }) {
      try db.checkpoint()
    }
    try db.close()
  }

  private func fill(_ db: Database) throws {
    var random = SeededRandom(seed: 3)
    try db.write { tx in
      for number in 0..<rows {
        let text = "text \(random.next()) of a row that is about one hundred and twenty bytes long, \(number)"
        try tx[Self.items].set(text, metadata: number % 7, for: "item \(number)")
      }
    }
  }

  private func store(_ number: Int, in db: Database) throws {
    try db.write { tx in try tx[Self.items].set("a text that is new, \(number)", metadata: 0, for: "new \(number)") }
  }

  /// What a process would do that has the file meanwhile.
  private func writeElsewhere(_ extensions: [TextIndex]) throws {
    let other = try Database(at: path, options: Self.options)
    for one in extensions { try other.register(one) }
    try store(0, in: other)
    try other.close()
  }

  private func measure(
    _ name: String, _ db: Database, whileSuspended: () throws -> Void = {}, before: () throws -> Void
  ) throws {
    let clock = ContinuousClock()
    var suspending: [Duration] = []
    var resuming: [Duration] = []
    for _ in 0..<runs {
      try before()
      suspending.append(try clock.measure { try db.suspend() })
      try whileSuspended()
      resuming.append(try clock.measure { _ = try db.resume() })
    }
    print(padded(name, 40) + aligned(median(suspending), 14) + aligned(median(resuming), 12))
  }

  /// The middle one, in microseconds.
  private func median(_ times: [Duration]) -> Int { Int(times.sorted()[times.count / 2] / .microseconds(1)) }
}
