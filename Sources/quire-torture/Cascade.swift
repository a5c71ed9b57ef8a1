// quire-torture cascade: one removal takes a million rows with it, by the rules of their edges.

import ArgumentParser
import Foundation
import QuireDatabase
import QuireRelationships
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Measures edges: deriving them, counting them, and what a cascade takes.
struct Cascade: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Removes one row that takes all others with it, and measures it.",
    discussion: """
      Makes a new database of --rows rows and one more in the folder, each with an edge that its object derives and \
      that deletes the row at its other end: in a star all begin at one row, in a chain each at the row before, in a \
      tree at the row of half its number, and in a crowd all lead to one row, which goes with the last of them. Then \
      one row is removed, in a crowd all but that one, in one transaction, and the time and the memory beyond the \
      cache are told, of building as well. Ends with status 1 if a row or an edge is left.
      """)

  /// How rows hang together.
  enum Shape: String, CaseIterable, ExpressibleByArgument {
    case star, chain, tree, crowd
  }

  @Argument(help: "A folder for the database, which is removed at the end.", completion: .directory)
  var folder: String
  @Option(help: "Rows, and edges.")
  var rows = 1_000_000
  @Option(help: "The cache in MiB.")
  var cache = 64
  @Option(help: "star, chain, tree or crowd.")
  var shape = Shape.star

  mutating func validate() throws {
    if rows < 1 || rows > 1 << 30 { throw ValidationError("--rows must be 1 to 2^30.") }
    if cache < 1 || cache > 1 << 16 { throw ValidationError("--cache must be 1 to 65536.") }
  }

  private static let items = RowCollection<Int, NoMetadata>("items", compression: .none)

  func run() throws {
    let path = folder + "/cascade.quire"
    do {
      let db = try Database(at: path, options: Database.Options(durability: .relaxed, cacheSize: cache << 20))
      guard try db.read({ tx in tx.count }) == 0 else {
        complain("\(path) has rows already.")
        throw ExitCode.failure
      }
      let relationship = makeRelationship()
      try db.register(relationship)
      try measure("stored \(rows + 1) rows and \(rows) edges", db) { try fill(db) }
      try db.checkpoint()
      try measure("removed them by a cascade", db) {
        _ = try db.write { tx in
          let items = tx[Self.items]
          if shape == .crowd {
            try items.remove((1...rows).lazy.map { "\($0)" })
          } else {
            try items.remove("0")
          }
        }
      }
      let left = try db.read { tx in (tx.count, try tx.relationship(relationship).count()) }
      try db.close()
      for name in [path] + (0..<8).map({ "\(path)-log\($0)" }) { unlink(name) }
      guard left == (0, 0) else {
        complain("\(left.0) rows and \(left.1) edges are left.")
        throw ExitCode.failure
      }
    } catch let error as DatabaseError {
      complain(error.description)
      throw ExitCode.failure
    }
  }

  /// Every object is its own number.
  private func makeRelationship() -> Relationship<Int> {
    let (count, shape) = (rows, shape)
    return Relationship("items.edges", over: Self.items) { number in
      switch shape {
      case .star:
        number == 0 ? [] : [Edge("e", to: Self.items, key: "0", rules: .deleteSourceIfDestinationDeleted)]
      case .chain:
        number == count
          ? [] : [Edge("e", to: Self.items, key: "\(number + 1)", rules: .deleteDestinationIfSourceDeleted)]
      case .tree:
        number == 0
          ? [] : [Edge("e", to: Self.items, key: "\(number / 2)", rules: .deleteSourceIfDestinationDeleted)]
      case .crowd:
        number == 0 ? [] : [Edge("e", to: Self.items, key: "0", rules: .deleteDestinationIfAllSourcesDeleted)]
      }
    }
  }

  private func fill(_ db: Database) throws {
    // A chain the other way round, so that no edge has to wait for its row.
    let numbers = shape == .chain ? Array((0...rows).reversed()) : Array(0...rows)
    for start in stride(from: 0, to: numbers.count, by: 10_000) {
      try db.write { tx in
        let part = numbers[start..<min(numbers.count, start + 10_000)]
        try tx[Self.items].load(part.lazy.map { ("\($0)", $0) })
      }
    }
  }

  /// Runs `body`, and says what it took.
  private func measure(_ what: String, _ db: Database, _ body: () throws -> Void) throws {
    let watch = MemoryWatch()
    let end = WatchEnd()
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      watch.run(until: { end.isHere.load(ordering: .relaxed) }, pages: { (0, 0) })
      hasEnded.signal()
    }
    defer {
      end.isHere.store(true, ordering: .relaxed)
      hasEnded.wait()
    }
    let time = try ContinuousClock().measure(body)
    let highest = watch.takeHighest()
    let microseconds = Double(time.components.attoseconds) / 1e12 + Double(time.components.seconds) * 1e6
    print(
      """
      \(shape.rawValue): \(what) in \(time), \(rounded(microseconds / Double(rows))) µs per edge; at the most \
      \(rounded(Double(highest) / Double(1 << 20))) MiB, \
      \(rounded(Double(max(0, highest - cache << 20)) / Double(1 << 20))) MiB beyond the cache
      """)
  }

  /// When to stop looking.
  private final class WatchEnd: Sendable {
    let isHere = Atomic<Bool>(false)
  }

  private func rounded(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }
}
