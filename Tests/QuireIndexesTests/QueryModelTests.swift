// Random rows, indexes and queries beside plain lists.

import Foundation
import QuireDatabase
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Queries beside a model")
struct QueryModelTests {
  @Test(
    "An index changes no result, whatever is planned", .enabled(if: TestSize.hasSlowTests, "slow"),
    arguments: seeds(TestSize.trials(6, divisor: 3)))
  func agreesWithModel(seed: UInt64) throws {
    let folder = try TemporaryFolder()
    var life = QueryLife(seed, folder.path("db"))
    do { try life.run(steps(60)) } catch {
      Issue.record("QUIRE_INDEX_SEED=\(seed) swift test --filter QueryModelTests: \(life.last): \(error)")
    }
  }
}

/// A life of a collection with indexes that come and go.
struct QueryLife {
  private var random: SeededRandom
  private let path: String
  private var database: Database?
  private var indexes: Indexes<Track, Plays>?
  private var model: [String: ModelRow] = [:]
  private var nextNumber = 0
  /// Whether rows are decoded whole: where unknown fields are refused, each has to be looked for.
  private let decodesWhole: Bool
  private(set) var last = ""

  struct Differs: Error, CustomStringConvertible { let description: String }

  init(_ seed: UInt64, _ path: String) {
    random = SeededRandom(seed: seed)
    decodesWhole = seed % 2 == 0
    self.path = path
  }

  mutating func run(_ count: Int) throws {
    try open()
    // Rows of another collection, which no query finds.
    try database?.write { tx in for key in ["k1", "k2"] { try tx[.otherTracks].set(random.track(), for: key) } }
    for _ in 0..<count {
      switch random.below(12) {
      case 0: try open()
      case 1: try reindex()
      case 2...5: try change()
      default: try ask()
      }
    }
    try verify()
    try database?.close()
  }

  private mutating func open() throws {
    last = "open"
    try database?.close()
    var options = Database.Options()
    if decodesWhole { options.unknownFields = .refuse }
    let new = try Database(at: path, options: options)
    database = new
    if let indexes { try new.register(indexes) }
  }

  private mutating func reindex() throws {
    guard let database else { return }
    last = "reindex"
    // Under the same version another list is met with what is stored; what both say stays.
    let goesOn = indexes != nil && random.below(2) == 0
    if let indexes, !goesOn { try database.unregister(extensionNamed: indexes.name) }
    let numbers = Indexes<Track, Plays>.all.indices.filter { _ in random.below(3) == 0 }
    if goesOn, let version = indexes?.version {
      indexes = .tracks(Array(numbers), version: version)
      return try open()
    }
    indexes = random.below(6) == 0 ? nil : .tracks(Array(numbers), version: "\(random.below(100))")
    if let indexes { try database.register(indexes) }
  }

  private func verify() throws {
    guard let database, let indexes else { return }
    try database.read { tx in try tx.access(to: indexes).verify() }
  }

  // MARK: Changing

  private struct Abort: Error {}

  private mutating func change() throws {
    guard let database else { return }
    last = "change"
    var (changed, number, random) = (model, nextNumber, self.random)
    let fails = random.below(8) == 0
    let indexes = self.indexes
    do {
      try database.write { tx in
        try Self.apply(tx, &changed, &number, &random)
        if let indexes { try tx.access(to: indexes).upkeep.checkInvariants() }
        if random.below(4) == 0 {
          var (inner, innerNumber) = (changed, number)
          let isKept = random.below(2) == 0
          do {
            try tx.savepoint {
              try Self.apply(tx, &inner, &innerNumber, &random)
              if !isKept { throw Abort() }
            }
            (changed, number) = (inner, innerNumber)
          } catch is Abort {}
          if let indexes { try tx.access(to: indexes).upkeep.checkInvariants() }
        }
        try Self.check(tx[.tracks].readTransaction[.tracks], changed, &random) { _ in }
        if fails { throw Abort() }
      }
      (model, nextNumber) = (changed, number)
    } catch is Abort {}
    self.random = random
    if random.below(10) == 0 { try verify() }
  }

  private static func apply(
    _ tx: WriteTransaction, _ model: inout [String: ModelRow], _ number: inout Int, _ random: inout SeededRandom
  ) throws {
    for _ in 0..<1 + random.below(40) {
      let key = random.key()
      switch random.below(40) {
      case 0...27:
        let (track, plays) = (random.track(), random.below(3) == 0 ? nil : Plays(count: random.below(4)))
        try tx[.tracks].set(track, metadata: plays, for: key)
        // A row that is replaced keeps its number.
        let own = model[key]?.number ?? number
        if model[key] == nil { number += 1 }
        model[key] = ModelRow(key: key, number: own, track: track, plays: plays)
      case 28...31:
        let plays = random.below(2) == 0 ? nil : Plays(count: random.below(4))
        if try tx[.tracks].replaceMetadata(plays, for: key) { model[key]?.plays = plays }
      case 32...38:
        try tx[.tracks].remove(key)
        model[key] = nil
      default:
        guard random.below(3) == 0 else { continue }
        try tx[.tracks].removeAll()
        model = [:]
      }
    }
  }

  // MARK: Asking

  private mutating func ask() throws {
    guard let database else { return }
    var random = self.random
    var text = ""
    defer {
      self.random = random
      last = text
    }
    // An old snapshot is asked as well, while another transaction changes rows.
    let pin = try database.pin()
    let old = model
    if random.below(4) == 0 {
      self.random = random
      try change()
      random = self.random
    }
    try pin.read { tx in for _ in 0..<4 { try Self.check(tx[.tracks], old, &random) { text = $0 } } }
    try database.read { [model] tx in for _ in 0..<4 { try Self.check(tx[.tracks], model, &random) { text = $0 } } }
  }

  /// Checks that a random query finds what it would find in the model, whatever is planned.
  static func check(
    _ rows: ReadableRows<Track, Plays>, _ model: [String: ModelRow], _ random: inout SeededRandom,
    choices: [PlanChoice] = [.best, .scan, .driver(0), .driver(1), .driver(2)], _ note: (String) -> Void
  ) throws {
    let (condition, order) = (random.condition(), random.order())
    let limit = random.below(3) == 0 ? random.below(20) : nil
    let offset = random.below(3) == 0 ? random.below(20) : 0
    let all = model.values.filter(condition.isTrue).sorted { one, two in
      let result = order.compare(one, two)
      return result != 0 ? result < 0 : one.number < two.number
    }
    let expected = all.dropFirst(offset).prefix(limit ?? .max).map(\.key)
    var query = rows.find(condition.condition).offset(offset)
    if let limit { query = query.limit(limit) }
    if !order.columns.isEmpty { query = query.ordered(by: order.columns) }
    for choice in choices {
      query.choice = choice
      let text =
        "\(condition.text) by \(order.text) limit \(limit ?? -1) offset \(offset), \(choice): \(try query.plan)"
      note(text)
      let found = try query.keys
      guard found == expected else {
        let odd = Set(found).symmetricDifference(expected).sorted().prefix(8).map { "\(String(describing: model[$0]))" }
        throw Differs(description: "\(text): \(found), not \(expected): \(odd)")
      }
      let count = try query.count
      guard count == expected.count else {
        throw Differs(description: "\(text): count \(count), not \(expected.count)")
      }
    }
  }
}
