// quire-torture views: what views cost over many rows.

import ArgumentParser
import QuireDatabase
import QuireTesting
import QuireViews

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Registers views over a database of objects, changes rows, and says what each kind of change took.
struct Views: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Measures views over many rows.",
    discussion: """
      Makes a database of --rows rows in the folder, registers a view of them in 1,000 groups, sorted by a key, and \
      one of one row in a thousand of it, and measures, per row: storing rows with no view, registering, inserting, \
      moving within a group, inserting what the filter mostly leaves out; then a change set over 10,000 changes of the \
      view. The database goes when it is done.
      """)

  @Argument(help: "A folder for the database.", completion: .directory)
  var folder: String
  @Option(help: "Rows.")
  var rows = 1_000_000
  @Option(help: "The cache in MiB.")
  var cache = 512
  @Option(help: "Rows that each kind of change concerns.")
  var changes = 20_000

  mutating func validate() throws {
    if rows < 1000 || rows > 1 << 28 { throw ValidationError("--rows must be 1000 to 2^28.") }
    if cache < 1 || cache > 1 << 16 { throw ValidationError("--cache must be 1 to 65536.") }
    if changes < 1000 || changes > rows { throw ValidationError("--changes must be 1000 to the number of rows.") }
  }

  private struct Item: Codable, Sendable {
    var group: Int
    var rank: Int
    var text = "an object of about a hundred bytes, of which the view looks at two numbers and nothing else"
  }

  private static let items = RowCollection<Item, NoMetadata>("items", compression: .none)
  private static let view = AutoView(
    "items.byGroup", over: items, group: { "group \($0.group)" }, sortKey: { $0.rank })
  private static let few = FilteredView("items.few", of: view, filter: .byObject { $0.rank % 1000 == 0 })

  func run() throws {
    let path = folder + "/views-\(getpid()).quire"
    defer { for name in [path] + (0..<8).map({ "\(path)-log\($0)" }) { unlink(name) } }
    do { try measure(path) } catch let error as DatabaseError {
      complain(error.description)
      throw ExitCode.failure
    }
  }

  private func measure(_ path: String) throws {
    let db = try Database(at: path, options: Database.Options(durability: .relaxed, cacheSize: cache << 20))
    var random = SeededRandom(seed: 3)
    func item() -> Item { Item(group: random.below(1000), rank: random.below(1 << 30)) }
    try say("stored without a view", rows) { try put(db, 0..<rows) { _ in item() } }
    let before = ProcessMemory.byteCount
    var highest = before
    try say("registered", rows) {
      try db.register(Self.view) { _ in highest = max(highest, ProcessMemory.byteCount) }
    }
    let (beyond, more) = ((highest - cache << 20) >> 20, (highest - before) >> 20)
    print("  at the most \(max(0, beyond)) MiB beyond the cache, \(more) more than before")
    try say("inserted", changes) { try put(db, rows..<rows + changes) { _ in item() } }
    try say("moved within the group", changes) {
      try change(db, &random) { item, random in item.rank = random.below(1 << 30) }
    }
    try say("registered the filtered one", rows) { try db.register(Self.few) }
    try say("inserted with both", changes) { try put(db, rows + changes..<rows + 2 * changes) { _ in item() } }
    try changeSet(db, &random)
    try db.close()
  }

  private func put(_ db: Database, _ numbers: Range<Int>, _ make: (Int) -> Item) throws {
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: 1000) {
      try db.write { tx in
        let part = start..<min(numbers.upperBound, start + 1000)
        try tx[Self.items].load(part.map { ("\($0)", make($0)) })
      }
    }
  }

  private func change(
    _ db: Database, _ random: inout SeededRandom, _ body: (inout Item, inout SeededRandom) -> Void
  ) throws {
    for _ in 0..<changes / 1000 {
      try db.write { tx in
        let items = tx[Self.items]
        for _ in 0..<1000 { try items.update("\(random.below(rows))") { body(&$0, &random) } }
      }
    }
  }

  /// A screen over a hundred groups that has missed ten thousand changes of them.
  private func changeSet(_ db: Database, _ random: inout SeededRandom) throws {
    let screen = try db.pin()
    var mappings = ViewMappings(Self.view, groups: (0..<100).map { "group \($0)" })
    try screen.read { tx in try mappings.update(tx) }
    try db.write { tx in
      let items = tx[Self.items]
      for number in 0..<10_000 {
        let item = Item(group: random.below(100), rank: random.below(1 << 30))
        try items.set(item, for: "\(rows + 2 * changes + number)")
      }
    }
    var count = 0
    let time = try ContinuousClock().measure { count = try screen.advance(&mappings).rows.count }
    print("change set: \(count) row changes of \(mappings.count) rows in \(time)")
  }

  private func say(_ what: String, _ count: Int, _ body: () throws -> Void) throws {
    let time = try ContinuousClock().measure(body)
    let microseconds = Double(time.components.attoseconds) / 1e12 + Double(time.components.seconds) * 1e6
    print("\(what): \((microseconds / Double(count) * 100).rounded() / 100) µs per row")
  }
}
