// Random rows, edges and joins beside plain dictionaries.

import Foundation
import Quire
@testable import QuireIndexes
import QuireTesting
import Testing

@Suite("Joins beside a model")
struct JoinModelTests {
  @Test("A join finds what the edges say, whatever is planned", arguments: seeds(TestSize.trials(4, divisor: 2)))
  func agreesWithModel(seed: UInt64) throws {
    let folder = try TestFolder()
    var life = JoinLife(seed, folder.url.appendingPathComponent("db").path)
    do { try life.run(steps(TestSize.trials(40, divisor: 2))) } catch {
      Issue.record("QUIRE_JOIN_SEED=\(seed) swift test --filter JoinModelTests: \(error)")
    }
  }

  /// The seed of a long run, if one is asked for.
  private static func seeds(_ count: Int) -> [UInt64] {
    environmentNumber("QUIRE_JOIN_SEED").map { [UInt64($0)] } ?? (1...UInt64(count)).map { $0 }
  }

  private func steps(_ count: Int) -> Int {
    environmentNumber("QUIRE_JOIN_STEPS") ?? count
  }
}

private struct Member: Codable, Sendable {
  var age: Int
  var likes: [String]
}
private struct Club: Codable, Sendable { var size: Int }

extension RowCollection where Object == Member, Metadata == NoMetadata {
  fileprivate static var members: Self { .init("members") }
}

extension RowCollection where Object == Club, Metadata == NoMetadata {
  fileprivate static var clubs: Self { .init("clubs") }
}

/// What members like is derived; which clubs they are in is told by hand.
private let graph = Relationship<Member>("graph", over: .members) { member in
  member.likes.map { Edge("likes", to: .members, key: $0) }
}

/// Rows and edges as plain Swift has them.
private struct JoinModel {
  var members: [String: Int] = [:]
  var clubs: [String: Int] = [:]
  /// From one key to others.
  var likes: [String: Set<String>] = [:]
  var inClub: [String: Set<String>] = [:]

  mutating func remove(_ member: String) {
    members[member] = nil
    likes[member] = nil
    for key in likes.keys { likes[key]?.remove(member) }
    for key in inClub.keys { inClub[key]?.remove(member) }
  }
}

/// A condition in both forms.
private struct JoinCondition<Object: Sendable> {
  let text: String
  let condition: Condition<Object, NoMetadata>
  let isTrue: (String, JoinModel) -> Bool

  static prefix func ! (one: Self) -> Self {
    Self(text: "!\(one.text)", condition: !one.condition) { !one.isTrue($0, $1) }
  }
  static func && (one: Self, other: Self) -> Self {
    Self(text: "(\(one.text) && \(other.text))", condition: one.condition && other.condition) {
      one.isTrue($0, $1) && other.isTrue($0, $1)
    }
  }
  static func || (one: Self, other: Self) -> Self {
    Self(text: "(\(one.text) || \(other.text))", condition: one.condition || other.condition) {
      one.isTrue($0, $1) || other.isTrue($0, $1)
    }
  }
}

extension SeededRandom {
  private mutating func memberKey() -> String { "m\(below(60))" }
  private mutating func clubKey() -> String { "c\(below(12))" }

  fileprivate mutating func members(depth: Int = 3) -> JoinCondition<Member> {
    let fields = Fields<Member, NoMetadata>()
    switch below(depth > 0 ? 10 : 3) {
    case 0:
      let age = below(20)
      return JoinCondition(text: "age == \(age)", condition: fields.age == age) { $1.members[$0] == age }
    case 1:
      let age = below(20)
      return JoinCondition(text: "age >= \(age)", condition: fields.age >= age) { $1.members[$0] ?? -1 >= age }
    case 2:
      let keys = (0..<1 + below(4)).map { _ in memberKey() }
      return JoinCondition(text: "key in \(keys)", condition: fields.key.isIn(keys)) { key, _ in keys.contains(key) }
    case 3:
      let inner = members(depth: depth - 1)
      let condition = fields.hasEdge("likes", of: graph, to: RowCollection.members.query(inner.condition))
      return JoinCondition(text: "likes {\(inner.text)}", condition: condition) { key, model in
        model.likes[key]?.contains { inner.isTrue($0, model) } ?? false
      }
    case 4:
      let inner = members(depth: depth - 1)
      let condition = fields.hasEdge("likes", of: graph, from: RowCollection.members.query(inner.condition))
      return JoinCondition(text: "liked by {\(inner.text)}", condition: condition) { key, model in
        model.likes.contains { $1.contains(key) && inner.isTrue($0, model) }
      }
    case 5, 6:
      let inner = clubs(depth: depth - 1)
      let condition = fields.hasEdge("in", of: graph, from: RowCollection.clubs.query(inner.condition))
      return JoinCondition(text: "in {\(inner.text)}", condition: condition) { key, model in
        model.inClub.contains { $1.contains(key) && inner.isTrue($0, model) }
      }
    case 7: return !members(depth: depth - 1)
    case 8: return members(depth: depth - 1) || members(depth: depth - 1)
    default: return members(depth: depth - 1) && members(depth: depth - 1)
    }
  }

  private mutating func clubs(depth: Int) -> JoinCondition<Club> {
    let fields = Fields<Club, NoMetadata>()
    switch below(depth > 0 ? 4 : 2) {
    case 0:
      let size = below(4)
      return JoinCondition(text: "size == \(size)", condition: fields.size == size) { $1.clubs[$0] == size }
    case 1:
      let key = clubKey()
      return JoinCondition(text: "key == \(key)", condition: fields.key == key) { own, _ in own == key }
    case 2: return !clubs(depth: depth - 1)
    default:
      let inner = members(depth: depth - 1)
      let condition = fields.hasEdge("in", of: graph, to: RowCollection.members.query(inner.condition))
      return JoinCondition(text: "has {\(inner.text)}", condition: condition) { key, model in
        model.inClub[key]?.contains { inner.isTrue($0, model) } ?? false
      }
    }
  }

  // MARK: Changing

  /// Changes some rows and edges. A member that is removed is not stored again in the same transaction.
  fileprivate mutating func change(
    _ tx: WriteTransaction, _ model: inout JoinModel, _ removed: inout Set<String>
  ) throws {
    let edges = try tx.relationship(graph)
    for _ in 0..<1 + below(20) {
      let (member, club) = (memberKey(), clubKey())
      switch below(12) {
      case 0...4:
        if removed.contains(member) { continue }
        let age = below(20)
        model.members[member] = age
        let known = model.members.keys.sorted()
        let likes = (0..<below(4)).map { _ in pick(known) }
        try tx[.members].set(Member(age: age, likes: likes), for: member)
        model.likes[member] = Set(likes)
      case 5:
        removed.insert(member)
        try tx[.members].remove(member)
        model.remove(member)
      case 6:
        let size = below(4)
        try tx[.clubs].set(Club(size: size), for: club)
        model.clubs[club] = size
      case 7...10:
        guard model.members[member] != nil, model.clubs[club] != nil else { continue }
        try edges.add(Edge("in", from: .clubs, club, to: .members, member))
        model.inClub[club, default: []].insert(member)
      default:
        guard model.inClub[club]?.remove(member) != nil else { continue }
        try edges.remove(Edge("in", from: .clubs, club, to: .members, member))
      }
    }
  }

  fileprivate mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }
}

/// A life of two collections and the edges between their rows.
private struct JoinLife {
  private var random: SeededRandom
  private let path: String
  private var database: Database?
  private var isIndexed = false
  private var model = JoinModel()

  struct Differs: Error, CustomStringConvertible { let description: String }
  private struct Abort: Error {}

  init(_ seed: UInt64, _ path: String) {
    random = SeededRandom(seed: seed)
    self.path = path
  }

  mutating func run(_ count: Int) throws {
    try open()
    for _ in 0..<count {
      switch random.below(10) {
      case 0: try open()
      case 1...4: try change()
      default: try ask()
      }
    }
    try database?.close()
  }

  private mutating func open() throws {
    try database?.close()
    let new = try Database(at: path)
    database = new
    try new.register(graph)
    isIndexed = random.below(2) == 0
    for name in ["members.indexes", "clubs.indexes"] where !isIndexed {
      if try new.extensions().contains(where: { $0.name == name }) { try new.unregister(extensionNamed: name) }
    }
    guard isIndexed else { return }
    try new.register(Indexes("members.indexes", over: .members) { Index("age", \Member.age) })
    try new.register(Indexes("clubs.indexes", over: .clubs) { Index("size", \Club.size) })
  }

  private mutating func change() throws {
    guard let database else { return }
    var (changed, random) = (model, self.random)
    let fails = random.oneIn(6)
    do {
      try database.write { tx in
        var removed: Set<String> = []
        try random.change(tx, &changed, &removed)
        if random.oneIn(3) {
          var inner = changed
          do {
            try tx.savepoint {
              try random.change(tx, &inner, &removed)
              try Self.check(tx[.members].readTransaction, inner, &random)
              throw Abort()
            }
          } catch is Abort {}
        }
        try Self.check(tx[.members].readTransaction, changed, &random)
        if fails { throw Abort() }
      }
      model = changed
    } catch is Abort {}
    self.random = random
  }

  private mutating func ask() throws {
    guard let database else { return }
    let (pin, old) = (try database.pin(), model)
    if random.oneIn(2) { try change() }
    var random = self.random
    try pin.read { tx in for _ in 0..<3 { try Self.check(tx, old, &random) } }
    try database.read { [model] tx in for _ in 0..<3 { try Self.check(tx, model, &random) } }
    self.random = random
  }

  private static func check(_ tx: ReadTransaction, _ model: JoinModel, _ random: inout SeededRandom) throws {
    let condition = random.members()
    let expected = model.members.keys.filter { condition.isTrue($0, model) }.sorted()
    var query = tx[.members].find(condition.condition)
    for choice in [PlanChoice.best, .scan, .driver(0), .driver(1), .driver(2)] {
      query.choice = choice
      let found = try query.keys.sorted()
      let count = try query.count
      guard found == expected, count == expected.count else {
        throw Differs(
          description: "\(condition.text), \(choice): \(try query.plan): \(count): \(found), not \(expected)")
      }
    }
  }
}
