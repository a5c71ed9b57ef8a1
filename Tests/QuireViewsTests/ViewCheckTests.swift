// Closures that were changed under the same version.

import Logging
import QuireDatabase
import QuireStorage
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

  /// Changes of a view's trees below the objects, by whoever can write checksums.
  enum Forgery: CaseIterable, Sendable {
    case groupWithoutName, groupWithoutNumber, entryWithoutRow, rowWithoutEntry, entryOfAnotherRow
  }

  @Test(arguments: Forgery.allCases) func treesThatDisagreeAreFound(_ forgery: Forgery) throws {
    let folder = try TestFolder()
    let list = ManualView<Item, Int>("list", over: [.items()], version: "1")
    let (view, few) = Self.views(nil)
    let db = try folder.open()
    try db.register(view)
    try db.register(few)
    try db.register(list)
    try db.write { tx throws in
      for rank in 0..<9 { try tx[.items()].set(Item(group: "a", rank: rank), for: "k\(rank)") }
      for rank in 0..<9 { try tx.access(to: list).append("k\(rank)", to: "a") }
    }
    try db.close()
    try Self.forge(forgery, folder)
    let again = try folder.open()
    try again.register(view)
    try again.register(few)
    try again.register(list)
    #expect(code { try again.verify(list) } == .damagedRow)
    #expect(code { try again.verify(view) } == .damagedRow)
    try again.verify()
    // What the error advises helps.
    for name in ["list", "few", "view"] { try again.unregister(extensionNamed: name) }
    try again.register(view)
    try again.register(list)
    try again.verify(view)
    try again.verify(list)
    try again.close()
  }

  private func code(_ body: () throws -> Void) -> DatabaseError.Code? {
    do { try body() } catch { return (error as? DatabaseError)?.code }
    return nil
  }

  private static func firstEntry(
    _ tx: borrowing QuireStorage.WriteTransaction, _ tree: Tree
  ) throws -> (key: [UInt8], value: [UInt8])? {
    var cursor = try tx.cursor(tree)
    guard try cursor.next(), let key = try cursor.readKey(), let value = try cursor.value else { return nil }
    return (key, value)
  }

  private static func forge(_ forgery: Forgery, _ folder: TestFolder) throws {
    let engine = try StorageEngine(at: folder.path)
    try engine.write { tx in
      for name in tx.treeNames where name.hasPrefix("quire.extension.") {
        guard let tree = tx.tree(named: name) else { continue }
        switch (forgery, name.split(separator: ".").last ?? "") {
        case (.groupWithoutNumber, "groups"): _ = try tx.delete(Array("a".utf8), in: tree)
        case (.groupWithoutName, "names"): try tx.deleteAll(in: tree)
        case (.rowWithoutEntry, "entries"), (.entryOfAnotherRow, "entries"):
          guard let (first, value) = try firstEntry(tx, tree) else { continue }
          if forgery == .rowWithoutEntry {
            _ = try tx.delete(first, in: tree)
          } else {
            try tx.put(value.dropLast() + [value[value.count - 1] ^ 1], for: first, in: tree)
          }
        case (.entryWithoutRow, "rows"): try tx.deleteAll(in: tree)
        default: break
        }
      }
    }
    try engine.close()
  }
}
