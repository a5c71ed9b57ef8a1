// Closures that were changed under the same version.

import Logging
import QuireDatabase
import QuireTesting
import QuireViews
import Synchronization
import Testing

@Suite struct ViewCheckTests {
  private typealias View = AutoView<Item, Int>

  /// Keeps what is logged as a warning.
  private final class Lines: Sendable {
    private let lines = Mutex<[String]>([])
    var all: [String] { lines.withLock { $0 } }
    func add(_ line: String) { lines.withLock { $0.append(line) } }
  }

  private struct Handler: LogHandler {
    let lines: Lines
    var metadata = Logger.Metadata()
    var logLevel = Logger.Level.warning
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
    func log(event: LogEvent) {
      let details = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted().joined(separator: " ")
      lines.add("\(event.message) \(details)")
    }
  }

  private static func open(_ disk: SimulatedDisk, _ lines: Lines? = nil) throws -> Database {
    var options = Database.Options()
    if let lines { options.logger = Logger(label: "test") { _ in Handler(lines: lines) } }
    return try disk.openDatabase(seed: 1, options)
  }

  /// What is registered before and after the code was changed.
  enum Change: String, CaseIterable, Sendable {
    case nothing
    case group
    case sortKey
    case comparison
    case isLeftOut
    case isTakenIn
    case filter
  }

  private static func views(_ change: Change?) -> (View, FilteredView<View>) {
    let version = "1"
    let name = "view"
    let grouping = ViewGrouping<Item, Int>.byObject { item in
      if change == .isLeftOut, item.rank % 2 == 0 { return nil }
      if change == .isTakenIn { return item.group ?? "taken" }
      return change == .group ? item.group.map { $0 + "2" } : item.group
    }
    let sorting: ViewSorting<Item, Int> =
      switch change {
      case .sortKey: .byObject { Descending($0.rank) }
      case .comparison: .byObject { $0.rank > $1.rank }
      default: .byObject { $0.rank }
      }
    let view = View(name, over: [.items()], version: version, grouping: grouping, sorting: sorting)
    return (
      view,
      FilteredView("few", of: view, version: version, filter: .byObject { $0.rank > (change == .filter ? 5 : 90) })
    )
  }

  @Test(arguments: Change.allCases) func aChangedClosureIsToldOf(_ change: Change) throws {
    let disk = SimulatedDisk()
    let first = try Self.open(disk)
    try first.write { tx throws in
      for rank in 0..<100 {
        try tx[.items()].set(Item(group: rank % 10 == 0 ? nil : "a", rank: rank), for: "k\(rank)")
      }
    }
    // Comparing stores other orders than keys do.
    let (before, few) = change == .comparison ? Self.compared : Self.views(nil)
    try first.register(before)
    try first.register(few)
    try first.verify(before)
    try first.verify(few)
    try first.close()
    let lines = Lines()
    let db = try Self.open(disk, lines)
    let (view, filtered) = Self.views(change)
    try db.register(view)
    try db.register(filtered)
    let name = change == .filter ? "few" : "view"
    var thrown: DatabaseError?
    do { if change == .filter { try db.verify(filtered) } else { try db.verify(view) } } catch let error
      as DatabaseError
    { thrown = error }
    if change == .nothing {
      #expect(lines.all.isEmpty && thrown == nil)
      return
    }
    #expect(thrown?.code == .viewDiffers && thrown?.collection == "items" && thrown?.key != nil)
    #expect(thrown?.message.contains("“\(name)”") == true && thrown?.message.contains("raise the version") == true)
    let told = lines.all.filter { $0.contains("view=\(name)") }
    #expect(told.count == 1, "\(lines.all)")
    #expect(told.allSatisfy { $0.contains("collection=items") && $0.contains("key=k") && $0.contains("version=1") })
  }

  private static var compared: (View, FilteredView<View>) {
    let view = View(
      "view", over: [.items()], version: "1", grouping: .byObject { $0.group }, sorting: .byObject { $0.rank < $1.rank }
    )
    return (view, FilteredView("few", of: view, version: "1", filter: .byObject { $0.rank > 90 }))
  }

  @Test func whatIsBuiltAnewIsNotLookedAt() throws {
    let disk = SimulatedDisk()
    let calls = Mutex(0)
    @Sendable func group(_ item: Item) -> String? {
      calls.withLock { $0 += 1 }
      return item.group
    }
    func view(_ version: String) -> View {
      View(
        "view", over: [.items()], version: version, grouping: .byObject { group($0) }, sorting: .byObject { $0.rank })
    }
    for (version, expected) in [("1", 1_000...1_000), ("2", 1_000...1_000), ("2", 40...64)] {
      let db = try Self.open(disk)
      if version == "1" {
        try db.write { tx throws in
          for rank in 0..<1_000 { try tx[.items()].set(Item(group: "a", rank: rank), for: "k\(rank)") }
        }
      }
      calls.withLock { $0 = 0 }
      try db.register(view(version))
      let count = calls.withLock { $0 }
      #expect(expected.contains(count), "version \(version): \(count)")
      try db.close()
    }
  }
}
