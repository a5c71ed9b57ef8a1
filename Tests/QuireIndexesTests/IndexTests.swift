// What indexes refuse, promise and say.

import Foundation
import QuireDatabase
import QuireIndexes
import QuireTesting
import Testing

private struct Person: Codable, Sendable, Equatable {
  var mail: String
  var nick: String?
  var age: Int
}

extension RowCollection where Object == Person, Metadata == NoMetadata {
  fileprivate static var people: Self { .init("people") }
}

private typealias People = Indexes<Person, NoMetadata>

@Suite struct IndexTests {
  private func people(_ uniqueness: Index<Person, NoMetadata>.Uniqueness = .atCommit) -> People {
    People("people.indexes", over: .people) {
      Index("mail", \.mail).unique(uniqueness)
      Index("nick", \.nick).unique()
      Index("age", \.age)
    }
  }

  private func database(_ indexes: People?) throws -> Database {
    let db = try Database.inMemory()
    try db.write { tx in
      for number in 0..<100 { try tx[.people].set(person(number), for: "p\(number)") }
    }
    if let indexes { try db.register(indexes) }
    return db
  }

  private func count(_ found: FoundRows<Person, NoMetadata>) throws -> Int { try found.count }

  private func person(_ number: Int) -> Person {
    Person(mail: "m\(number)@example.org", nick: number < 50 ? nil : "n\(number)", age: number / 10)
  }

  /// The error of an index that `body` throws, by itself or as the cause of the transaction's.
  private func indexError(_ body: () throws -> Void) -> IndexError? {
    do { try body() } catch let error as DatabaseError { return error.cause as? IndexError } catch {
      return error as? IndexError
    }
    return nil
  }

  @Test func rowsAreJoinedByValue() throws {
    let db = try database(people())
    try db.read { tx throws in
      let ages = try tx[.people].find { $0.nick == "n72" }.requireIndex().distinct(\.age)
      let found = tx[.people].find { $0.age.isIn(ages) }.requireIndex()
      #expect(ages == [7])
      #expect(try found.keys == (70..<80).map { "p\($0)" })
    }
  }

  @Test func valuesOfUniqueIndexesAreHeldApartAtTheEnd() throws {
    let indexes = people()
    let db = try database(indexes)
    let error = indexError {
      try db.write { tx in try tx[.people].set(person(1), for: "other") }
    }
    #expect(error == .notUnique(index: "mail", keys: ["p1", "other"]))
    // Within a transaction two rows may have one value, as when they are swapped.
    try db.write { tx in
      try tx[.people].update("p1") { $0.mail = person(2).mail }
      try tx[.people].update("p2") { $0.mail = person(1).mail }
    }
    let found = try db.read { tx in try tx[.people].find(\.mail, person(1).mail) }
    #expect(found?.age == person(2).age)
    try db.read { tx in try tx.access(to: indexes).verify() }
  }

  @Test func storedFieldsAreReadInsteadOfRows() throws {
    func list(stored: Bool) -> People {
      People("people.indexes", over: .people) {
        Index("mail", \.mail)
        if stored { StoredField("age", \.age) }
      }
    }
    let folder = try TemporaryFolder()
    var db = try Database(at: folder.path("people"))
    try db.write { tx in
      for number in 0..<100 { try tx[.people].set(person(number), for: "p\(number)") }
    }
    try db.register(list(stored: false))
    func plan() throws -> (count: Int, plan: QueryPlan, ages: [Int]) {
      try db.read { tx in
        let found = tx[.people].find { $0.age >= 3 && $0.age < 5 }
        return (try found.count, try found.plan, try found.order(by: .descending(\.age)).limit(3).values(\.age))
      }
    }
    #expect(try plan().plan.testsRows)
    try db.close()
    db = try Database(at: folder.path("people"))
    try db.register(list(stored: true))
    try db.write { tx in
      try tx[.people].update("p30") { $0.age = 50 }
      try tx[.people].remove("p31")
    }
    let found = try plan()
    #expect(found.count == 18 && found.ages == [4, 4, 4])
    #expect(!found.plan.testsRows && found.plan.source == .scan(rowCount: 99))
    #expect(throws: IndexError.self) { try db.read { tx in try tx[.people].find { $0.age == 3 }.requireIndex().count } }
    try db.read { tx in
      let reader = try tx.access(to: list(stored: true))
      try reader.verify()
      #expect(reader.names == ["mail"] && reader.isReady(indexNamed: "age"))
      #expect(try reader.entryCount(ofIndexNamed: "age") == nil)
    }
    let twice = People("people.indexes", over: .people) {
      Index("age", \.mail)
      StoredField("age", \.age)
    }
    let other = try database(nil)
    #expect(indexError { try other.register(twice) } == .nameUsedTwice(index: "age"))
  }

  /// Values that have rows, and others, before, between and behind them, near each other and far apart.
  @Test(arguments: [1, 7, 40, 97]) func manyValuesAreLookedForFromOneToTheNext(step: Int) throws {
    let db = try database(people())
    let rowCount = TestSize.trials(3000, divisor: 3)
    try db.write { tx in
      for number in 100..<rowCount { try tx[.people].set(person(number), for: "p\(number)") }
    }
    let numbers = stride(from: -300, to: rowCount + 1000, by: step)
    let values = numbers.flatMap { ["m\($0)@example.org", "m\($0)@none", "x\($0)"] }
    let wanted = numbers.filter { (0..<rowCount).contains($0) }
    try db.read { tx throws in
      let found = tx[.people].find { $0.mail.isIn(values) }
      let (keys, count) = (try found.keys, try found.count)
      #expect(keys == wanted.map { "p\($0)" } && count == wanted.count)
      let last = try found.order(by: .descending(\.mail)).limit(3).values(\.mail)
      #expect(last == wanted.map { "m\($0)@example.org" }.sorted().suffix(3).reversed())
      let first = try found.requireIndex().limit(2).keys
      #expect(first == wanted.prefix(2).map { "p\($0)" })
    }
  }

  @Test(arguments: [false, true]) func textsWithZeroBytesAreToldApart(isIndexed: Bool) throws {
    // In the order of their bytes: some begin others.
    let texts = ["", "\0", "\0\0", "a", "a\0", "a\0\0", "a\0\0b", "a\0b", "a\u{1}", "ab"]
    let db = try Database.inMemory()
    if isIndexed { try db.register(people()) }
    try db.write { tx in
      for (number, text) in texts.enumerated().reversed() {
        try tx[.people].set(Person(mail: text, nick: nil, age: number), for: "p\(number)")
      }
    }
    try db.read { tx throws in
      for (number, text) in texts.enumerated() {
        #expect(try tx[.people].find { $0.mail == text }.keys == ["p\(number)"])
        #expect(try tx[.people].find { $0.mail < text }.count == number)
      }
      #expect(try tx[.people].find(.all).order(by: \.mail).values(\.age) == Array(texts.indices))
      #expect(try tx[.people].find(.all).order(by: .descending(\.mail)).values(\.age) == texts.indices.reversed())
    }
  }

  @Test func longValuesOfUniqueIndexesAreComparedWhole() throws {
    let db = try database(people())
    let long = String(repeating: "long", count: 200)
    try db.write { tx in
      try tx[.people].set(Person(mail: long + "a", nick: nil, age: 1), for: "a")
      try tx[.people].set(Person(mail: long + "b", nick: nil, age: 1), for: "b")
    }
    let error = indexError {
      try db.write { tx in try tx[.people].set(Person(mail: long + "a", nick: nil, age: 1), for: "c") }
    }
    #expect(error == .notUnique(index: "mail", keys: ["a", "c"]))
    // A change that leaves the beginning, which is all that the index has, as it was.
    let changed = indexError {
      try db.write { tx in try tx[.people].set(Person(mail: long + "a", nick: nil, age: 2), for: "b") }
    }
    #expect(changed == .notUnique(index: "mail", keys: ["a", "b"]))
    let seen1 = try db.read { tx in try tx[.people].find { $0.mail == long + "b" }.keys }
    #expect(seen1 == ["b"])
  }

  @Test func immediateUniquenessIsCheckedWithTheChange() throws {
    let db = try database(people(.immediate))
    try db.write { tx in
      let error = indexError {
        try tx.savepoint { try tx[.people].set(person(3), for: "other") }
      }
      #expect(error == .notUnique(index: "mail", keys: ["p3", "other"]))
    }
    let seen2 = try db.read { tx in try tx[.people].contains("other") }
    #expect(seen2 == false)
  }

  @Test func rowsThatBreakUniquenessRefuseARegistration() throws {
    let db = try database(nil)
    try db.write { tx in try tx[.people].set(person(7), for: "twin") }
    let error1 = indexError { try db.register(people()) }
    #expect(error1 == .notUnique(index: "mail", keys: ["p7", "twin"]))
    let seen3 = try db.read { tx in try tx[.people].find { $0.mail == person(7).mail }.keys }
    #expect(seen3 == ["p7", "twin"])
  }

  @Test func declarationsThatCannotBeAreRefusedWithWhatToDo() throws {
    let db = try database(nil)
    let twice = People("i", over: .people) {
      Index("age", \.age)
      Index("age", \.mail)
    }
    let error2 = indexError { try db.register(twice) }
    #expect(error2 == .nameUsedTwice(index: "age"))
    let none = People("i", over: .people) { Index("none", columns: []) }
    let error3 = indexError { try db.register(none) }
    #expect(error3 == .columnCount(index: "none", count: 0))
    try db.register(people())
    let second = People("second", over: .people) { Index("age", \.age) }
    let error4 = indexError { try db.register(second) }
    #expect(error4 == .severalForCollection(collection: "people", other: "people.indexes"))
    #expect("\(IndexError.nameUsedTwice(index: "age"))".contains("Give each a name of its own"))
  }

  @Test func aQueryThatMustHaveAnIndexReadsNotAllRows() throws {
    let db = try database(people())
    try db.read { tx in
      let value1 = try count(tx[.people].find { $0.age == 3 }.requireIndex())
      #expect(value1 == 10)
      let query = tx[.people].find(.closure { person, _ in person.age == 3 })
      let value2 = try count(query)
      #expect(value2 == 10)
      guard case .needsScan(collection: "people", _) = indexError({ _ = try query.requireIndex().count }) else {
        Issue.record("a scan was let through")
        return
      }
    }
  }

  @Test func plansSayWhatWasCounted() throws {
    let db = try database(people())
    try db.read { tx in
      let query = tx[.people].find { $0.age >= 8 && $0.mail.hasPrefix("m9") }
      let plan = try query.plan
      #expect(plan.source == .index("mail", entryCount: 11))
      #expect(plan.description == "11 entries of “mail”, each tested for one more part of the condition on its record")
      let value3 = try count(query)
      #expect(value3 == 10)
      let ordered = try tx[.people].find { $0.age != 0 }.order(by: \.age).limit(3).plan
      #expect(ordered.description.contains("in the order of “age”"))
      let nothing = try tx[.people].find(.none).plan
      #expect(nothing.description == "nothing")
    }
  }

  @Test func aggregatesAreThoseOfTheRows() throws {
    let db = try database(people())
    try db.read { tx in
      let all = tx[.people].find(.all)
      let value4 = try count(all)
      #expect(value4 == 100)
      let value5 = try all.min(\.age)
      #expect(value5 == 0)
      let value6 = try all.max(\.age)
      #expect(value6 == 9)
      let value7 = try all.sum(\.age)
      #expect(value7 == 450)
      let value8 = try all.average(\.age)
      #expect(value8 == 4.5)
      let value9 = try all.distinct(\.age)
      #expect(value9 == Array(0..<10))
      let value10 = try tx[.people].find { $0.nick == nil }.groupCounts(by: \.age).map(\.count)
      #expect(value10 == [10, 10, 10, 10, 10])
      let first = try tx[.people].find { $0.age == 1 }.first
      #expect(first?.key == "p10")
    }
  }

  @Test func anOrderByWhatIsTheSameInAllRowsIsThatOfTheirNumbers() throws {
    let db = try Database.inMemory()
    try db.register(Indexes.tracks())
    var random = SeededRandom(seed: 1)
    try db.write { tx in
      for number in 0..<40 {
        var track = random.track()
        (track.mood, track.year) = (.calm, 1990 + number * 7 % 10)
        try tx[.tracks].set(track, for: "k\(number)")
      }
    }
    try db.read { tx throws in
      let found = tx[.tracks].find { $0.mood == .calm && !$0.year.isIn([1993, 1996]) }
      let keys = try found.keys
      #expect(keys.count == 32)
      #expect(try found.order(by: .descending(\.mood)).keys == keys)
      #expect(try found.order(by: \.mood).offset(3).limit(7).keys == Array(keys[3..<10]))
    }
    try db.close()
  }

  @Test("Rows with an element are walked in the order of what stands behind it", arguments: [false, true])
  func rowsWithAnElementAreWalkedInOrder(isDescending: Bool) throws {
    struct Note: Codable, Sendable { var tags: [String], title: String, year: Int }
    let notes = RowCollection<Note, NoMetadata>("notes")
    let db = try Database.inMemory()
    try db.register(
      Indexes<Note, NoMetadata>("notes", over: notes) {
        Index("tag-title-year", .each(\.tags), .ascending(\.title), .ascending(\.year))
      })
    // The tag that is asked for is the first of some rows, and not of others.
    try db.write { tx in
      for number in 0..<60 {
        let tags = [["b"], ["a", "b"], ["b", "c"], ["c"], ["a", "b", "c"]][number % 5]
        try tx[notes].set(Note(tags: tags, title: "t\(number % 7)", year: number % 3), for: "n\(number)")
      }
    }
    try db.read { tx throws in
      let rows = tx[notes].find { $0.tags.contains("b") }
      let titles = isDescending ? Array((0..<7).reversed()) : Array(0..<7)
      let expected = titles.flatMap { title in (0..<60).filter { $0 % 7 == title && $0 % 5 != 3 } }
      let found = rows.order(by: isDescending ? .descending(\.title) : .ascending(\.title)).requireIndex()
      for (offset, limit) in [(0, 60), (0, 5), (3, 4), (17, 9)] {
        let keys = try found.offset(offset).limit(limit).keys
        #expect(keys == expected.dropFirst(offset).prefix(limit).map { "n\($0)" })
      }
    }
    try db.close()
  }

  @Test func aSumThatIsTooLargeIsAnError() throws {
    let db = try database(people())
    try db.write { tx throws in
      for key in ["p1", "p2"] { try tx[.people].update(key) { $0.age = .max } }
      #expect(throws: IndexError.sumTooLarge(collection: "people", type: "Int")) {
        try tx[.people].find(.all).sum(\.age)
      }
      #expect(try tx[.people].find { $0.age < 2 }.sum(\.age) == 10)
    }
  }

  @Test func rowsAreChangedAndRemovedByCondition() throws {
    let indexes = people()
    let db = try database(indexes)
    try db.write { tx in
      let value11 = try tx[.people].update(where: { $0.age == 2 }) { $0.age = 20 }
      #expect(value11 == 10)
      let value12 = try tx[.people].remove(where: { $0.age < 2 || $0.nick == "n99" })
      #expect(value12 == 21)
      let value13 = try count(tx[.people].find { $0.age == 20 })
      #expect(value13 == 10)
    }
    let seen4 = try db.read { tx in tx[.people].count }
    #expect(seen4 == 79)
    try db.write { tx in try tx[.people].removeAll() }
    try db.read { tx in
      let value14 = try count(tx[.people].find { $0.age == 20 })
      #expect(value14 == 0)
      try tx.access(to: indexes).verify()
    }
  }

  @Test func rowsAreFoundByTheirNumbers() throws {
    let db = try database(nil)
    try db.write { tx in try tx[RowCollection<String, NoMetadata>("others")].set("x", for: "x") }
    try db.read { tx in
      let people = tx[.people]
      let ids = try people.find { $0.age == 4 }.rowIDs
      let value15 = try people.keys(withIDs: ids)
      #expect(value15 == (40..<50).map { "p\($0)" })
      let value16 = try people.objects(withIDs: ids.reversed()).first
      #expect(value16 == person(49))
      let other = try #require(try tx[RowCollection<String, NoMetadata>("others")].rowID("x"))
      let value17 = try people.rows(withIDs: [other, RowID(4_711), ids[0]]).map(\.key)
      #expect(value17 == ["p40"])
      let value18 = try people.row(withID: other)
      #expect(value18 == nil)
    }
  }
}
