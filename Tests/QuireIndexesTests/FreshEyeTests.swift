// What users do with indexes and queries, and what spiteful ones do, by what is public alone: every answer is compared
// with a plain filter over all rows.

import Foundation
import QuireDatabase
import QuireIndexes
import QuireTesting
import QuireViews
import Testing

private struct Odd: Codable, Sendable, Equatable {
  enum Kind: Int, Codable, Sendable, SortKey, CaseIterable { case third = 3, first = 1, second = -2 }

  var text: String
  var note: String?
  var number: Int
  var other: Int
  var small: Int8
  var big: UInt64
  var real: Double
  var half: Float?
  var amount: Decimal
  var date: Date
  var day: Date?
  var blob: Data
  var kind: Kind
  var mood: Kind?
  var list: [Double?]
  var names: Set<String>
}

private struct Extra: Codable, Sendable, Equatable {
  var note: String?
  var rank: Int
  var marks: [Int]
}

extension RowCollection where Object == Odd, Metadata == Extra {
  fileprivate static var odds: Self { .init("odds") }
  fileprivate static var evens: Self { .init("evens") }
}

private typealias OddIndexes = Indexes<Odd, Extra>
private typealias OddCondition = Condition<Odd, Extra>
private typealias OddFields = Fields<Odd, Extra>
private typealias OddRow = Row<Odd, Extra>
private typealias Column = IndexColumn<Odd, Extra>

private let long = String(repeating: "x", count: 300)
private let texts =
  ["", "\0", "\0\0", "a", "a\0", "a\0b", "ab", "\u{10ffff}", "é", "e\u{301}", long, long + "a"]
  + [long + "\0", long + "b", long + "ab"]
private let reals: [Double] = [
  .nan, -0.0, 0, .infinity, -.infinity, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, .greatestFiniteMagnitude, 1.5,
]
private let ints = [Int.min, Int.min + 1, -1, 0, 1, 255, 256, Int.max - 1, Int.max]
private let dates = [
  Date.distantPast, .distantFuture, Date(timeIntervalSinceReferenceDate: 0),
  Date(timeIntervalSinceReferenceDate: -0.5), Date(timeIntervalSinceReferenceDate: 1e300),
]
private let amounts = ["0", "1", "1.00", "-1", "-1.5", "1e100", "1e-100", "99999999999999999999999999999999999999"]
  .compactMap { Decimal(string: $0) }

extension SeededRandom {
  fileprivate mutating func one<Element>(of list: [Element]) -> Element { list[below(list.count)] }
  fileprivate mutating func some<Element>(of list: [Element]) -> [Element] { list.filter { _ in below(3) == 0 } }
  fileprivate mutating func maybe<Element>(_ list: [Element]) -> Element? { below(3) == 0 ? nil : one(of: list) }

  fileprivate mutating func odd() -> Odd {
    Odd(
      text: one(of: texts), note: maybe(texts), number: one(of: ints), other: below(4),
      small: one(of: [.min, -1, 0, .max]),
      big: one(of: [0, 1, .max, 1 << 63]), real: one(of: reals), half: maybe(reals.map { Float($0) }),
      amount: one(of: amounts), date: one(of: dates), day: maybe(dates), blob: Data(one(of: texts).utf8),
      kind: one(of: Odd.Kind.allCases), mood: maybe(Odd.Kind.allCases),
      list: some(of: reals.map { $0 } + [nil]), names: Set(some(of: texts)))
  }

  fileprivate mutating func extra() -> Extra? {
    below(3) == 0 ? nil : Extra(note: maybe(texts), rank: one(of: ints), marks: some(of: ints))
  }
}

/// A condition and what it should mean.
private struct Pair {
  let text: String
  let condition: OddCondition
  let isTrue: (OddRow) -> Bool
}

private func isSame<Value: Equatable>(_ one: Value, _ two: Value) -> Bool {
  if let one = one as? String, let two = two as? String { return one.utf8.elementsEqual(two.utf8) }
  if let one = one as? String?, let two = two as? String? {
    return one.map { Array($0.utf8) } == two.map { Array($0.utf8) }
  }
  return one == two
}

private func isLess(_ one: some Comparable, _ two: some Comparable) -> Bool {
  func less<Value: Comparable>(_ one: Value, _ other: Any) -> Bool { (other as? Value).map { one < $0 } ?? false }
  if let one = one as? String, let two = two as? String { return one.utf8.lexicographicallyPrecedes(two.utf8) }
  return less(one, two)
}

extension SeededRandom {
  private mutating func plain<Value: SortKey & Comparable & Sendable>(
    _ name: String, _ term: Term<Odd, Extra, Odd, Value>, _ values: [Value], _ read: @escaping (Odd) -> Value
  ) -> Pair {
    let value = one(of: values)
    func pair(_ sign: String, _ condition: OddCondition, _ test: @escaping (Value) -> Bool) -> Pair {
      Pair(text: "\(name) \(sign) \(value)", condition: condition) { test(read($0.object)) }
    }
    let second = one(of: values)
    switch below(9) {
    case 0: return pair("==", term == value) { isSame($0, value) }
    case 1: return pair("!=", term != value) { !isSame($0, value) }
    case 2: return pair("<", term < value) { isLess($0, value) }
    case 3: return pair("<=", term <= value) { isLess($0, value) || isSame($0, value) }
    case 4: return pair(">", term > value) { isLess(value, $0) }
    case 5: return pair(">=", term >= value) { isLess(value, $0) || isSame($0, value) }
    case 6:
      return pair("… \(second)", term.isBetween(value, and: second)) {
        (isLess(value, $0) || isSame($0, value)) && (isLess($0, second) || isSame($0, second))
      }
    case 7: return pair("in none", term.isIn([])) { _ in false }
    default:
      let list = some(of: values) + [value, value]
      return pair("in \(list)", term.isIn(list)) { one in list.contains { isSame($0, one) } }
    }
  }

  private mutating func optional<Value: SortKey & Comparable & Sendable>(
    _ name: String, _ term: Term<Odd, Extra, Odd, Value?>, _ values: [Value], _ read: @escaping (Odd) -> Value?
  ) -> Pair {
    let value = maybe(values)
    func pair(_ sign: String, _ condition: OddCondition, _ test: @escaping (Value?) -> Bool) -> Pair {
      Pair(text: "\(name) \(sign) \(String(describing: value))", condition: condition) { test(read($0.object)) }
    }
    func less(_ one: Value?, _ two: Value?) -> Bool {
      guard let one, let two else { return false }
      return isLess(one, two)
    }
    func equal(_ one: Value?, _ two: Value?) -> Bool { one != nil && two != nil && isSame(one, two) }
    switch below(7) {
    case 0: return pair("==", term == value) { isSame($0, value) }
    case 1: return pair("!=", term != value) { !isSame($0, value) }
    case 2: return pair("<", term < value) { less($0, value) }
    case 3: return pair("<=", term <= value) { less($0, value) || equal($0, value) }
    case 4: return pair(">", term > value) { less(value, $0) }
    case 5: return pair(">=", term >= value) { less(value, $0) || equal($0, value) }
    default:
      let list = some(of: values).map { Optional($0) } + [value, value, nil]
      return pair("in \(list)", term.isIn(list)) { one in list.contains { isSame($0, one) } }
    }
  }

  private mutating func lists(_ fields: OddFields) -> Pair {
    let (name, number, mark) = (one(of: texts), maybe(reals), one(of: ints))
    switch below(5) {
    case 0:
      return Pair(text: "names has \(name)", condition: fields.names.contains(name)) { row in
        row.object.names.contains { isSame($0, name) }
      }
    case 1:
      return Pair(text: "list has \(String(describing: number))", condition: fields.list.contains(number)) { row in
        row.object.list.contains(number)
      }
    case 2:
      return Pair(text: "marks has \(mark)", condition: fields.metadata.marks.contains(mark)) { row in
        row.metadata?.marks.contains(mark) ?? false
      }
    case 3:
      let prefix = one(of: texts)
      return Pair(text: "note ^ \(prefix)", condition: fields.note.hasPrefix(prefix)) { row in
        row.object.note.map { $0.utf8.starts(with: prefix.utf8) } ?? false
      }
    default:
      let wanted = some(of: texts)
      return Pair(text: "names has of \(wanted)", condition: fields.names.contains(anyOf: wanted)) { row in
        row.object.names.contains { one in wanted.contains { isSame($0, one) } }
      }
    }
  }

  private mutating func metadata(_ fields: OddFields) -> Pair {
    let (rank, note) = (one(of: ints), maybe(texts))
    switch below(4) {
    case 0:
      return Pair(text: "rank < \(rank)", condition: fields.metadata.rank < rank) {
        ($0.metadata?.rank).map { $0 < rank } ?? false
      }
    case 1: return Pair(text: "rank != \(rank)", condition: fields.metadata.rank != rank) { $0.metadata?.rank != rank }
    case 2:
      return Pair(text: "meta note == \(String(describing: note))", condition: fields.metadata.note == note) {
        isSame($0.metadata?.note, note)
      }
    default:
      return Pair(text: "meta note != \(String(describing: note))", condition: fields.metadata.note != note) {
        !isSame($0.metadata?.note, note)
      }
    }
  }

  fileprivate mutating func leaf() -> Pair {
    let fields = OddFields()
    switch below(17) {
    case 0: return plain("text", fields.text, texts) { $0.text }
    case 1: return optional("note", fields.note, texts) { $0.note }
    case 2: return plain("number", fields.number, ints) { $0.number }
    case 3: return plain("other", fields.other, [0, 1, 2, 3]) { $0.other }
    case 4: return plain("small", fields.small, [.min, -1, 0, 5, .max]) { $0.small }
    case 5: return plain("big", fields.big, [0, 1, .max, 1 << 63]) { $0.big }
    case 6: return plain("real", fields.real, reals) { $0.real }
    case 7: return optional("half", fields.half, reals.map { Float($0) }) { $0.half }
    case 8: return plain("amount", fields.amount, amounts) { $0.amount }
    case 9: return plain("date", fields.date, dates) { $0.date }
    case 10: return optional("day", fields.day, dates) { $0.day }
    case 11:
      let key = "k\(below(80))"
      return Pair(text: "key >= \(key)", condition: fields.key >= key) { $0.key >= key }
    case 12: return metadata(fields)
    case 13:
      let mood = maybe(Odd.Kind.allCases)
      return Pair(text: "mood == \(String(describing: mood))", condition: fields.mood == mood) {
        $0.object.mood == mood
      }
    default: return lists(fields)
    }
  }

  fileprivate mutating func pair(_ depth: Int) -> Pair {
    guard depth > 0, below(3) > 0 else { return leaf() }
    let (left, right) = (pair(depth - 1), pair(depth - 1))
    switch below(5) {
    case 0: return Pair(text: "!(\(left.text))", condition: !left.condition) { !left.isTrue($0) }
    case 1, 2:
      return Pair(text: "(\(left.text) || \(right.text))", condition: left.condition || right.condition) {
        left.isTrue($0) || right.isTrue($0)
      }
    default:
      return Pair(text: "(\(left.text) && \(right.text))", condition: left.condition && right.condition) {
        left.isTrue($0) && right.isTrue($0)
      }
    }
  }

  fileprivate mutating func ordering() -> [(Column, (OddRow) -> [UInt8])] {
    (0..<below(4)).map { _ in
      func column<Value: SortKey>(
        _ up: Column, _ down: Column, _ read: @escaping (OddRow) -> Value
      ) -> (Column, (OddRow) -> [UInt8]) {
        if below(2) == 0 { return (up, { read($0).sortBytes }) }
        return (down, { Descending(read($0)).sortBytes })
      }
      switch below(7) {
      case 0: return column(.ascending(\.text), .descending(\.text)) { $0.object.text }
      case 1: return column(.ascending(\.note), .descending(\.note)) { $0.object.note }
      case 2: return column(.metadata(\.rank), .metadataDescending(\.rank)) { $0.metadata?.rank }
      case 3: return column(.ascending(\.real), .descending(\.real)) { $0.object.real }
      case 4: return column(.ascending(\.amount), .descending(\.amount)) { $0.object.amount }
      case 5: return column(.ascending(\.other), .descending(\.other)) { $0.object.other }
      default: return column(.ascending(\.mood), .descending(\.mood)) { $0.object.mood }
      }
    }
  }
}

extension Indexes where Object == Odd, Metadata == Extra {
  /// Lists of indexes of several kinds.
  fileprivate static func odds(_ kind: Int) -> Self {
    .init("odds.indexes", over: .odds) {
      if kind == 0 || kind == 1 {
        StoredField("text", \.text)
        StoredField("list", each: \.list)
        StoredField("rank", metadata: \.rank)
        StoredField("real", \.real)
      }
      if kind == 1 || kind == 2 {
        Index("note", \.note)
        Index("number", .descending(\.number))
        Index("other-real", \.other, .descending(\.real))
        Index("names", each: \.names)
        Index("date", \.date)
        Index("meta note", metadata: \.note)
        Index("few", \.text).where { $0.other == 1 || $0.real >= 0 }
        Index("mood", .descending(\.mood), .ascending(\.text), .metadataDescending(\.rank))
      }
      if kind == 2 {
        Index("text", .descending(\.text))
        Index("small", \.small)
        Index("big", \.big)
        Index("half", \.half)
        Index("amount", .descending(\.amount))
        Index("day", \.day)
        Index("list", .ascending(\.other), .each(\.list))
        Index("marks", .metadataEach(\.marks), .descending(\.note))
        Index("some", \.number).where { $0.note != nil && !$0.names.contains("") }
      }
    }
  }
}

@Suite struct FreshEyeTests {
  private func fill(_ tx: WriteTransaction, _ random: inout SeededRandom, _ count: Int) throws {
    for _ in 0..<count {
      let key = "k\(random.below(90))"
      switch random.below(6) {
      case 0: try tx[.odds].remove(key)
      default: try tx[.odds].set(random.odd(), metadata: random.extra(), for: key)
      }
      try tx[.evens].set(random.odd(), for: key)
    }
  }

  private func rows(_ rows: ReadableRows<Odd, Extra>) throws -> [OddRow] {
    try rows.find(.all).all.sorted { $0.rowID < $1.rowID }
  }

  private func check(
    _ found: ReadableRows<Odd, Extra>, _ random: inout SeededRandom, _ count: Int, _ note: String
  ) throws {
    let all = try rows(found)
    for _ in 0..<count {
      let (pair, order) = (random.pair(3), random.ordering())
      let limit: Int? = random.one(of: [nil, nil, 0, 1, 7, Int.max])
      let offset = random.one(of: [0, 0, 3, 1000, Int.max])
      var query = found.find(pair.condition)
      switch order.count {
      case 0: break
      case 1: query = query.order(by: order[0].0)
      case 2: query = query.order(by: order[0].0, order[1].0)
      default: query = query.order(by: order[0].0, order[1].0, order[2].0)
      }
      let matching = all.filter(pair.isTrue)
      let sorted = matching.enumerated().sorted { one, two in
        for (_, read) in order {
          let (left, right) = (read(one.element), read(two.element))
          if left != right { return left.lexicographicallyPrecedes(right) }
        }
        return one.offset < two.offset
      }.map(\.element)
      if let limit { query = query.limit(limit) }
      query = query.offset(offset)
      let expected = sorted.dropFirst(offset).prefix(limit ?? .max).map(\.key)
      let plan = try query.plan
      #expect(try query.keys == expected, "\(note): \(pair.text); \(plan)")
      #expect(try query.count == expected.count, "\(note): \(pair.text); \(plan)")
      #expect(try query.isEmpty == expected.isEmpty && query.first?.key == expected.first, "\(note): \(pair.text)")
      let whole = found.find(pair.condition)
      let least = matching.map(\.object.text).min { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      #expect(try whole.min(\.text).map { Array($0.utf8) } == least.map { Array($0.utf8) })
      #expect(try whole.max(\.number) == matching.map(\.object.number).max())
      #expect(try whole.min(\.amount) == matching.map(\.object.amount).min())
      #expect(try whole.sum(\.other) == matching.reduce(0) { $0 + $1.object.other })
      let groups = try whole.groupCounts(by: \.mood)
      let counted = Dictionary(grouping: matching, by: \.object.mood).mapValues(\.count)
      #expect(groups.map(\.count) == [nil, .second, .first, .third].compactMap { counted[$0] })
      #expect(try whole.distinct(\.date) == Set(matching.map(\.object.date)).sorted())
    }
  }

  @Test("Whatever is indexed, queries find what a filter does", arguments: seeds(TestSize.trials(4, divisor: 2)))
  func queriesAreFilters(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let db = try Database.inMemory()
    let count = [0, 1, 40, 300][random.below(4)]
    let (few, many) = (TestSize.trials(12, divisor: 6), TestSize.trials(20, divisor: 16))
    try db.write { tx in try fill(tx, &random, count) }
    try db.read { tx in try check(tx[.odds], &random, many, "seed \(seed), bare") }
    for kind in [0, 1, 2, 1, 0] {
      let pin = try db.pin()
      if random.below(2) == 0, kind != 0 { try db.unregister(extensionNamed: "odds.indexes") }
      if try db.read({ tx in try tx.registeredExtensions(OddIndexes.self).isEmpty }) {
        try db.register(OddIndexes.odds(kind))
      }
      try db.write { tx throws in
        try fill(tx, &random, 20)
        try? tx.savepoint {
          try fill(tx, &random, 20)
          if random.below(2) == 0 { try tx[.odds].removeAll() }
          throw CancellationError()
        }
        try check(tx[.odds].readable, &random, few, "seed \(seed), kind \(kind), writing")
      }
      try pin.read { tx in try check(tx[.odds], &random, few, "seed \(seed), kind \(kind), pinned") }
      try db.read { tx in try check(tx[.odds], &random, many, "seed \(seed), kind \(kind)") }
    }
    try db.close()
  }
}

@Suite struct FreshEyeLifeTests {
  private struct Thing: Codable, Sendable, Equatable {
    var one: Int
    var two: Int
    var mail: String?
  }
  private typealias Things = Indexes<Thing, NoMetadata>
  private static let things = RowCollection<Thing, NoMetadata>("things")
  private static let others = RowCollection<Thing, NoMetadata>("others")

  private func database(_ count: Int = 100) throws -> Database {
    let db = try Database.inMemory()
    try db.write { tx throws in
      for number in 0..<count {
        try tx[Self.things].set(Thing(one: number % 10, two: number % 7, mail: nil), for: "k\(number)")
        try tx[Self.others].set(Thing(one: number % 3, two: number, mail: nil), for: "k\(number)")
      }
    }
    return db
  }

  @Test func anotherFieldOfOneTypeUnderOneNameIsAnotherIndex() throws {
    let db = try database()
    try db.register(Things("i", over: Self.things) { Index("x", \.one) })
    var snapshots = [try db.pin()]
    try db.unregister(extensionNamed: "i")
    snapshots.append(try db.pin())
    try db.register(Things("i", over: Self.things) { Index("x", \.two) })
    snapshots.append(try db.pin())
    for snapshot in snapshots {
      try snapshot.read { tx throws in
        #expect(try tx[Self.things].find { $0.two == 3 }.keys.count == 14)
        #expect(try tx[Self.things].find { $0.one == 3 }.keys.count == 10)
        #expect(try tx[Self.things].find { $0.two >= 5 }.order(by: \.two).values(\.two).allSatisfy { $0 >= 5 })
      }
    }
  }

  @Test func aChangedConditionWithOrIsNoticed() throws {
    let folder = try TemporaryFolder()
    func list(_ limit: Int) -> Things {
      Things("i", over: Self.things) { Index("x", \.one).where { $0.two < limit || $0.one == 9 } }
    }
    for limit in [3, 5, 2] {
      let db = try Database(at: folder.path("db"))
      try db.write { tx throws in
        guard tx[Self.things].count == 0 else { return }
        for number in 0..<100 {
          try tx[Self.things].set(Thing(one: number % 10, two: number % 7, mail: nil), for: "k\(number)")
        }
      }
      try db.register(list(limit))
      try db.read { tx throws in
        let found = tx[Self.things].find { $0.one == 1 && ($0.two < limit || $0.one == 9) }
        #expect(try found.keys == stride(from: 1, to: 100, by: 10).filter { $0 % 7 < limit }.map { "k\($0)" })
        try tx.access(to: list(limit)).verify()
      }
      try db.close()
    }
  }

  @Test func anotherFieldOfOneTypeIsNoticed() throws {
    let folder = try TemporaryFolder()
    for (name, version, isOne) in [("x", "1", true), ("x", "1", false), ("y", "1", true), ("y", "2", false)] {
      let db = try Database(at: folder.path("db"))
      try db.write { tx throws in
        guard tx[Self.things].count == 0 else { return }
        for number in 0..<100 {
          try tx[Self.things].set(Thing(one: number % 10, two: number % 7, mail: nil), for: "k\(number)")
        }
      }
      let list = Things("i", over: Self.things, version: version) {
        Index(name, isOne ? \.one : \.two)
        Index("some", \.mail).where { isOne ? $0.one < 5 : $0.two < 5 }
      }
      try db.register(list)
      try db.read { tx throws in
        #expect(try tx[Self.things].find { $0.two == 3 }.count == 14)
        #expect(try tx[Self.things].find { $0.one == 3 }.count == 10)
        #expect(try tx[Self.things].find { $0.two < 5 && $0.mail == nil }.count == 72)
        try tx.access(to: list).verify()
      }
      try db.close()
    }
  }

  @Test func twoCollectionsMayNameTheirIndexesAlike() throws {
    let db = try database()
    try db.register(Things("i", over: Self.things) { Index("x", \.one).unique().where { $0.mail != nil } })
    try db.register(Things("o", over: Self.others) { Index("x", \.two).unique() })
    try db.read { tx throws in
      #expect(try tx[Self.things].find { $0.one == 2 }.count == 10)
      #expect(try tx[Self.others].find { $0.two == 2 }.keys == ["k2"])
      #expect(try tx[Self.others].find { $0.one == 2 }.count == 33)
    }
    try db.write { tx throws in
      #expect(try tx[Self.others].update(where: { $0.two >= 50 }) { $0.two += 1000 } == 50)
      #expect(try tx[Self.others].find { $0.two >= 1000 }.count == 50)
      #expect(try tx[Self.others].remove { $0.two < 1060 && $0.two >= 10 } == 50)
      #expect(tx[Self.things].count == 100)
    }
    try db.unregister(extensionNamed: "i")
    try db.read { tx throws in #expect(try tx[Self.others].find { $0.two == 1061 }.keys == ["k61"]) }
    try db.close()
  }

  @Test func aUniqueIndexOverDuplicatesIsRefusedAndNothingIsLeft() throws {
    let folder = try TemporaryFolder()
    let list = Things("i", over: Self.things) {
      Index("mail", \.mail).unique()
      Index("one", \.one)
    }
    let long = String(repeating: "m", count: 5000)
    for _ in 0..<2 {
      let db = try Database(at: folder.path("db"))
      try db.write { tx throws in
        for number in 0..<10 {
          try tx[Self.things].set(Thing(one: number, two: 0, mail: long + "\(number / 2)"), for: "k\(number)")
        }
      }
      do {
        try db.register(list)
        Issue.record("duplicates are let through")
      } catch {
        let cause = (error as? DatabaseError)?.cause as? IndexError
        guard case .notUnique("mail", let keys)? = cause else {
          Issue.record("\(error)")
          return
        }
        #expect(keys.count >= 2 && Set(keys).count == keys.count)
      }
      try db.write { tx throws in
        #expect(try tx[Self.things].find { $0.mail == long + "1" }.keys == ["k2", "k3"])
        #expect(try tx[Self.things].find { $0.one == 3 }.keys == ["k3"])
        try tx[Self.things].update("k3") { $0.one = 30 }
        #expect(try tx[Self.things].find { $0.one == 30 }.keys == ["k3"])
      }
      try db.close()
    }
    let db = try Database(at: folder.path("db"))
    try db.write { tx in for number in 0..<10 where number % 2 == 0 { try tx[Self.things].remove("k\(number)") } }
    try db.register(list)
    #expect(throws: DatabaseError.self) {
      try db.write { tx in try tx[Self.things].set(Thing(one: 0, two: 0, mail: long + "0"), for: "new") }
    }
    try db.write { tx throws in
      try tx[Self.things].set(Thing(one: 0, two: 0, mail: long + "00"), for: "new")
      try tx[Self.things].set(Thing(one: 0, two: 0, mail: nil), for: "nil")
      try tx[Self.things].set(Thing(one: 0, two: 0, mail: nil), for: "nil again")
    }
    try db.read { tx throws in
      #expect(try tx[Self.things].find { $0.mail == long + "0" }.keys == ["k1"])
      try tx.access(to: list).verify()
    }
    try db.close()
  }

  @Test func collectionsAreRenamedWithTheirIndexes() throws {
    let folder = try TemporaryFolder()
    var db = try Database(at: folder.path("db"))
    try db.write { tx throws in
      for number in 0..<50 { try tx[Self.things].set(Thing(one: number % 5, two: 1, mail: nil), for: "k\(number)") }
    }
    try db.register(Things("i", over: Self.things) { Index("one", \.one) })
    try db.close()
    db = try Database(at: folder.path("db"), options: .init(renamedCollections: ["things": "others"]))
    let list = Things("i", over: Self.others) { Index("one", \.one) }
    try db.register(list)
    try db.write { tx throws in
      #expect(try tx[Self.others].find { $0.one == 2 }.requireIndex().count == 10)
      try tx[Self.others].update(where: { $0.one == 2 }) { $0.one = 3 }
      #expect(try tx[Self.others].find { $0.one == 3 }.requireIndex().count == 20)
    }
    try db.read { tx in try tx.access(to: list).verify() }
    try db.close()
  }

  @Test func updatesGoOnWhileIndexesComeAndGo() async throws {
    let db = try database(30)
    let query = Self.things.query { $0.one == 4 }.order(by: .descending(\.two)).limit(4)
    var iterator = try db.updates(of: query).makeAsyncIterator()
    var list: [[String]] = []
    let first = try #require(try await iterator.next())
    try first.diff.apply(to: &list) { first.keys[$0.row] }
    for step in 0..<12 {
      switch step % 4 {
      case 0: try await db.register(Things("i", over: Self.things) { Index("one", \.one, .descending(\.two)) })
      case 2: try await db.unregister(extensionNamed: "i")
      default: break
      }
      try await db.write { tx throws in
        if step == 7 { try tx[Self.things].removeAll() }
        try tx[Self.things].set(Thing(one: 4, two: step * 3 % 8, mail: nil), for: "n\(step)")
        if step == 9 { try tx[Self.things].remove { $0.one == 4 && $0.two > 3 } }
      }
      while let next = try iterator.nextIfReady() { try next.diff.apply(to: &list) { next.keys[$0.row] } }
      let expected = try await db.read { tx in try tx.find(query).keys }
      let plain = try await db.read { tx throws in
        try tx[Self.things].find(.all).all.filter { $0.object.one == 4 }.sorted {
          $0.object.two != $1.object.two ? $0.object.two > $1.object.two : $0.rowID < $1.rowID
        }.prefix(4).map(\.key)
      }
      #expect(expected == plain && (list.first ?? []) == expected, "step \(step)")
    }
  }

  private struct Thrown: Error {}

  @Test func closuresThatThrowEndTheQueryAlone() throws {
    let db = try database()
    try db.register(Things("i", over: Self.things) { Index("one", \.one) })
    let bad = Condition<Thing, NoMetadata>.closure { thing, _ in
      if thing.two == 6 { throw Thrown() }
      return true
    }
    try db.write { tx throws in
      #expect(throws: Thrown.self) { try tx[Self.things].find(bad).count }
      #expect(throws: Thrown.self) { try tx[Self.things].remove { _ in !bad } }
      #expect(throws: Thrown.self) { try tx[Self.things].find(bad).order(by: \.one).limit(50).keys }
      #expect(throws: Thrown.self) {
        try tx[Self.things].update(where: { $0.one == 1 }) {
          $0.one = 77
          if $0.two == 6 { throw Thrown() }
        }
      }
      let changed = try tx[Self.things].find { $0.one == 77 }.keys
      #expect(try changed == tx[Self.things].find(.closure { thing, _ in thing.one == 77 }).keys)
      #expect(throws: IndexError.self) { try tx[Self.things].find { $0.two == 1 }.requireIndex().keys }
      #expect(try tx[Self.things].find(.none).requireIndex().keys == [])
    }
    try db.close()
  }

  @Test(.enabled(if: TestSize.hasSlowTests, "slow")) func manyLongValuesThatDifferAtTheEnd() throws {
    let long = String(repeating: "q", count: 239)
    let db = try Database.inMemory()
    try db.write { tx throws in
      for number in 0..<600 {
        try tx[Self.things].set(Thing(one: number, two: 0, mail: long + "\(number)"), for: "k\(number)")
      }
    }
    let lists = [
      Things("i", over: Self.things) { StoredField("m", \.mail) }, .init("i", over: Self.things) { Index("m", \.mail) },
      .init("i", over: Self.things) { Index("m", .descending(\.mail), .ascending(\.one)).unique(.immediate) },
    ]
    for (number, list) in lists.enumerated() {
      try db.register(list)
      try db.read { tx throws in
        // In the short size each list is asked for a third of the counts.
        for (place, count) in [3, 16, 17, 255, 256, 257, 590].enumerated()
        where TestSize.isFull || place % lists.count == number {
          let wanted = (0..<count).map { long + "\($0 * 2)" }
          let known = Set(wanted)
          let expected = (0..<600).filter { known.contains(long + "\($0)") }
          let found = tx[Self.things].find { $0.mail.isIn(wanted + wanted) }
          #expect(try found.count == expected.count && found.keys == expected.map { "k\($0)" })
          #expect(try tx[Self.things].find { !$0.mail.isIn(wanted) }.count == 600 - expected.count)
          let sorted = expected.map { long + "\($0)" }.sorted()
          #expect(try found.order(by: .descending(\.mail)).values(\.mail) == sorted.reversed())
          #expect(try found.order(by: \.mail).offset(2).limit(.max).values(\.mail) == Array(sorted.dropFirst(2)))
        }
        #expect(try tx[Self.things].find(.all).groupCounts(by: \.mail).count == 600)
        try tx.access(to: list).verify()
      }
      try db.unregister(extensionNamed: "i")
    }
    try db.close()
  }

  private struct Real: Codable, Sendable, Equatable { var real: Double }

  @Test func whatIsNotANumberIsEqualToNothingAlsoInUniqueIndexes() throws {
    let db = try Database.inMemory()
    let reals = RowCollection<Real, NoMetadata>("reals")
    try db.register(Indexes("r", over: reals) { Index("real", \.real).unique() })
    try db.write { tx throws in
      try tx[reals].set(Real(real: .nan), for: "a")
      try tx[reals].set(Real(real: .nan), for: "b")
      #expect(try tx[reals].find { $0.real == .nan }.count == 0)
      #expect(try tx[reals].find { $0.real != .nan }.count == 2)
    }
    try db.close()
  }

  @Test func nilsOfMetadataAreLetThroughByUniqueIndexes() throws {
    let db = try Database.inMemory()
    let list = OddIndexes("o", over: .odds) { Index("note", metadata: \.note).unique(.immediate) }
    var random = SeededRandom(seed: 1)
    try db.write { tx throws in
      for key in ["a", "b"] {
        try tx[.odds].set(random.odd(), metadata: Extra(note: nil, rank: 1, marks: []), for: key)
        try tx[.odds].set(random.odd(), for: key + " bare")
      }
    }
    try db.register(list)
    try db.write { tx throws in
      try tx[.odds].set(random.odd(), metadata: Extra(note: nil, rank: 1, marks: []), for: "c")
      try tx[.odds].set(random.odd(), metadata: Extra(note: "", rank: 1, marks: []), for: "d")
      #expect(try tx[.odds].find { $0.metadata.note == nil }.count == 5)
      #expect(try tx[.odds].find { $0.metadata.note != nil }.keys == ["d"])
    }
    #expect(throws: DatabaseError.self) {
      try db.write { tx throws in
        try tx[.odds].set(random.odd(), metadata: Extra(note: "", rank: 2, marks: []), for: "e")
      }
    }
    try db.close()
  }
}
